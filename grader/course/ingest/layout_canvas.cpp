// Canvas' "Download Submissions": loose files.
//
//   <user>[_LATE]_<user id>_<attachment id>_<file>      several files of one user are one hand-in
//   [LATE_]anon_<anonymous id>_<attachment id>_<file>   where grading is anonymous
//   <user>[_LATE]_<user id>_text.html, ..._link.html    typed into the page; a web address
//
// From lib/content_zipper.rb of instructure/canvas-lms (add_submission, get_filename, sanitize_user_name):
// the user is the sortable name in lower case, without anything that is no letter, figure or '_'; of a group
// assignment it is the group's name, and the id is that of one member. A name may hold '_', and so may a
// file's; Canvas takes "_<figures>_" out of names, and takes the first two figures for the ids
// (infer_comment_context_from_filename in app/models/abstract_assignment.rb).
//
// An export has the last hand-in alone. Whoever hands in a file of one name again, in any assignment of the
// course, has it renamed to <name>-1.<ending> to <name>-7.<ending>, then to <name>-<uuid>.<ending>
// (Attachment.make_unique_filename in app/models/attachment.rb); nothing in the export says which ones were.
#include <algorithm>
#include <map>
#include <regex>
#include <set>

#include "base/error.h"
#include "base/untrusted.h"
#include "course/ingest/layout_reader.h"

namespace warpgrade {
namespace fs = std::filesystem;

namespace canvas_layout {
namespace {

constexpr std::uint64_t kMostSourceBytes = 1 << 20;
constexpr std::size_t kLongestPath = 4096;

std::vector<std::string> split(const std::string& name) {
  std::vector<std::string> parts(1);
  for (const char c : name) {
    if (c == '_')
      parts.emplace_back();
    else
      parts.back() += c;
  }
  return parts;
}

std::string joined(const std::vector<std::string>& parts, std::size_t from, std::size_t to) {
  std::string text;
  for (std::size_t i = from; i < to; ++i) text += (i == from ? "" : "_") + parts[i];
  return text;
}

bool is_number(const std::string& text) {
  return !text.empty() && text.size() <= 20 &&
         std::all_of(text.begin(), text.end(), [](unsigned char c) { return std::isdigit(c) != 0; });
}

// Letters of any script, figures and '_'.
bool is_user_name(const std::string& text) {
  return std::all_of(text.begin(), text.end(),
                     [](unsigned char c) { return c >= 0x80 || std::isalnum(c) != 0 || c == '_'; });
}

struct Name {
  std::string user, id;
  bool late = false, anonymous = false;
  std::string file;
};

std::optional<Name> anonymous_name(const std::vector<std::string>& parts) {
  const std::size_t anon = parts[0] == "LATE" ? 1 : 0;
  if (parts.size() < anon + 3 || parts[anon] != "anon" || parts[anon + 1].empty()) return std::nullopt;
  Name name{"", parts[anon + 1], anon == 1, true, ""};
  const std::string& next = parts[anon + 2];
  if (is_number(next) && parts.size() > anon + 3)
    name.file = joined(parts, anon + 3, parts.size());
  else if (parts.size() == anon + 3 && (next == "text.html" || next == "link.html"))
    name.file = next;
  else
    return std::nullopt;
  return name;
}

// The ways to read a name, in the order in which Canvas tries them: one, but where a user's name ends in
// '_' and figures.
std::vector<Name> readings_of(const std::string& given) {
  const std::vector<std::string> parts = split(given);
  if (const auto name = anonymous_name(parts)) return {*name};
  std::vector<Name> readings;
  for (std::size_t i = 1; i + 1 < parts.size(); ++i) {
    if (!is_number(parts[i])) continue;
    const bool upload = is_number(parts[i + 1]) && i + 2 < parts.size();
    const bool typed = i + 2 == parts.size() && (parts[i + 1] == "text.html" || parts[i + 1] == "link.html");
    if (!upload && !typed) continue;
    const bool late = i > 1 && parts[i - 1] == "LATE";  // a name is in lower case
    Name name{joined(parts, 0, late ? i - 1 : i), parts[i], late, false,
              upload ? joined(parts, i + 2, parts.size()) : parts[i + 1]};
    if (!is_user_name(name.user)) break;
    readings.push_back(std::move(name));
  }
  return readings;
}

bool has_form(const ExportEntry& entry) {
  return !entry.is_folder && !readings_of(entry.name).empty();
}

// The reading whose number the roster knows; without one, Canvas' own.
std::optional<Name> name_of(const ExportEntry& entry, const Roster* roster) {
  if (!has_form(entry)) return std::nullopt;
  const std::vector<Name> readings = readings_of(entry.name);
  std::vector<Name> known;
  for (const Name& reading : readings) {
    StudentKeys keys;
    keys.canvas_id = reading.id;
    if (roster != nullptr && roster->find(keys)) known.push_back(reading);
  }
  if (known.size() > 1)
    throw UsageError(
        "{} may be a hand-in of Canvas' user {} ({}) or of user {} ({}), and the roster has both: rename the "
        "file so that no name ends in '_' and figures. Nothing was kept.",
        entry.name, known[0].id, known[0].user, known[1].id, known[1].user);
  return known.empty() ? readings[0] : known[0];
}

// ---- what Canvas renamed

// The name before Canvas made it unique; empty where it cannot have done so.
std::string before_renaming(const std::string& name) {
  static const std::regex kForm(
      R"((.+)-(?:[1-7]|[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})((?:\.[A-Za-z][A-Za-z0-9]*)*\.[A-Za-z0-9]+))");
  std::smatch part;
  return std::regex_match(name, part, kForm) ? part[1].str() + part[2].str() : "";
}

// The name in an include of a file, "" where there is none: `text` is what stands behind a '#'.
std::string_view included_name(std::string_view text) {
  constexpr std::string_view kBlanks = " \t", kInclude = "include";
  text.remove_prefix(std::min(text.find_first_not_of(kBlanks), text.size()));
  if (!text.starts_with(kInclude)) return {};
  text.remove_prefix(kInclude.size());
  text.remove_prefix(std::min(text.find_first_not_of(kBlanks), text.size()));
  if (!text.starts_with('"') && !text.starts_with('<')) return {};
  text = text.substr(1, kLongestPath);
  const std::size_t end = text.find_first_of("\">\n");
  return end == std::string_view::npos || text[end] == '\n' ? std::string_view() : text.substr(0, end);
}

// The names that the files of a hand-in include. Not by std::regex, which recurses once for each letter of a
// line: a hand-in of one long line would end the program.
std::set<std::string> included_by(const std::vector<RawFile>& files) {
  std::set<std::string> names;
  for (const RawFile& file : files) {
    const UntrustedFile text =
        UntrustedFolder(file.path.parent_path()).read(file.path.filename(), kMostSourceBytes);
    if (!text.ok() || is_archive_name(file.name)) continue;
    const std::string_view source = text.bytes;
    for (std::size_t at = 0; (at = source.find('#', at)) != std::string_view::npos; ++at) {
      const std::string_view name = included_name(source.substr(at + 1));
      if (!name.empty()) names.insert(fs::path(name).filename().string());
    }
  }
  return names;
}

// A student's own tile-4.cuh keeps its name: only what the sources include under the name before, and the
// lab's own source, were renamed.
void restore_names(RawAttempt& attempt, const std::string& lab) {
  const auto renamed = [](const RawFile& file) { return !before_renaming(file.name).empty(); };
  if (std::none_of(attempt.files.begin(), attempt.files.end(), renamed)) return;
  const std::set<std::string> included = included_by(attempt.files);
  std::set<std::string> taken;
  for (const RawFile& file : attempt.files) taken.insert(file.name);
  for (RawFile& file : attempt.files) {
    const std::string before = before_renaming(file.name);
    const bool wanted = before == lab + ".cu" || (included.contains(before) && !included.contains(file.name));
    if (!before.empty() && wanted && taken.insert(before).second) file.name = before;
  }
}

// ---- the export

bool fits(const Export& given) {
  return most(given.entries, has_form);
}

StudentKeys owner_of(const Name& name) {
  StudentKeys owner;
  if (name.anonymous) {
    owner.keys = {"anon_" + name.id};
    owner.lms_id = name.id;
  } else {
    owner.keys = {name.user};
    owner.canvas_id = name.id;
  }
  return owner;
}

std::vector<RawAttempt> read(const Export& from, std::vector<std::string>& left_aside) {
  std::map<std::string, std::pair<std::string, RawAttempt>> attempts;  // by id: the user's name
  for (const ExportEntry& entry : from.entries) {
    const auto name = name_of(entry, from.options->roster);
    if (!name) {
      left_aside.push_back(entry.name);
      continue;
    }
    auto& [user, attempt] = attempts[name->id];
    if (attempt.owners.empty()) {
      user = name->user;
      attempt.owners.push_back(owner_of(*name));
      attempt.origin = entry.name;
    } else if (user != name->user) {
      refuse_shared_number(name->id, attempt.origin, entry.name);
    }
    attempt.late_marked |= name->late;
    add_file(attempt, entry, name->file);
  }
  std::vector<RawAttempt> list;
  for (auto& [id, of_user] : attempts) {
    restore_names(of_user.second, from.options->lab);
    list.push_back(std::move(of_user.second));
  }
  return list;
}

}  // namespace
}  // namespace canvas_layout

const LayoutReader kCanvasLayout{"canvas", canvas_layout::fits, canvas_layout::read};

}  // namespace warpgrade

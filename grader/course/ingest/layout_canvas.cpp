// Canvas' "Download Submissions": loose files.
//
//   <user>[_LATE]_<user id>_<attachment id>_<file>      several files of one user are one hand-in
//   [LATE_]anon_<anonymous id>_<attachment id>_<file>   where grading is anonymous
//   <user>[_LATE]_<user id>_text.html, ..._link.html    typed into the page; a web address
//
// From lib/content_zipper.rb of instructure/canvas-lms (add_submission, get_filename, sanitize_user_name): the
// user is the sortable name in lower case, without anything that is no letter, figure or '_'; of a group
// assignment it is the group's name, and the id is that of one member. A name may hold '_', and so may a file's;
// Canvas takes "_<figures>_" out of names, and takes the first two figures for the ids
// (infer_comment_context_from_filename in app/models/abstract_assignment.rb).
//
// An export has the last hand-in alone. Whoever hands in a file of one name again, in any assignment of the
// course, has it renamed to <name>-1.<ending> to <name>-7.<ending>, then to <name>-<uuid>.<ending>
// (Attachment.make_unique_filename in app/models/attachment.rb); nothing in the export says which ones were.
#include <algorithm>
#include <map>
#include <regex>
#include <set>

#include "base/untrusted.h"
#include "course/ingest/layout_reader.h"

namespace warpgrade {
namespace fs = std::filesystem;

namespace canvas_layout {
namespace {

constexpr std::uint64_t kMostSourceBytes = 1 << 20;

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

std::optional<Name> name_of(const std::string& given) {
  const std::vector<std::string> parts = split(given);
  if (auto name = anonymous_name(parts)) return name;
  for (std::size_t i = 1; i + 1 < parts.size(); ++i) {
    if (!is_number(parts[i])) continue;
    const bool upload = is_number(parts[i + 1]) && i + 2 < parts.size();
    const bool typed = i + 2 == parts.size() && (parts[i + 1] == "text.html" || parts[i + 1] == "link.html");
    if (!upload && !typed) continue;
    const bool late = i > 1 && parts[i - 1] == "LATE";  // a name is in lower case
    Name name{joined(parts, 0, late ? i - 1 : i), parts[i], late, false,
              upload ? joined(parts, i + 2, parts.size()) : parts[i + 1]};
    if (!is_user_name(name.user)) return std::nullopt;
    return name;
  }
  return std::nullopt;
}

// ---- what Canvas renamed

// The name before Canvas made it unique; empty where it cannot have done so.
std::string before_renaming(const std::string& name) {
  static const std::regex kForm(
      R"((.+)-(?:[1-7]|[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})((?:\.[A-Za-z][A-Za-z0-9]*)*\.[A-Za-z0-9]+))");
  std::smatch part;
  return std::regex_match(name, part, kForm) ? part[1].str() + part[2].str() : "";
}

// The names that the files of a hand-in include.
std::set<std::string> included_by(const std::vector<RawFile>& files) {
  static const std::regex kInclude(R"(#[ \t]*include[ \t]*["<]([^">\n]+)[">])");
  std::set<std::string> names;
  for (const RawFile& file : files) {
    const UntrustedFile text =
        UntrustedFolder(file.path.parent_path()).read(file.path.filename(), kMostSourceBytes);
    if (!text.ok() || is_archive_name(file.name)) continue;
    for (std::sregex_iterator at(text.bytes.begin(), text.bytes.end(), kInclude), end; at != end; ++at)
      names.insert(fs::path((*at)[1].str()).filename().string());
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
  return most(given.entries,
              [](const ExportEntry& entry) { return !entry.is_folder && name_of(entry.name).has_value(); });
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
    const auto name = entry.is_folder ? std::nullopt : name_of(entry.name);
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

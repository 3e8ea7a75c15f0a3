#include "course/ingest/layout_names.h"

#include <algorithm>
#include <map>
#include <regex>

#include "base/error.h"
#include "base/process.h"

namespace warpgrade {
namespace fs = std::filesystem;

namespace {

// Moodle writes underscores of names as spaces, so the last number belongs to no name. Since 4.x the folder
// has no underscore at its end; loose files follow it.
const std::regex& moodle_form() {
  static const std::regex form(R"((.+)_(\d+)_assignsubmission_([a-z]+)(?:_(.*))?)");
  return form;
}
const std::regex& short_moodle_form() {
  static const std::regex form(R"((.*[^\d_ ].*)_(\d{4,}))");
  return form;
}
const std::regex& blackboard_form() {
  static const std::regex form(
      R"((.+)_([^_]+)_attempt_(\d{4}-\d\d-\d\d)-(\d\d)-(\d\d)-(\d\d)(?:_(.+)|\.txt))");
  return form;
}
bool is_clone(const fs::path& folder) {
  return fs::is_directory(folder) && fs::is_directory(fs::symlink_status(folder / ".git"));
}

// Of the entries that are hand-ins: Brightspace's own page is none.
template <typename Fits>
bool most(const Entries& entries, const Fits& fits) {
  const auto count = std::count_if(entries.begin(), entries.end(), fits);
  const auto pages = std::count_if(entries.begin(), entries.end(), [](const fs::path& entry) {
    return entry.filename() == kBrightspaceIndex;
  });
  return count > 0 && 2 * count > std::ssize(entries) - pages;
}

bool fits(const fs::path& entry, const std::regex& form) {
  return std::regex_match(entry.filename().string(), form);
}

// "Group A-Ada Lovelace": where the teacher chose a group, Moodle writes it in front.
std::vector<std::string> moodle_names(const std::string& name) {
  std::vector<std::string> names{name};
  for (std::size_t at = name.find('-'); at != std::string::npos; at = name.find('-', at + 1))
    names.push_back(name.substr(at + 1));
  return names;
}

void take_moodle_entry(const fs::path& entry, const std::smatch& part, RawAttempt& attempt) {
  if (attempt.owners.empty()) {
    StudentKeys keys;
    keys.moodle_id = part[2];
    keys.name = part[1];
    if (keys.name != "Participant") keys.keys = moodle_names(keys.name);  // else marked blindly
    attempt.owners.push_back(keys);
    attempt.origin = entry.filename().string();
  }
  if (fs::is_directory(entry))
    attempt.folder = entry;
  else
    attempt.files.push_back({entry, part[4]});
}

}  // namespace

std::string layout_by_names(const Entries& entries) {
  if (most(entries, [](const fs::path& entry) { return fits(entry, moodle_form()); })) return "moodle";
  if (most(entries, [](const fs::path& entry) { return fits(entry, blackboard_form()); }))
    return "blackboard";
  if (most(entries, [](const fs::path& entry) { return is_brightspace_name(entry.filename().string()); }))
    return "brightspace";
  if (most(entries, is_clone)) return "github";
  // A name with a space and a number: no id of a student looks so.
  const auto named = [](const fs::path& entry) {
    return fs::is_directory(entry) && fits(entry, short_moodle_form()) &&
           entry.filename().string().find(' ') != std::string::npos;
  };
  return most(entries, named) ? "moodle" : "";
}

std::vector<RawAttempt> read_moodle(const Entries& entries, std::vector<std::string>& left_aside) {
  std::map<std::string, RawAttempt> attempts;  // by participant
  for (const fs::path& entry : entries) {
    const std::string name = entry.filename().string();
    std::smatch part;
    const bool full = std::regex_match(name, part, moodle_form());
    const bool taken = full ? part[3] == "file" && (fs::is_directory(entry) || part[4].length() > 0)
                            : fs::is_directory(entry) && std::regex_match(name, part, short_moodle_form());
    if (taken)
      take_moodle_entry(entry, part, attempts[part[2]]);
    else  // a text typed into the page is no hand-in of a program
      left_aside.push_back(name);
  }
  std::vector<RawAttempt> list;
  for (auto& [participant, attempt] : attempts) list.push_back(std::move(attempt));
  return list;
}

std::vector<RawAttempt> read_blackboard(const Entries& entries, const TimeZone& zone,
                                        std::vector<std::string>& left_aside) {
  std::map<std::pair<std::string, std::string>, RawAttempt> attempts;  // by user and time
  for (const fs::path& entry : entries) {
    const std::string name = entry.filename().string();
    std::smatch part;
    if (!fs::is_regular_file(entry) || !std::regex_match(name, part, blackboard_form())) {
      left_aside.push_back(name);
      continue;
    }
    const std::string at =
        fmt::format("{} {}:{}:{}", part[3].str(), part[4].str(), part[5].str(), part[6].str());
    RawAttempt& attempt = attempts[{part[2], at}];
    if (attempt.owners.empty()) {
      attempt.owners.push_back({{part[2]}, "", "", "", "", ""});
      attempt.origin = name;
      attempt.submitted_at = parse_time(at, zone);
    }
    if (part[7].matched) attempt.files.push_back({entry, part[7]});  // else Blackboard's own .txt
  }
  std::vector<RawAttempt> list;
  for (auto& [key, attempt] : attempts) {
    if (attempt.files.empty())  // a comment without a file
      left_aside.push_back(attempt.origin);
    else
      list.push_back(std::move(attempt));
  }
  return list;
}

namespace {

// Seconds since 1970 of the commit that is checked out; nullopt where there is none. Plumbing reads the
// object and runs nothing that the clone's own configuration may name.
std::optional<std::int64_t> commit_time(const fs::path& clone) {
  ProcessOptions options;
  options.command = {"git",        "-c",        "safe.directory=*",        "-c",       "core.fsmonitor=false",
                     "--no-pager", "--git-dir", (clone / ".git").string(), "cat-file", "commit",
                     "HEAD"};
  options.environment = {{"GIT_CONFIG_NOSYSTEM", "1"},
                         {"GIT_CONFIG_GLOBAL", "/dev/null"},
                         {"GIT_NO_LAZY_FETCH", "1"},
                         {"GIT_TERMINAL_PROMPT", "0"}};
  options.timeout = std::chrono::seconds(20);
  ProcessResult result;
  try {
    result = run_process(options);
  } catch (const JudgeFault& fault) {
    throw UsageError("git is needed to read when the clones were committed: {}", fault.what());
  }
  static const std::regex kCommitter(R"((?:^|\n)committer [^\n]*> (\d{1,15}) [+-]\d{4}\n)");
  std::smatch part;
  if (!result.ok() || !std::regex_search(result.standard_output, part, kCommitter)) return std::nullopt;
  return std::stoll(part[1]);
}

// What all names begin with, up to its last '-': the assignment. One clone alone: up to its first '-'.
std::size_t assignment_length(const std::vector<std::string>& names) {
  std::string common = names[0];
  for (const std::string& name : names) {
    std::size_t same = 0;
    while (same < common.size() && same < name.size() && common[same] == name[same]) ++same;
    common.resize(same);
  }
  const std::size_t dash = names.size() == 1 ? common.find('-') : common.rfind('-');
  return dash == std::string::npos ? 0 : dash + 1;
}

}  // namespace

std::vector<RawAttempt> read_github(const Entries& entries, std::vector<std::string>& left_aside) {
  std::vector<std::string> names;
  for (const fs::path& entry : entries)
    if (is_clone(entry)) names.push_back(entry.filename().string());
  const std::size_t skip = names.empty() ? 0 : assignment_length(names);
  std::vector<RawAttempt> attempts;
  for (const fs::path& entry : entries) {
    const std::string name = entry.filename().string();
    if (!is_clone(entry)) {
      left_aside.push_back(name);
      continue;
    }
    RawAttempt attempt;
    const std::string account = name.substr(skip);
    attempt.owners.push_back({{account}, "", "", "", "", account});
    attempt.origin = name;
    attempt.folder = entry;
    attempt.submitted_at = commit_time(entry);
    attempts.push_back(std::move(attempt));
  }
  return attempts;
}

}  // namespace warpgrade

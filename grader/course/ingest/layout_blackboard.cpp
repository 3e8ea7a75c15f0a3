// Blackboard Learn's "Assignment File Download" of the Grade Center: loose files.
//
//   <assignment>_<user>_attempt_<yyyy-mm-dd-hh-mm-ss>.txt      tells of each attempt
//   <assignment>_<user>_attempt_<yyyy-mm-dd-hh-mm-ss>_<file>   what was handed in
//
// Blackboard is closed. The form is the one of "Download assignments" in Blackboard's help for instructors, and
// of what instructors' scripts in public repositories read. Its first lines are "Name: Ada Lovelace (ada)" and
// "Assignment: Lab 1", in the language of the site: the user is what stands there in parentheses, whatever '_'
// the assignment's and the user's names have.
#include <fmt/format.h>

#include <map>
#include <regex>
#include <set>

#include "base/untrusted.h"
#include "course/ingest/layout_reader.h"

namespace warpgrade {
namespace blackboard_layout {
namespace {

constexpr std::uint64_t kMostTextBytes = 8 << 20;

struct Name {
  std::string prefix;  // <assignment>_<user>
  std::string at, file;
};

std::optional<Name> name_of(const std::string& given) {
  static const std::regex kForm(R"((.+?_.+?)_attempt_(\d{4}-\d\d-\d\d)-(\d\d)-(\d\d)-(\d\d)(?:_(.+)|\.txt))");
  std::smatch part;
  if (!std::regex_match(given, part, kForm)) return std::nullopt;
  return Name{part[1], fmt::format("{} {}:{}:{}", part[2].str(), part[3].str(), part[4].str(), part[5].str()),
              part[6]};
}

// What may be the user, the longest first.
std::vector<std::string> users_of(const std::string& prefix) {
  std::vector<std::string> users;
  for (std::size_t at = prefix.find('_'); at != std::string::npos; at = prefix.find('_', at + 1))
    if (at + 1 < prefix.size()) users.push_back(prefix.substr(at + 1));
  return users;
}

// The assignment's name with its '_', as one of Blackboard's own texts tells it; empty where none does.
std::string assignment_of(const Export& given) {
  for (const ExportEntry& entry : given.entries) {
    const auto name = name_of(entry.name);
    if (!name || !name->file.empty()) continue;
    const UntrustedFile text = UntrustedFolder(given.folder).read(entry.name, kMostTextBytes);
    const std::string head = text.bytes.substr(0, text.bytes.find('\n', text.bytes.find('\n') + 1));
    for (const std::string& user : users_of(name->prefix))
      if (head.find("(" + user + ")") != std::string::npos)
        return name->prefix.substr(0, name->prefix.size() - user.size());
  }
  return "";
}

StudentKeys owner_of(const std::string& prefix, const std::string& assignment) {
  if (!assignment.empty() && prefix.starts_with(assignment)) return keyed(prefix.substr(assignment.size()));
  const std::vector<std::string> users = users_of(prefix);
  StudentKeys owner = keyed(users.back());
  if (users.size() > 1)
    for (const std::string& user : users) owner.readings.push_back({user, ""});
  return owner;
}

bool fits(const Export& given) {
  return most(given.entries,
              [](const ExportEntry& entry) { return !entry.is_folder && name_of(entry.name).has_value(); });
}

std::vector<RawAttempt> read(const Export& from, std::vector<std::string>& left_aside) {
  const std::string assignment = assignment_of(from);
  std::map<std::pair<std::string, std::string>, RawAttempt> attempts;  // by user and time
  for (const ExportEntry& entry : from.entries) {
    const auto name = entry.is_folder ? std::nullopt : name_of(entry.name);
    if (!name) {
      left_aside.push_back(entry.name);
      continue;
    }
    RawAttempt& attempt = attempts[{name->prefix, name->at}];
    if (attempt.owners.empty()) {
      attempt.owners.push_back(owner_of(name->prefix, assignment));
      attempt.origin = entry.name;
      attempt.submitted_at = parse_time(name->at, from.options->zone);
    }
    if (!name->file.empty()) add_file(attempt, entry, name->file);  // else Blackboard's own text
  }
  std::vector<RawAttempt> list;
  for (auto& [key, attempt] : attempts) {
    if (attempt.files.empty() && !attempt.refusal)  // a comment without a file
      left_aside.push_back(attempt.origin);
    else
      list.push_back(std::move(attempt));
  }
  return list;
}

}  // namespace
}  // namespace blackboard_layout

const LayoutReader kBlackboardLayout{"blackboard", blackboard_layout::fits, blackboard_layout::read};

}  // namespace warpgrade

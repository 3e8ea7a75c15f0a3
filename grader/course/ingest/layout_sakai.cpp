// Sakai's "Download All" of an assignment.
//
//   <assignment>/<Last, First(eid)>/timestamp.txt
//                                  /Submission attachment(s)/<file>...
//                                  /<Last, First(eid)>_submissionText.html
//                                  /feedbackText.html, comments.txt, Feedback Attachment(s)/...
//   <assignment>/<group> (<group's id>)/...    with members.txt: "<Last, First(eid)>; ..."
//   <assignment>/<submission's id> Anonymous/...
//   <assignment>/<Last, First(eid)>_Submission attachment(s)_<file>    "without folders": has no times
//
// From AssignmentServiceImpl.java of sakaiproject/sakai (zipSubmissions, zipGroupSubmissions, zipAttachments).
// The time is an instant (java.time), before version 12 yyyyMMddHHmmssSSS of UTC. Names have lost their accents
// and all that is not ASCII (escapeInvalidCharsEntry); an eid that is not ASCII is replaced by Sakai's own id.
// The names of the two folders are in the language of the site.
#include <map>
#include <regex>
#include <set>

#include "base/error.h"
#include "base/untrusted.h"
#include "course/ingest/layout_reader.h"
#include "course/ingest/person_name.h"

namespace warpgrade {
namespace fs = std::filesystem;

namespace sakai_layout {
namespace {

constexpr const char* kTime = "timestamp.txt";
constexpr const char* kMembers = "members.txt";
constexpr const char* kText = "_submissionText.html";
constexpr const char* kAttachments = "Submission attachment(s)";
constexpr std::uint64_t kMostTextBytes = 1 << 20;

// "Lovelace, Ada(ada)", "Team 1 (0e3c-...)", "0e3c-... Anonymous".
StudentKeys owner_of(const std::string& folder) {
  static const std::regex kForm(R"((.*?) ?\(([^()]+)\))");
  std::smatch part;
  StudentKeys owner = keyed(folder);
  if (std::regex_match(folder, part, kForm)) {
    owner.keys = {part[2], part[1]};
    owner.name = part[1];
    if (owner.name.ends_with(',')) owner.name.pop_back();  // without a first name
  } else {
    owner.lms_id = folder.substr(0, folder.find(' '));
  }
  return owner;
}

std::string text_in(const fs::path& folder, const std::string& name) {
  const auto open = UntrustedFolder::try_open(folder);
  if (!open) return "";
  std::string text = open->read(name, kMostTextBytes).bytes;
  text.erase(text.find_last_not_of(" \r\n\t") + 1);
  return text;
}

std::optional<std::int64_t> instant(const std::string& text) {
  static const std::regex kOlder(R"((\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)\d{3})");
  return parse_time(std::regex_replace(text, kOlder, "$1-$2-$3T$4:$5:$6Z"));
}

std::optional<std::int64_t> time_of(const fs::path& folder) {
  const std::string text = text_in(folder, kTime);
  const auto time = instant(text);
  if (!text.empty() && !time)
    throw UsageError("{}: expected a time such as 2026-03-18T22:58:00Z, got '{}'", (folder / kTime).string(),
                     text.substr(0, 60));
  return time;
}

bool is_feedback(const fs::path& below) {
  return !below.empty() && folded(below.begin()->string()).find("feedback") != std::string::npos;
}

// The folder with what was handed in: not the one with the teacher's files, whatever the language.
std::optional<fs::path> attachments_of(const fs::path& folder) {
  std::vector<fs::path> filled, all;
  for (const fs::path& path : visible_in(folder)) {
    if (!fs::is_directory(path)) continue;
    if (path.filename() == kAttachments) return path;
    if (is_feedback(path.filename())) continue;
    all.push_back(path);
    if (!visible_in(path).empty()) filled.push_back(path);
  }
  const std::vector<fs::path>& found = filled.empty() ? all : filled;
  if (found.size() > 1)
    throw UsageError(
        "{}: {} and {} both hold files, and it is not known which are the student's: rename that folder to "
        "\"{}\". Nothing was kept.",
        folder.string(), found[0].filename().string(), found[1].filename().string(), kAttachments);
  return found.empty() ? std::nullopt : std::optional(found[0]);
}

bool is_student_folder(const ExportEntry& entry) {
  return entry.is_folder &&
         (fs::exists(entry.path / kTime) || fs::exists(entry.path / (entry.name + kText)) ||
          fs::exists(entry.path / kAttachments) || fs::exists(entry.path / kMembers));
}

std::vector<StudentKeys> owners_of(const ExportEntry& entry) {
  std::vector<StudentKeys> owners;
  std::string rest = text_in(entry.path, kMembers);
  for (std::size_t end; !rest.empty(); rest.erase(0, end == std::string::npos ? end : end + 2)) {
    end = rest.find("; ");
    owners.push_back(owner_of(rest.substr(0, end)));
  }
  if (owners.empty()) owners.push_back(owner_of(entry.name));
  return owners;
}

RawAttempt attempt_of(const ExportEntry& entry) {
  RawAttempt attempt;
  attempt.owners = owners_of(entry);
  attempt.origin = entry.name;
  for (const RefusedPart& part : entry.refused)  // of what the student handed in
    if (!attempt.refusal && !is_feedback(part.below)) attempt.refusal = part.refusal;
  attempt.submitted_at = time_of(entry.path);
  const auto attachments = attachments_of(entry.path);
  const fs::path text = entry.path / (entry.name + kText);
  if (attachments && !visible_in(*attachments).empty())
    attempt.folder = *attachments;
  else if (fs::exists(text))
    attempt.files.push_back({text, "submissionText.html"});
  else if (attachments)
    attempt.folder = *attachments;
  else if (!attempt.refusal)
    attempt.folder = entry.path;
  return attempt;
}

// ---- without folders

struct LooseName {
  std::string person, file;
};

std::optional<LooseName> loose_name(const std::string& given) {
  static const std::regex kForm(
      R"((.+\([^()_]+\)|[^_ ]+ Anonymous)_(?:Submission attachment\(s\)_(.+)|_submissionText\.html))");
  std::smatch part;
  if (!std::regex_match(given, part, kForm)) return std::nullopt;
  return LooseName{part[1], part[2].matched ? part[2].str() : "submissionText.html"};
}

bool is_told_by_sakai(const std::string& name) {
  static const std::regex kForm(R"(.+_(?:comments\.txt|feedbackText\.html)|grades\.(?:csv|xls))");
  return std::regex_match(name, kForm);
}

std::vector<RawAttempt> read(const Export& from, std::vector<std::string>& left_aside) {
  std::vector<RawAttempt> attempts;
  std::map<std::string, RawAttempt> loose;
  for (const ExportEntry& entry : from.entries) {
    const auto name = entry.is_folder ? std::nullopt : loose_name(entry.name);
    if (entry.is_folder) {
      attempts.push_back(attempt_of(entry));
    } else if (name) {
      RawAttempt& attempt = loose[name->person];
      if (attempt.owners.empty()) {
        attempt.owners.push_back(owner_of(name->person));
        attempt.origin = entry.name;
      }
      add_file(attempt, entry, name->file);
    } else if (!is_told_by_sakai(entry.name)) {
      left_aside.push_back(entry.name);
    }
  }
  for (auto& [person, attempt] : loose) attempts.push_back(std::move(attempt));
  return attempts;
}

bool fits(const Export& given) {
  std::vector<ExportEntry> hand_ins;
  for (const ExportEntry& entry : given.entries)
    if (entry.is_folder || !is_told_by_sakai(entry.name)) hand_ins.push_back(entry);
  return most(hand_ins, is_student_folder) || most(hand_ins, [](const ExportEntry& entry) {
           return !entry.is_folder && loose_name(entry.name).has_value();
         });
}

}  // namespace
}  // namespace sakai_layout

const LayoutReader kSakaiLayout{"sakai", sakai_layout::fits, sakai_layout::read};

}  // namespace warpgrade

// Gradescope's "Export Submissions": submission_metadata.yml beside a folder submission_<id>/ each.
//
// Gradescope is closed. The form is that of its export, a dump of Ruby symbols (":created_at"), as instructors'
// scripts in public repositories read it; "Export submissions" in Gradescope's help describes where it is made.
#include <yaml-cpp/yaml.h>

#include <set>

#include "base/error.h"
#include "base/untrusted.h"
#include "course/ingest/layout_reader.h"

namespace warpgrade {
namespace fs = std::filesystem;

namespace gradescope_layout {
namespace {

constexpr const char* kMetadata = "submission_metadata.yml";
constexpr std::uint64_t kMostMetadataBytes = 256 << 20;

// Keys are Ruby symbols: ":created_at".
YAML::Node symbol(const YAML::Node& map, const std::string& key) {
  if (!map.IsMap()) return YAML::Node(YAML::NodeType::Undefined);
  const YAML::Node node = map[":" + key];
  return node.IsDefined() ? node : map[key];
}

std::string text_of(const YAML::Node& node) {
  return node.IsDefined() && node.IsScalar() && !node.IsNull() ? node.Scalar() : "";
}

RawAttempt attempt_of(const fs::path& folder, const std::string& id, const YAML::Node& about) {
  RawAttempt attempt;
  attempt.origin = id;
  attempt.folder = folder / id;
  const YAML::Node created = symbol(about, "created_at");
  // A time with its zone is written as an object by some exports.
  const std::string at = text_of(created.IsMap() ? created["utc"] : created);
  attempt.submitted_at = parse_time(at);
  if ((!at.empty() || created.IsMap()) && !attempt.submitted_at) {
    throw UsageError("{}: {}.:created_at: expected a time, got '{}'", (folder / kMetadata).string(), id, at);
  }
  for (const YAML::Node& submitter : symbol(about, "submitters")) {
    StudentKeys owner;
    owner.name = text_of(symbol(submitter, "name"));
    owner.email = text_of(symbol(submitter, "email"));
    owner.keys = {text_of(symbol(submitter, "sid")), owner.email, owner.name};
    attempt.owners.push_back(std::move(owner));
  }
  if (attempt.owners.empty()) attempt.owners.push_back(keyed(id));
  return attempt;
}

YAML::Node metadata_of(const fs::path& folder) {
  const fs::path file = folder / kMetadata;
  if (!fs::exists(file))
    throw UsageError("{}: no {} in it; is it Gradescope's \"Export Submissions\"?", folder.string(),
                     kMetadata);
  const UntrustedFile text = UntrustedFolder(folder).read(kMetadata, kMostMetadataBytes);
  if (!text.ok()) throw UsageError("{}", describe(text.state, file, kMostMetadataBytes));
  YAML::Node metadata;
  try {
    metadata = YAML::Load(text.bytes);
  } catch (const YAML::Exception& error) {
    throw UsageError("{}:{}: not YAML: {}", file.string(), error.mark.line + 1, error.msg);
  }
  if (!metadata.IsMap())
    throw UsageError("{}: expected a map from submission_<id> to what is known of it", file.string());
  return metadata;
}

std::vector<RawAttempt> read(const Export& from, std::vector<std::string>& left_aside) {
  std::vector<RawAttempt> attempts;
  std::set<std::string> known{kMetadata};
  for (const auto& about : metadata_of(from.folder)) {
    RawAttempt attempt = attempt_of(from.folder, about.first.as<std::string>(), about.second);
    for (const ExportEntry& entry : from.entries)
      if (entry.name == attempt.origin) refuse_for(attempt, entry);
    known.insert(attempt.origin);
    attempts.push_back(std::move(attempt));
  }
  for (const ExportEntry& entry : from.entries)
    if (!known.contains(entry.name)) left_aside.push_back(entry.name);
  return attempts;
}

bool fits(const Export& given) {
  return fs::exists(given.folder / kMetadata);
}

}  // namespace
}  // namespace gradescope_layout

const LayoutReader kGradescopeLayout{"gradescope", gradescope_layout::fits, gradescope_layout::read};

}  // namespace warpgrade

// Gradescope's "Export Submissions": submission_metadata.yml beside a folder submission_<id>/ each.
//
// Gradescope is closed. The form is that of its export, a dump of Ruby symbols (":created_at"), as
// instructors' scripts in public repositories read it; "Export submissions" in Gradescope's help describes
// where it is made.
#include <set>

#include "base/error.h"
#include "base/untrusted.h"
#include "base/yaml_place.h"
#include "course/ingest/layout_reader.h"

namespace warpgrade {
namespace fs = std::filesystem;

namespace gradescope_layout {
namespace {

constexpr const char* kMetadata = "submission_metadata.yml";
constexpr std::uint64_t kMostMetadataBytes = 256 << 20;

// Keys are Ruby symbols: ":created_at".
YamlPlace symbol(const YamlPlace& map, const std::string& key) {
  const YamlPlace place = map[":" + key];
  return place.defined() ? place : map[key];
}

std::string text_of(const YamlPlace& place) {
  return place.is_scalar() ? place.text() : "";
}

RawAttempt attempt_of(const fs::path& folder, const std::string& id, const YamlPlace& about) {
  RawAttempt attempt;
  attempt.origin = id;
  attempt.folder = folder / id;
  const YamlPlace created = symbol(about, "created_at");
  // A time with its zone is written as an object by some exports.
  const std::string at = text_of(created.is_map() ? created["utc"] : created);
  attempt.submitted_at = parse_time(at);
  if ((!at.empty() || created.is_map()) && !attempt.submitted_at) {
    throw UsageError("{}: {}.:created_at: expected a time, got '{}'", (folder / kMetadata).string(), id, at);
  }
  const YamlPlace submitters = symbol(about, "submitters");
  if (submitters.defined())
    for (const YamlPlace& submitter : submitters.items("a list of people")) {
      StudentKeys owner;
      owner.name = text_of(symbol(submitter, "name"));
      owner.email = text_of(symbol(submitter, "email"));
      owner.keys = {text_of(symbol(submitter, "sid")), owner.email, owner.name};
      attempt.owners.push_back(std::move(owner));
    }
  if (attempt.owners.empty()) attempt.owners.push_back(keyed(id));
  return attempt;
}

YamlPlace metadata_of(const fs::path& folder) {
  const fs::path file = folder / kMetadata;
  if (!fs::exists(file))
    throw UsageError("{}: no {} in it; is it Gradescope's \"Export Submissions\"?", folder.string(),
                     kMetadata);
  const UntrustedFile text = UntrustedFolder(folder).read(kMetadata, kMostMetadataBytes);
  if (!text.ok()) throw UsageError("{}", describe(text.state, file, kMostMetadataBytes));
  YamlPlace metadata = YamlPlace::parse(text.bytes, file.string());
  if (!metadata.is_map())
    throw UsageError("{}: expected a map from submission_<id> to what is known of it", file.string());
  return metadata;
}

std::vector<RawAttempt> read(const Export& from, std::vector<std::string>& left_aside) {
  std::vector<RawAttempt> attempts;
  std::set<std::string> known{kMetadata};
  for (const auto& [id, about] : metadata_of(from.folder).entries()) {
    // A folder of the export, and no path that leads out of it.
    if (id.empty() || id.starts_with('.') || fs::path(id).filename() != id)
      about.refuse("expected submission_<number>, the name of a folder beside this file");
    RawAttempt attempt = attempt_of(from.folder, id, about);
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

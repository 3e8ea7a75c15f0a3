#include "course/submit/pack.h"

#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/files.h"
#include "base/hash.h"
#include "base/process.h"
#include "base/untrusted.h"
#include "judge/compile/manifest.h"

namespace warpgrade {
namespace fs = std::filesystem;
using nlohmann::json;

namespace {

constexpr const char* kManifest = "manifest.json";

json manifest(const Submission& submission, const std::vector<SubmittedFile>& sources,
              const std::string& lab) {
  json files = json::array();
  for (const SubmittedFile& file : sources)
    files.push_back(
        {{"path", file.name.string()}, {"bytes", file.text.size()}, {"sha256", sha256(file.text)}});
  return {{"schema", "warpgrade.archive.v1"},  {"lab", lab},
          {"interface", submission.interface}, {"hash", submission.hash},
          {"flags", submission.flags},         {"files", files}};
}

std::vector<fs::path> files_left_out(const Submission& submission) {
  std::vector<fs::path> left_out;
  for (const UntrustedEntry& entry : UntrustedFolder(submission.directory).list().entries) {
    if (entry.kind == UntrustedEntry::Kind::kFolder || entry.name == "submission.yaml") continue;
    if (!std::binary_search(submission.taken.begin(), submission.taken.end(), entry.name))
      left_out.push_back(entry.name);
  }
  std::sort(left_out.begin(), left_out.end());
  return left_out;
}

// tar with everything removed that is not content: owners, times, the file system's order.
void make_archive(const fs::path& folder, const std::string& lab, const fs::path& archive) {
  ProcessOptions options;
  options.command = {"tar",       "--create",       "--gzip",          "--format=ustar", "--sort=name",
                     "--owner=0", "--group=0",      "--numeric-owner", "--mtime=@0",     "--mode=u=rwX,go=rX",
                     "--file",    archive.string(), "--directory",     folder.string(),  lab};
  // gzip writes no name and no time when it reads a pipe, as tar makes it do.
  const ProcessResult result = run_process(options);
  if (!result.ok())
    throw UsageError("cannot write {}: {} ({})", archive.string(), result.standard_error, result.describe());
}

}  // namespace

PackedSubmission pack_submission(const Submission& submission, const std::string& lab,
                                 const fs::path& archive) {
  if (submission.problem) throw UsageError("{}: {}", submission.directory.string(), *submission.problem);
  const auto read = read_files(submission);
  if (const auto* why = std::get_if<std::string>(&read))
    throw UsageError("{}: {}", submission.directory.string(), *why);
  const auto& sources = std::get<std::vector<SubmittedFile>>(read);
  const TemporaryDirectory scratch("warpgrade-pack");
  const fs::path root = scratch.path() / lab;
  for (const SubmittedFile& file : sources) {
    make_directories((root / file.name).parent_path());
    write_scratch(root / file.name, file.text);
  }
  const UntrustedFile settings =
      UntrustedFolder(submission.directory).read("submission.yaml", kMostManifestBytes);
  if (settings.ok()) write_scratch(root / "submission.yaml", settings.bytes);
  write_text(root / kManifest, manifest(submission, sources, lab).dump(1) + "\n");

  const fs::path folder = archive.has_parent_path() ? archive.parent_path() : fs::path(".");
  make_directories(folder);
  const fs::path unfinished = folder / fmt::format(".{}.{}", archive.filename().string(), getpid());
  make_archive(scratch.path(), lab, unfinished);
  fs::rename(unfinished, archive);
  return {archive, submission.hash, submission.files, files_left_out(submission), fs::file_size(archive)};
}

}  // namespace warpgrade

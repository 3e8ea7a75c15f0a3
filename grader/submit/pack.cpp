#include "submit/pack.h"

#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/files.h"
#include "base/hash.h"
#include "base/process.h"

namespace warpgrade {
namespace fs = std::filesystem;
using nlohmann::json;

namespace {

constexpr const char* kManifest = "manifest.json";

json manifest(const Submission& submission, const std::string& lab) {
  json files = json::array();
  for (const fs::path& file : submission.files) {
    const std::string text = read_text(submission.directory / file);
    files.push_back({{"path", file.string()}, {"bytes", text.size()}, {"sha256", sha256(text)}});
  }
  return {{"schema", "warpgrade.archive.v1"},  {"lab", lab},
          {"interface", submission.interface}, {"hash", submission.hash},
          {"flags", submission.flags},         {"files", files}};
}

std::vector<fs::path> files_left_out(const Submission& submission) {
  std::vector<fs::path> left_out;
  for (auto it = fs::recursive_directory_iterator(submission.directory);
       it != fs::recursive_directory_iterator(); ++it) {
    const fs::path relative = it->path().lexically_relative(submission.directory);
    if (it->is_directory() || relative == "submission.yaml") continue;
    if (!std::binary_search(submission.files.begin(), submission.files.end(), relative))
      left_out.push_back(relative);
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
  const TemporaryDirectory scratch("warpgrade-pack");
  const fs::path root = scratch.path() / lab;
  for (const fs::path& file : submission.files) {
    make_directories((root / file).parent_path());
    fs::copy_file(submission.directory / file, root / file);
  }
  const fs::path settings = submission.directory / "submission.yaml";
  if (fs::exists(settings)) fs::copy_file(settings, root / "submission.yaml");
  write_text(root / kManifest, manifest(submission, lab).dump(1) + "\n");

  const fs::path folder = archive.has_parent_path() ? archive.parent_path() : fs::path(".");
  make_directories(folder);
  const fs::path unfinished = folder / fmt::format(".{}.{}", archive.filename().string(), getpid());
  make_archive(scratch.path(), lab, unfinished);
  fs::rename(unfinished, archive);
  return {archive, submission.hash, submission.files, files_left_out(submission), fs::file_size(archive)};
}

}  // namespace warpgrade

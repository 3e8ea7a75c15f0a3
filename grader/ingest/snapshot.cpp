#include "ingest/snapshot.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>

#include "base/error.h"
#include "base/files.h"
#include "base/hash.h"
#include "compile/submission.h"
#include "ingest/entry_name.h"

namespace warpgrade {
namespace fs = std::filesystem;

namespace {

bool is_left_out(const std::string& name) {
  return name.starts_with(".") || name == "__MACOSX" || name == "Thumbs.db" || name == "desktop.ini";
}

// A folder for the work on one attempt; removed with the object unless it was moved away.
class Staging {
 public:
  explicit Staging(const fs::path& snapshots) {
    static std::atomic<unsigned> counter{0};
    path_ = snapshots / fmt::format(".staged-{}-{}", getpid(), counter++);
    make_directories(path_);
  }
  ~Staging() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

// Copies the plain files of a folder within the limits; a link or device refuses it.
class FolderCopy {
 public:
  FolderCopy(fs::path to, const UnpackLimits& limits) : to_(std::move(to)), limits_(limits) {}

  std::optional<Refusal> folder(const fs::path& from) {
    for (auto it = fs::recursive_directory_iterator(from); it != fs::recursive_directory_iterator(); ++it) {
      const fs::path relative = it->path().lexically_relative(from);
      if (is_left_out(relative.filename().string())) {
        if (it->is_directory() && !it->is_symlink()) it.disable_recursion_pending();
        continue;
      }
      if (it->is_symlink())
        return Refusal{"link", relative.string() + ": a symbolic link", "hand in the file itself",
                       relative.string()};
      if (it->is_directory()) continue;
      if (!it->is_regular_file())
        return Refusal{"device", relative.string() + ": a device, pipe or socket", "hand in plain files only",
                       relative.string()};
      if (auto refusal = file(it->path(), relative)) return refusal;
    }
    return std::nullopt;
  }

  std::optional<Refusal> file(const fs::path& from, const fs::path& relative) {
    bytes_ += fs::file_size(from);
    if (++files_ > limits_.files)
      return Refusal{"too_many_files", fmt::format("more than {} files", limits_.files),
                     "hand in the sources only", ""};
    if (bytes_ > limits_.bytes)
      return Refusal{"too_large", fmt::format("more than {} MiB", limits_.bytes >> 20),
                     "hand in the sources only, without data and binaries", ""};
    make_directories((to_ / relative).parent_path());
    std::error_code error;
    fs::copy_file(from, to_ / relative, fs::copy_options::overwrite_existing, error);
    if (error) throw UsageError("cannot copy {}: {}", from.string(), error.message());
    return std::nullopt;
  }

 private:
  fs::path to_;
  UnpackLimits limits_;
  std::size_t files_ = 0;
  std::uint64_t bytes_ = 0;
};

std::vector<fs::path> visible_entries(const fs::path& folder) {
  std::vector<fs::path> entries;
  for (const auto& entry : fs::directory_iterator(folder))
    if (!is_left_out(entry.path().filename().string())) entries.push_back(entry.path());
  return entries;
}

// The archive that is all a student's folder holds, as courseware packs a class.
std::optional<fs::path> only_archive(const fs::path& folder) {
  const std::vector<fs::path> entries = visible_entries(folder);
  if (entries.size() != 1 || fs::is_symlink(entries[0]) || !fs::is_regular_file(entries[0]))
    return std::nullopt;
  if (!looks_like_archive(entries[0]) && !looks_like_foreign_archive(entries[0])) return std::nullopt;
  return entries[0];
}

std::optional<Refusal> gather(const RawAttempt& attempt, const fs::path& to, const UnpackLimits& limits) {
  FolderCopy copy(to, limits);
  std::vector<RawFile> files = attempt.files;
  if (!attempt.folder.empty()) {
    if (!fs::is_directory(attempt.folder))
      return Refusal{"damaged", attempt.origin + " is not in the export", "export the submissions again", ""};
    const std::optional<fs::path> archive = only_archive(attempt.folder);
    if (!archive) return copy.folder(attempt.folder);
    files = {{*archive, archive->filename().string()}};
  }
  for (const RawFile& file : files) {
    if (files.size() == 1 && looks_like_foreign_archive(file.name))
      return refuse_entry("unread_archive", file.name, "an archive of a kind that is not read",
                          "hand in a .zip or .tar.gz");
    if (looks_like_archive(file.name)) {
      if (auto refusal = unpack(file.path, to, limits)) return refusal;
      continue;
    }
    const EntryName name = safe_entry_name(file.name);
    if (name.refusal) return name.refusal;
    if (auto refusal = copy.file(file.path, name.path)) return refusal;
  }
  return std::nullopt;
}

// Where the files really begin: below a folder that is all there is.
fs::path without_wrapping(fs::path folder) {
  for (;;) {
    const std::vector<fs::path> entries = visible_entries(folder);
    if (entries.size() != 1 || !fs::is_directory(entries[0])) return folder;
    folder = entries[0];
  }
}

std::vector<fs::path> files_below(const fs::path& folder) {
  std::vector<fs::path> files;
  for (auto it = fs::recursive_directory_iterator(folder); it != fs::recursive_directory_iterator(); ++it) {
    if (is_left_out(it->path().filename().string())) {
      if (it->is_directory()) it.disable_recursion_pending();
    } else if (it->is_regular_file()) {
      files.push_back(it->path().lexically_relative(folder));
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

void make_read_only(const fs::path& folder) {
  using fs::perms;
  const perms read = perms::owner_read | perms::group_read | perms::others_read;
  const perms enter = perms::owner_exec | perms::group_exec | perms::others_exec;
  for (const auto& entry : fs::recursive_directory_iterator(folder))
    fs::permissions(entry.path(), entry.is_directory() ? read | enter : read);
  fs::permissions(folder, read | enter);
}

}  // namespace

std::string snapshot_hash(const fs::path& folder) {
  Sha256 hash;
  for (const fs::path& file : files_below(folder)) hash.part(file.string()).part(read_text(folder / file));
  return hash.hex().substr(0, 32);
}

void remove_staged(const fs::path& snapshots) {
  std::error_code none;
  std::vector<fs::path> left;
  for (const auto& entry : fs::directory_iterator(snapshots, none))
    if (entry.path().filename().string().starts_with(".staged-")) left.push_back(entry.path());
  for (const fs::path& folder : left) fs::remove_all(folder, none);
}

std::variant<Snapshot, Refusal> take_snapshot(const RawAttempt& attempt, const fs::path& snapshots,
                                              const UnpackLimits& limits) {
  make_directories(snapshots);
  const Staging raw(snapshots), kept(snapshots);
  if (auto refusal = gather(attempt, raw.path(), limits)) return *refusal;
  const fs::path root = without_wrapping(raw.path());
  const std::vector<fs::path> files = files_below(root);
  if (files.size() == 1 && looks_like_archive(files[0])) {
    return Refusal{"nested_archive", files[0].string() + ": an archive within the archive",
                   "pack the sources themselves", files[0].string()};
  }
  Snapshot snapshot;
  snapshot.files = files.size();
  for (const fs::path& file : files) {
    make_directories((kept.path() / file).parent_path());
    fs::rename(root / file, kept.path() / file);
    snapshot.bytes += fs::file_size(kept.path() / file);
  }
  snapshot.hash = snapshot_hash(kept.path());
  snapshot.folder = snapshots / snapshot.hash;
  if (fs::exists(snapshot.folder)) return snapshot;
  fs::rename(kept.path(), snapshot.folder);
  make_read_only(snapshot.folder);
  return snapshot;
}

}  // namespace warpgrade

#include "course/ingest/snapshot.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <memory>

#include "base/error.h"
#include "base/files.h"
#include "base/hash.h"
#include "base/text.h"
#include "base/untrusted.h"
#include "course/ingest/entry_name.h"
#include "judge/compile/hand_in_name.h"
#include "judge/compile/source_name.h"
#include "judge/compile/tidied_sources.h"

namespace warpgrade {
namespace fs = std::filesystem;

namespace {

constexpr std::uint64_t kMostSnapshotBytes = std::uint64_t{4}
                                             << 30;  // of a file; take_snapshot() allowed fewer

constexpr std::size_t kMostNested = 3;  // archives within the one that was handed in

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

// Why an entry of a folder is not taken, nothing for a plain file or a folder.
std::optional<Refusal> refuse_kind(const UntrustedEntry& entry) {
  const std::string name = entry.name.string();
  switch (entry.kind) {
    case UntrustedEntry::Kind::kFile:
    case UntrustedEntry::Kind::kFolder:
      return std::nullopt;
    case UntrustedEntry::Kind::kLink:
      return refuse_entry("link", name, "a symbolic link", "hand in the file itself");
    case UntrustedEntry::Kind::kOther:
      return refuse_entry("device", name, "a device, pipe or socket", "hand in plain files only");
    case UntrustedEntry::Kind::kUnreadable:
      break;
  }
  return refuse_entry("damaged", name, "cannot be read", "give everybody the right to read it");
}

Refusal foreign_archive(const std::string& name) {
  return refuse_entry("unread_archive", name, "an archive of a kind that is not read",
                      "hand in a .zip or .tar.gz");
}

// Copies plain files within the limits, by untrusted.h's rules.
class FolderCopy {
 public:
  FolderCopy(fs::path to, const UnpackLimits& limits) : to_(std::move(to)), limits_(limits) {}

  std::optional<Refusal> folder(const UntrustedFolder& from) {
    // Left-out files count for the walk: a folder of a million of them is not walked to its end.
    const UntrustedListing listing = from.list({20 * limits_.files, kDeepestFolder},
                                               [](const std::string& name) { return is_left_out(name); });
    for (const UntrustedEntry& entry : listing.entries) {
      if (is_left_out(entry.name.filename().string())) continue;
      if (auto refusal = refuse_kind(entry)) return refusal;
      if (++entries_ > limits_.files) return too_many();
      const EntryName name = safe_entry_name(entry.name.string());
      if (name.refusal) return name.refusal;
      if (entry.kind == UntrustedEntry::Kind::kFolder) continue;
      if (auto refusal = file(from, entry.name, name.path)) return refusal;
    }
    if (listing.too_many) return too_many();
    if (listing.too_deep)
      return Refusal{"bad_name", fmt::format("folders more than {} levels deep", kDeepestFolder),
                     "hand in the sources only", ""};
    return std::nullopt;
  }

  std::optional<Refusal> loose_file(const fs::path& from, const fs::path& relative) {
    if (++entries_ > limits_.files) return too_many();
    return file(UntrustedFolder(from.parent_path()), from.filename(), relative);
  }

 private:
  std::optional<Refusal> file(const UntrustedFolder& from, const fs::path& name, const fs::path& relative) {
    const std::uint64_t left = limits_.bytes - bytes_;
    const UntrustedFile read = from.read(name, left);
    if (read.state == UntrustedState::kTooLarge)
      return Refusal{"too_large", fmt::format("more than {} MiB", limits_.bytes >> 20),
                     "hand in the sources only, without data and binaries", ""};
    if (!read.ok()) {
      const bool link = read.state == UntrustedState::kLink;
      return refuse_entry(link ? "link" : "damaged", relative.string(), "was changed while it was taken in",
                          "hand in plain files that stay as they are");
    }
    bytes_ += read.bytes.size();
    make_directories((to_ / relative).parent_path());
    if (fs::exists(fs::symlink_status(to_ / relative)))
      return refuse_entry("duplicate_entry", relative.string(), "occurs twice", "hand in each file once");
    write_scratch(to_ / relative, read.bytes);
    return std::nullopt;
  }

  Refusal too_many() const {
    return {"too_many_files", fmt::format("more than {} files and folders", limits_.files),
            "hand in the sources only", ""};
  }

  static constexpr std::size_t kDeepestFolder = 32;
  fs::path to_;
  UnpackLimits limits_;
  std::size_t entries_ = 0;
  std::uint64_t bytes_ = 0;
};

std::vector<fs::path> visible_entries(const fs::path& folder) {
  std::vector<fs::path> entries;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(folder, none))
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
    const auto folder = UntrustedFolder::try_open(attempt.folder);
    if (!folder)
      return refuse_entry("damaged", attempt.origin, "a link, or a folder that cannot be read",
                          "hand in a folder that everybody may read");
    const std::optional<fs::path> archive = only_archive(attempt.folder);
    if (!archive) return copy.folder(*folder);
    files = {{*archive, archive->filename().string()}};
  }
  for (const RawFile& file : files) {
    if (files.size() == 1 && looks_like_foreign_archive(file.name)) return foreign_archive(file.name);
    if (looks_like_archive(file.name)) {
      if (auto refusal = unpack(file.path, to, limits)) return refusal;
      continue;
    }
    const EntryName name = safe_entry_name(file.name);
    if (name.refusal) return name.refusal;
    if (auto refusal = copy.loose_file(file.path, name.path)) return refusal;
  }
  return std::nullopt;
}

// Sources and headers will be named in #include lines and messages (judge/compile/source_name.h), after their
// names were tidied; of other files the names do not matter.
std::optional<Refusal> refuse_names(const std::vector<fs::path>& files) {
  for (const fs::path& file : files) {
    const fs::path name = hand_in_name(file).name;
    if (!is_source(name) && !is_header(name)) continue;
    if (std::any_of(file.begin(), file.end(),
                    [](const fs::path& part) { return is_folder_of_others(part.string()); }))
      continue;
    if (const auto bad = source_name_problem(name))
      return refuse_entry("bad_name", file.string(), bad->what, bad->next_step.c_str());
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

// Of a folder that was unpacked or copied here, within the limits of that.
std::vector<fs::path> files_below(const fs::path& folder) {
  constexpr ListingLimits kAll{~std::size_t{0}, 64};
  std::vector<fs::path> files;
  for (const UntrustedEntry& entry : UntrustedFolder(folder).list(kAll, is_left_out).entries) {
    if (entry.kind == UntrustedEntry::Kind::kFile && !is_left_out(entry.name.filename().string()))
      files.push_back(entry.name);
  }
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
  const UntrustedFolder from(folder);
  Sha256 hash;
  for (const fs::path& name : files_below(folder)) {
    const UntrustedFile file = from.read(name, kMostSnapshotBytes);
    hash.part(name.string()).part(file.ok() ? file.bytes : "not as it was taken in");
  }
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
  fs::path root = without_wrapping(raw.path());
  std::vector<fs::path> files = files_below(root);
  Snapshot snapshot;
  // What courseware or a hasty student packed once more: each archive that is alone in the one before it.
  std::vector<std::unique_ptr<Staging>> inner;
  while (files.size() == 1 && (looks_like_archive(files[0]) || looks_like_foreign_archive(files[0]))) {
    if (looks_like_foreign_archive(files[0])) return foreign_archive(files[0].string());
    if (inner.size() == kMostNested)
      return refuse_entry("nested_archive", files[0].string(), "an archive within archives, too often",
                          "pack the sources themselves");
    snapshot.notes.push_back(
        fmt::format("The archive {} within your hand-in was unpacked.", plain_line(files[0].string())));
    inner.push_back(std::make_unique<Staging>(snapshots));
    if (auto refusal = unpack(root / files[0], inner.back()->path(), limits)) return *refusal;
    root = without_wrapping(inner.back()->path());
    files = files_below(root);
  }
  const auto is_packed = [](const fs::path& file) {
    return looks_like_archive(file) || looks_like_foreign_archive(file);
  };
  if (!files.empty() && std::all_of(files.begin(), files.end(), is_packed))
    return refuse_entry(
        "nested_archive", files[0].string(),
        fmt::format("this archive holds {} archives: it is not known which one counts", files.size()),
        "hand in one archive, with the sources themselves");
  if (auto refusal = refuse_names(files)) return *refusal;
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

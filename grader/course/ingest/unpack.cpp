#include "course/ingest/unpack.h"

#include <archive.h>
#include <archive_entry.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <set>

#include "base/error.h"
#include "base/files.h"
#include "base/text.h"
#include "base/untrusted.h"
#include "base/utf8_locale.h"
#include "course/ingest/entry_name.h"

namespace warpgrade {
namespace fs = std::filesystem;

namespace {

constexpr std::uint64_t kMostPacked = std::uint64_t{1} << 40;
constexpr std::uint64_t kFreeOfRatio = 1 << 20;  // small files compress by any ratio

struct ReadArchive {
  Utf8Locale utf8;  // for names
  archive* handle = archive_read_new();
  ~ReadArchive() { archive_read_free(handle); }
};

// What is wrong with the kind of the entry; nothing for a plain file or a folder.
std::optional<Refusal> wrong_kind(archive_entry* entry, const std::string& name) {
  if (archive_entry_hardlink(entry) != nullptr || archive_entry_filetype(entry) == AE_IFLNK) {
    const char* target = archive_entry_hardlink(entry) != nullptr ? archive_entry_hardlink(entry)
                                                                  : archive_entry_symlink(entry);
    return refuse_entry("link", name,
                        fmt::format("a link to {}", plain_line(target != nullptr ? target : "?")),
                        "pack the file itself instead of a link to it");
  }
  if (archive_entry_is_encrypted(entry) != 0)
    return refuse_entry("encrypted", name, "encrypted", "pack it again without a password");
  const auto type = archive_entry_filetype(entry);
  if (type == AE_IFREG || type == AE_IFDIR || type == 0) return std::nullopt;
  return refuse_entry("device", name, "a device, pipe or socket", "pack plain files and folders only");
}

class Unpacking {
 public:
  Unpacking(std::uint64_t packed_bytes, const fs::path& folder, const UnpackLimits& limits)
      : folder_(folder), limits_(limits), packed_bytes_(packed_bytes) {}

  std::optional<Refusal> add(archive* from, archive_entry* entry, const std::string& name) {
    if (++count_ > limits_.files) {
      fatal_ = true;
      return Refusal{"too_many_files", fmt::format("more than {} files and folders", limits_.files),
                     "pack the sources only, without build folders", ""};
    }
    if (auto refusal = wrong_kind(entry, name)) return refusal;
    const EntryName safe = safe_entry_name(name);
    if (safe.refusal) return safe.refusal;
    if (safe.path.empty()) return std::nullopt;  // "./"
    if (archive_entry_filetype(entry) == AE_IFDIR) return add_folder(safe.path, name);
    if (!seen_.insert(safe.path).second)
      return refuse_entry("duplicate_entry", name, "occurs twice in the archive",
                          "pack it again into a new archive");
    if (auto refusal = add_folder(safe.path.parent_path(), name)) return refusal;
    return write(from, folder_ / safe.path, name);
  }

  bool fatal() const { return fatal_; }

 private:
  std::optional<Refusal> add_folder(const fs::path& path, const std::string& name) {
    if (path.empty()) return std::nullopt;
    std::error_code error;
    fs::create_directories(folder_ / path, error);
    if (!error && fs::is_directory(folder_ / path)) return std::nullopt;
    if (error && error != std::errc::not_a_directory && error != std::errc::file_exists)
      throw UsageError("cannot make the folder {}: {}", (folder_ / path).string(), error.message());
    return refuse_entry("duplicate_entry", name, "a file and a folder of one name",
                        "pack it again into a new archive");
  }

  std::optional<Refusal> write(archive* from, const fs::path& path, const std::string& name) {
    const FileDescriptor out(open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644));
    if (!out && errno == EEXIST)
      return refuse_entry("duplicate_entry", name, "a file and a folder of one name",
                          "pack it again into a new archive");
    if (!out) throw UsageError("cannot write {}: {}", path.string(), std::strerror(errno));
    std::array<char, 65536> chunk;
    for (;;) {
      const la_ssize_t n = archive_read_data(from, chunk.data(), chunk.size());
      if (n == 0) return std::nullopt;
      if (n < 0) {
        fatal_ = true;
        const char* why = archive_error_string(from);
        return refuse_entry("damaged", name,
                            fmt::format("cannot be unpacked: {}", why != nullptr ? why : "damaged data"),
                            "pack it again; try the archive on another machine before handing it in");
      }
      bytes_ += static_cast<std::uint64_t>(n);
      if (auto refusal = too_much(name)) return refusal;
      if (::write(out.get(), chunk.data(), static_cast<std::size_t>(n)) != n)
        throw UsageError("cannot write {}: {}; free some space and run the same command again", path.string(),
                         std::strerror(errno));
    }
  }

  std::optional<Refusal> too_much(const std::string& name) {
    if (bytes_ > limits_.bytes) {
      fatal_ = true;
      return refuse_entry("too_large", name,
                          fmt::format("the archive unpacks to more than {} MiB", limits_.bytes >> 20),
                          "pack the sources only, without data and binaries");
    }
    if (bytes_ > kFreeOfRatio &&
        static_cast<double>(bytes_) > limits_.ratio * static_cast<double>(packed_bytes_)) {
      fatal_ = true;
      return refuse_entry(
          "compression_ratio", name,
          fmt::format("the archive unpacks to more than {:.0f} times its size", limits_.ratio),
          "pack the sources only");
    }
    return std::nullopt;
  }

  fs::path folder_;
  UnpackLimits limits_;
  std::uint64_t packed_bytes_, bytes_ = 0;
  std::size_t count_ = 0;
  std::set<fs::path> seen_;
  bool fatal_ = false;
};

std::string entry_name(archive_entry* entry) {
  if (const char* name = archive_entry_pathname(entry)) return name;
  if (const char* name = archive_entry_pathname_utf8(entry)) return name;
  return "";
}

}  // namespace

bool can_unpack() {
  return true;
}

std::optional<Refusal> unpack(const fs::path& file, const fs::path& folder, const UnpackLimits& limits,
                              const std::function<void(const Refusal&)>& on_entry) {
  const ReadArchive from;
  archive_read_support_format_zip(from.handle);
  archive_read_support_format_tar(from.handle);
  archive_read_support_filter_gzip(from.handle);
  archive_read_support_filter_bzip2(from.handle);
  archive_read_support_filter_xz(from.handle);
  archive_read_support_filter_zstd(from.handle);
  const UntrustedFolder::Opened opened =
      UntrustedFolder(file.has_parent_path() ? file.parent_path() : fs::path("."))
          .open(file.filename(), kMostPacked);
  if (opened.state == UntrustedState::kMissing || opened.state == UntrustedState::kUnreadable)
    throw UsageError("cannot read {}", file.string());
  if (opened.state != UntrustedState::kRead)
    return Refusal{opened.state == UntrustedState::kLink ? "link" : "device",
                   describe(opened.state, file.filename(), kMostPacked), "hand in the archive itself", ""};
  const auto damaged = [&](const char* reason, const std::string& what) {
    const char* why = archive_error_string(from.handle);
    return Refusal{reason, fmt::format("{}: {}", what, why != nullptr ? why : "no data"),
                   "hand in a .zip or .tar.gz that another machine can open", ""};
  };
  if (archive_read_open_fd(from.handle, opened.file.get(), 65536) != ARCHIVE_OK)
    return damaged("not_an_archive", "neither a zip nor a tar archive");
  Unpacking unpacking(opened.bytes, folder, limits);
  std::size_t entries = 0;
  for (archive_entry* entry = nullptr;; ++entries) {
    const int status = archive_read_next_header(from.handle, &entry);
    if (status == ARCHIVE_EOF) break;
    // RETRY is a damaged header: the next call would look for another one behind it and leave files out.
    if (status == ARCHIVE_RETRY || status < ARCHIVE_WARN)
      return entries == 0 ? damaged("not_an_archive", "neither a zip nor a tar archive")
                          : damaged("damaged", "the archive is damaged or ends in the middle");
    if (auto refusal = unpacking.add(from.handle, entry, entry_name(entry))) {
      if (unpacking.fatal() || !on_entry) return refusal;
      on_entry(*refusal);
    }
  }
  if (entries == 0) return damaged("not_an_archive", "the archive is empty");
  return std::nullopt;
}

}  // namespace warpgrade

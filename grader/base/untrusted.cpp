#include "base/untrusted.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <memory>

#include "base/error.h"
#include "base/text.h"

namespace warpgrade {
namespace fs = std::filesystem;

namespace {

std::atomic<bool> part_by_part{false};

// Relative, without "..", not empty: what may be looked up below a folder at all.
bool is_below(const fs::path& name) {
  if (name.empty() || name.is_absolute() || name.native().find('\0') != std::string::npos) return false;
  return std::none_of(name.begin(), name.end(), [](const fs::path& part) { return part == ".."; });
}

FileDescriptor open_retrying(int folder, const char* name, int flags) {
  for (;;) {
    const int fd = openat(folder, name, flags);
    if (fd >= 0 || errno != EINTR) return FileDescriptor(fd);
  }
}

// One folder after the other; no part may be a link. errno is ELOOP where one is.
FileDescriptor open_part_by_part(int folder, const fs::path& name, int flags) {
  std::vector<std::string> parts;
  for (const fs::path& part : name) {
    if (!part.empty() && part != ".") parts.push_back(part.string());
  }
  if (parts.empty()) parts.emplace_back(".");
  FileDescriptor held;
  int at = folder;
  for (std::size_t i = 0; i + 1 < parts.size(); ++i) {
    FileDescriptor next = open_retrying(at, parts[i].c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC);
    if (!next) return next;
    struct stat status = {};
    if (fstat(next.get(), &status) != 0) return FileDescriptor();
    if (!S_ISDIR(status.st_mode)) {
      errno = S_ISLNK(status.st_mode) ? ELOOP : ENOTDIR;
      return FileDescriptor();
    }
    held = std::move(next);
    at = held.get();
  }
  return open_retrying(at, parts.back().c_str(), flags | O_NOFOLLOW);
}

// Opens `name` below the folder without following any link. errno tells why not.
FileDescriptor open_below(int folder, const fs::path& name, int flags) {
  flags |= O_CLOEXEC;
  if ((flags & O_PATH) == 0) flags |= O_NOCTTY;  // openat2 refuses flags that mean nothing
  open_how how = {};
  how.flags = static_cast<unsigned>(flags | O_NOFOLLOW);
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
  // EAGAIN: something was renamed meanwhile; whoever does so for ever is resolved part by part.
  for (int attempt = 0; !part_by_part && attempt < 16; ++attempt) {
    const long fd = syscall(__NR_openat2, folder, name.c_str(), &how, sizeof how);
    if (fd >= 0) return FileDescriptor(static_cast<int>(fd));
    if (errno == EINTR || errno == EAGAIN) continue;
    // Older kernels do not know the call; some containers' filters refuse it with EPERM.
    if (errno != ENOSYS && errno != EPERM) return FileDescriptor();
    break;
  }
  return open_part_by_part(folder, name, flags);
}

UntrustedState state_of_error(int error) {
  if (error == ELOOP) return UntrustedState::kLink;
  if (error == ENOENT || error == ENOTDIR || error == ENAMETOOLONG) return UntrustedState::kMissing;
  if (error == ENXIO || error == ENODEV || error == EISDIR) return UntrustedState::kNotRegular;
  return UntrustedState::kUnreadable;
}

UntrustedState state_of(const struct stat& status, std::uint64_t most_bytes) {
  if (S_ISLNK(status.st_mode)) return UntrustedState::kLink;
  if (!S_ISREG(status.st_mode)) return UntrustedState::kNotRegular;
  return static_cast<std::uint64_t>(status.st_size) > most_bytes ? UntrustedState::kTooLarge
                                                                 : UntrustedState::kRead;
}

// Reads to the end, whatever the size was said to be; false when that is beyond the bound or fails.
bool read_all(int fd, std::uint64_t most_bytes, std::string& bytes, UntrustedState& state) {
  std::array<char, 65536> chunk;
  for (;;) {
    const ssize_t n = read(fd, chunk.data(), chunk.size());
    if (n == 0) return true;
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) {
      state = UntrustedState::kUnreadable;
      return false;
    }
    if (bytes.size() + static_cast<std::size_t>(n) > most_bytes) {
      state = UntrustedState::kTooLarge;
      return false;
    }
    bytes.append(chunk.data(), static_cast<std::size_t>(n));
  }
}

struct CloseDirectory {
  void operator()(DIR* directory) const { closedir(directory); }
};

// Walks a tree by descriptors, so that neither its depth nor a renamed folder leads elsewhere.
class Walk {
 public:
  Walk(const ListingLimits& limits, const std::function<bool(const std::string&)>& skip)
      : limits_(limits), skip_(skip) {}

  // Takes the descriptor over. False: a limit is reached, and the walk ends.
  bool folder(FileDescriptor fd, const fs::path& name, std::size_t depth) {
    const std::unique_ptr<DIR, CloseDirectory> directory(fdopendir(fd.get()));
    if (directory == nullptr) {
      listing.entries.push_back({name, UntrustedEntry::Kind::kUnreadable, 0});
      return true;
    }
    const int here = fd.release();
    for (;;) {
      const dirent* found = readdir(directory.get());
      if (found == nullptr) return true;
      const std::string last = found->d_name;
      if (last == "." || last == "..") continue;
      if (++seen_ > limits_.entries) {
        listing.too_many = true;
        return false;
      }
      if (!entry(here, last, name / last, depth)) return false;
    }
  }

  UntrustedListing listing;

 private:
  bool entry(int folder_fd, const std::string& last, const fs::path& name, std::size_t depth) {
    using Kind = UntrustedEntry::Kind;
    struct stat status = {};
    if (fstatat(folder_fd, last.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) {
      // Gone meanwhile is no entry.
      if (errno != ENOENT) listing.entries.push_back({name, Kind::kUnreadable, 0});
      return true;
    }
    UntrustedEntry found{name, Kind::kOther, 0};
    if (S_ISREG(status.st_mode)) found.kind = Kind::kFile;
    if (S_ISREG(status.st_mode)) found.bytes = static_cast<std::uint64_t>(status.st_size);
    if (S_ISLNK(status.st_mode)) found.kind = Kind::kLink;
    if (S_ISDIR(status.st_mode)) found.kind = Kind::kFolder;
    listing.entries.push_back(found);
    if (found.kind != Kind::kFolder || (skip_ && skip_(last))) return true;
    if (depth + 1 > limits_.depth) {
      listing.too_deep = true;
      return false;
    }
    FileDescriptor below = open_below(folder_fd, last, O_RDONLY | O_DIRECTORY | O_NONBLOCK);
    if (below) return folder(std::move(below), name, depth + 1);
    listing.entries.back().kind = errno == ELOOP || errno == ENOTDIR ? Kind::kLink : Kind::kUnreadable;
    return true;
  }

  const ListingLimits& limits_;
  const std::function<bool(const std::string&)>& skip_;
  std::size_t seen_ = 0;
};

}  // namespace

void resolve_part_by_part_for_test(bool on) {
  part_by_part = on;
}

std::string describe(UntrustedState state, const fs::path& name, std::uint64_t most_bytes) {
  const std::string file = plain_line(name.string());
  switch (state) {
    case UntrustedState::kRead:
      return file;
    case UntrustedState::kMissing:
      return file + " is not there";
    case UntrustedState::kLink:
      return file + " is a symbolic link; hand in the file itself";
    case UntrustedState::kNotRegular:
      return file + " is not a plain file but a folder, pipe, socket or device; hand in plain files only";
    case UntrustedState::kTooLarge:
      return most_bytes >= 1 << 20 ? fmt::format("{} is larger than {} MiB", file, most_bytes >> 20)
                                   : fmt::format("{} is larger than {} KiB", file, most_bytes >> 10);
    case UntrustedState::kUnreadable:
      return file + " cannot be read; give everybody the right to read it";
  }
  return file;
}

UntrustedFolder::UntrustedFolder(const fs::path& path)
    : folder_(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
  if (!folder_) throw UsageError("cannot read the folder {}: {}", path.string(), std::strerror(errno));
}

std::optional<UntrustedFolder> UntrustedFolder::try_open(const fs::path& path) {
  FileDescriptor found(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!found) return std::nullopt;
  return UntrustedFolder(std::move(found));
}

std::optional<UntrustedFolder> UntrustedFolder::folder(const fs::path& name) const {
  if (!is_below(name)) return std::nullopt;
  FileDescriptor found = open_below(folder_.get(), name, O_RDONLY | O_DIRECTORY | O_NONBLOCK);
  if (!found) return std::nullopt;
  return UntrustedFolder(std::move(found));
}

UntrustedFolder::Opened UntrustedFolder::open(const fs::path& name, std::uint64_t most_bytes) const {
  Opened result;
  if (!is_below(name)) return result;
  struct stat status = {};
  // Looked at before it is opened: opening a device may already do something.
  const FileDescriptor place = open_below(folder_.get(), name, O_PATH);
  if (!place || fstat(place.get(), &status) != 0) {
    result.state = state_of_error(errno);
    return result;
  }
  result.state = state_of(status, most_bytes);
  if (result.state != UntrustedState::kRead) return result;
  // O_NONBLOCK: should it have become a FIFO meanwhile, this returns at once.
  result.file = open_below(folder_.get(), name, O_RDONLY | O_NONBLOCK);
  if (!result.file || fstat(result.file.get(), &status) != 0) {
    result.state = state_of_error(errno);
    return result;
  }
  result.state = state_of(status, most_bytes);
  result.bytes = static_cast<std::uint64_t>(status.st_size);
  if (result.state != UntrustedState::kRead) result.file.reset();
  return result;
}

UntrustedFile UntrustedFolder::read(const fs::path& name, std::uint64_t most_bytes) const {
  const Opened opened = open(name, most_bytes);
  UntrustedFile result{opened.state, {}};
  if (!result.ok()) return result;
  result.bytes.reserve(opened.bytes);
  if (!read_all(opened.file.get(), most_bytes, result.bytes, result.state)) result.bytes.clear();
  return result;
}

UntrustedListing UntrustedFolder::list(const ListingLimits& limits,
                                       const std::function<bool(const std::string&)>& skip) const {
  Walk walk(limits, skip);
  FileDescriptor here = open_below(folder_.get(), ".", O_RDONLY | O_DIRECTORY);
  if (here) walk.folder(std::move(here), {}, 0);
  std::sort(walk.listing.entries.begin(), walk.listing.entries.end(),
            [](const UntrustedEntry& a, const UntrustedEntry& b) { return a.name < b.name; });
  return std::move(walk.listing);
}

}  // namespace warpgrade

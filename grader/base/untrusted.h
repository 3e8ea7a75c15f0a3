// The only way in which the trusted side opens what came from a submission, an archive or a sandbox.
//
// A path from there may be a link to a secret, a FIFO without a writer, a device without an end, or it may
// become one while it is looked at. So: every name is resolved below a folder that is held open, no link is
// followed in any of its parts, nothing blocks, only regular files are read, never more of one than the
// caller allows, and what was read is in memory: nobody changes it afterwards.
//
// Hard links are read like any file. A name for a file that its maker could not read himself cannot be made
// where the kernel protects hard links (fs.protected_hardlinks, on by default), and nothing is ever written
// through such a name.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/files.h"

namespace warpgrade {

enum class UntrustedState {
  kRead,        // a regular file within the bound
  kMissing,     // no such name, or a part of the path is no folder
  kLink,        // the name or a part of its path is a symbolic link
  kNotRegular,  // a folder, FIFO, socket or device
  kTooLarge,    // more bytes than the caller allows
  kUnreadable,  // the system refuses: no permission, an I/O error
};

struct UntrustedFile {
  UntrustedState state = UntrustedState::kMissing;
  std::string bytes;  // the whole file; empty unless state is kRead
  bool ok() const { return state == UntrustedState::kRead; }
};

// One line for the submission's author: "spmm.cu is a symbolic link; hand in the file itself". Not for kRead.
std::string describe(UntrustedState state, const std::filesystem::path& name, std::uint64_t most_bytes);

// What lies in a folder, found without following a link.
struct UntrustedEntry {
  std::filesystem::path name;  // relative to the folder; any bytes
  enum class Kind { kFile, kFolder, kLink, kOther, kUnreadable } kind = Kind::kFile;
  std::uint64_t bytes = 0;  // of a file, as it says
};

struct ListingLimits {
  std::size_t entries = 20'000;  // of every kind, skipped ones too
  std::size_t depth = 32;        // folders below folders
};

struct UntrustedListing {
  std::vector<UntrustedEntry> entries;      // sorted by name
  bool too_many = false, too_deep = false;  // then `entries` ends somewhere
};

// A folder that is held open. Its own path is trusted: ours, or what the person at the keyboard gave.
class UntrustedFolder {
 public:
  // Throws UsageError when there is no such folder.
  explicit UntrustedFolder(const std::filesystem::path& path);

  // The same, but nothing where the system does not open it: for a folder that is somebody's hand-in.
  static std::optional<UntrustedFolder> try_open(const std::filesystem::path& path);

  // A folder below this one, reached through no link; nothing when there is none.
  std::optional<UntrustedFolder> folder(const std::filesystem::path& name) const;

  // The file, at most `most_bytes` of it. `name` is relative and has no "..": else it is kMissing.
  UntrustedFile read(const std::filesystem::path& name, std::uint64_t most_bytes) const;

  // The same file as a descriptor, for readers that take one. The bound is checked against the size that it
  // has now: the reader has to keep its own.
  struct Opened {
    UntrustedState state = UntrustedState::kMissing;
    FileDescriptor file;
    std::uint64_t bytes = 0;
  };
  Opened open(const std::filesystem::path& name, std::uint64_t most_bytes) const;

  // Everything below, in no more than the given entries and levels. A folder that `skip` names (by its last
  // part) is listed, but not entered.
  UntrustedListing list(const ListingLimits& limits = {},
                        const std::function<bool(const std::string&)>& skip = {}) const;

 private:
  explicit UntrustedFolder(FileDescriptor folder) : folder_(std::move(folder)) {}
  FileDescriptor folder_;
};

// For tests: paths are resolved part by part, as on kernels older than 5.6, which have no openat2.
void resolve_part_by_part_for_test(bool on);

}  // namespace warpgrade

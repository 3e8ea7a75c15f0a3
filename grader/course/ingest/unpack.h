// Unpacks an archive that nobody has looked at: zip or tar, the latter also gzip, bzip2, xz or zstd. Nothing
// is written outside the given folder, nothing but folders and plain files is made, and limits on count, size
// and ratio are kept by what really comes out, not by what the headers say.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "course/ingest/refusal.h"

namespace warpgrade {

struct UnpackLimits {
  std::size_t files = 1000;        // and folders, together
  std::uint64_t bytes = 20 << 20;  // unpacked
  double ratio = 100;              // unpacked to packed, once more than a MiB has come out
  static UnpackLimits of_a_class() { return {500'000, std::uint64_t{64} << 30, 1000}; }
};

bool can_unpack();                                                   // false: built without libarchive
bool looks_like_archive(const std::filesystem::path& file);          // by its name
bool looks_like_foreign_archive(const std::filesystem::path& file);  // .rar, .7z, ...: not read here

// Unpacks into the existing, empty folder. Returns why not; what came out before stays for the caller to
// remove. With `on_entry` a bad entry is reported there and left out, and the others go on (an LMS export,
// where each entry is somebody else's); damage and the limits still end it. Throws UsageError when this side
// fails (the disk is full, the archive cannot be opened at all).
std::optional<Refusal> unpack(const std::filesystem::path& archive, const std::filesystem::path& folder,
                              const UnpackLimits& limits = {},
                              const std::function<void(const Refusal&)>& on_entry = {});

// The name as a relative path that is safe to make, or why it is none.
struct EntryName {
  std::filesystem::path path;
  std::optional<Refusal> refusal;
};
EntryName safe_entry_name(const std::string& name);

}  // namespace warpgrade

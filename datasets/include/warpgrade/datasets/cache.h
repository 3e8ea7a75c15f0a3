// Datasets as files that many processes and users share: stored once by content, published whole or not
// at all.
//
//   ROOT/NAME.npz                 a link to the object; the name is all that people need
//   ROOT/objects/ab/abcd....npz   named after its content hash
//   ROOT/used/abcd...             its time stamp: last asked for
//   ROOT/locks/, ROOT/downloads/  held while a dataset is made; what `data fetch` is getting
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include "warpgrade/datasets/csr_file.h"

namespace warpgrade::datasets {

// Held by one process while it makes what others may want too; the others wait. Without effect where the
// folder can't be written.
class FileLock {
 public:
  explicit FileLock(const std::filesystem::path& path);
  ~FileLock();
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;

 private:
  int fd_;
};

struct CacheEntry {
  std::vector<std::string> names;  // without .npz; empty: no name points to it
  std::filesystem::path file;      // the object
  std::string content;             // its hash as its file name says; empty for files put there by hand
  std::uint64_t bytes = 0;
  std::chrono::sys_seconds last_used;
  bool in_use = false;  // mapped by some process
};

struct Eviction {
  std::vector<CacheEntry> removed;
  std::uint64_t bytes_left = 0;
  std::size_t kept_in_use = 0;        // would have gone, but are mapped or were asked for a moment ago
  std::uint64_t stale_downloads = 0;  // bytes of fetches that broke off a day ago or more; removed
  std::string failure;                // why some could not be removed; empty: all could
};

// The read-only caches that WARPGRADE_SHARED_DATASETS lists: folders, separated by colons.
std::vector<std::filesystem::path> shared_caches();

class Cache {
 public:
  explicit Cache(std::filesystem::path root) : root_(std::move(root)) {}

  const std::filesystem::path& root() const { return root_; }
  std::filesystem::path path_of(const std::string& name) const { return root_ / (name + ".npz"); }
  std::filesystem::path downloads() const { return root_ / "downloads"; }

  // Where the dataset lies: here, or in one of the shared caches. Empty when nowhere. Notes that it was asked
  // for, and checks its content against its hash once for every boot and change of the file. Throws
  // DatasetError when it has changed.
  std::filesystem::path find(const std::string& name) const;

  // Stores the matrix and publishes it under the name, replacing what had that name. Throws DatasetError.
  std::filesystem::path put(const std::string& name, const Csr& matrix, const Origin& origin) const;

  // The same with a file of the working format that lies on the cache's file system; it is moved.
  std::filesystem::path adopt(const std::string& name, const std::filesystem::path& file) const;

  FileLock lock(const std::string& name) const;

  std::vector<CacheEntry> entries() const;

  // Its names, then the object. The error of the first that could not be removed.
  std::error_code remove(const CacheEntry& entry) const;

  // Removes what was asked for longest ago until at most `limit` bytes are left; never what is mapped, nor
  // what was asked for within `grace`. Left-overs of killed processes go as well,
  // and downloads that broke off and were not taken up for a day.
  Eviction evict(std::uint64_t limit, std::chrono::seconds grace = std::chrono::minutes(10)) const;

 private:
  std::filesystem::path publish(const std::string& name, const std::string& hash) const;

  std::filesystem::path root_;
};

// Verifies the file's content against its recorded hash, unless this user has done so since the last boot and
// the file's inode, size and times are the same. A program that must not be fooled calls CsrFile::verify.
void check_content_once(const std::filesystem::path& file);

}  // namespace warpgrade::datasets

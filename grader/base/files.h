// Files that are never half-written: a temporary name in the same folder, fsync, then a link or a rename.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

namespace warpgrade {

// The whole file. Throws UsageError naming the file when it can't be read.
std::string read_text(const std::filesystem::path& path);

// Creates or replaces `path` atomically. Throws UsageError (disk full, read-only folder) and leaves
// nothing behind.
void write_text(const std::filesystem::path& path, std::string_view text);

// The same of a text whose parts are never in memory together; what `produce` throws leaves nothing behind.
using AddText = std::function<void(std::string_view part)>;
void write_text(const std::filesystem::path& path, const std::function<void(const AddText& add)>& produce);

// As write_text(), without waiting for the disk: for one of thousands of files that the same command makes anew.
// After a power cut it may be empty.
void write_unsynced(const std::filesystem::path& path, std::string_view text);

// Creates `path` atomically unless it exists; returns false, leaving it alone, when it does. Safe on NFS.
bool write_new_text(const std::filesystem::path& path, std::string_view text);

// Creates `path`, which must not exist, neither atomically nor synced: for scratch folders and folders that
// are published as a whole. Throws like write_text().
void write_scratch(const std::filesystem::path& path, std::string_view bytes, unsigned mode = 0644);

// Creates the folder and its parents. Throws UsageError.
void make_directories(const std::filesystem::path& path);

// Removes a tree as far as that goes. Folders in it may be read-only, as a snapshot's are: they are
// made writable first.
void remove_tree(const std::filesystem::path& root);

// A folder under the system's temporary folder that is removed with the object.
class TemporaryDirectory {
 public:
  explicit TemporaryDirectory(std::string_view stem);
  ~TemporaryDirectory();
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

// An owned file descriptor.
class FileDescriptor {
 public:
  FileDescriptor() = default;
  explicit FileDescriptor(int fd) : fd_(fd) {}
  ~FileDescriptor() { reset(); }
  FileDescriptor(FileDescriptor&& other) noexcept : fd_(other.release()) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept;
  int get() const { return fd_; }
  int release();
  void reset();
  explicit operator bool() const { return fd_ >= 0; }

 private:
  int fd_ = -1;
};

}  // namespace warpgrade

#include "base/files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>

#include "base/error.h"

namespace warpgrade {
namespace fs = std::filesystem;

std::string read_text(const fs::path& path) {
  const FileDescriptor in(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat status {};
  const bool is_open = in && fstat(in.get(), &status) == 0;
  // With room for a byte more, so that the end of a file that is as long as it says takes one call to find.
  std::string text(is_open && status.st_size > 0 ? static_cast<std::size_t>(status.st_size) + 1 : 4096, '\0');
  for (std::size_t done = 0;;) {
    const ssize_t count = is_open ? read(in.get(), text.data() + done, text.size() - done) : -1;
    if (count < 0 && is_open && errno == EINTR) continue;
    if (count < 0) throw UsageError("cannot read {}: {}", path.string(), std::strerror(errno));
    done += static_cast<std::size_t>(count);
    if (count == 0) {
      text.resize(done);
      return text;
    }
    if (done == text.size()) text.resize(2 * done);
  }
}

namespace {

// Throws, as DiskFull where more room would mend it.
template <typename... Args>
[[noreturn]] void fail(int error, fmt::format_string<Args...> format, Args&&... args) {
  const std::string message = fmt::format(format, std::forward<Args>(args)...);
  if (error == ENOSPC || error == EDQUOT) throw DiskFull("{}", message);
  throw UsageError("{}", message);
}

// Writes all of it; removes the file and throws where that fails. `path` is for the message.
void write_all(int fd, const fs::path& file, const fs::path& path, std::string_view text) {
  size_t done = 0;
  while (done < text.size()) {
    const ssize_t n = write(fd, text.data() + done, text.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) {
      const int error = n == 0 ? ENOSPC : errno;
      const std::string why = n == 0 ? "nothing more was accepted" : std::strerror(error);
      unlink(file.c_str());
      fail(error,
           "cannot write {}: {}; what was recorded before is kept, free some space and run the same command "
           "again",
           path.string(), why);
    }
    done += static_cast<size_t>(n);
  }
}

using Produce = std::function<void(const AddText&)>;

// What of a file has to be on the disk before it has its name.
enum class Synced { kAll, kNothing };

// Writes the text to a fresh temporary file beside `path` and returns its name.
fs::path write_temporary(const fs::path& path, const Produce& produce, Synced synced = Synced::kAll) {
  static std::atomic<unsigned> counter{0};
  fs::path temporary = path;
  static const std::string host = [] {  // two nodes may have a process of one number
    char name[65] = {};
    gethostname(name, sizeof name - 1);
    return std::string(name);
  }();
  temporary += fmt::format(".tmp-{}-{}-{}", host, getpid(), counter++);
  FileDescriptor fd(open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
  if (!fd) {
    const int error = errno;
    fail(error, "cannot write {}: {}; choose a folder you may write to", path.string(), std::strerror(error));
  }
  try {
    produce([&](std::string_view part) { write_all(fd.get(), temporary, path, part); });
  } catch (...) {
    unlink(temporary.c_str());
    throw;
  }
  const bool is_synced =
      synced == Synced::kNothing || fsync(fd.get()) == 0 || errno == EINVAL || errno == EROFS;
  // NFS tells of a full disk here, where nothing was synced.
  if (!is_synced || close(fd.release()) != 0) {
    const int error = errno;
    unlink(temporary.c_str());
    fail(error, "cannot write {}: {}", path.string(), std::strerror(error));
  }
  return temporary;
}

}  // namespace

void write_scratch(const fs::path& path, std::string_view bytes, unsigned mode) {
  const FileDescriptor fd(open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode));
  if (!fd) {
    const int error = errno;
    fail(error, "cannot write {}: {}", path.string(), std::strerror(error));
  }
  write_all(fd.get(), path, path, bytes);
}

void write_text(const fs::path& path, std::string_view text) {
  write_text(path, [&](const AddText& add) { add(text); });
}

namespace {

void replace(const fs::path& path, const Produce& produce, Synced synced) {
  const fs::path temporary = write_temporary(path, produce, synced);
  if (rename(temporary.c_str(), path.c_str()) != 0) {
    const int error = errno;
    unlink(temporary.c_str());
    fail(error, "cannot write {}: {}", path.string(), std::strerror(error));
  }
}

}  // namespace

void write_text(const fs::path& path, const Produce& produce) {
  replace(path, produce, Synced::kAll);
}

void write_unsynced(const fs::path& path, std::string_view text) {
  replace(
      path, [&](const AddText& add) { add(text); }, Synced::kNothing);
}

bool write_new_text(const fs::path& path, std::string_view text) {
  const fs::path temporary = write_temporary(path, [&](const AddText& add) { add(text); });
  const int linked = link(temporary.c_str(), path.c_str());
  const int why = errno;
  unlink(temporary.c_str());
  if (linked == 0) return true;
  if (why == EEXIST) return false;
  fail(why, "cannot write {}: {}", path.string(), std::strerror(why));
}

void make_directories(const fs::path& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error || !fs::is_directory(path)) {
    fail(error.value(), "cannot make the folder {}: {}; choose one you may write to", path.string(),
         error ? error.message() : "a file is in the way");
  }
}

void remove_tree(const fs::path& root) {
  std::error_code none;
  for (const auto& entry : fs::recursive_directory_iterator(root, none))
    if (entry.is_directory() && !entry.is_symlink())
      fs::permissions(entry.path(), fs::perms::owner_all, fs::perm_options::add, none);
  fs::remove_all(root, none);
}

TemporaryDirectory::TemporaryDirectory(std::string_view stem) {
  std::string pattern = (fs::temp_directory_path() / fmt::format("{}-XXXXXX", stem)).string();
  if (mkdtemp(pattern.data()) == nullptr) {
    throw JudgeFault("cannot make a temporary folder {}: {}", pattern, std::strerror(errno));
  }
  path_ = pattern;
}

TemporaryDirectory::~TemporaryDirectory() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

FileDescriptor& FileDescriptor::operator=(FileDescriptor&& other) noexcept {
  if (this != &other) {
    reset();
    fd_ = other.release();
  }
  return *this;
}

int FileDescriptor::release() {
  const int fd = fd_;
  fd_ = -1;
  return fd;
}

void FileDescriptor::reset() {
  if (fd_ >= 0) close(fd_);
  fd_ = -1;
}

}  // namespace warpgrade

#include "warpgrade/datasets/cache.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <optional>
#include <sstream>

#include "digest.h"

namespace warpgrade::datasets {
namespace {
namespace fs = std::filesystem;
using Clock = std::chrono::system_clock;

void make_folder(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) throw DatasetError("cannot make the folder {}: {}", folder.string(), error.message());
}

fs::path object_path(const fs::path& root, const std::string& hash) {
  return root / "objects" / hash.substr(0, 2) / (hash + ".npz");
}

bool is_hash(const std::string& text) {
  return text.size() == 64 && text.find_first_not_of("0123456789abcdef") == std::string::npos;
}

std::chrono::sys_seconds modified(const fs::path& path) {
  struct stat status = {};
  if (stat(path.c_str(), &status) != 0) return {};
  return std::chrono::sys_seconds(std::chrono::seconds(status.st_mtime));
}

// Best effort: who may not write here does not count as a user.
void mark_used(const fs::path& root, const std::string& hash) {
  const fs::path file = root / "used" / hash;
  const int fd = ::open(file.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
  if (fd < 0) return;
  futimens(fd, nullptr);
  close(fd);
}

bool is_mapped(const fs::path& file) {
  const int fd = ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return errno != ENOENT;
  const bool free = flock(fd, LOCK_EX | LOCK_NB) == 0;
  close(fd);
  return !free;
}

// A link that appears whole, whatever was there.
void publish_link(const fs::path& link, const fs::path& target) {
  fs::path temporary = link;
  temporary += fmt::format(".tmp-{}", getpid());
  unlink(temporary.c_str());
  const bool made = symlink(target.c_str(), temporary.c_str()) == 0;
  if (made && rename(temporary.c_str(), link.c_str()) == 0) return;
  const int why = errno;
  unlink(temporary.c_str());
  throw DatasetError("cannot write {}: {}", link.string(), std::strerror(why));
}

std::string boot_id() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string id;
  std::getline(file, id);
  return id;
}

// A folder of this user alone, gone with the boot; empty when there is none to trust.
fs::path stamp_folder() {
  const char* runtime = std::getenv("XDG_RUNTIME_DIR");
  const fs::path folder = runtime != nullptr && *runtime != '\0'
                              ? fs::path(runtime) / "warpgrade-verified"
                              : fs::temp_directory_path() / fmt::format("warpgrade-verified-{}", getuid());
  mkdir(folder.c_str(), 0700);
  struct stat status = {};
  const bool ours = lstat(folder.c_str(), &status) == 0 && S_ISDIR(status.st_mode) &&
                    status.st_uid == getuid() && (status.st_mode & 0077) == 0;
  return ours ? folder : fs::path();
}

std::string state_of(const fs::path& file) {
  struct stat s = {};
  if (stat(file.c_str(), &s) != 0) return "";
  return fmt::format("{} {} {} {} {}.{:09} {}.{:09}\n", boot_id(), s.st_dev, s.st_ino, s.st_size,
                     s.st_mtim.tv_sec, s.st_mtim.tv_nsec, s.st_ctim.tv_sec, s.st_ctim.tv_nsec);
}

std::string read_all(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

void remove_left_overs(const fs::path& folder) {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename().string();
    const bool old = Clock::now() - modified(entry.path()) > std::chrono::hours(24);
    if (name.find(".tmp-") != std::string::npos && (old || entry.is_symlink(error)))
      fs::remove(entry.path(), error);
    if (entry.is_symlink(error) && !fs::exists(entry.path(), error)) fs::remove(entry.path(), error);
  }
}

// What a fetch left that broke off and that nobody took up again for a day.
std::uint64_t remove_stale_downloads(const fs::path& folder) {
  std::uint64_t removed = 0;
  std::error_code error;
  for (const auto& download : fs::directory_iterator(folder, error)) {
    std::chrono::sys_seconds newest = modified(download.path());
    std::uint64_t bytes = download.is_regular_file(error) ? download.file_size(error) : 0;
    for (const auto& file : fs::recursive_directory_iterator(download.path(), error)) {
      newest = std::max(newest, modified(file.path()));
      if (file.is_regular_file(error)) bytes += file.file_size(error);
    }
    if (Clock::now() - newest < std::chrono::hours(24)) continue;
    if (fs::remove_all(download.path(), error); !error) removed += bytes;
  }
  return removed;
}

}  // namespace

FileLock::FileLock(const fs::path& path) : fd_(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666)) {
  if (fd_ >= 0) {
    while (flock(fd_, LOCK_EX) != 0 && errno == EINTR) {
    }
  }
}

FileLock::~FileLock() {
  if (fd_ >= 0) close(fd_);
}

std::vector<fs::path> shared_caches() {
  std::vector<fs::path> roots;
  const char* shared = std::getenv("WARPGRADE_SHARED_DATASETS");
  std::istringstream list(shared != nullptr ? shared : "");
  for (std::string folder; std::getline(list, folder, ':');) {
    if (!folder.empty()) roots.emplace_back(folder);
  }
  return roots;
}

void check_content_once(const fs::path& file) {
  const std::string before = state_of(file);
  const fs::path folder = stamp_folder();
  std::error_code error;
  const fs::path real = fs::canonical(file, error);
  const fs::path stamp = folder / sha256(real.string());
  if (!folder.empty() && !error && !before.empty() && read_all(stamp) == before) return;
  CsrFile::open(file).verify();
  if (folder.empty() || error || state_of(file) != before) return;
  const fs::path temporary = folder / fmt::format("tmp-{}", getpid());
  std::ofstream(temporary, std::ios::binary) << before;
  fs::rename(temporary, stamp, error);
}

fs::path Cache::find(const std::string& name) const {
  std::vector<fs::path> roots = shared_caches();
  roots.insert(roots.begin(), root_);
  for (const fs::path& root : roots) {
    const fs::path file = root / (name + ".npz");
    std::error_code error;
    if (!fs::exists(file, error)) continue;
    const std::string hash = fs::canonical(file, error).stem().string();
    if (is_hash(hash)) mark_used(root, hash);
    check_content_once(file);
    if (is_hash(hash) && CsrFile::open(file).content_hash() != hash) {
      throw DatasetError(
          "{}: its content is not the one that its file name says; `warpgrade data verify --remove` deletes "
          "it",
          file.string());
    }
    return file;
  }
  return {};
}

fs::path Cache::put(const std::string& name, const Csr& matrix, const Origin& origin) const {
  const std::string hash = content_hash_of(matrix, origin);
  const fs::path object = object_path(root_, hash);
  make_folder(object.parent_path());
  make_folder(root_ / "used");
  std::optional<CsrFile> there;  // held until it has its name: what is mapped is not evicted
  try {
    there = CsrFile::open(object);
    there->verify();
    if (there->content_hash() != hash) there.reset();
  } catch (const DatasetError&) {
    there.reset();  // absent, or damaged: written anew
  }
  if (!there) write_csr(object, matrix, origin, hash);
  return publish(name, hash);
}

fs::path Cache::adopt(const std::string& name, const fs::path& file) const {
  const CsrFile whole = CsrFile::open_verified(file);
  const fs::path object = object_path(root_, whole.content_hash());
  make_folder(object.parent_path());
  make_folder(root_ / "used");
  std::error_code error;
  fs::rename(file, object, error);
  if (error) throw DatasetError("cannot write {}: {}", object.string(), error.message());
  return publish(name, whole.content_hash());
}

fs::path Cache::publish(const std::string& name, const std::string& hash) const {
  mark_used(root_, hash);
  publish_link(path_of(name), fs::path("objects") / hash.substr(0, 2) / (hash + ".npz"));
  return path_of(name);
}

FileLock Cache::lock(const std::string& name) const {
  make_folder(root_ / "locks");
  return FileLock(root_ / "locks" / (name + ".lock"));
}

std::vector<CacheEntry> Cache::entries() const {
  std::map<fs::path, CacheEntry> found;
  std::error_code error;
  for (const auto& entry : fs::recursive_directory_iterator(root_ / "objects", error)) {
    if (entry.path().extension() == ".npz") found[entry.path()].content = entry.path().stem().string();
  }
  for (const auto& entry : fs::directory_iterator(root_, error)) {
    if (entry.path().extension() != ".npz") continue;
    const fs::path target =
        entry.is_symlink(error) ? fs::weakly_canonical(entry.path(), error) : entry.path();
    auto at = found.find(target);
    if (at == found.end())
      at = found.find(root_ / fs::relative(target, fs::weakly_canonical(root_, error), error));
    if (at == found.end() && !fs::exists(target, error)) continue;  // a link into nowhere
    if (at == found.end()) at = found.emplace(target, CacheEntry{}).first;
    at->second.names.push_back(entry.path().stem().string());
  }
  std::vector<CacheEntry> entries;
  for (auto& [path, entry] : found) {
    entry.file = path;
    entry.bytes = fs::file_size(path, error);
    entry.last_used = modified(path);
    if (!entry.content.empty())
      entry.last_used = std::max(entry.last_used, modified(root_ / "used" / entry.content));
    entry.in_use = is_mapped(path);
    std::sort(entry.names.begin(), entry.names.end());
    entries.push_back(entry);
  }
  return entries;
}

std::error_code Cache::remove(const CacheEntry& entry) const {
  std::error_code error, ignored;
  for (const std::string& name : entry.names) {
    fs::remove(path_of(name), error);
    if (error) return error;
  }
  fs::remove(entry.file, error);
  if (!error && !entry.content.empty()) fs::remove(root_ / "used" / entry.content, ignored);
  return error;
}

Eviction Cache::evict(std::uint64_t limit, std::chrono::seconds grace) const {
  std::vector<CacheEntry> all = entries();
  std::sort(all.begin(), all.end(),
            [](const CacheEntry& a, const CacheEntry& b) { return a.last_used < b.last_used; });
  Eviction result;
  for (const CacheEntry& entry : all) result.bytes_left += entry.bytes;
  std::error_code error;
  for (const CacheEntry& entry : all) {
    if (result.bytes_left <= limit) break;
    const int fd = ::open(entry.file.c_str(), O_RDONLY | O_CLOEXEC);
    const bool free = fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0;
    // Asked again now that the lock is held: someone may have come since the list was made.
    const auto used = entry.content.empty()
                          ? entry.last_used
                          : std::max(entry.last_used, modified(root_ / "used" / entry.content));
    if (!free || Clock::now() - used < grace) {
      ++result.kept_in_use;
    } else if (const std::error_code failed = remove(entry)) {
      result.failure = fmt::format("cannot remove {}: {}", entry.file.string(), failed.message());
    } else {
      result.bytes_left -= entry.bytes;
      result.removed.push_back(entry);
    }
    if (fd >= 0) close(fd);
  }
  result.stale_downloads = remove_stale_downloads(downloads());
  remove_left_overs(root_);
  for (const auto& folder : fs::directory_iterator(root_ / "objects", error))
    remove_left_overs(folder.path());
  return result;
}

}  // namespace warpgrade::datasets

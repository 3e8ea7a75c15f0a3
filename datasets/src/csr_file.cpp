#include "warpgrade/datasets/csr_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <ctime>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <set>

#include "digest.h"
#include "npy.h"
#include "zip_archive.h"

namespace warpgrade::datasets {
namespace {

// Over the generator's version (nothing for imports), the shape and the arrays.
std::string hash_of(const std::string& generator, std::int64_t rows, std::int64_t cols,
                    std::span<const int> row_offsets, std::span<const int> columns,
                    std::span<const float> values) {
  Sha256 hash;
  hash.raw(generator);
  const std::int64_t shape[2] = {rows, cols};
  add_to<std::int64_t>(hash, shape);
  add_to(hash, row_offsets);
  add_to(hash, columns);
  add_to(hash, values);
  return hash.hex();
}

template <typename T>
std::span<const T> array_as(const NpyArray& array, const char* type, const std::string& name,
                            const char* member) {
  if (array.type != type || array.shape.size() != 1) {
    throw DatasetError(
        "{}: {} is of type {} with {} dimensions, not {} with one as in the working format; run `warpgrade "
        "data "
        "import` on it",
        name, member, array.type, array.shape.size(), type);
  }
  if (reinterpret_cast<std::uintptr_t>(array.data.data()) % alignof(T) != 0) {
    throw DatasetError(
        "{}: {} does not begin at a multiple of {} bytes as in the working format; run `warpgrade data "
        "import` "
        "on it",
        name, member, alignof(T));
  }
  return {reinterpret_cast<const T*>(array.data.data()), static_cast<std::size_t>(array.count())};
}

// Which very file this is, and in what state: nobody can change its bytes and keep the time of its last
// change (st_ctim), which no call sets.
using Identity = std::array<std::int64_t, 7>;

Identity identity_of(int fd) {
  struct stat status = {};
  fstat(fd, &status);
  return {static_cast<std::int64_t>(status.st_dev),
          static_cast<std::int64_t>(status.st_ino),
          status.st_size,
          status.st_mtim.tv_sec,
          status.st_mtim.tv_nsec,
          status.st_ctim.tv_sec,
          status.st_ctim.tv_nsec};
}

// A file that changed just now may change once more within the same tick of the file system's clock.
bool has_settled(const Identity& identity) {
  constexpr std::int64_t kCoarsestClock_s = 2;
  return std::time(nullptr) - identity[5] > kCoarsestClock_s;
}

// The files that this process has found whole, and those that one of its threads is reading: others wait
// for it.
class VerifiedFiles {
 public:
  // Whether the file has to be read: by the caller, who then calls finish().
  bool claim(const Identity& identity) {
    std::unique_lock lock(mutex_);
    finished_.wait(lock, [&] { return !in_progress_.contains(identity); });
    return !known_.contains(identity) && in_progress_.insert(identity).second;
  }
  void finish(const Identity& identity, bool keep) {
    const std::lock_guard lock(mutex_);
    in_progress_.erase(identity);
    if (keep) known_.insert(identity);
    finished_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable finished_;
  std::set<Identity> known_, in_progress_;
};

VerifiedFiles& verified_files() {
  static VerifiedFiles files;
  return files;
}

}  // namespace

struct CsrFile::Mapping {
  std::string name;
  int fd = -1;
  std::span<const std::byte> file;
  std::int64_t rows = 0, cols = 0;
  std::span<const int> row_offsets, columns;
  std::span<const float> values;
  Origin origin;
  std::string hash;

  explicit Mapping(const std::filesystem::path& path) : name(path.string()) {
    fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0) throw DatasetError("cannot read {}: {}", name, std::strerror(errno));
    flock(fd, LOCK_SH | LOCK_NB);  // tells Cache::evict that the file is in use; held as long as the mapping
    struct stat status = {};
    fstat(fd, &status);
    const auto size = static_cast<std::size_t>(status.st_size);
    void* memory = size > 0 ? mmap(nullptr, size, PROT_READ, MAP_SHARED, fd, 0) : MAP_FAILED;
    if (memory == MAP_FAILED) {
      const std::string why = size > 0 ? std::strerror(errno) : "it is empty";
      close(fd);
      throw DatasetError("{}: cannot be mapped: {}", name, why);
    }
    file = {static_cast<const std::byte*>(memory), size};
    try {
      read();
    } catch (...) {
      munmap(memory, size);
      close(fd);
      throw;
    }
  }
  ~Mapping() {
    munmap(const_cast<std::byte*>(file.data()), file.size());
    close(fd);
  }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;

 private:
  void read() {
    std::map<std::string, std::span<const std::byte>> content;
    for (const ArchiveMember& member : read_archive(file, name)) {
      if (member.deflated) {
        throw DatasetError("{}: {} is compressed; run `warpgrade data import` on it", name, member.name);
      }
      content[member.name] = file.subspan(member.data_offset, member.bytes);
    }
    for (const char* member : {"indptr.npy", "indices.npy", "data.npy", "shape.npy"}) {
      if (!content.contains(member))
        throw DatasetError("{}: expected a CSR matrix, but there is no {}", name, member);
    }
    const NpyArray shape = parse_npy(content["shape.npy"], name);
    if (shape.type != "<i8" || shape.count() != 2)
      throw DatasetError("{}: shape.npy does not hold two int64", name);
    std::memcpy(&rows, shape.data.data(), 8);
    std::memcpy(&cols, shape.data.data() + 8, 8);
    row_offsets = array_as<int>(parse_npy(content["indptr.npy"], name), "<i4", name, "indptr.npy");
    columns = array_as<int>(parse_npy(content["indices.npy"], name), "<i4", name, "indices.npy");
    values = array_as<float>(parse_npy(content["data.npy"], name), "<f4", name, "data.npy");
    const bool fits = rows >= 0 && cols >= 0 && rows < INT32_MAX && cols < INT32_MAX &&
                      static_cast<std::int64_t>(row_offsets.size()) == rows + 1 &&
                      columns.size() == values.size() && row_offsets.front() == 0 &&
                      row_offsets.back() == static_cast<std::int64_t>(columns.size());
    if (!fits)
      throw DatasetError("{}: shape {}x{}, {} offsets and {} entries do not fit together", name, rows, cols,
                         row_offsets.size(), columns.size());
    if (!content.contains("warpgrade.json")) return;
    const auto text = content["warpgrade.json"];
    const auto* first = reinterpret_cast<const char*>(text.data());
    const auto json = nlohmann::json::parse(first, first + text.size(), nullptr, false);
    if (!json.is_object()) throw DatasetError("{}: warpgrade.json is damaged", name);
    try {
      origin = {json.value("name", ""), json.value("source", ""), json.value("generator", "")};
      hash = json.value("hash", "");
    } catch (const nlohmann::json::exception& error) {
      throw DatasetError("{}: warpgrade.json is damaged: {}", name, error.what());
    }
  }
};

CsrFile CsrFile::open(const std::filesystem::path& path) {
  CsrFile file;
  file.mapping_ = std::make_shared<const Mapping>(path);
  return file;
}

CsrFile CsrFile::open_verified(const std::filesystem::path& path) {
  CsrFile file = open(path);
  const Identity before = identity_of(file.mapping_->fd);
  if (!verified_files().claim(before)) return file;
  try {
    file.verify();
  } catch (...) {
    verified_files().finish(before, false);
    throw;
  }
  verified_files().finish(before, has_settled(before) && identity_of(file.mapping_->fd) == before);
  return file;
}

int CsrFile::rows() const {
  return static_cast<int>(mapping_->rows);
}
int CsrFile::cols() const {
  return static_cast<int>(mapping_->cols);
}
std::span<const int> CsrFile::row_offsets() const {
  return mapping_->row_offsets;
}
std::span<const int> CsrFile::columns() const {
  return mapping_->columns;
}
std::span<const float> CsrFile::values() const {
  return mapping_->values;
}
const Origin& CsrFile::origin() const {
  return mapping_->origin;
}

std::string CsrFile::content_hash() const {
  if (!mapping_->hash.empty()) return mapping_->hash;
  return hash_of(origin().generator, rows(), cols(), row_offsets(), columns(), values());
}

void CsrFile::verify() const {
  const auto offsets = row_offsets();
  for (std::size_t row = 0; row + 1 < offsets.size(); ++row) {
    if (offsets[row] > offsets[row + 1])
      throw DatasetError("{}: row {} ends before it begins", mapping_->name, row);
  }
  for (std::size_t entry = 0; entry < columns().size(); ++entry) {
    if (columns()[entry] < 0 || columns()[entry] >= cols()) {
      throw DatasetError("{}: entry {} has column {}, outside 0 .. {}", mapping_->name, entry,
                         columns()[entry], cols() - 1);
    }
  }
  const std::string now = hash_of(origin().generator, rows(), cols(), row_offsets(), columns(), values());
  if (!mapping_->hash.empty() && now != mapping_->hash) {
    throw DatasetError(
        "{}: its content changed (hash {} instead of {}); delete it, it is made again when asked for",
        mapping_->name, now.substr(0, 12), mapping_->hash.substr(0, 12));
  }
}

std::string content_hash_of(const Csr& matrix, const Origin& origin) {
  return hash_of(origin.generator, matrix.rows, matrix.cols, matrix.row_offsets, matrix.columns,
                 matrix.values);
}

std::string write_csr(const std::filesystem::path& path, const Csr& matrix, const Origin& origin,
                      std::string hash) {
  if (hash.empty()) hash = content_hash_of(matrix, origin);
  const std::string about = nlohmann::json{
      {"format", "warpgrade.csr.v1"},
      {"name", origin.name},
      {"source", origin.source},
      {"generator", origin.generator},
      {"hash", hash}}.dump();
  const std::int64_t shape[2] = {matrix.rows, matrix.cols};
  const std::span<const int> offsets(matrix.row_offsets), columns(matrix.columns);
  const std::span<const float> values(matrix.values);
  const auto count = [](const auto& span) { return static_cast<std::int64_t>(span.size()); };
  write_archive(path, {{"indices.npy", npy_header("<i4", count(columns)), std::as_bytes(columns)},
                       {"indptr.npy", npy_header("<i4", count(offsets)), std::as_bytes(offsets)},
                       {"format.npy", npy_header("|S3", -1), std::as_bytes(std::span("csr", 3))},
                       {"shape.npy", npy_header("<i8", 2), std::as_bytes(std::span(shape))},
                       {"data.npy", npy_header("<f4", count(values)), std::as_bytes(values)},
                       {"warpgrade.json", "", std::as_bytes(std::span(about.data(), about.size()))}});
  return hash;
}

}  // namespace warpgrade::datasets

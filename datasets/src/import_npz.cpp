// SciPy's CSR archives as others write them: deflated members, 64-bit indices, double values.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cmath>
#include <cstring>

#include "archive.h"
#include "npy.h"
#include "warpgrade/datasets/import.h"

namespace warpgrade::datasets {
namespace {

class MappedFile {
 public:
  explicit MappedFile(const std::filesystem::path& path) {
    const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0) throw DatasetError("cannot read {}: {}", path.string(), std::strerror(errno));
    struct stat status = {};
    fstat(fd, &status);
    size_ = static_cast<std::size_t>(status.st_size);
    memory_ = size_ > 0 ? mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, fd, 0) : MAP_FAILED;
    close(fd);
    if (memory_ == MAP_FAILED) throw DatasetError("{}: the file is empty or cannot be mapped", path.string());
  }
  ~MappedFile() { munmap(memory_, size_); }
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  std::span<const std::byte> bytes() const { return {static_cast<const std::byte*>(memory_), size_}; }

 private:
  void* memory_ = MAP_FAILED;
  std::size_t size_ = 0;
};

template <typename From>
From item(const NpyArray& array, std::int64_t i) {
  From value;
  std::memcpy(&value, array.data.data() + static_cast<std::size_t>(i) * sizeof value, sizeof value);
  return value;
}

std::int64_t whole(const NpyArray& array, std::int64_t i, const std::string& name) {
  if (array.type == "<i4") return item<std::int32_t>(array, i);
  if (array.type == "<i8") return item<std::int64_t>(array, i);
  throw DatasetError("{}: indices of type {} are not read; int32 and int64 are", name, array.type);
}

float real(const NpyArray& array, std::int64_t i, const std::string& name) {
  if (array.type == "<f4") return item<float>(array, i);
  if (array.type == "<f8") return static_cast<float>(item<double>(array, i));
  if (array.type == "<i4") return static_cast<float>(item<std::int32_t>(array, i));
  if (array.type == "<i8") return static_cast<float>(item<std::int64_t>(array, i));
  if (array.type == "|b1") return static_cast<float>(item<std::uint8_t>(array, i) != 0);
  throw DatasetError("{}: values of type {} are not read; float32, float64, integers and bool are", name,
                     array.type);
}

struct Members {
  NpyArray row_offsets, columns, values, shape;
};

Csr convert(const Members& m, const std::string& name) {
  const std::int64_t rows = whole(m.shape, 0, name), cols = whole(m.shape, 1, name), nnz = m.columns.count();
  if (rows < 0 || cols < 0 || rows >= INT_MAX || cols >= INT_MAX || nnz > INT_MAX) {
    throw DatasetError("{}: {} x {} with {} entries does not fit 32-bit indices", name, rows, cols, nnz);
  }
  if (m.row_offsets.count() != rows + 1 || m.values.count() != nnz) {
    throw DatasetError("{}: expected {} offsets and {} values, got {} and {}", name, rows + 1, nnz,
                       m.row_offsets.count(), m.values.count());
  }
  std::vector<Entry> entries;
  entries.reserve(static_cast<std::size_t>(nnz));
  if (whole(m.row_offsets, 0, name) != 0 || whole(m.row_offsets, rows, name) != nnz) {
    throw DatasetError("{}: offsets run from {} to {}, expected 0 to {}", name, whole(m.row_offsets, 0, name),
                       whole(m.row_offsets, rows, name), nnz);
  }
  for (std::int64_t row = 0; row < rows; ++row) {
    const std::int64_t begin = whole(m.row_offsets, row, name), end = whole(m.row_offsets, row + 1, name);
    if (begin > end || end > nnz)
      throw DatasetError("{}: row {} runs from entry {} to {}", name, row, begin, end);
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t col = whole(m.columns, i, name);
      const float value = real(m.values, i, name);
      if (col < 0 || col >= cols)
        throw DatasetError("{}: entry {}: column {} is outside 0 .. {}", name, i, col, cols - 1);
      if (!std::isfinite(value))
        throw DatasetError("{}: entry {}: expected a finite value, got {}", name, i, value);
      entries.push_back({static_cast<int>(row), static_cast<int>(col), value});
    }
  }
  return build_csr(static_cast<int>(rows), static_cast<int>(cols), std::move(entries), Duplicates::kKeepAll);
}

}  // namespace

Csr import_npz(const std::filesystem::path& path, const Progress&) {
  const MappedFile file(path);
  const std::string name = path.string();
  std::vector<std::byte> scratch[5];
  std::span<const std::byte> content[5];
  constexpr const char* kNames[] = {"indptr.npy", "indices.npy", "data.npy", "shape.npy", "format.npy"};
  for (const ArchiveMember& member : read_archive(file.bytes(), name)) {
    for (int i = 0; i < 5; ++i) {
      if (member.name == kNames[i]) content[i] = member_content(file.bytes(), member, scratch[i], name);
    }
  }
  for (int i = 0; i < 4; ++i) {
    if (content[i].empty())
      throw DatasetError("{}: expected a SciPy CSR archive, but there is no {}", name, kNames[i]);
  }
  if (!content[4].empty()) {
    const NpyArray format = parse_npy(content[4], name);
    const std::string text(reinterpret_cast<const char*>(format.data.data()), format.data.size());
    // NumPy stores the word as bytes or as 32-bit characters.
    std::string word;
    for (char c : text)
      if (c != '\0') word += c;
    if (word != "csr")
      throw DatasetError("{}: expected a matrix in CSR, got '{}'; save it with .tocsr()", name, word);
  }
  Members members{parse_npy(content[0], name), parse_npy(content[1], name), parse_npy(content[2], name),
                  parse_npy(content[3], name)};
  if (members.shape.count() != 2) throw DatasetError("{}: shape.npy does not hold two numbers", name);
  return convert(members, name);
}

}  // namespace warpgrade::datasets

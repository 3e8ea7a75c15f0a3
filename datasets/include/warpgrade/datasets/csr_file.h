// Sparse matrices on disk and in memory: SciPy's uncompressed CSR .npz, opened by mmap.
//
// The file is what scipy.sparse.save_npz(compressed=False) would write for an int32/float32 matrix, with
// three additions that SciPy ignores: array data starts at multiples of 64 bytes (padding in the zip's extra
// fields), timestamps are fixed so that equal matrices make equal files, and the member `warpgrade.json`
// holds where the matrix came from and its content hash. Opening costs O(rows) without the hash and one pass
// over the file with it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "warpgrade/datasets/progress.h"

namespace warpgrade::datasets {

// std::vector whose resize leaves numbers uninitialised: gigabyte arrays are filled by several threads, once.
template <typename T>
struct DefaultInitAllocator : std::allocator<T> {
  template <typename U>
  struct rebind {
    using other = DefaultInitAllocator<U>;
  };
  using std::allocator<T>::allocator;
  template <typename U>
  void construct(U* p) noexcept {
    ::new (static_cast<void*>(p)) U;
  }
  template <typename U, typename... Args>
  void construct(U* p, Args&&... args) {
    ::new (static_cast<void*>(p)) U(static_cast<Args&&>(args)...);
  }
};
template <typename T>
using Array = std::vector<T, DefaultInitAllocator<T>>;

// A CSR matrix in host memory that someone else owns. Invariants: row_offsets has rows + 1 elements, starts
// at 0, never falls and ends at columns.size() == values.size(); every column is in [0, cols) and columns
// never fall within a row.
struct CsrView {
  std::int32_t rows = 0;
  std::int32_t cols = 0;
  std::span<const std::int32_t> row_offsets;  // [rows + 1]
  std::span<const std::int32_t> columns;      // [nnz]
  std::span<const float> values;              // [nnz]

  std::int64_t nnz() const { return static_cast<std::int64_t>(columns.size()); }
};

// A CSR matrix that owns its arrays.
struct HostCsr {
  std::int32_t rows = 0;
  std::int32_t cols = 0;
  Array<std::int32_t> row_offsets;  // [rows + 1]
  Array<std::int32_t> columns;      // [nnz]
  Array<float> values;              // [nnz]

  std::int64_t nnz() const { return static_cast<std::int64_t>(columns.size()); }
  CsrView view() const { return {rows, cols, row_offsets, columns, values}; }
};

struct CsrMetadata {
  std::string name;       // "arxiv@0.01"; the dataset's name in records
  std::string source;     // where the data is from, for people
  std::string generator;  // what made the file, with its version: "stand-in/1", "import/1"
  std::string recipe;     // every parameter that shaped the content; equal recipes make equal content
};

// SHA-256 (hex) of "warpgrade-csr-1\n", rows, cols, nnz (int64, little endian) and the SHA-256 of each
// array's bytes.
std::string content_hash(const CsrView& matrix);

// Throws DatasetError unless the invariants above hold; `where` names the matrix in the message.
void validate(const CsrView& matrix, const std::filesystem::path& where);

// Validates, hashes and writes; the file appears under its name complete or not at all. Returns the content
// hash.
std::string write_csr_file(const std::filesystem::path& path, const CsrView& matrix,
                           const CsrMetadata& metadata, const ProgressFn& progress = {});

enum class Verify {
  kStructure,  // the zip, the headers and row_offsets: O(rows)
  kHash,       // also every column's range and the content hash: one pass over the file
};

class CsrFile {
 public:
  // Throws DatasetError when the file is missing, damaged or not in the working format (see import_file).
  static CsrFile open(const std::filesystem::path& path, Verify verify = Verify::kHash);

  std::int32_t rows() const { return view_.rows; }
  std::int32_t cols() const { return view_.cols; }
  std::int64_t nnz() const { return view_.nnz(); }
  std::span<const std::int32_t> row_offsets() const {
    return view_.row_offsets;
  }                                                                        // [rows + 1], 64-byte aligned
  std::span<const std::int32_t> columns() const { return view_.columns; }  // [nnz], 64-byte aligned
  std::span<const float> values() const { return view_.values; }           // [nnz], 64-byte aligned
  const CsrView& view() const { return view_; }

  // As recorded in the file; verified against the arrays only by Verify::kHash.
  const std::string& content_hash() const { return content_hash_; }
  const CsrMetadata& metadata() const { return metadata_; }
  const std::filesystem::path& path() const { return path_; }

 private:
  CsrFile() = default;

  std::filesystem::path path_;
  std::shared_ptr<const std::byte> mapping_;  // unmapped with the last copy
  CsrView view_;
  CsrMetadata metadata_;
  std::string content_hash_;
};

}  // namespace warpgrade::datasets

// The working format: SciPy's uncompressed CSR archive (.npz), memory-mapped.
//
// scipy.sparse.load_npz opens what write_csr writes. The members' data start at multiples of 64 bytes, so
// that the arrays are used where they lie in the file; warpgrade.json beside them tells where the matrix
// comes from and its content hash.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "warpgrade/datasets/csr.h"
#include "warpgrade/datasets/error.h"

namespace warpgrade::datasets {

// Done so far, of how much, in bytes or entries. Throwing from it stops the work.
using Progress = std::function<void(std::uint64_t done, std::uint64_t total)>;

struct Origin {
  std::string name;       // "cora"
  std::string source;     // "import cora.mtx.gz", "stand-in arxiv"
  std::string generator;  // "powerlaw-1", empty for imports
};

class CsrFile {
 public:
  // Maps the file. Throws DatasetError: not there, not such an archive, arrays that do not fit together.
  static CsrFile open(const std::filesystem::path& path);
  // Also verifies the content: for programs that must not be fooled, such as the judge. A process reads a
  // file in full once; as long as it is the very same file (inode, size, times of change) it is believed
  // after that. Of several threads one reads, the others wait for it.
  static CsrFile open_verified(const std::filesystem::path& path);

  int rows() const;
  int cols() const;
  std::int64_t nnz() const { return static_cast<std::int64_t>(columns().size()); }
  std::span<const int> row_offsets() const;  // [rows + 1]
  std::span<const int> columns() const;      // [nnz]
  std::span<const float> values() const;     // [nnz]
  const Origin& origin() const;
  std::string content_hash() const;  // SHA-256 over generator, shape and arrays, as recorded at writing

  // Computes the hash anew and compares; checks offsets and columns. Throws DatasetError when
  // anything differs.
  void verify() const;

 private:
  struct Mapping;
  std::shared_ptr<const Mapping> mapping_;
};

// What content_hash() of the written file will be.
std::string content_hash_of(const Csr& matrix, const Origin& origin);

// Writes atomically (temporary file, fsync, rename): a full disk or an interrupt leaves nothing behind.
// Returns the hash; `hash` is content_hash_of the matrix where the caller knows it already.
std::string write_csr(const std::filesystem::path& path, const Csr& matrix, const Origin& origin,
                      std::string hash = "");

}  // namespace warpgrade::datasets

// Matrices made from a few integers: stand-ins for the thirteen named graphs, and small shapes that break
// kernels.
//
// Everything is integer arithmetic on counter-based random numbers: entry j of row r depends on (seed, r, j)
// alone, so the result is the same to the byte on any machine with any number of threads. Work is O(nnz),
// memory is the result plus O(rows + cols).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "warpgrade/datasets/csr_file.h"
#include "warpgrade/datasets/progress.h"

namespace warpgrade::datasets {

// Raised whenever equal parameters would make different bytes than before.
inline constexpr int kStandInVersion = 1;
inline constexpr int kSyntheticVersion = 1;

struct GenerateOptions {
  int threads = 0;  // 0: one per hardware thread
  ProgressFn progress;
};

// A power-law graph: the node of rank i (0 is the largest) has weight ((i + 1/2) / n + 1e-6)^-skew; rows take
// degrees in proportion to weight and draw distinct columns with probability in proportion to weight, so that
// a hub row is a hub column as well. Ranks are scattered over the nodes. There is no community structure.
struct StandInSpec {
  std::string name;
  std::int32_t n = 0;                      // rows = cols
  std::int64_t nnz = 0;                    // met exactly
  std::int32_t skew_permille = 500;        // 1000 x the exponent, 0..1000
  std::optional<std::int32_t> max_degree;  // published maximum; absent: n
  std::uint64_t seed = 1;

  // The same shape at `ppm` millionths of n and nnz ("arxiv@0.01" is 10,000 ppm); nnz stays below n^2 / 2.
  StandInSpec scaled(std::int64_t ppm) const;
  std::string recipe() const;
};

HostCsr make_stand_in(const StandInSpec& spec, const GenerateOptions& options = {});

enum class SyntheticKind {
  kUniform,           // nnz distinct entries, equally likely, rows of nearly equal length
  kEmptyRows,         // nnz in every eighth row or fewer; all others, the first and the last are empty
  kHubRow,            // row rows/2 holds min(cols, nnz) entries, what is left is uniform over the other rows
  kSingleRow,         // rows must be 1
  kSingleColumn,      // cols must be 1
  kIdentity,          // ones on the main diagonal
  kBand,              // every column within half_width of the diagonal
  kAllEmpty,          // nnz = 0
  kRaggedTail,        // uniform, with a longer last row: sizes that are no multiple of 32, 64 or 128
  kTall,              // uniform over very many rows, few entries: row * k overflows 32 bits
  kDuplicateColumns,  // every entry of kUniform stored twice, next to each other
};

struct SyntheticSpec {
  SyntheticKind kind = SyntheticKind::kUniform;
  std::int32_t rows = 0;
  std::int32_t cols = 0;
  std::int64_t nnz = 0;         // stored entries wanted; kIdentity and kBand compute their own
  std::int32_t half_width = 1;  // kBand only
  std::uint64_t seed = 1;

  std::string recipe() const;
};

// Throws DatasetError when the spec cannot be met (nnz > rows * cols, ...).
HostCsr synth_matrix(const SyntheticSpec& spec, const GenerateOptions& options = {});

std::string_view to_string(SyntheticKind kind);  // "uniform", "empty-rows", ...
std::optional<SyntheticKind> synthetic_kind_from(std::string_view text);

}  // namespace warpgrade::datasets

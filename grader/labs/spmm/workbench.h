// The judge's bench for lab spmm: private inputs, the buffers shared with the runners, and the checks. Two of
// them: host memory (memfd, for the emulator) and a GPU (VMM). Both fill and check the same values
// (measure/random.h).
//
// Shapes  A [rows, cols] CSR, B [cols, k], C [rows, k], row-major, fp32; 64-bit cell indices.
#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "judge/case_bench.h"
#include "measure/random.h"

namespace warpgrade::spmm {

// The structure of A in host memory; values come from a seed.
struct Structure {
  int rows = 0, cols = 0;
  std::span<const int> row_offsets;  // [rows + 1]
  std::span<const int> columns;      // [nnz]
  std::int64_t nnz() const { return static_cast<std::int64_t>(columns.size()); }
};

// How the values of one round are drawn.
struct Values {
  Distribution distribution = Distribution::kUniform;
  std::uint64_t seed = 0;
};

struct Mismatch {
  std::int64_t row = 0;
  int col = 0;
  double want = 0;
  float got = 0;
};

// The result of a check of C. Rows are judged by acceptance: a row is good only when every cell of it passed.
struct Check {
  std::string method;
  std::int64_t cells_checked = 0;
  double max_error_over_bound = 0;  // of accepted cells
  std::int64_t bad_cells = 0;
  std::vector<std::uint8_t> bad_rows;  // [rows] when bad_cells > 0
  std::vector<std::uint8_t> bad_cols;  // [k] when bad_cells > 0, empty when the method can't tell
  std::vector<Mismatch> first;         // up to 16
  std::int64_t never_written = 0;      // cells that still hold the poison
  bool ok() const { return bad_cells == 0 && cells_checked > 0; }
};

class Workbench : public CaseBench {
 public:
  // Allocates and fills everything for A and k. The spans must outlive the bench's use of them.
  virtual void load(const Structure& a, int k, bool with_baseline_output) = 0;

  virtual void refresh_a(Values values) = 0;  // also restores the structure
  virtual void refresh_b(Values values) = 0;

  // The private copy against A * B in fp64: every cell. Exact: bit for bit in rows of at most kExactTerms
  // entries.
  virtual Check check_every_cell(bool exact) = 0;
  // The private copy against A * (B * x) with a fresh Gaussian x (Freivalds 1979).
  virtual Check check_product(std::uint64_t seed) = 0;

  // Free device memory now, where it can be asked.
  virtual std::optional<std::size_t> free_memory() { return std::nullopt; }
};

std::unique_ptr<Workbench> make_host_workbench(int threads);
std::unique_ptr<Workbench> make_cuda_workbench(int threads);  // throws JudgeFault without a GPU

// Acceptance bounds, u = 2^-24 (fp32's unit roundoff).
//
// A cell: |got - want| <= 8 u sqrt(row_nnz) sum|a||b|. A sum of n terms in any order errs by a random walk of
// about u * sqrt(n) * partial sums, below u * sqrt(n) * sum|a||b|; the factor 8 leaves room for the tail
// (calibration: the record keeps the largest error over bound that was seen). Lower precision passes in long
// rows and is caught bit for bit by the exact round.
WARPGRADE_HOST_DEVICE inline double cell_bound(double row_nnz, double abs_sum) {
#ifdef __CUDA_ARCH__
  return 8 * 0x1p-24 * sqrt(row_nnz) * abs_sum;
#else
  return 8 * 0x1p-24 * __builtin_sqrt(row_nnz) * abs_sum;
#endif
}

// A row of C * x: the errors of k cells, weighted by a Gaussian x, add up as a random walk:
// 8 u sqrt(row_nnz) |a_i|_1 max|b| sqrt(k) (the bench folds in the largest |x|'s share through the factor).
WARPGRADE_HOST_DEVICE inline double product_bound(double row_nnz, double abs_row, double max_b, double k) {
  return cell_bound(row_nnz, abs_row * max_b) *
#ifdef __CUDA_ARCH__
         sqrt(k);
#else
         __builtin_sqrt(k);
#endif
}

}  // namespace warpgrade::spmm

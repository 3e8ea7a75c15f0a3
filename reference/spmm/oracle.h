// The trusted answer of the lab `spmm`: C = A * B in double precision on the CPU, with what an error
// bound needs.
//
// fp32 inputs are widened exactly, a product of two fp32 numbers is exact in fp64, and a row of L entries
// sums to within L * 2^-53 of the truth: against any fp32 kernel the oracle is exact for every L below 2^20.
//
// Shapes  A [rows, cols] CSR, B [cols, k] row-major, C [rows, k] row-major; host memory; 64-bit offsets.
// Cost    2 * nnz * k flop, spread over `threads` threads (0: all cores).
#pragma once

#include <cstdint>
#include <span>

namespace warpgrade {

struct CsrView {
  std::int64_t cols = 0;
  std::span<const int> row_offsets;  // [rows + 1], row_offsets[0] == 0
  std::span<const int> columns;      // [nnz], each in [0, cols); duplicates add up
  std::span<const float> values;     // [nnz]

  std::int64_t rows() const { return static_cast<std::int64_t>(row_offsets.size()) - 1; }
  std::int64_t row_nnz(std::int64_t row) const { return row_offsets[row + 1] - row_offsets[row]; }
};

// Throws std::invalid_argument that names the first broken rule of CSR (offsets, a column out of range) and
// its place. The other functions here trust their matrix.
void check_csr(const CsrView& a);

// Every row. `abs_sum`, where not nullptr, receives sum |a_ij| * |b_jc| for each cell of C: the scale of
// its rounding error.
void spmm_oracle(const CsrView& a, int k,
                 const float* b,   // [cols, k]
                 double* c,        // [rows, k]
                 double* abs_sum,  // [rows, k] or nullptr
                 int threads = 0);

// The rows listed (any order, repeats allowed): line i of c and abs_sum belongs to rows[i].
void spmm_oracle_rows(const CsrView& a, int k, const float* b, std::span<const int> rows,
                      double* c,        // [rows.size(), k]
                      double* abs_sum,  // [rows.size(), k] or nullptr
                      int threads = 0);

// The worst-case error of an fp32 sum of row_nnz products in any order, fused or not:
// ((1 + u)^(row_nnz + 1) - 1) * abs_sum with u = 2^-24. Typical errors are far smaller.
double spmm_worst_case_error(std::int64_t row_nnz, double abs_sum);

}  // namespace warpgrade

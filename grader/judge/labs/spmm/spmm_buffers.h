// The judge's buffers for lab spmm: private inputs, the buffers shared with the runners, and the checks. Two
// of them: host memory (memfd, for the emulator) and a GPU (VMM). Both fill the same values (values.h) and
// apply the same bounds (precision.h).
//
// Shapes  A [rows, cols] CSR, B [cols, k], C [rows, k], row-major, fp32; 64-bit cell indices.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "judge/judging/case_buffers.h"
#include "judge/judging/kept_data.h"
#include "judge/labs/spmm/precision.h"
#include "judge/labs/spmm/values.h"

namespace warpgrade::spmm {

// The structure of A in host memory; values come from a seed.
struct Structure {
  int rows = 0, cols = 0;
  std::span<const int> row_offsets;  // [rows + 1]
  std::span<const int> columns;      // [nnz]
  std::string content{};             // names the structure where later cases may have the same one; or empty
  std::int64_t nnz() const { return static_cast<std::int64_t>(columns.size()); }
};

struct Mismatch {
  std::int64_t row = 0;
  int col = 0;
  double want = 0;
  float got = 0;
};

// The errors of one group of row lengths (precision.h), each over u times its scale.
struct LengthGroup {
  std::int64_t count = 0;
  double squares = 0;  // their sum
};

// The result of a check of C. Rows are judged by acceptance: a row is good only when every cell of it passed.
struct Check {
  std::string method;
  std::int64_t cells_checked = 0, exact_cells = 0;  // of those, compared bit for bit
  double max_error_over_bound = 0;                  // of accepted cells
  std::int64_t bad_cells = 0;
  std::int64_t outliers = 0;           // cells between their bound and twice their bound
  std::int64_t not_exact = 0;          // bad cells of those compared bit for bit
  std::vector<std::uint8_t> bad_rows;  // [rows] when bad_cells > 0
  std::vector<std::uint8_t> bad_cols;  // [k] when bad_cells > 0, empty when the method can't tell
  std::vector<Mismatch> first;         // up to 16
  std::int64_t never_written = 0;      // cells that still hold the poison
  std::array<LengthGroup, kLengthGroups> lengths;
  std::vector<int> imprecise;     // groups whose root mean square is beyond its limit
  double max_rms_over_limit = 0;  // of all groups
  bool ok() const { return bad_cells == 0 && imprecise.empty() && cells_checked > 0; }
};

// Settles what is judged over all cells: outliers become bad cells unless so few are to be expected, and the
// groups' root mean squares are compared with their limits.
void settle(Check& check);

// Freivalds' vector: Gaussian, of length sqrt(k).
std::vector<double> draw_x(std::uint64_t seed, int k);

// "rows of 64 entries or more have errors 12 times what fp32 gives"; empty where no group is imprecise.
std::string describe_precision(const Check& check);

class SpmmBuffers : public CaseBuffers {
 public:
  // Allocates and fills everything for A and k. The spans must outlive the buffers' use of them.
  virtual void load(const Structure& a, int k) = 0;

  // Fresh values (values.h). A's also restore the structure, and B's follow from A's: B is drawn after A.
  virtual void refresh_a(std::uint64_t seed) = 0;
  virtual void refresh_b(std::uint64_t seed) = 0;

  // The private copy against A * B in fp64: every cell, those that are exact bit for bit.
  virtual Check check_every_cell() = 0;
  // The same for the cells of B's sparse and exact columns alone: few columns, but whatever the rows'
  // lengths, in one of them a 16-bit type shows.
  virtual Check check_sparse_columns() = 0;
  // The private copy against A * (B * x) with a fresh Gaussian x (Freivalds 1979).
  virtual Check check_product(std::uint64_t seed) = 0;

  // Free device memory now, where it can be asked.
  virtual std::optional<std::size_t> free_memory() { return std::nullopt; }
};

std::unique_ptr<SpmmBuffers> make_host_spmm_buffers(int threads);
// `kept`: where A's structure stays on the device for later cases of the same content. Throws JudgeFault
// without a GPU.
std::unique_ptr<SpmmBuffers> make_cuda_spmm_buffers(KeptData& kept);

}  // namespace warpgrade::spmm

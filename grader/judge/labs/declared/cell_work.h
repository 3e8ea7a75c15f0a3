// Work on every cell of arrays in the judge's private memory, where the runs' buffers are: on the host,
// or on a GPU by kernels of the judge's own. Inputs are drawn where they are used, and outputs compared
// where they lie.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "judge/labs/declared/cell_error.h"
#include "judge/labs/declared/cell_formulas.h"

namespace warpgrade::declared {

// Where the numbers of a field lie: cell i at offset + i * stride.
struct CellLayout {
  declaration::Scalar type = declaration::Scalar::kInt32;
  std::size_t offset = 0, stride = 0;

  WARPGRADE_HOST_DEVICE std::size_t at(std::int64_t i) const {
    return static_cast<std::size_t>(i) * stride + offset;
  }
};

// One field of an output beside what is taken for right: another program's output, or the oracle's answer.
// A cell is the same where its error is at most `most` of what the check allows.
struct FieldComparison {
  CellCheck check;
  CellLayout got, wanted, magnitude;  // whole numbers: got and wanted of one type
  std::int64_t count = 0;
  double most = 1;
};

struct Differences {
  std::int64_t cells = 0;  // that are not the same
  double most = 0;         // of the others: the largest error over what the check allows
  double squares = 0;      // of the others' errors over that, added up
};

// The error of cell i over what the check allows, `wanted` taken for right. `magnitudes`: their signs do not
// count; null: a bound is then 0.
WARPGRADE_HOST_DEVICE inline double share_of_cell(const FieldComparison& field, std::int64_t i,
                                                  const std::byte* got, const std::byte* wanted,
                                                  const std::byte* magnitudes) {
  const CellLayout& own = field.got;
  const std::byte* right = wanted + field.wanted.at(i);
  if (!is_floating(own.type))
    return read_integer(own.type, got + own.at(i)) == read_integer(own.type, right) ? 0 : INFINITY;
  const double magnitude =
      magnitudes == nullptr ? 0
                            : std::fabs(read_real(field.magnitude.type, magnitudes + field.magnitude.at(i)));
  return error_over_bound(field.check, own.type, got + own.at(i), read_real(field.wanted.type, right),
                          magnitude);
}

class CellWork {
 public:
  virtual ~CellWork() = default;

  // Private memory. Throws JudgeFault when there is no room.
  virtual std::shared_ptr<std::byte> allocate(std::size_t bytes) = 0;
  virtual void copy(void* to, const void* from, std::size_t bytes) = 0;
  // An array's elements, of `bytes` in all: the bits that draw_cells writes.
  virtual void draw(const std::vector<FieldDraw>& fields, void* cells, std::size_t bytes) = 0;
  // The same into memory of the host. Threads may call it at once.
  virtual void draw_to_host(const std::vector<FieldDraw>& fields, std::span<std::byte> cells) = 0;
  // Of floating-point numbers: without their signs.
  virtual void make_absolute(declaration::Scalar type, void* cells, std::int64_t count) = 0;
  virtual Differences compare(const FieldComparison& field, const void* got, const void* wanted,
                              const void* magnitudes) = 0;
  // The same with `wanted` and `magnitudes` (empty: none) in memory of the host.
  virtual Differences compare_with_host(const FieldComparison& field, const void* got,
                                        std::span<const std::byte> wanted,
                                        std::span<const std::byte> magnitudes) = 0;
};

std::unique_ptr<CellWork> make_host_cell_work();
std::unique_ptr<CellWork> make_cuda_cell_work();  // throws JudgeFault without a GPU

}  // namespace warpgrade::declared

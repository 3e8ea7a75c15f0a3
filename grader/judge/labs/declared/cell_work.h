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

// One field of two programs' outputs. A cell is the same where its error is at most `most` of what the
// check allows.
struct FieldComparison {
  CellCheck check;
  declaration::Scalar type = declaration::Scalar::kInt32;
  std::size_t offset = 0, stride = 0;
  std::int64_t count = 0;
  double most = 1;
};

struct Differences {
  std::int64_t cells = 0;  // that are not the same
  double most = 0;         // of the others: the largest error over what the check allows
  double squares = 0;      // of the others' errors over that, added up
};

// The error of cell i over what the check allows, `wanted` taken for right. `magnitudes`: laid out as the
// output, their signs do not count; null: a bound is then 0.
WARPGRADE_HOST_DEVICE inline double share_of_cell(const FieldComparison& field, std::int64_t i,
                                                  const std::byte* got, const std::byte* wanted,
                                                  const std::byte* magnitudes) {
  const std::size_t at = static_cast<std::size_t>(i) * field.stride + field.offset;
  if (!is_floating(field.type))
    return read_integer(field.type, got + at) == read_integer(field.type, wanted + at) ? 0 : INFINITY;
  const double magnitude = magnitudes == nullptr ? 0 : std::fabs(read_real(field.type, magnitudes + at));
  return error_over_bound(field.check, field.type, got + at, read_real(field.type, wanted + at), magnitude);
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
};

std::unique_ptr<CellWork> make_host_cell_work();
std::unique_ptr<CellWork> make_cuda_cell_work();  // throws JudgeFault without a GPU

}  // namespace warpgrade::declared

#include "cublaslt/matrices.h"

#include <cstdio>
#include <mutex>
#include <set>

#include "left_out.h"

namespace warpgrade::cublaslt {
namespace {

// The orders in tiles of 32 columns: elements of one such group lie together.
constexpr int64_t kGroup = 32;

bool is_in_groups(const Layout& layout) {
  return layout.order == CUBLASLT_ORDER_COL32 || layout.order == CUBLASLT_ORDER_COL4_4R2_8C ||
         layout.order == CUBLASLT_ORDER_COL32_2R_4R4;
}

int64_t groups_of(const Layout& layout) {
  return (static_cast<int64_t>(layout.columns) + kGroup - 1) / kGroup;
}

// Elements of a group, which ends with a whole tile of rows.
int64_t group_size(const Layout& layout) {
  const auto rows = static_cast<int64_t>(layout.rows);
  const int64_t tile = layout.order == CUBLASLT_ORDER_COL32         ? 1
                       : layout.order == CUBLASLT_ORDER_COL4_4R2_8C ? 8
                                                                    : 32;
  return kGroup * ((rows + tile - 1) / tile * tile);
}

// As cublasLt.h describes cublasLtOrder_t. It draws no picture of CUBLASLT_ORDER_COL4_4R2_8C: NVIDIA's FasterTransformer
// fills such matrices on the host (index_CUBLASLT_ORDER_COL4_4R2_8C of weight_quantize_op).
int64_t place_in_group(const Layout& layout, int64_t row, int64_t column) {
  if (layout.order == CUBLASLT_ORDER_COL32) return row * kGroup + column;
  if (layout.order == CUBLASLT_ORDER_COL4_4R2_8C) {
    const int64_t r = row % 8, half = column % 8 / 4;
    return row / 8 * 8 * kGroup + (r % 2 * 4 + column / 8) * kGroup + (half * 4 + r / 2) * 4 + column % 4;
  }
  const int64_t r = row % kGroup;
  return (row / kGroup * kGroup + ((r % 8) / 2 * 4 + r / 8) * 2 + r % 2) * kGroup + column;
}

cublas::Place place(const Layout& layout, const void* at) {
  return {at, static_cast<cudaDataType>(layout.type), layout.ld};
}

// Calls `each` with every row, column, and the group and the place there.
template <class Each>
void in_groups(const Layout& layout, Each each) {
  for (int64_t c = 0; c < static_cast<int64_t>(layout.columns); ++c)
    for (int64_t r = 0; r < static_cast<int64_t>(layout.rows); ++r)
      each(r, c, place_in_group(layout, r, c % kGroup), c / kGroup);
}

}  // namespace

void refuse(const char* function, const std::string& why, cublasStatus_t status) {
  static std::mutex mutex;
  static auto& said = *new std::set<std::string>;  // never destroyed: programs call in static destructors
  const std::lock_guard lock(mutex);
  if (said.insert(function + why).second) std::fprintf(stderr, "emulator: %s: %s\n", function, why.c_str());
  throw cublas::Failure{status};
}

void leave_out(const char* function, const std::string& what) {
  libraries::say_left_out(LEFT_OUT_TITLE, (function + (" with " + what)).c_str());
  throw cublas::Failure{CUBLAS_STATUS_NOT_SUPPORTED};
}

Layout layout_of(const cublasLtMatrixLayoutOpaque_t* descriptor, const char* function, const char* name) {
  const std::string matrix = std::string("the layout of ") + name;
  require(descriptor != nullptr, function, matrix + " is a null pointer");
  const auto layout = held_in<Layout>(descriptor);
  const std::string of = std::string(" of ") + name;
  require_here(
      layout.order == CUBLASLT_ORDER_COL || layout.order == CUBLASLT_ORDER_ROW || is_in_groups(layout),
      function, "CUBLASLT_MATRIX_LAYOUT_ORDER " + std::to_string(layout.order) + of);
  require_here(layout.plane_offset == 0, function,
               "CUBLASLT_MATRIX_LAYOUT_PLANE_OFFSET (complex numbers)" + of);
  require(layout.batch_count >= 1 && layout.batch_mode <= 1, function,
          matrix + " has no batch of at least 1");
  const auto rows = static_cast<int64_t>(layout.rows), columns = static_cast<int64_t>(layout.columns);
  require(rows > 0 && columns > 0, function,
          matrix + " has " + std::to_string(rows) + " rows and " + std::to_string(columns) +
              " columns, expected at least 1");
  const int64_t least = layout.order == CUBLASLT_ORDER_COL   ? rows
                        : layout.order == CUBLASLT_ORDER_ROW ? columns
                                                             : group_size(layout);
  require(layout.ld >= least, function,
          "the leading dimension" + of + " is " + std::to_string(layout.ld) + ", expected at least " +
              std::to_string(least));
  return layout;
}

const void* matrix_at(Call& call, const Layout& layout, const void* first, int64_t index) {
  if (layout.batch_mode == 1) return call.vector(static_cast<const void* const*>(first) + index, 1, 1)[0];
  return cublas::further(place(layout, first), index * layout.batch_stride);
}

template <class T>
Matrix<T> load(Call& call, const Layout& layout, const void* at) {
  const auto rows = static_cast<int64_t>(layout.rows), columns = static_cast<int64_t>(layout.columns);
  if (layout.order == CUBLASLT_ORDER_COL) return cublas::load<T>(call, place(layout, at), rows, columns);
  if (layout.order == CUBLASLT_ORDER_ROW)
    return cublas::transposed(cublas::load<T>(call, place(layout, at), columns, rows));
  const Matrix<T> stored = cublas::load<T>(call, place(layout, at), group_size(layout), groups_of(layout));
  Matrix<T> m(rows, columns);
  in_groups(layout, [&](int64_t r, int64_t c, int64_t in_group, int64_t group) {
    m(r, c) = stored(in_group, group);
  });
  return m;
}

template <class T>
void store(Call& call, const Layout& layout, void* at, const Matrix<T>& m) {
  if (layout.order == CUBLASLT_ORDER_COL) return cublas::store(call, place(layout, at), m);
  if (layout.order == CUBLASLT_ORDER_ROW)
    return cublas::store(call, place(layout, at), cublas::transposed(m));
  // What fills the last tiles stays.
  Matrix<T> stored = cublas::load<T>(call, place(layout, at), group_size(layout), groups_of(layout));
  in_groups(layout, [&](int64_t r, int64_t c, int64_t in_group, int64_t group) {
    stored(in_group, group) = m(r, c);
  });
  cublas::store(call, place(layout, at), stored);
}

template Matrix<float> load(Call&, const Layout&, const void*);
template Matrix<double> load(Call&, const Layout&, const void*);
template Matrix<int32_t> load(Call&, const Layout&, const void*);
template void store(Call&, const Layout&, void*, const Matrix<float>&);
template void store(Call&, const Layout&, void*, const Matrix<double>&);
template void store(Call&, const Layout&, void*, const Matrix<int32_t>&);

}  // namespace warpgrade::cublaslt

// Between dense and sparse matrices, and between the formats of sparse ones.
#include <algorithm>
#include <numeric>

#include "cusparse/structure.h"

namespace warpgrade::cusparse {
namespace {

constexpr cusparseOperation_t kPlain = CUSPARSE_OPERATION_NON_TRANSPOSE;

using libraries::Held;

void check_conversion(const Held<cusparseSpMatDescr>& sparse, const Held<cusparseDnMatDescr>& dense) {
  require_all(sparse, dense);
  require(sparse->rows == dense->rows && sparse->columns == dense->columns,
          "the matrices must have the same size");
  require_supported(sparse->type == dense->type, "the matrices must have the same type");
  require_supported(sparse->batches == 1 && dense->batches == 1, "matrices in batches are not converted");
}

void fill_dense(const Call& call, const cusparseSpMatDescr& a, const cusparseDnMatDescr& b) {
  const Entries entries = read_entries(call, a, 0);
  const std::vector<Complex> values = read_entry_values<Complex>(call, a, 0);
  Dense<Complex> dense(b.rows, b.columns);
  for (size_t e = 0; e < values.size(); ++e)
    if (entries.is_in(e)) dense.row(entries.rows[e])[entries.columns[e]] = values[e];
  write_dense(call, b, 0, dense);
}

// Row by row; of CSC column by column.
struct NonZeros {
  Indices lines{}, inner{};
  std::vector<Complex> values{};
};
NonZeros non_zeros(const Call& call, const cusparseDnMatDescr& a, cusparseFormat_t format) {
  const bool by_column = format == CUSPARSE_FORMAT_CSC;
  const Dense<Complex> dense =
      read_dense<Complex>(call, a, 0, by_column ? CUSPARSE_OPERATION_TRANSPOSE : kPlain);
  NonZeros found;
  for (int64_t line = 0; line < dense.rows; ++line) {
    for (int64_t k = 0; k < dense.columns; ++k) {
      const Complex value = dense.row(line)[k];
      if (value == Complex{}) continue;
      found.lines.push_back(line);
      found.inner.push_back(k);
      found.values.push_back(value);
    }
  }
  return found;
}

// Where each of `lines` lines begins among sorted entries.
Indices offsets_of(const Indices& line_of, int64_t lines) {
  Indices offsets(static_cast<size_t>(lines) + 1);
  for (const int64_t line : line_of) ++offsets[line + 1];
  std::partial_sum(offsets.begin(), offsets.end(), offsets.begin());
  return offsets;
}

void add_base(Indices& indices, int64_t base) {
  for (int64_t& index : indices) index += base;
}

void convert(const Call& call, const cusparseDnMatDescr& a, const cusparseSpMatDescr& b) {
  NonZeros found = non_zeros(call, a, b.format);
  require(b.nnz == static_cast<int64_t>(found.values.size()),
          "nnz differs from the matrix's: cusparseDenseToSparse_analysis comes first");
  Indices lines = b.format == CUSPARSE_FORMAT_COO ? std::move(found.lines)
                                                  : offsets_of(found.lines, b.offsets_count() - 1);
  add_base(lines, b.base);
  add_base(found.inner, b.base);
  call.write_indices(b.offsets, b.index_type, lines, "the offsets or rows of B");
  call.write_indices(b.inner, b.index_type, found.inner, "the indices of B");
  write_entry_values(call, b, 0, found.values);
}

// --- the older interface: 32-bit indices in CSR and COO ---

constexpr cusparseIndexType_t kInt = CUSPARSE_INDEX_32I;

void require_sizes(int64_t m, int64_t n, int64_t nnz) {
  require(m >= 0 && n >= 0 && nnz >= 0, "a size is negative");
}

cusparseSpMatDescr csr_of(int m, int n, int nnz, const int* offsets, const int* columns, const void* values,
                          cusparseIndexBase_t base, cudaDataType type) {
  return {CUSPARSE_FORMAT_CSR, m,    n,    nnz, mutable_of(offsets), mutable_of(columns),
          mutable_of(values),  kInt, base, type};
}

void compress(const Call& call, const int* row_of, int nnz, int m, int* offsets, cusparseIndexBase_t base) {
  require_sizes(m, 0, nnz);
  Indices rows = call.read_indices(row_of, kInt, nnz, "cooRowInd");
  for (size_t e = 0; e < rows.size(); ++e) {
    rows[e] -= base;
    const int64_t least = e == 0 ? 0 : rows[e - 1];
    if (rows[e] < least || rows[e] >= m)
      throw Failure{CUSPARSE_STATUS_EXECUTION_FAILED,
                    "entry " + std::to_string(e) + " of cooRowInd is " + std::to_string(rows[e] + base) +
                        ", expected " + std::to_string(least + base) + " to " + std::to_string(m - 1 + base) +
                        ": rows must ascend (cusparseXcoosortByRow sorts them)"};
  }
  Indices begins = offsets_of(rows, m);
  add_base(begins, base);
  call.write_indices(offsets, kInt, begins, "csrRowPtr");
}

// Columns are not looked at: they are all 0.
void expand(const Call& call, const int* offsets, int nnz, int m, int* row_of, cusparseIndexBase_t base) {
  require_sizes(m, 0, nnz);
  const Indices begins = call.read_indices(offsets, kInt, m + 1, "csrRowPtr");
  Indices rows;
  for (int r = 0; r < m; ++r) {
    if (begins[r + 1] < begins[r] || begins[r + 1] - base > nnz || begins[0] != base)
      throw Failure{CUSPARSE_STATUS_EXECUTION_FAILED, "csrRowPtr[" + std::to_string(r + 1) + "] is " +
                                                          std::to_string(begins[r + 1]) +
                                                          ": offsets must ascend from the base to nnz"};
    rows.insert(rows.end(), static_cast<size_t>(begins[r + 1] - begins[r]), r + base);
  }
  call.write_indices(row_of, kInt, rows, "cooRowInd");
}

struct Csc {
  void* values;
  int *offsets, *rows;
};
void transpose_csr(const Call& call, const cusparseSpMatDescr& a, const Csc& to, cusparseAction_t action) {
  Rows columns = read_rows(call, a, 0, CUSPARSE_OPERATION_TRANSPOSE);
  add_base(columns.offsets, a.base);
  add_base(columns.columns_of, a.base);
  call.write_indices(to.offsets, kInt, columns.offsets, "cscColPtr");
  call.write_indices(to.rows, kInt, columns.columns_of, "cscRowInd");
  if (action == CUSPARSE_ACTION_SYMBOLIC) return;
  const std::vector<Complex> values = read_entry_values<Complex>(call, a, 0);
  std::vector<Complex> moved_values;
  for (const int64_t place : columns.places) moved_values.push_back(values[place]);
  write_values(call, to.values, a.type, {1, a.nnz, a.nnz}, moved_values, "cscVal");
}

void sort_entries(const Call& call, int nnz, int* first, int* second, int* places) {
  require(nnz >= 0, "a size is negative");
  const Indices a = call.read_indices(first, kInt, nnz, "the indices"),
                b = call.read_indices(second, kInt, nnz, "the indices");
  const Indices old = places == nullptr ? Indices{} : call.read_indices(places, kInt, nnz, "P");
  Indices order(static_cast<size_t>(nnz));
  std::iota(order.begin(), order.end(), int64_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](int64_t p, int64_t q) { return a[p] != a[q] ? a[p] < a[q] : b[p] < b[q]; });
  const auto write = [&](int* to, const Indices& from, const char* what) {
    Indices sorted;
    for (const int64_t place : order) sorted.push_back(from[place]);
    call.write_indices(to, kInt, sorted, what);
  };
  write(first, a, "the indices");
  write(second, b, "the indices");
  if (places != nullptr) write(places, old, "P");
}

// Within each line alone.
void sort_lines(const Call& call, int lines, int nnz, const int* offsets, int* inner, int* places,
                cusparseIndexBase_t base) {
  require_sizes(lines, 0, nnz);
  const Indices begins = call.read_indices(offsets, kInt, lines + 1, "the offsets");
  const Indices old = call.read_indices(inner, kInt, nnz, "the indices");
  const Indices old_places = places == nullptr ? Indices{} : call.read_indices(places, kInt, nnz, "P");
  Indices order(static_cast<size_t>(nnz)), sorted, sorted_places;
  std::iota(order.begin(), order.end(), int64_t{0});
  for (int k = 0; k < lines; ++k) {
    const int64_t from = begins[k] - base, to = begins[k + 1] - base;
    require(0 <= from && from <= to && to <= nnz, "offsets must ascend from the base to nnz");
    std::stable_sort(order.begin() + from, order.begin() + to,
                     [&](int64_t p, int64_t q) { return old[p] < old[q]; });
  }
  for (const int64_t place : order) {
    sorted.push_back(old[place]);
    if (places != nullptr) sorted_places.push_back(old_places[place]);
  }
  call.write_indices(inner, kInt, sorted, "the indices");
  if (places != nullptr) call.write_indices(places, kInt, sorted_places, "P");
}

// The older interface has another code for a missing handle.
template <class Work>
cusparseStatus_t run_older(const char* function, cusparseHandle_t handle, Work work) {
  return handle == nullptr ? CUSPARSE_STATUS_NOT_INITIALIZED : run(function, handle, work);
}
cusparseStatus_t tell_sort_buffer(const char* function, cusparseHandle_t handle, size_t* bytes) {
  if (handle == nullptr) return CUSPARSE_STATUS_NOT_INITIALIZED;
  return tell_buffer(function, handle, bytes, [] {});
}

}  // namespace
}  // namespace warpgrade::cusparse

using namespace warpgrade::cusparse;

extern "C" {

cusparseStatus_t cusparseSparseToDense_bufferSize(cusparseHandle_t handle, cusparseConstSpMatDescr_t a,
                                                  cusparseDnMatDescr_t b, cusparseSparseToDenseAlg_t,
                                                  size_t* bytes) {
  return tell_buffer(__func__, handle, bytes, [&] { check_conversion(a, b); });
}
cusparseStatus_t cusparseSparseToDense(cusparseHandle_t handle, cusparseConstSpMatDescr_t a,
                                       cusparseDnMatDescr_t b, cusparseSparseToDenseAlg_t, void* buffer) {
  return run(__func__, handle, [=, a = Held(a), b = Held(b)](const Call& call) {
    check_conversion(a, b);
    require_buffer(buffer);
    fill_dense(call, *a, *b);
  });
}
cusparseStatus_t cusparseDenseToSparse_bufferSize(cusparseHandle_t handle, cusparseConstDnMatDescr_t a,
                                                  cusparseSpMatDescr_t b, cusparseDenseToSparseAlg_t,
                                                  size_t* bytes) {
  return tell_buffer(__func__, handle, bytes, [&] { check_conversion(b, a); });
}
cusparseStatus_t cusparseDenseToSparse_analysis(cusparseHandle_t handle, cusparseConstDnMatDescr_t a,
                                                cusparseSpMatDescr_t b, cusparseDenseToSparseAlg_t,
                                                void* buffer) {
  return run_at_once(__func__, handle, [&](const Call& call) {
    check_conversion(b, a);
    require_buffer(buffer);
    b->nnz = static_cast<int64_t>(non_zeros(call, *a, b->format).values.size());
  });
}
cusparseStatus_t cusparseDenseToSparse_convert(cusparseHandle_t handle, cusparseConstDnMatDescr_t a,
                                               cusparseSpMatDescr_t b, cusparseDenseToSparseAlg_t,
                                               void* buffer) {
  return run(__func__, handle, [=, a = Held(a), b = Held(b)](const Call& call) {
    check_conversion(b, a);
    require_buffer(buffer);
    convert(call, *a, *b);
  });
}

cusparseStatus_t cusparseXcoo2csr(cusparseHandle_t handle, const int* rows, int nnz, int m, int* offsets,
                                  cusparseIndexBase_t base) {
  return run_older(__func__, handle, [=](const Call& call) { compress(call, rows, nnz, m, offsets, base); });
}
cusparseStatus_t cusparseXcsr2coo(cusparseHandle_t handle, const int* offsets, int nnz, int m, int* rows,
                                  cusparseIndexBase_t base) {
  return run_older(__func__, handle, [=](const Call& call) { expand(call, offsets, nnz, m, rows, base); });
}
cusparseStatus_t cusparseCsr2cscEx2_bufferSize(cusparseHandle_t handle, int m, int n, int nnz, const void*,
                                               const int*, const int*, void*, int*, int*, cudaDataType type,
                                               cusparseAction_t, cusparseIndexBase_t, cusparseCsr2CscAlg_t,
                                               size_t* bytes) {
  return tell_buffer(__func__, handle, bytes, [&] {
    require_sizes(m, n, nnz);
    require_values(nullptr, type, 0);
  });
}
cusparseStatus_t cusparseCsr2cscEx2(cusparseHandle_t handle, int m, int n, int nnz, const void* values,
                                    const int* offsets, const int* columns, void* csc_values,
                                    int* csc_offsets, int* csc_rows, cudaDataType type,
                                    cusparseAction_t action, cusparseIndexBase_t base, cusparseCsr2CscAlg_t,
                                    void* buffer) {
  return run(__func__, handle, [=](const Call& call) {
    require_sizes(m, n, nnz);
    require_values(nullptr, type, 0);
    require_buffer(buffer);
    transpose_csr(call, csr_of(m, n, nnz, offsets, columns, values, base, type),
                  {csc_values, csc_offsets, csc_rows}, action);
  });
}

cusparseStatus_t cusparseCreateIdentityPermutation(cusparseHandle_t handle, int n, int* p) {
  return run_older(__func__, handle, [=](const Call& call) {
    require_sizes(n, 0, 0);
    Indices identity(static_cast<size_t>(n));
    std::iota(identity.begin(), identity.end(), int64_t{0});
    call.write_indices(p, kInt, identity, "p");
  });
}
cusparseStatus_t cusparseXcoosort_bufferSizeExt(cusparseHandle_t handle, int, int, int, const int*,
                                                const int*, size_t* bytes) {
  return tell_sort_buffer(__func__, handle, bytes);
}
cusparseStatus_t cusparseXcoosortByRow(cusparseHandle_t handle, int, int, int nnz, int* rows, int* columns,
                                       int* p, void* buffer) {
  return run_older(__func__, handle, [=](const Call& call) {
    require_buffer(buffer);
    sort_entries(call, nnz, rows, columns, p);
  });
}
cusparseStatus_t cusparseXcoosortByColumn(cusparseHandle_t handle, int, int, int nnz, int* rows, int* columns,
                                          int* p, void* buffer) {
  return run_older(__func__, handle, [=](const Call& call) {
    require_buffer(buffer);
    sort_entries(call, nnz, columns, rows, p);
  });
}
cusparseStatus_t cusparseXcsrsort_bufferSizeExt(cusparseHandle_t handle, int, int, int, const int*,
                                                const int*, size_t* bytes) {
  return tell_sort_buffer(__func__, handle, bytes);
}
cusparseStatus_t cusparseXcsrsort(cusparseHandle_t handle, int m, int, int nnz,
                                  const cusparseMatDescr_t descriptor, const int* offsets, int* columns,
                                  int* p, void* buffer) {
  return run_older(__func__, handle, [=, descriptor = Held(descriptor)](const Call& call) {
    require_all(descriptor);
    require_buffer(buffer);
    sort_lines(call, m, nnz, offsets, columns, p, descriptor->base);
  });
}
cusparseStatus_t cusparseXcscsort_bufferSizeExt(cusparseHandle_t handle, int, int, int, const int*,
                                                const int*, size_t* bytes) {
  return tell_sort_buffer(__func__, handle, bytes);
}
cusparseStatus_t cusparseXcscsort(cusparseHandle_t handle, int, int n, int nnz,
                                  const cusparseMatDescr_t descriptor, const int* offsets, int* rows, int* p,
                                  void* buffer) {
  return run_older(__func__, handle, [=, descriptor = Held(descriptor)](const Call& call) {
    require_all(descriptor);
    require_buffer(buffer);
    sort_lines(call, n, nnz, offsets, rows, p, descriptor->base);
  });
}

}  // extern "C"

// The structure of sparse matrices on the host, and dense matrices row by row.
#pragma once
#include "cusparse/descriptors.h"
#include "cusparse/values.h"

namespace warpgrade::cusparse {

// Each entry's place in the matrix, in the order in which entries stand in memory.
struct Entries {
  static constexpr int64_t kNoLine = -1;
  Indices rows, columns;
  bool is_in(size_t entry) const { return rows[entry] != kNoLine && columns[entry] != kNoLine; }
};

// An operation's rows: entries offsets[r] to offsets[r + 1] are of row r. `places` says where an entry stands
// in memory; entries of a row keep that order.
struct Rows {
  int64_t rows = 0, columns = 0;
  Indices offsets{}, columns_of{}, places{};

  template <class Visit>
  void for_row(int64_t row, Visit visit) const {
    for (int64_t k = offsets[row]; k < offsets[row + 1]; ++k) visit(columns_of[k], places[k]);
  }
};

// Reads the indices of a matrix of the batch and checks each: one that is outside of the matrix is a failure,
// which names its row or place.
Entries read_entries(const Call& call, const cusparseSpMatDescr& a, int batch);
Rows rows_of(const Entries& entries, int64_t rows, int64_t columns, bool transposed);
inline Rows read_rows(const Call& call, const cusparseSpMatDescr& a, int batch, cusparseOperation_t op) {
  return rows_of(read_entries(call, a, batch), a.rows, a.columns, op != CUSPARSE_OPERATION_NON_TRANSPOSE);
}

void require_operation(cusparseOperation_t op);
inline bool is_plain(cusparseOperation_t op) {
  return op == CUSPARSE_OPERATION_NON_TRANSPOSE;
}
template <class Matrix>
int64_t rows_under(const Matrix& m, cusparseOperation_t op) {
  return is_plain(op) ? m.rows : m.columns;
}
template <class Matrix>
int64_t columns_under(const Matrix& m, cusparseOperation_t op) {
  return is_plain(op) ? m.columns : m.rows;
}

// `entries_stride` elements further for each matrix of a batch.
inline void* moved(void* from, int64_t stride, int batch, size_t bytes) {
  return static_cast<unsigned char*>(from) + static_cast<size_t>(stride * batch) * bytes;
}

template <class X>
std::vector<X> read_entry_values(const Call& call, const cusparseSpMatDescr& a, int batch) {
  return read_values<X>(call, moved(a.values, a.entries_stride, batch, bytes_of(a.type)), a.type,
                        {1, a.nnz, a.nnz}, "the values of a sparse matrix");
}
template <class X>
void write_entry_values(const Call& call, const cusparseSpMatDescr& a, int batch,
                        const std::vector<X>& values) {
  write_values(call, moved(a.values, a.entries_stride, batch, bytes_of(a.type)), a.type, {1, a.nnz, a.nnz},
               values, "the values of a sparse matrix");
}
// Conjugated, where the operation asks for it.
template <class X>
std::vector<X> read_operand_values(const Call& call, const cusparseSpMatDescr& a, int batch,
                                   cusparseOperation_t op) {
  std::vector<X> values = read_entry_values<X>(call, a, batch);
  if (op == CUSPARSE_OPERATION_CONJUGATE_TRANSPOSE) conjugate_all(values);
  return values;
}

// Rows one behind the other.
template <class X>
struct Dense {
  int64_t rows, columns;
  std::vector<X> data;

  Dense(int64_t r, int64_t c) : rows(r), columns(c), data(static_cast<size_t>(r * c)) {}
  X* row(int64_t r) { return data.data() + r * columns; }
  const X* row(int64_t r) const { return data.data() + r * columns; }
};

template <class X>
Dense<X> transpose(const Dense<X>& m) {
  Dense<X> t(m.columns, m.rows);
  for (int64_t r = 0; r < m.rows; ++r)
    for (int64_t c = 0; c < m.columns; ++c) t.row(c)[r] = m.row(r)[c];
  return t;
}

inline Lines lines_of(const cusparseDnMatDescr& m) {
  return m.order == CUSPARSE_ORDER_ROW ? Lines{m.rows, m.columns, m.ld} : Lines{m.columns, m.rows, m.ld};
}

template <class X>
Dense<X> read_dense(const Call& call, const cusparseDnMatDescr& m, int batch, cusparseOperation_t op) {
  const Lines lines = lines_of(m);
  Dense<X> read(lines.count, lines.length);
  read.data = read_values<X>(call, moved(m.values, m.stride, batch, bytes_of(m.type)), m.type, lines,
                             "the values of a dense matrix");
  if (op == CUSPARSE_OPERATION_CONJUGATE_TRANSPOSE) conjugate_all(read.data);
  return (m.order == CUSPARSE_ORDER_ROW) == is_plain(op) ? read : transpose(read);
}
template <class X>
void write_dense(const Call& call, const cusparseDnMatDescr& m, int batch, const Dense<X>& values) {
  write_values(call, moved(m.values, m.stride, batch, bytes_of(m.type)), m.type, lines_of(m),
               m.order == CUSPARSE_ORDER_ROW ? values.data : transpose(values).data,
               "the values of a dense matrix");
}

template <class X>
std::vector<X> read_vector(const Call& call, const cusparseDnVecDescr& y) {
  return read_values<X>(call, y.values, y.type, {1, y.size, y.size}, "the values of a dense vector");
}
template <class X>
void write_vector(const Call& call, const cusparseDnVecDescr& y, const std::vector<X>& values) {
  write_values(call, y.values, y.type, {1, y.size, y.size}, values, "the values of a dense vector");
}

}  // namespace warpgrade::cusparse

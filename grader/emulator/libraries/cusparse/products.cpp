// Products of a sparse matrix: with a vector, with a dense matrix; and of two dense ones, sampled by a
// sparse one.
#include <algorithm>

#include "cusparse/structure.h"

namespace warpgrade::cusparse {
namespace {

using Op = cusparseOperation_t;
using libraries::Held;

// As many as the result has, or one for all of them.
void require_batches(int operand, int result) {
  require(operand == result || operand == 1, "the batch counts of the matrices do not agree");
}
int batch_of(int operand, int batch) {
  return operand == 1 ? 0 : batch;
}

// beta * old, where nothing is read if beta is 0: the old values may be anything.
template <class X, class Read>
std::vector<X> scaled(X beta, size_t count, Read read) {
  if (beta == X{}) return std::vector<X>(count);
  std::vector<X> values = read();
  for (X& value : values) value = times(beta, value);
  return values;
}

// --- y = alpha * op(A) * x + beta * y ---

struct VectorProduct {
  Op op;
  const void *alpha, *beta;
  Held<cusparseSpMatDescr> a;
  Held<cusparseDnVecDescr> x;
  Held<cusparseDnVecDescr> y;
  cudaDataType compute;
  cusparseSpMVAlg_t algorithm;

  void check_buffer(const void* buffer) const { require_buffer(buffer); }
  void check() const {
    require_all(alpha, beta, a, x, y);
    require_operation(op);
    require(algorithm >= CUSPARSE_SPMV_ALG_DEFAULT && algorithm <= 6, "there is no such algorithm");
    const bool of_rows = algorithm == CUSPARSE_SPMV_CSR_ALG1 || algorithm == CUSPARSE_SPMV_CSR_ALG2;
    const bool of_entries = algorithm == CUSPARSE_SPMV_COO_ALG1 || algorithm == CUSPARSE_SPMV_COO_ALG2;
    require_supported(
        algorithm == CUSPARSE_SPMV_ALG_DEFAULT || (a->format == CUSPARSE_FORMAT_COO ? of_entries : of_rows),
        "the algorithm is one of another format");
    require(x->size == columns_under(*a, op), "the size of x must be the number of columns of op(A)");
    require(y->size == rows_under(*a, op), "the size of y must be the number of rows of op(A)");
    require_product_types(a->type, x->type, y->type, compute);
  }

  template <class X>
  void multiply(const Call& call) const {
    const X by = scalar<X>(call, alpha, compute, "alpha"), old = scalar<X>(call, beta, compute, "beta");
    const Rows rows = read_rows(call, *a, 0, op);
    const std::vector<X> values = read_operand_values<X>(call, *a, 0, op), in = read_vector<X>(call, *x);
    std::vector<X> out = scaled(old, static_cast<size_t>(y->size), [&] { return read_vector<X>(call, *y); });
    for (int64_t r = 0; r < rows.rows; ++r) {
      X sum{};
      rows.for_row(r, [&](int64_t column, int64_t place) { sum += times(values[place], in[column]); });
      out[r] += times(by, sum);
    }
    write_vector(call, *y, out);
  }
};

// --- C = alpha * op(A) * op(B) + beta * C ---

struct MatrixProduct {
  Op op_a, op_b;
  const void *alpha, *beta;
  Held<cusparseSpMatDescr> a;
  Held<cusparseDnMatDescr> b;
  Held<cusparseDnMatDescr> c;
  cudaDataType compute;
  cusparseSpMMAlg_t algorithm;

  // Of entries three algorithms want none; of rows NVIDIA's library finds the mistake late.
  void check_buffer(const void* buffer) const {
    if (a->format != CUSPARSE_FORMAT_COO)
      require_buffer(buffer, CUSPARSE_STATUS_INTERNAL_ERROR);
    else if (algorithm == CUSPARSE_SPMM_COO_ALG2)
      require_buffer(buffer);
  }
  bool suits_format() const {
    switch (algorithm) {
      case CUSPARSE_SPMM_ALG_DEFAULT:
        return true;
      case CUSPARSE_SPMM_COO_ALG1:
      case CUSPARSE_SPMM_COO_ALG2:
      case CUSPARSE_SPMM_COO_ALG3:
      case CUSPARSE_SPMM_COO_ALG4:
        return a->format == CUSPARSE_FORMAT_COO;
      case CUSPARSE_SPMM_CSR_ALG1:
      case CUSPARSE_SPMM_CSR_ALG2:
      case CUSPARSE_SPMM_CSR_ALG3:
        return a->format != CUSPARSE_FORMAT_COO;
      default:
        return false;
    }
  }

  void check() const {
    require_all(alpha, beta, a, b, c);
    require_operation(op_a);
    require_operation(op_b);
    require_supported(suits_format(), "the algorithm is one of another format");
    require(rows_under(*b, op_b) == columns_under(*a, op_a),
            "op(B) must have as many rows as op(A) has columns");
    require(c->rows == rows_under(*a, op_a), "C must have as many rows as op(A)");
    require(c->columns == columns_under(*b, op_b), "C must have as many columns as op(B)");
    require_batches(a->batches, c->batches);
    require_batches(b->batches, c->batches);
    require_product_types(a->type, b->type, c->type, compute);
  }

  template <class X>
  void multiply(const Call& call) const {
    const X by = scalar<X>(call, alpha, compute, "alpha"), old = scalar<X>(call, beta, compute, "beta");
    for (int batch = 0; batch < c->batches; ++batch) {
      const int of_a = batch_of(a->batches, batch);
      const Rows rows = read_rows(call, *a, of_a, op_a);
      const std::vector<X> values = read_operand_values<X>(call, *a, of_a, op_a);
      const Dense<X> in = read_dense<X>(call, *b, batch_of(b->batches, batch), op_b);
      Dense<X> out(c->rows, c->columns);
      out.data = scaled(old, out.data.size(), [&] {
        return read_dense<X>(call, *c, batch, CUSPARSE_OPERATION_NON_TRANSPOSE).data;
      });
      std::vector<X> sums(static_cast<size_t>(c->columns));
      for (int64_t r = 0; r < rows.rows; ++r) {
        std::fill(sums.begin(), sums.end(), X{});
        rows.for_row(r, [&](int64_t column, int64_t place) {
          const X value = values[place];
          const X* row = in.row(column);
          for (size_t k = 0; k < sums.size(); ++k) sums[k] += times(value, row[k]);
        });
        for (size_t k = 0; k < sums.size(); ++k) out.row(r)[k] += times(by, sums[k]);
      }
      write_dense(call, *c, batch, out);
    }
  }
};

// --- C = alpha * (op(A) * op(B)) where C has entries + beta * C ---

struct SampledProduct {
  Op op_a, op_b;
  const void *alpha, *beta;
  Held<cusparseDnMatDescr> a, b;
  Held<cusparseSpMatDescr> c;
  cudaDataType compute;

  void check_buffer(const void* buffer) const { require_buffer(buffer); }
  void check() const {
    require_all(alpha, beta, a, b, c);
    require_operation(op_a);
    require_operation(op_b);
    require_supported(c->format == CUSPARSE_FORMAT_CSR, "C must be in CSR");
    require_supported(
        op_a != CUSPARSE_OPERATION_CONJUGATE_TRANSPOSE && op_b != CUSPARSE_OPERATION_CONJUGATE_TRANSPOSE,
        "operations are NON_TRANSPOSE or TRANSPOSE");
    require(columns_under(*a, op_a) == rows_under(*b, op_b),
            "op(B) must have as many rows as op(A) has columns");
    require(c->rows == rows_under(*a, op_a) && c->columns == columns_under(*b, op_b),
            "C must have the rows of op(A) and the columns of op(B)");
    require_batches(a->batches, c->batches);
    require_batches(b->batches, c->batches);
    require_product_types(a->type, b->type, c->type, compute);
  }

  template <class X>
  void multiply(const Call& call) const {
    const X by = scalar<X>(call, alpha, compute, "alpha"), old = scalar<X>(call, beta, compute, "beta");
    for (int batch = 0; batch < c->batches; ++batch) {
      const Entries entries = read_entries(call, *c, batch);
      const Dense<X> left = read_dense<X>(call, *a, batch_of(a->batches, batch), op_a);
      const Dense<X> right = transpose(read_dense<X>(call, *b, batch_of(b->batches, batch), op_b));
      std::vector<X> values =
          scaled(old, entries.rows.size(), [&] { return read_entry_values<X>(call, *c, batch); });
      for (size_t e = 0; e < values.size(); ++e) {
        if (!entries.is_in(e)) continue;
        const X *row = left.row(entries.rows[e]), *column = right.row(entries.columns[e]);
        X sum{};
        for (int64_t k = 0; k < left.columns; ++k) sum += times(row[k], column[k]);
        values[e] += times(by, sum);
      }
      write_entry_values(call, *c, batch, values);
    }
  }
};

template <class Product>
cusparseStatus_t multiply(const char* function, cusparseHandle_t handle, const Product& product,
                          const void* buffer) {
  return run(function, handle, [=](const Call& call) {
    product.check();
    product.check_buffer(buffer);
    with_numbers(product.compute, [&](auto number) { product.template multiply<decltype(number)>(call); });
  });
}

// What comes before a product: it checks the same and leaves the result as it is.
template <class Product>
cusparseStatus_t prepare(const char* function, cusparseHandle_t handle, const Product& product) {
  return run_at_once(function, handle, [&](const Call&) { product.check(); });
}

}  // namespace
}  // namespace warpgrade::cusparse

using namespace warpgrade::cusparse;

extern "C" {

cusparseStatus_t cusparseSpMV_bufferSize(cusparseHandle_t handle, cusparseOperation_t op, const void* alpha,
                                         cusparseConstSpMatDescr_t a, cusparseConstDnVecDescr_t x,
                                         const void* beta, cusparseDnVecDescr_t y, cudaDataType compute,
                                         cusparseSpMVAlg_t algorithm, size_t* bytes) {
  return tell_buffer(__func__, handle, bytes,
                     [&] { VectorProduct{op, alpha, beta, a, x, y, compute, algorithm}.check(); });
}
cusparseStatus_t cusparseSpMV_preprocess(cusparseHandle_t handle, cusparseOperation_t op, const void* alpha,
                                         cusparseConstSpMatDescr_t a, cusparseConstDnVecDescr_t x,
                                         const void* beta, cusparseDnVecDescr_t y, cudaDataType compute,
                                         cusparseSpMVAlg_t algorithm, void*) {
  return prepare(__func__, handle, VectorProduct{op, alpha, beta, a, x, y, compute, algorithm});
}
cusparseStatus_t cusparseSpMV(cusparseHandle_t handle, cusparseOperation_t op, const void* alpha,
                              cusparseConstSpMatDescr_t a, cusparseConstDnVecDescr_t x, const void* beta,
                              cusparseDnVecDescr_t y, cudaDataType compute, cusparseSpMVAlg_t algorithm,
                              void* buffer) {
  return multiply(__func__, handle, VectorProduct{op, alpha, beta, a, x, y, compute, algorithm}, buffer);
}

cusparseStatus_t cusparseSpMM_bufferSize(cusparseHandle_t handle, cusparseOperation_t op_a,
                                         cusparseOperation_t op_b, const void* alpha,
                                         cusparseConstSpMatDescr_t a, cusparseConstDnMatDescr_t b,
                                         const void* beta, cusparseDnMatDescr_t c, cudaDataType compute,
                                         cusparseSpMMAlg_t algorithm, size_t* bytes) {
  return tell_buffer(__func__, handle, bytes,
                     [&] { MatrixProduct{op_a, op_b, alpha, beta, a, b, c, compute, algorithm}.check(); });
}
cusparseStatus_t cusparseSpMM_preprocess(cusparseHandle_t handle, cusparseOperation_t op_a,
                                         cusparseOperation_t op_b, const void* alpha,
                                         cusparseConstSpMatDescr_t a, cusparseConstDnMatDescr_t b,
                                         const void* beta, cusparseDnMatDescr_t c, cudaDataType compute,
                                         cusparseSpMMAlg_t algorithm, void*) {
  return prepare(__func__, handle, MatrixProduct{op_a, op_b, alpha, beta, a, b, c, compute, algorithm});
}
cusparseStatus_t cusparseSpMM(cusparseHandle_t handle, cusparseOperation_t op_a, cusparseOperation_t op_b,
                              const void* alpha, cusparseConstSpMatDescr_t a, cusparseConstDnMatDescr_t b,
                              const void* beta, cusparseDnMatDescr_t c, cudaDataType compute,
                              cusparseSpMMAlg_t algorithm, void* buffer) {
  return multiply(__func__, handle, MatrixProduct{op_a, op_b, alpha, beta, a, b, c, compute, algorithm},
                  buffer);
}

cusparseStatus_t cusparseSDDMM_bufferSize(cusparseHandle_t handle, cusparseOperation_t op_a,
                                          cusparseOperation_t op_b, const void* alpha,
                                          cusparseConstDnMatDescr_t a, cusparseConstDnMatDescr_t b,
                                          const void* beta, cusparseSpMatDescr_t c, cudaDataType compute,
                                          cusparseSDDMMAlg_t, size_t* bytes) {
  return tell_buffer(__func__, handle, bytes,
                     [&] { SampledProduct{op_a, op_b, alpha, beta, a, b, c, compute}.check(); });
}
cusparseStatus_t cusparseSDDMM_preprocess(cusparseHandle_t handle, cusparseOperation_t op_a,
                                          cusparseOperation_t op_b, const void* alpha,
                                          cusparseConstDnMatDescr_t a, cusparseConstDnMatDescr_t b,
                                          const void* beta, cusparseSpMatDescr_t c, cudaDataType compute,
                                          cusparseSDDMMAlg_t, void*) {
  return prepare(__func__, handle, SampledProduct{op_a, op_b, alpha, beta, a, b, c, compute});
}
cusparseStatus_t cusparseSDDMM(cusparseHandle_t handle, cusparseOperation_t op_a, cusparseOperation_t op_b,
                               const void* alpha, cusparseConstDnMatDescr_t a, cusparseConstDnMatDescr_t b,
                               const void* beta, cusparseSpMatDescr_t c, cudaDataType compute,
                               cusparseSDDMMAlg_t, void* buffer) {
  return multiply(__func__, handle, SampledProduct{op_a, op_b, alpha, beta, a, b, c, compute}, buffer);
}

}  // extern "C"

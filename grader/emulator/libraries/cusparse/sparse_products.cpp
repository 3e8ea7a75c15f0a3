// C = alpha * A * B of sparse matrices. A program asks for two buffers, computes, asks C's size, allocates C
// and copies; the result waits in the descriptor.
#include <algorithm>

#include "cusparse/structure.h"

struct cusparseSpGEMMDescr {
  int64_t products = 0;
  bool computed = false;
  warpgrade::cusparse::Indices offsets{}, columns{};  // of C's rows, from 0; columns ascend
  std::vector<warpgrade::cusparse::Complex> values{};
};

namespace warpgrade::cusparse {
namespace {

struct SparseProduct {
  cusparseOperation_t op_a, op_b;
  const void *alpha, *beta;
  cusparseConstSpMatDescr_t a, b;
  cusparseSpMatDescr_t c;
  cudaDataType compute;
  cusparseSpGEMMDescr_t result;

  void check() const {
    require_all(alpha, beta, a, b, c, result);
    require_supported(is_plain(op_a) && is_plain(op_b), "operations must be NON_TRANSPOSE");
    for (const cusparseSpMatDescr* matrix : {a, b, static_cast<cusparseConstSpMatDescr_t>(c)})
      require_supported(matrix->format == CUSPARSE_FORMAT_CSR && matrix->batches == 1,
                        "A, B and C must be in CSR, without batches");
    require(a->columns == b->rows, "B must have as many rows as A has columns");
    require(c->rows == a->rows && c->columns == b->columns, "C must have A's rows and B's columns");
    require_product_types(a->type, b->type, c->type, compute);
  }

  void require_no_sum(const Call& call) const {
    require_supported(scalar<Complex>(call, beta, compute, "beta") == Complex{},
                      "beta must be 0: a sum with C is not here");
  }
};

int64_t products_of(const Rows& a, const Rows& b) {
  int64_t products = 0;
  for (const int64_t row : a.columns_of) products += b.offsets[row + 1] - b.offsets[row];
  return products;
}

// One row after the other: a row of sums, and which of them are entries.
template <class X>
void compute(const Call& call, const SparseProduct& p) {
  p.require_no_sum(call);
  const X by = scalar<X>(call, p.alpha, p.compute, "alpha");
  const Rows a = read_rows(call, *p.a, 0, p.op_a), b = read_rows(call, *p.b, 0, p.op_b);
  const std::vector<X> a_values = read_entry_values<X>(call, *p.a, 0),
                       b_values = read_entry_values<X>(call, *p.b, 0);
  cusparseSpGEMMDescr made{products_of(a, b), true, {0}, {}, {}};
  std::vector<X> sums(static_cast<size_t>(b.columns));
  std::vector<bool> is_entry(sums.size());
  for (int64_t r = 0; r < a.rows; ++r) {
    const auto first = static_cast<std::ptrdiff_t>(made.columns.size());
    a.for_row(r, [&](int64_t k, int64_t a_place) {
      b.for_row(k, [&](int64_t column, int64_t b_place) {
        if (!is_entry[column]) made.columns.push_back(column);
        is_entry[column] = true;
        sums[column] += times(a_values[a_place], b_values[b_place]);
      });
    });
    std::sort(made.columns.begin() + first, made.columns.end());
    for (auto at = made.columns.begin() + first; at != made.columns.end(); ++at) {
      made.values.emplace_back(times(by, sums[*at]));
      sums[*at] = X{};
      is_entry[*at] = false;
    }
    made.offsets.push_back(static_cast<int64_t>(made.columns.size()));
  }
  p.c->nnz = made.offsets.back();
  *p.result = std::move(made);
}

void copy(const Call& call, const SparseProduct& p) {
  require(p.result->computed, "cusparseSpGEMM_compute comes before cusparseSpGEMM_copy");
  require(p.c->nnz == p.result->offsets.back(), "C has another size than the product that was computed");
  p.require_no_sum(call);
  Indices offsets = p.result->offsets, columns = p.result->columns;
  for (Indices* indices : {&offsets, &columns})
    for (int64_t& index : *indices) index += p.c->base;
  call.write_indices(p.c->offsets, p.c->index_type, offsets, "C's offsets");
  call.write_indices(p.c->inner, p.c->index_type, columns, "C's columns");
  with_numbers(p.compute, [&](auto number) {
    using X = decltype(number);
    std::vector<X> values;
    values.reserve(p.result->values.size());
    for (const Complex& value : p.result->values) {
      if constexpr (std::is_same_v<X, Complex>) {
        values.push_back(value);
      } else {
        values.push_back(value.real());
      }
    }
    write_entry_values(call, *p.c, 0, values);
  });
}

// Asked without a buffer, a step tells how large one it wants; with one, it works.
template <class Work>
cusparseStatus_t step(const char* function, cusparseHandle_t handle, const SparseProduct& p, size_t* bytes,
                      const void* buffer, Work work) {
  return run_at_once(function, handle, [&](const Call& call) {
    require(bytes != nullptr, "bufferSize is a null pointer");
    p.check();
    if (buffer != nullptr) return work(call);
    *bytes = kBufferBytes;
  });
}

}  // namespace
}  // namespace warpgrade::cusparse

using namespace warpgrade::cusparse;

extern "C" {

cusparseStatus_t cusparseSpGEMM_createDescr(cusparseSpGEMMDescr_t* descriptor) {
  if (descriptor == nullptr) return CUSPARSE_STATUS_INVALID_VALUE;
  *descriptor = new (std::nothrow) cusparseSpGEMMDescr;
  return *descriptor != nullptr ? CUSPARSE_STATUS_SUCCESS : CUSPARSE_STATUS_ALLOC_FAILED;
}
cusparseStatus_t cusparseSpGEMM_destroyDescr(cusparseSpGEMMDescr_t descriptor) {
  delete descriptor;
  return CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t cusparseSpGEMM_workEstimation(cusparseHandle_t handle, cusparseOperation_t op_a,
                                               cusparseOperation_t op_b, const void* alpha,
                                               cusparseConstSpMatDescr_t a, cusparseConstSpMatDescr_t b,
                                               const void* beta, cusparseSpMatDescr_t c, cudaDataType compute,
                                               cusparseSpGEMMAlg_t, cusparseSpGEMMDescr_t result,
                                               size_t* bytes, void* buffer) {
  const SparseProduct product{op_a, op_b, alpha, beta, a, b, c, compute, result};
  return step(__func__, handle, product, bytes, buffer, [&](const Call& call) {
    result->products = products_of(read_rows(call, *a, 0, op_a), read_rows(call, *b, 0, op_b));
  });
}
cusparseStatus_t cusparseSpGEMM_getNumProducts(cusparseSpGEMMDescr_t result, int64_t* products) {
  return guarded(__func__, [&] {
    require_all(result, products);
    *products = result->products;
  });
}
cusparseStatus_t cusparseSpGEMM_estimateMemory(cusparseHandle_t handle, cusparseOperation_t op_a,
                                               cusparseOperation_t op_b, const void* alpha,
                                               cusparseConstSpMatDescr_t a, cusparseConstSpMatDescr_t b,
                                               const void* beta, cusparseSpMatDescr_t c, cudaDataType compute,
                                               cusparseSpGEMMAlg_t, cusparseSpGEMMDescr_t result, float,
                                               size_t* bytes, void* buffer, size_t* compute_bytes) {
  const SparseProduct product{op_a, op_b, alpha, beta, a, b, c, compute, result};
  return step(__func__, handle, product, bytes, buffer, [&](const Call&) {
    require(compute_bytes != nullptr, "bufferSize2 is a null pointer");
    *compute_bytes = kBufferBytes;
  });
}
cusparseStatus_t cusparseSpGEMM_compute(cusparseHandle_t handle, cusparseOperation_t op_a,
                                        cusparseOperation_t op_b, const void* alpha,
                                        cusparseConstSpMatDescr_t a, cusparseConstSpMatDescr_t b,
                                        const void* beta, cusparseSpMatDescr_t c, cudaDataType compute_type,
                                        cusparseSpGEMMAlg_t, cusparseSpGEMMDescr_t result, size_t* bytes,
                                        void* buffer) {
  const SparseProduct product{op_a, op_b, alpha, beta, a, b, c, compute_type, result};
  return step(__func__, handle, product, bytes, buffer, [&](const Call& call) {
    with_numbers(compute_type, [&](auto number) { compute<decltype(number)>(call, product); });
  });
}
cusparseStatus_t cusparseSpGEMM_copy(cusparseHandle_t handle, cusparseOperation_t op_a,
                                     cusparseOperation_t op_b, const void* alpha, cusparseConstSpMatDescr_t a,
                                     cusparseConstSpMatDescr_t b, const void* beta, cusparseSpMatDescr_t c,
                                     cudaDataType compute_type, cusparseSpGEMMAlg_t,
                                     cusparseSpGEMMDescr_t result) {
  const SparseProduct product{op_a, op_b, alpha, beta, a, b, c, compute_type, result};
  return run_at_once(__func__, handle, [&](const Call& call) {
    product.check();
    copy(call, product);
  });
}

}  // extern "C"

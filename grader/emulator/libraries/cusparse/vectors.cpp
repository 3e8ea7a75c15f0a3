// Sparse vectors with dense ones.
#include "cusparse/structure.h"

namespace warpgrade::cusparse {
namespace {

using libraries::Held;

void check_pair(const Held<cusparseSpVecDescr>& x, const Held<cusparseDnVecDescr>& y) {
  require_all(x, y);
  require(x->size == y->size, "the vectors must have the same size");
}
void require_same_type(const cusparseSpVecDescr& x, const cusparseDnVecDescr& y) {
  require_supported(x.type == y.type, "the vectors must have the same type");
}

Lines entries_of(const cusparseSpVecDescr& x) {
  return {1, x.nnz, x.nnz};
}

// From 0.
Indices places_of(const Call& call, const cusparseSpVecDescr& x) {
  Indices places = call.read_indices(x.indices, x.index_type, x.nnz, "the indices of a sparse vector");
  for (size_t k = 0; k < places.size(); ++k) {
    places[k] -= x.base;
    if (places[k] < 0 || places[k] >= x.size)
      throw Failure{CUSPARSE_STATUS_EXECUTION_FAILED,
                    "entry " + std::to_string(k) + " of the sparse vector has index " +
                        std::to_string(places[k] + x.base) + ", expected " + std::to_string(x.base) + " to " +
                        std::to_string(x.size - 1 + x.base) + ": a GPU would access other memory"};
  }
  return places;
}

template <class X>
std::vector<X> read_entries_of(const Call& call, const cusparseSpVecDescr& x) {
  return read_values<X>(call, x.values, x.type, entries_of(x), "the values of a sparse vector");
}

// The type of alpha and beta.
cudaDataType compute_type(cudaDataType type) {
  if (type == CUDA_R_16F || type == CUDA_R_16BF) return CUDA_R_32F;
  return type == CUDA_C_16F || type == CUDA_C_16BF ? CUDA_C_32F : type;
}

template <class X>
void add(const Call& call, const void* alpha, const cusparseSpVecDescr& x, const void* beta,
         const cusparseDnVecDescr& y) {
  const cudaDataType type = compute_type(y.type);
  const X by = scalar<X>(call, alpha, type, "alpha"), old = scalar<X>(call, beta, type, "beta");
  const Indices places = places_of(call, x);
  const std::vector<X> values = read_entries_of<X>(call, x);
  std::vector<X> sums(static_cast<size_t>(y.size));
  if (old != X{}) sums = read_vector<X>(call, y);
  for (X& sum : sums) sum = times(old, sum);
  for (size_t k = 0; k < places.size(); ++k) sums[places[k]] += times(by, values[k]);
  write_vector(call, y, sums);
}

template <class X>
void rotate(const Call& call, const void* c, const void* s, const cusparseSpVecDescr& x,
            const cusparseDnVecDescr& y) {
  const cudaDataType type = compute_type(y.type);
  const X cosine = scalar<X>(call, c, type, "c_coeff"), sine = scalar<X>(call, s, type, "s_coeff");
  const Indices places = places_of(call, x);
  std::vector<X> entries = read_entries_of<X>(call, x), dense = read_vector<X>(call, y);
  for (size_t k = 0; k < places.size(); ++k) {
    const X a = entries[k], b = dense[places[k]];
    entries[k] = times(cosine, a) + times(sine, b);
    dense[places[k]] = times(cosine, b) - times(sine, a);
  }
  write_values(call, x.values, x.type, entries_of(x), entries, "the values of a sparse vector");
  write_vector(call, y, dense);
}

void check_dot(cusparseOperation_t op, const Held<cusparseSpVecDescr>& x, const Held<cusparseDnVecDescr>& y,
               const void* result, cudaDataType compute) {
  check_pair(x, y);
  require_all(result);
  require_operation(op);
  require_supported(op != CUSPARSE_OPERATION_TRANSPOSE,
                    "the operation is NON_TRANSPOSE or CONJUGATE_TRANSPOSE");
  require_product_types(x->type, y->type, compute, compute);
}

template <class X>
void dot(const Call& call, cusparseOperation_t op, const cusparseSpVecDescr& x, const cusparseDnVecDescr& y,
         void* result, cudaDataType compute) {
  const Indices places = places_of(call, x);
  std::vector<X> values = read_entries_of<X>(call, x);
  const std::vector<X> dense = read_vector<X>(call, y);
  if (!is_plain(op)) conjugate_all(values);
  std::vector<X> sum(1);
  for (size_t k = 0; k < places.size(); ++k) sum[0] += times(values[k], dense[places[k]]);
  if (call.scalars_on_device()) return write_values(call, result, compute, {1, 1, 1}, sum, "the result");
  const std::vector<unsigned char> bytes = bytes_of_numbers(sum, compute);
  std::copy(bytes.begin(), bytes.end(), static_cast<unsigned char*>(result));
}

}  // namespace
}  // namespace warpgrade::cusparse

using namespace warpgrade::cusparse;

extern "C" {

cusparseStatus_t cusparseAxpby(cusparseHandle_t handle, const void* alpha, cusparseConstSpVecDescr_t x,
                               const void* beta, cusparseDnVecDescr_t y) {
  return run(__func__, handle, [=, x = Held(x), y = Held(y)](const Call& call) {
    check_pair(x, y);
    require_same_type(*x, *y);
    with_numbers(y->type, [&](auto number) { add<decltype(number)>(call, alpha, *x, beta, *y); });
  });
}
cusparseStatus_t cusparseRot(cusparseHandle_t handle, const void* c, const void* s, cusparseSpVecDescr_t x,
                             cusparseDnVecDescr_t y) {
  return run(__func__, handle, [=, x = Held(x), y = Held(y)](const Call& call) {
    check_pair(x, y);
    require_same_type(*x, *y);
    with_numbers(y->type, [&](auto number) { rotate<decltype(number)>(call, c, s, *x, *y); });
  });
}
cusparseStatus_t cusparseGather(cusparseHandle_t handle, cusparseConstDnVecDescr_t y,
                                cusparseSpVecDescr_t x) {
  return run(__func__, handle, [=, x = Held(x), y = Held(y)](const Call& call) {
    check_pair(x, y);
    require_same_type(*x, *y);
    const std::vector<Complex> dense = read_vector<Complex>(call, *y);
    std::vector<Complex> gathered;
    for (const int64_t place : places_of(call, *x)) gathered.push_back(dense[place]);
    write_values(call, x->values, x->type, entries_of(*x), gathered, "the values of a sparse vector");
  });
}
cusparseStatus_t cusparseScatter(cusparseHandle_t handle, cusparseConstSpVecDescr_t x,
                                 cusparseDnVecDescr_t y) {
  return run(__func__, handle, [=, x = Held(x), y = Held(y)](const Call& call) {
    check_pair(x, y);
    require_same_type(*x, *y);
    const Indices places = places_of(call, *x);
    const std::vector<Complex> values = read_entries_of<Complex>(call, *x);
    std::vector<Complex> dense = read_vector<Complex>(call, *y);
    for (size_t k = 0; k < places.size(); ++k) dense[places[k]] = values[k];
    write_vector(call, *y, dense);
  });
}
cusparseStatus_t cusparseSpVV_bufferSize(cusparseHandle_t handle, cusparseOperation_t op,
                                         cusparseConstSpVecDescr_t x, cusparseConstDnVecDescr_t y,
                                         const void* result, cudaDataType compute, size_t* bytes) {
  return tell_buffer(__func__, handle, bytes, [&] { check_dot(op, x, y, result, compute); });
}
cusparseStatus_t cusparseSpVV(cusparseHandle_t handle, cusparseOperation_t op, cusparseConstSpVecDescr_t x,
                              cusparseConstDnVecDescr_t y, void* result, cudaDataType compute, void*) {
  const auto work = [=, x = Held(x), y = Held(y)](const Call& call) {
    check_dot(op, x, y, result, compute);
    with_numbers(compute, [&](auto number) { dot<decltype(number)>(call, op, *x, *y, result, compute); });
  };
  const bool is_for_host = handle != nullptr && handle->pointer_mode == CUSPARSE_POINTER_MODE_HOST;
  return is_for_host ? run_at_once(__func__, handle, work) : run(__func__, handle, work);
}

}  // extern "C"

// Products of matrices whose elements are of other types than those in which they are multiplied: GemmEx
// and its kin.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "cublas/elements.h"

namespace warpgrade::cublas {
namespace {

using Op = cublasOperation_t;

struct Product {
  Op op_a, op_b;
  int64_t m, n, k;
  Place a, b, c;
};

template <class T>
void multiply(Call& call, const Product& p, T alpha, T beta) {
  require(p.m >= 0 && p.n >= 0 && p.k >= 0 && p.c.ld >= std::max<int64_t>(1, p.m));
  if (p.m == 0 || p.n == 0) return;
  const auto fetch = [&](Op op, const Place& place, int64_t rows, int64_t columns) {
    return is_transposed(op) ? transposed(load<T>(call, place, columns, rows))
                             : load<T>(call, place, rows, columns);
  };
  const Matrix<T> left = fetch(p.op_a, p.a, p.m, p.k), right = fetch(p.op_b, p.b, p.k, p.n);
  Matrix<T> sum(p.m, p.n);
  if (beta != T(0)) sum = load<T>(call, p.c, p.m, p.n);
  blend_into(sum, alpha, product(left, right), beta);
  store(call, p.c, sum);
}

// Which types a computation takes, as in the documentation of cublasGemmEx.
void check_types(cublasComputeType_t compute, cudaDataType a, cudaDataType b, cudaDataType c) {
  const auto unsupported = [](bool wrong) {
    if (wrong) throw Failure{CUBLAS_STATUS_NOT_SUPPORTED};
  };
  unsupported(a != b || is_of_8_bit_floats(a) || is_of_8_bit_floats(c));
  switch (compute) {
    case CUBLAS_COMPUTE_64F:
    case CUBLAS_COMPUTE_64F_PEDANTIC:
      return unsupported(a != CUDA_R_64F || c != CUDA_R_64F);
    case CUBLAS_COMPUTE_32I:
    case CUBLAS_COMPUTE_32I_PEDANTIC:
      return unsupported(a != CUDA_R_8I || c != CUDA_R_32I);
    case CUBLAS_COMPUTE_16F:
    case CUBLAS_COMPUTE_16F_PEDANTIC:
      return unsupported(a != CUDA_R_16F || c != CUDA_R_16F);
    default:
      return unsupported(!(c == CUDA_R_32F || c == a) || a == CUDA_R_64F || a == CUDA_R_32I ||
                         (a == CUDA_R_8I && c != CUDA_R_32F));
  }
}

// Halves are multiplied and summed in float and rounded once, more exactly than CUBLAS_COMPUTE_16F promises.
template <class Each>
cublasStatus_t multiply_each(cublasHandle_t handle, const void* alpha, const void* beta,
                             cublasComputeType_t compute, const Product& p, int64_t count, Each each) {
  return run(handle, [=](Call& c) {
    check_types(compute, p.a.type, p.b.type, p.c.type);
    const auto all = [&](auto first, auto second) {
      for (int64_t i = 0; i < count; ++i) {
        Product one = p;
        each(c, one, i);
        multiply(c, one, first, second);
      }
    };
    switch (compute) {
      case CUBLAS_COMPUTE_64F:
      case CUBLAS_COMPUTE_64F_PEDANTIC:
        return all(c.scalar(static_cast<const double*>(alpha)), c.scalar(static_cast<const double*>(beta)));
      case CUBLAS_COMPUTE_32I:
      case CUBLAS_COMPUTE_32I_PEDANTIC:
        return all(c.scalar(static_cast<const int32_t*>(alpha)), c.scalar(static_cast<const int32_t*>(beta)));
      case CUBLAS_COMPUTE_16F:
      case CUBLAS_COMPUTE_16F_PEDANTIC:
        return all(wide(c.scalar(static_cast<const Half*>(alpha))),
                   wide(c.scalar(static_cast<const Half*>(beta))));
      default:
        return all(c.scalar(static_cast<const float*>(alpha)), c.scalar(static_cast<const float*>(beta)));
    }
  });
}

cublasStatus_t strided(cublasHandle_t h, const void* alpha, const void* beta, cublasComputeType_t compute,
                       const Product& first, int64_t step_a, int64_t step_b, int64_t step_c, int64_t count) {
  return multiply_each(h, alpha, beta, compute, first, count, [=](Call&, Product& p, int64_t i) {
    p.a.at = further(first.a, i * step_a);
    p.b.at = further(first.b, i * step_b);
    p.c.at = further(first.c, i * step_c);
  });
}

}  // namespace

extern "C" {

#define MIXED(I, s)                                                                                          \
  cublasStatus_t cublasGemmEx##s(cublasHandle_t h, Op oa, Op ob, I m, I n, I k, const void* alpha,           \
                                 const void* a, cudaDataType ta, I lda, const void* b, cudaDataType tb,      \
                                 I ldb, const void* beta, void* c, cudaDataType tc, I ldc,                   \
                                 cublasComputeType_t compute, cublasGemmAlgo_t) {                            \
    return strided(h, alpha, beta, compute, {oa, ob, m, n, k, {a, ta, lda}, {b, tb, ldb}, {c, tc, ldc}}, 0,  \
                   0, 0, 1);                                                                                 \
  }                                                                                                          \
  cublasStatus_t cublasGemmStridedBatchedEx##s(                                                              \
      cublasHandle_t h, Op oa, Op ob, I m, I n, I k, const void* alpha, const void* a, cudaDataType ta,      \
      I lda, long long int sa, const void* b, cudaDataType tb, I ldb, long long int sb, const void* beta,    \
      void* c, cudaDataType tc, I ldc, long long int sc, I count, cublasComputeType_t compute,               \
      cublasGemmAlgo_t) {                                                                                    \
    return strided(h, alpha, beta, compute, {oa, ob, m, n, k, {a, ta, lda}, {b, tb, ldb}, {c, tc, ldc}}, sa, \
                   sb, sc, count);                                                                           \
  }                                                                                                          \
  cublasStatus_t cublasGemmBatchedEx##s(                                                                     \
      cublasHandle_t h, Op oa, Op ob, I m, I n, I k, const void* alpha, const void* const a[],               \
      cudaDataType ta, I lda, const void* const b[], cudaDataType tb, I ldb, const void* beta,               \
      void* const c[], cudaDataType tc, I ldc, I count, cublasComputeType_t compute, cublasGemmAlgo_t) {     \
    return multiply_each(h, alpha, beta, compute,                                                            \
                         {oa, ob, m, n, k, {nullptr, ta, lda}, {nullptr, tb, ldb}, {nullptr, tc, ldc}},      \
                         count, [=](Call& call, Product& p, int64_t i) {                                     \
                           p.a.at = call.vector(a + i, 1, 1)[0];                                             \
                           p.b.at = call.vector(b + i, 1, 1)[0];                                             \
                           p.c.at = call.vector(c + i, 1, 1)[0];                                             \
                         });                                                                                 \
  }                                                                                                          \
  cublasStatus_t cublasSgemmEx##s(cublasHandle_t h, Op oa, Op ob, I m, I n, I k, const float* alpha,         \
                                  const void* a, cudaDataType ta, I lda, const void* b, cudaDataType tb,     \
                                  I ldb, const float* beta, void* c, cudaDataType tc, I ldc) {               \
    return strided(h, alpha, beta, CUBLAS_COMPUTE_32F,                                                       \
                   {oa, ob, m, n, k, {a, ta, lda}, {b, tb, ldb}, {c, tc, ldc}}, 0, 0, 0, 1);                 \
  }                                                                                                          \
  cublasStatus_t cublasHgemm##s(cublasHandle_t h, Op oa, Op ob, I m, I n, I k, const __half* alpha,          \
                                const __half* a, I lda, const __half* b, I ldb, const __half* beta,          \
                                __half* c, I ldc) {                                                          \
    constexpr auto kType = CUDA_R_16F;                                                                       \
    return strided(h, alpha, beta, CUBLAS_COMPUTE_16F,                                                       \
                   {oa, ob, m, n, k, {a, kType, lda}, {b, kType, ldb}, {c, kType, ldc}}, 0, 0, 0, 1);        \
  }                                                                                                          \
  cublasStatus_t cublasHgemmStridedBatched##s(cublasHandle_t h, Op oa, Op ob, I m, I n, I k,                 \
                                              const __half* alpha, const __half* a, I lda, long long int sa, \
                                              const __half* b, I ldb, long long int sb, const __half* beta,  \
                                              __half* c, I ldc, long long int sc, I count) {                 \
    constexpr auto kType = CUDA_R_16F;                                                                       \
    return strided(h, alpha, beta, CUBLAS_COMPUTE_16F,                                                       \
                   {oa, ob, m, n, k, {a, kType, lda}, {b, kType, ldb}, {c, kType, ldc}}, sa, sb, sc, count); \
  }
MIXED(int, )
MIXED(int64_t, _64)

}  // extern "C"

}  // namespace warpgrade::cublas

// BLAS of level 3, and cuBLAS's relatives of it: geam, dgmm, products of batches.
#include "cublas/dense.h"

namespace warpgrade::cublas {

using Op = cublasOperation_t;
using Fill = cublasFillMode_t;
using Diag = cublasDiagType_t;
using Side = cublasSideMode_t;

namespace {

// The matrix as it is stored, of which the operation makes one of rows x columns.
template <class T>
Matrix<T> fetch(Call& c, Op op, const T* at, int64_t rows, int64_t columns, int64_t ld) {
  require(rows >= 0 && columns >= 0);
  return is_transposed(op) ? transposed(c.matrix(at, columns, rows, ld)) : c.matrix(at, rows, columns, ld);
}

template <class T>
void multiply(Call& c, Op op_a, Op op_b, int64_t m, int64_t n, int64_t k, T alpha, const T* a, int64_t lda,
              const T* b, int64_t ldb, T beta, T* result, int64_t ldc) {
  require(m >= 0 && n >= 0 && k >= 0 && ldc >= std::max<int64_t>(1, m));
  if (m == 0 || n == 0) return;
  const Matrix<T> left = fetch(c, op_a, a, m, k, lda), right = fetch(c, op_b, b, k, n, ldb);
  Matrix<T> sum = c.matrix(static_cast<const T*>(result), m, n, ldc);
  blend_into(sum, alpha, product(left, right), beta);
  c.put(result, ldc, sum);
}

template <class T>
void multiply_symmetric(Call& c, Side side, Fill fill, int64_t m, int64_t n, const T* alpha, const T* a,
                        int64_t lda, const T* b, int64_t ldb, const T* beta, T* result, int64_t ldc) {
  const bool left = side == CUBLAS_SIDE_LEFT;
  const int64_t size = left ? m : n;
  const Matrix<T> s = symmetric(c.matrix(a, size, size, lda), fill), other = c.matrix(b, m, n, ldb);
  Matrix<T> sum = c.matrix(static_cast<const T*>(result), m, n, ldc);
  blend_into(sum, c.scalar(alpha), left ? product(s, other) : product(other, s), c.scalar(beta));
  c.put(result, ldc, sum);
}

// c = alpha * (a * b' + the same of b and a, where `both`) + beta * c, in one triangle.
template <class T>
void rank_update(Call& c, Fill fill, Op op, int64_t n, int64_t k, const T* alpha, const T* a, int64_t lda,
                 const T* b, int64_t ldb, bool both, const T* beta, T* result, int64_t ldc) {
  const Matrix<T> left = fetch(c, op, a, n, k, lda);
  const Matrix<T> right = b == a && lda == ldb ? left : fetch(c, op, b, n, k, ldb);
  Matrix<T> sum = product(left, transposed(right));
  if (both) {
    const Matrix<T> again = product(right, transposed(left));
    for (size_t i = 0; i < sum.data.size(); ++i) sum.data[i] += again.data[i];
  }
  Matrix<T> old = c.matrix(static_cast<const T*>(result), n, n, ldc);
  blend_triangle(old, c.scalar(alpha), sum, c.scalar(beta), fill);
  c.put(result, ldc, old);
}

template <class T>
Matrix<T> scaled(Matrix<T> m, T factor) {
  for (T& e : m.data) e = factor == T(0) ? T(0) : e * factor;
  return m;
}

template <class T>
void multiply_triangular(Call& c, Side side, Fill fill, Op op, Diag diagonal, int64_t m, int64_t n,
                         const T* alpha, const T* a, int64_t lda, const T* b, int64_t ldb, T* result,
                         int64_t ldc) {
  const bool left = side == CUBLAS_SIDE_LEFT;
  const int64_t size = left ? m : n;
  require(ldc >= std::max<int64_t>(1, m));
  const Matrix<T> t = operand(triangular(c.matrix(a, size, size, lda), fill, diagonal), op);
  const Matrix<T> other = c.matrix(b, m, n, ldb);
  c.put(result, ldc, scaled(left ? product(t, other) : product(other, t), c.scalar(alpha)));
}

// Solves op(a) * x = alpha * b, or x * op(a) = alpha * b, into b.
template <class T>
void solve_triangular(Call& c, Side side, Fill fill, Op op, Diag diagonal, int64_t m, int64_t n, T alpha,
                      const T* a, int64_t lda, T* b, int64_t ldb) {
  const bool left = side == CUBLAS_SIDE_LEFT;
  const int64_t size = left ? m : n;
  const Matrix<T> t = operand(triangular(c.matrix(a, size, size, lda), fill, diagonal), op);
  const bool upper = is_upper(fill) != is_transposed(op);
  Matrix<T> x = scaled(c.matrix(static_cast<const T*>(b), m, n, ldb), alpha);
  if (left) {
    solve(t, upper, x);
  } else {
    Matrix<T> flipped = transposed(x);
    solve(transposed(t), !upper, flipped);
    x = transposed(flipped);
  }
  c.put(b, ldb, x);
}

template <class T>
void add(Call& c, Op op_a, Op op_b, int64_t m, int64_t n, const T* alpha, const T* a, int64_t lda,
         const T* beta, const T* b, int64_t ldb, T* result, int64_t ldc) {
  const T p = c.scalar(alpha), q = c.scalar(beta);
  require(ldc >= std::max<int64_t>(1, m));
  Matrix<T> sum(m, n);
  if (p != T(0)) sum = scaled(fetch(c, op_a, a, m, n, lda), p);
  if (q != T(0)) {
    const Matrix<T> other = fetch(c, op_b, b, m, n, ldb);
    for (size_t k = 0; k < sum.data.size(); ++k) sum.data[k] += q * other.data[k];
  }
  c.put(result, ldc, sum);
}

template <class T>
void times_diagonal(Call& c, Side side, int64_t m, int64_t n, const T* a, int64_t lda, const T* x,
                    int64_t step, T* result, int64_t ldc) {
  const bool left = side == CUBLAS_SIDE_LEFT;
  Matrix<T> product_of = c.matrix(a, m, n, lda);
  const Vector<T> diagonal = c.vector(x, left ? m : n, step);
  for (int64_t k = 0; k < n; ++k) {
    for (int64_t r = 0; r < m; ++r) product_of(r, k) *= diagonal[left ? r : k];
  }
  c.put(result, ldc, product_of);
}

}  // namespace

#define LEVEL3_PRODUCTS(p, T, I, s)                                                                          \
  extern "C" cublasStatus_t cublas##p##gemm_v2##s(cublasHandle_t h, Op oa, Op ob, I m, I n, I k,             \
                                                  const T* alpha, const T* a, I lda, const T* b, I ldb,      \
                                                  const T* beta, T* r, I ldc) {                              \
    return run(h, [=](Call& c) {                                                                             \
      multiply<T>(c, oa, ob, m, n, k, c.scalar(alpha), a, lda, b, ldb, c.scalar(beta), r, ldc);              \
    });                                                                                                      \
  }                                                                                                          \
  extern "C" cublasStatus_t cublas##p##gemmStridedBatched##s(                                                \
      cublasHandle_t h, Op oa, Op ob, I m, I n, I k, const T* alpha, const T* a, I lda,                      \
      long long int step_a, const T* b, I ldb, long long int step_b, const T* beta, T* r, I ldc,             \
      long long int step_c, I count) {                                                                       \
    return run(h, [=](Call& c) {                                                                             \
      const T p_ = c.scalar(alpha), q = c.scalar(beta);                                                      \
      for (int64_t i = 0; i < count; ++i)                                                                    \
        multiply<T>(c, oa, ob, m, n, k, p_, a + i * step_a, lda, b + i * step_b, ldb, q, r + i * step_c,     \
                    ldc);                                                                                    \
    });                                                                                                      \
  }                                                                                                          \
  extern "C" cublasStatus_t cublas##p##gemmBatched##s(                                                       \
      cublasHandle_t h, Op oa, Op ob, I m, I n, I k, const T* alpha, const T* const a[], I lda,              \
      const T* const b[], I ldb, const T* beta, T* const r[], I ldc, I count) {                              \
    return run(h, [=](Call& c) {                                                                             \
      const T p_ = c.scalar(alpha), q = c.scalar(beta);                                                      \
      const auto as = c.vector(a, count, 1), bs = c.vector(b, count, 1);                                     \
      const auto rs = c.vector(r, count, 1);                                                                 \
      for (int64_t i = 0; i < count; ++i)                                                                    \
        multiply<T>(c, oa, ob, m, n, k, p_, as[i], lda, bs[i], ldb, q, rs[i], ldc);                          \
    });                                                                                                      \
  }                                                                                                          \
  extern "C" cublasStatus_t cublas##p##symm_v2##s(cublasHandle_t h, Side side, Fill f, I m, I n,             \
                                                  const T* alpha, const T* a, I lda, const T* b, I ldb,      \
                                                  const T* beta, T* r, I ldc) {                              \
    return run(                                                                                              \
        h, [=](Call& c) { multiply_symmetric<T>(c, side, f, m, n, alpha, a, lda, b, ldb, beta, r, ldc); });  \
  }                                                                                                          \
  extern "C" cublasStatus_t cublas##p##trmm_v2##s(cublasHandle_t h, Side side, Fill f, Op op, Diag d, I m,   \
                                                  I n, const T* alpha, const T* a, I lda, const T* b, I ldb, \
                                                  T* r, I ldc) {                                             \
    return run(h, [=](Call& c) {                                                                             \
      multiply_triangular<T>(c, side, f, op, d, m, n, alpha, a, lda, b, ldb, r, ldc);                        \
    });                                                                                                      \
  }
CUBLAS_FOR_EACH(LEVEL3_PRODUCTS)

#define LEVEL3_UPDATES(p, T, I, s)                                                                           \
  extern "C" cublasStatus_t cublas##p##syrk_v2##s(cublasHandle_t h, Fill f, Op op, I n, I k, const T* alpha, \
                                                  const T* a, I lda, const T* beta, T* r, I ldc) {           \
    return run(                                                                                              \
        h, [=](Call& c) { rank_update<T>(c, f, op, n, k, alpha, a, lda, a, lda, false, beta, r, ldc); });    \
  }                                                                                                          \
  extern "C" cublasStatus_t cublas##p##syr2k_v2##s(cublasHandle_t h, Fill f, Op op, I n, I k,                \
                                                   const T* alpha, const T* a, I lda, const T* b, I ldb,     \
                                                   const T* beta, T* r, I ldc) {                             \
    return run(h,                                                                                            \
               [=](Call& c) { rank_update<T>(c, f, op, n, k, alpha, a, lda, b, ldb, true, beta, r, ldc); }); \
  }                                                                                                          \
  extern "C" cublasStatus_t cublas##p##syrkx##s(cublasHandle_t h, Fill f, Op op, I n, I k, const T* alpha,   \
                                                const T* a, I lda, const T* b, I ldb, const T* beta, T* r,   \
                                                I ldc) {                                                     \
    return run(                                                                                              \
        h, [=](Call& c) { rank_update<T>(c, f, op, n, k, alpha, a, lda, b, ldb, false, beta, r, ldc); });    \
  }                                                                                                          \
  extern "C" cublasStatus_t cublas##p##trsm_v2##s(cublasHandle_t h, Side side, Fill f, Op op, Diag d, I m,   \
                                                  I n, const T* alpha, const T* a, I lda, T* b, I ldb) {     \
    return run(                                                                                              \
        h, [=](Call& c) { solve_triangular<T>(c, side, f, op, d, m, n, c.scalar(alpha), a, lda, b, ldb); }); \
  }                                                                                                          \
  extern "C" cublasStatus_t cublas##p##trsmBatched##s(cublasHandle_t h, Side side, Fill f, Op op, Diag d,    \
                                                      I m, I n, const T* alpha, const T* const a[], I lda,   \
                                                      T* const b[], I ldb, I count) {                        \
    return run(h, [=](Call& c) {                                                                             \
      const T factor = c.scalar(alpha);                                                                      \
      const auto as = c.vector(a, count, 1);                                                                 \
      const auto bs = c.vector(b, count, 1);                                                                 \
      for (int64_t i = 0; i < count; ++i)                                                                    \
        solve_triangular<T>(c, side, f, op, d, m, n, factor, as[i], lda, bs[i], ldb);                        \
    });                                                                                                      \
  }                                                                                                          \
  extern "C" cublasStatus_t cublas##p##geam##s(cublasHandle_t h, Op oa, Op ob, I m, I n, const T* alpha,     \
                                               const T* a, I lda, const T* beta, const T* b, I ldb, T* r,    \
                                               I ldc) {                                                      \
    return run(h, [=](Call& c) { add<T>(c, oa, ob, m, n, alpha, a, lda, beta, b, ldb, r, ldc); });           \
  }                                                                                                          \
  extern "C" cublasStatus_t cublas##p##dgmm##s(cublasHandle_t h, Side side, I m, I n, const T* a, I lda,     \
                                               const T* x, I ix, T* r, I ldc) {                              \
    return run(h, [=](Call& c) { times_diagonal<T>(c, side, m, n, a, lda, x, ix, r, ldc); });                \
  }
CUBLAS_FOR_EACH(LEVEL3_UPDATES)

}  // namespace warpgrade::cublas

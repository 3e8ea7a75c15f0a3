// BLAS of level 2. Banded and packed matrices are laid out densely first.
#include "cublas/dense.h"

namespace warpgrade::cublas {
namespace {

// --- how a matrix lies in memory ---

template <class T>
Matrix<T> band(Call& c, const T* at, int64_t rows, int64_t columns, int64_t below, int64_t above,
               int64_t ld) {
  require(below >= 0 && above >= 0 && ld >= below + above + 1);
  const Matrix<T> stored = c.matrix(at, below + above + 1, columns, ld);
  Matrix<T> m(rows, columns);
  for (int64_t k = 0; k < columns; ++k) {
    for (int64_t r = std::max<int64_t>(0, k - above); r < std::min(rows, k + below + 1); ++r)
      m(r, k) = stored(above + r - k, k);
  }
  return m;
}

template <class T>
Matrix<T> half_band(Call& c, const T* at, int64_t n, int64_t k, int64_t ld, cublasFillMode_t fill) {
  const bool upper = is_upper(fill);
  return band(c, at, n, n, upper ? 0 : k, upper ? k : 0, ld);
}

int64_t packed_place(int64_t r, int64_t c, int64_t n, bool upper) {
  return upper ? r + c * (c + 1) / 2 : r + (2 * n - c - 1) * c / 2;
}

template <class T>
Matrix<T> packed(Call& c, const T* at, int64_t n, cublasFillMode_t fill) {
  require(n >= 0);
  const bool upper = is_upper(fill);
  const Vector<T> stored = c.vector(at, n * (n + 1) / 2, 1);
  Matrix<T> m(n, n);
  for (int64_t k = 0; k < n; ++k) {
    for (int64_t r = 0; r < n; ++r) {
      if (is_inside(upper, r, k)) m(r, k) = stored[packed_place(r, k, n, upper)];
    }
  }
  return m;
}

template <class T>
void put_packed(Call& c, T* at, const Matrix<T>& m, cublasFillMode_t fill) {
  const bool upper = is_upper(fill);
  Vector<T> stored(static_cast<size_t>(m.rows * (m.rows + 1) / 2));
  for (int64_t k = 0; k < m.columns; ++k) {
    for (int64_t r = 0; r < m.rows; ++r) {
      if (is_inside(upper, r, k)) stored[packed_place(r, k, m.rows, upper)] = m(r, k);
    }
  }
  c.put(at, 1, stored);
}

// --- what is done with it ---

// y = alpha * a * x + beta * y
template <class T>
void times_vector(Call& c, const Matrix<T>& a, const T* alpha, const T* x, int64_t x_step, const T* beta,
                  T* y, int64_t y_step) {
  const T factor = c.scalar(alpha), keep = c.scalar(beta);
  const Matrix<T> sum = product(a, as_matrix(c.vector(x, a.columns, x_step)));
  Matrix<T> result = as_matrix(c.vector(y, a.rows, y_step));
  blend_into(result, factor, sum, keep);
  c.put(y, y_step, result.data);
}

// x = a * x
template <class T>
void times_in_place(Call& c, const Matrix<T>& a, T* x, int64_t step) {
  c.put(x, step, product(a, as_matrix(c.vector(x, a.columns, step))).data);
}

template <class T>
void solve_vector(Call& c, const Matrix<T>& a, bool upper, T* x, int64_t step) {
  Matrix<T> b = as_matrix(c.vector(x, a.rows, step));
  solve(a, upper, b);
  c.put(x, step, b.data);
}

// A triangular matrix as an operation wants it, and whether it is an upper one then.
template <class T>
Matrix<T> triangle(Matrix<T> m, cublasFillMode_t fill, cublasOperation_t op, cublasDiagType_t diagonal,
                   bool& upper) {
  upper = is_upper(fill) != is_transposed(op);
  return operand(triangular(std::move(m), fill, diagonal), op);
}

// a += alpha * (x * y' + y * x') or alpha * x * x', in one triangle.
template <class T>
void add_outer(Matrix<T>& a, T alpha, const Vector<T>& x, const Vector<T>* y, cublasFillMode_t fill) {
  const bool upper = is_upper(fill);
  for (int64_t k = 0; k < a.columns; ++k) {
    for (int64_t r = 0; r < a.rows; ++r) {
      if (!is_inside(upper, r, k)) continue;
      a(r, k) += y == nullptr ? alpha * x[r] * x[k] : alpha * (x[r] * (*y)[k] + (*y)[r] * x[k]);
    }
  }
}

template <class T>
void outer(Call& c, int64_t m, int64_t n, const T* alpha, const T* x, int64_t x_step, const T* y,
           int64_t y_step, T* a, int64_t ld) {
  const T factor = c.scalar(alpha);
  Matrix<T> sum = c.matrix(a, m, n, ld);
  const Vector<T> p = c.vector(x, m, x_step), q = c.vector(y, n, y_step);
  for (int64_t k = 0; k < n; ++k) {
    for (int64_t r = 0; r < m; ++r) sum(r, k) += factor * p[r] * q[k];
  }
  c.put(a, ld, sum);
}

// Of a symmetric matrix, dense (ld) or packed (ld 0).
template <class T>
void outer_triangle(Call& c, cublasFillMode_t fill, int64_t n, const T* alpha, const T* x, int64_t x_step,
                    const T* y, int64_t y_step, T* a, int64_t ld) {
  const T factor = c.scalar(alpha);
  Matrix<T> sum =
      ld != 0 ? c.matrix(static_cast<const T*>(a), n, n, ld) : packed(c, static_cast<const T*>(a), n, fill);
  const Vector<T> p = c.vector(x, n, x_step);
  const Vector<T> q = y != nullptr ? c.vector(y, n, y_step) : Vector<T>();
  add_outer(sum, factor, p, y != nullptr ? &q : nullptr, fill);
  ld != 0 ? c.put(a, ld, sum) : put_packed(c, a, sum, fill);
}

}  // namespace

using Op = cublasOperation_t;
using Fill = cublasFillMode_t;
using Diag = cublasDiagType_t;

#define LEVEL2_GENERAL(p, T, I, s)                                                                         \
  extern "C" cublasStatus_t cublas##p##gemv_v2##s(cublasHandle_t h, Op op, I m, I n, const T* alpha,       \
                                                  const T* a, I ld, const T* x, I ix, const T* beta, T* y, \
                                                  I iy) {                                                  \
    return run(h, [=](Call& c) {                                                                           \
      times_vector(c, operand(c.matrix(a, m, n, ld), op), alpha, x, ix, beta, y, iy);                      \
    });                                                                                                    \
  }                                                                                                        \
  extern "C" cublasStatus_t cublas##p##gbmv_v2##s(cublasHandle_t h, Op op, I m, I n, I kl, I ku,           \
                                                  const T* alpha, const T* a, I ld, const T* x, I ix,      \
                                                  const T* beta, T* y, I iy) {                             \
    return run(h, [=](Call& c) {                                                                           \
      times_vector(c, operand(band(c, a, m, n, kl, ku, ld), op), alpha, x, ix, beta, y, iy);               \
    });                                                                                                    \
  }                                                                                                        \
  extern "C" cublasStatus_t cublas##p##ger_v2##s(cublasHandle_t h, I m, I n, const T* alpha, const T* x,   \
                                                 I ix, const T* y, I iy, T* a, I ld) {                     \
    return run(h, [=](Call& c) { outer(c, m, n, alpha, x, ix, y, iy, a, ld); });                           \
  }
CUBLAS_FOR_EACH(LEVEL2_GENERAL)

#define LEVEL2_SYMMETRIC(p, T, I, s)                                                                         \
  extern "C" cublasStatus_t cublas##p##symv_v2##s(cublasHandle_t h, Fill f, I n, const T* alpha, const T* a, \
                                                  I ld, const T* x, I ix, const T* beta, T* y, I iy) {       \
    return run(h, [=](Call& c) {                                                                             \
      times_vector(c, symmetric(c.matrix(a, n, n, ld), f), alpha, x, ix, beta, y, iy);                       \
    });                                                                                                      \
  }                                                                                                          \
  extern "C" cublasStatus_t cublas##p##sbmv_v2##s(cublasHandle_t h, Fill f, I n, I k, const T* alpha,        \
                                                  const T* a, I ld, const T* x, I ix, const T* beta, T* y,   \
                                                  I iy) {                                                    \
    return run(h, [=](Call& c) {                                                                             \
      times_vector(c, symmetric(half_band(c, a, n, k, ld, f), f), alpha, x, ix, beta, y, iy);                \
    });                                                                                                      \
  }                                                                                                          \
  extern "C" cublasStatus_t cublas##p##spmv_v2##s(cublasHandle_t h, Fill f, I n, const T* alpha, const T* a, \
                                                  const T* x, I ix, const T* beta, T* y, I iy) {             \
    return run(                                                                                              \
        h, [=](Call& c) { times_vector(c, symmetric(packed(c, a, n, f), f), alpha, x, ix, beta, y, iy); });  \
  }                                                                                                          \
  extern "C" cublasStatus_t cublas##p##syr_v2##s(cublasHandle_t h, Fill f, I n, const T* alpha, const T* x,  \
                                                 I ix, T* a, I ld) {                                         \
    return run(h, [=](Call& c) {                                                                             \
      require(ld > 0);                                                                                       \
      outer_triangle(c, f, n, alpha, x, ix, static_cast<const T*>(nullptr), 1, a, ld);                       \
    });                                                                                                      \
  }                                                                                                          \
  extern "C" cublasStatus_t cublas##p##syr2_v2##s(cublasHandle_t h, Fill f, I n, const T* alpha, const T* x, \
                                                  I ix, const T* y, I iy, T* a, I ld) {                      \
    return run(h, [=](Call& c) {                                                                             \
      require(ld > 0 && y != nullptr);                                                                       \
      outer_triangle(c, f, n, alpha, x, ix, y, iy, a, ld);                                                   \
    });                                                                                                      \
  }                                                                                                          \
  extern "C" cublasStatus_t cublas##p##spr_v2##s(cublasHandle_t h, Fill f, I n, const T* alpha, const T* x,  \
                                                 I ix, T* a) {                                               \
    return run(h, [=](Call& c) {                                                                             \
      outer_triangle(c, f, n, alpha, x, ix, static_cast<const T*>(nullptr), 1, a, 0);                        \
    });                                                                                                      \
  }                                                                                                          \
  extern "C" cublasStatus_t cublas##p##spr2_v2##s(cublasHandle_t h, Fill f, I n, const T* alpha, const T* x, \
                                                  I ix, const T* y, I iy, T* a) {                            \
    return run(h, [=](Call& c) {                                                                             \
      require(y != nullptr);                                                                                 \
      outer_triangle(c, f, n, alpha, x, ix, y, iy, a, 0);                                                    \
    });                                                                                                      \
  }
CUBLAS_FOR_EACH(LEVEL2_SYMMETRIC)

#define LEVEL2_TRIANGULAR(p, T, I, s)                                                                       \
  extern "C" cublasStatus_t cublas##p##trmv_v2##s(cublasHandle_t h, Fill f, Op op, Diag d, I n, const T* a, \
                                                  I ld, T* x, I ix) {                                       \
    return run(h, [=](Call& c) {                                                                            \
      bool upper;                                                                                           \
      times_in_place(c, triangle(c.matrix(a, n, n, ld), f, op, d, upper), x, ix);                           \
    });                                                                                                     \
  }                                                                                                         \
  extern "C" cublasStatus_t cublas##p##tbmv_v2##s(cublasHandle_t h, Fill f, Op op, Diag d, I n, I k,        \
                                                  const T* a, I ld, T* x, I ix) {                           \
    return run(h, [=](Call& c) {                                                                            \
      bool upper;                                                                                           \
      times_in_place(c, triangle(half_band(c, a, n, k, ld, f), f, op, d, upper), x, ix);                    \
    });                                                                                                     \
  }                                                                                                         \
  extern "C" cublasStatus_t cublas##p##tpmv_v2##s(cublasHandle_t h, Fill f, Op op, Diag d, I n, const T* a, \
                                                  T* x, I ix) {                                             \
    return run(h, [=](Call& c) {                                                                            \
      bool upper;                                                                                           \
      times_in_place(c, triangle(packed(c, a, n, f), f, op, d, upper), x, ix);                              \
    });                                                                                                     \
  }                                                                                                         \
  extern "C" cublasStatus_t cublas##p##trsv_v2##s(cublasHandle_t h, Fill f, Op op, Diag d, I n, const T* a, \
                                                  I ld, T* x, I ix) {                                       \
    return run(h, [=](Call& c) {                                                                            \
      bool upper;                                                                                           \
      const Matrix<T> t = triangle(c.matrix(a, n, n, ld), f, op, d, upper);                                 \
      solve_vector(c, t, upper, x, ix);                                                                     \
    });                                                                                                     \
  }                                                                                                         \
  extern "C" cublasStatus_t cublas##p##tbsv_v2##s(cublasHandle_t h, Fill f, Op op, Diag d, I n, I k,        \
                                                  const T* a, I ld, T* x, I ix) {                           \
    return run(h, [=](Call& c) {                                                                            \
      bool upper;                                                                                           \
      const Matrix<T> t = triangle(half_band(c, a, n, k, ld, f), f, op, d, upper);                          \
      solve_vector(c, t, upper, x, ix);                                                                     \
    });                                                                                                     \
  }                                                                                                         \
  extern "C" cublasStatus_t cublas##p##tpsv_v2##s(cublasHandle_t h, Fill f, Op op, Diag d, I n, const T* a, \
                                                  T* x, I ix) {                                             \
    return run(h, [=](Call& c) {                                                                            \
      bool upper;                                                                                           \
      const Matrix<T> t = triangle(packed(c, a, n, f), f, op, d, upper);                                    \
      solve_vector(c, t, upper, x, ix);                                                                     \
    });                                                                                                     \
  }
CUBLAS_FOR_EACH(LEVEL2_TRIANGULAR)

}  // namespace warpgrade::cublas

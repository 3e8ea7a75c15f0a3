// Linear algebra on dense matrices of the host, in the precision of the elements.
#pragma once
#include <algorithm>
#include <type_traits>

#include "cublas/call.h"

namespace warpgrade::cublas {

inline bool is_transposed(cublasOperation_t op) {
  require(op == CUBLAS_OP_N || op == CUBLAS_OP_T || op == CUBLAS_OP_C);
  return op != CUBLAS_OP_N;
}
inline bool is_upper(cublasFillMode_t fill) {
  require(fill == CUBLAS_FILL_MODE_UPPER || fill == CUBLAS_FILL_MODE_LOWER);
  return fill == CUBLAS_FILL_MODE_UPPER;
}

template <class T>
Matrix<T> transposed(const Matrix<T>& m) {
  Matrix<T> t(m.columns, m.rows);
  for (int64_t c = 0; c < m.columns; ++c) {
    for (int64_t r = 0; r < m.rows; ++r) t(c, r) = m(r, c);
  }
  return t;
}

template <class T>
Matrix<T> operand(Matrix<T> m, cublasOperation_t op) {
  return is_transposed(op) ? transposed(m) : m;
}

inline bool is_inside(bool upper, int64_t r, int64_t c) {
  return upper ? r <= c : r >= c;
}

// The symmetric matrix of which one triangle is given.
template <class T>
Matrix<T> symmetric(Matrix<T> m, cublasFillMode_t fill) {
  const bool upper = is_upper(fill);
  for (int64_t c = 0; c < m.columns; ++c) {
    for (int64_t r = 0; r < m.rows; ++r) {
      if (!is_inside(upper, r, c)) m(r, c) = m(c, r);
    }
  }
  return m;
}

// The other triangle is 0, whatever is there; a unit diagonal is not looked at.
template <class T>
Matrix<T> triangular(Matrix<T> m, cublasFillMode_t fill, cublasDiagType_t diagonal) {
  const bool upper = is_upper(fill);
  for (int64_t c = 0; c < m.columns; ++c) {
    for (int64_t r = 0; r < m.rows; ++r) {
      if (!is_inside(upper, r, c)) m(r, c) = T(0);
    }
    if (diagonal == CUBLAS_DIAG_UNIT) m(c, c) = T(1);
  }
  return m;
}

// alpha * sum + beta * old, which is not looked at when beta is 0.
template <class T>
T blend(T alpha, T sum, T beta, T old) {
  return beta == T(0) ? alpha * sum : alpha * sum + beta * old;
}

// a * b. Several columns of b at a time: each column of a is read once for all of them.
template <class T>
Matrix<T> product(const Matrix<T>& a, const Matrix<T>& b) {
  constexpr int64_t kAtATime = 4;
  Matrix<T> c(a.rows, b.columns);
  for (int64_t first = 0; first < b.columns; first += kAtATime) {
    const int64_t count = std::min(kAtATime, b.columns - first);
    for (int64_t l = 0; l < a.columns; ++l) {
      const T* from = a.column(l);
      for (int64_t k = 0; k < count; ++k) {
        const T factor = b(l, first + k);
        T* to = c.column(first + k);
        for (int64_t r = 0; r < a.rows; ++r) to[r] += from[r] * factor;
      }
    }
  }
  return c;
}

template <class T>
void blend_into(Matrix<T>& c, T alpha, const Matrix<T>& sum, T beta) {
  for (size_t k = 0; k < c.data.size(); ++k) c.data[k] = blend(alpha, sum.data[k], beta, c.data[k]);
}

// The same of one triangle; the other one stays.
template <class T>
void blend_triangle(Matrix<T>& c, T alpha, const Matrix<T>& sum, T beta, cublasFillMode_t fill) {
  const bool upper = is_upper(fill);
  for (int64_t k = 0; k < c.columns; ++k) {
    for (int64_t r = 0; r < c.rows; ++r) {
      if (is_inside(upper, r, k)) c(r, k) = blend(alpha, sum(r, k), beta, c(r, k));
    }
  }
}

template <class T>
Matrix<T> as_matrix(Vector<T> v) {
  Matrix<T> m;
  m.rows = static_cast<int64_t>(v.size());
  m.columns = 1;
  m.data = std::move(v);
  return m;
}

// Solves t * x = b for each column, in place; t is triangular.
template <class T>
void solve(const Matrix<T>& t, bool upper, Matrix<T>& b) {
  for (int64_t c = 0; c < b.columns; ++c) {
    T* x = b.column(c);
    for (int64_t k = 0; k < t.rows; ++k) {
      const int64_t r = upper ? t.rows - 1 - k : k;
      x[r] /= t(r, r);
      const int64_t begin = upper ? 0 : r + 1, end = upper ? r : t.rows;
      for (int64_t i = begin; i < end; ++i) x[i] -= t(i, r) * x[r];
    }
  }
}

}  // namespace warpgrade::cublas

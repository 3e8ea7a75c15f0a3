// BLAS of level 1. Sums are formed in double and rounded once.
#include <cmath>

#include "cublas/call.h"

namespace warpgrade::cublas {
namespace {

// The first element, counted from 1, whose magnitude no other exceeds (or undercuts); 0 when there is none.
template <class T, class I>
cublasStatus_t extreme(cublasHandle_t handle, I n, const T* x, I step, I* result, bool largest) {
  return run(handle, [=](Call& c) {
    I found = 0;
    if (n > 0 && step > 0) {
      const Vector<T> v = c.vector(x, n, step);
      size_t at = 0;
      for (size_t k = 1; k < v.size(); ++k) {
        const T a = std::abs(v[k]), b = std::abs(v[at]);
        if (largest ? a > b : a < b) at = k;
      }
      found = static_cast<I>(at + 1);
    }
    c.put_scalar(result, found);
  });
}

template <class T, class I>
cublasStatus_t magnitudes(cublasHandle_t handle, I n, const T* x, I step, T* result) {
  return run(handle, [=](Call& c) {
    double sum = 0;
    if (n > 0 && step > 0) {
      for (const T v : c.vector(x, n, step)) sum += std::abs(double(v));
    }
    c.put_scalar(result, static_cast<T>(sum));
  });
}

// The largest magnitude is taken out first, so that no square leaves the range.
template <class T, class I>
cublasStatus_t norm(cublasHandle_t handle, I n, const T* x, I step, T* result) {
  return run(handle, [=](Call& c) {
    double largest = 0, sum = 0;
    if (n > 0 && step > 0) {
      const Vector<T> v = c.vector(x, n, step);
      for (const T e : v) largest = std::isnan(e) ? double(e) : std::fmax(largest, std::abs(double(e)));
      if (std::isinf(largest) || std::isnan(largest)) {
        c.put_scalar(result, static_cast<T>(largest));
        return;
      }
      for (const T e : v) sum += largest == 0 ? 0 : (double(e) / largest) * (double(e) / largest);
    }
    c.put_scalar(result, static_cast<T>(largest * std::sqrt(sum)));
  });
}

template <class T, class I>
cublasStatus_t axpy(cublasHandle_t handle, I n, const T* alpha, const T* x, I x_step, T* y, I y_step) {
  return run(handle, [=](Call& c) {
    const T a = c.scalar(alpha);
    if (n <= 0 || a == T(0)) return;
    const Vector<T> from = c.vector(x, n, x_step);
    Vector<T> to = c.vector(y, n, y_step);
    for (size_t k = 0; k < to.size(); ++k) to[k] += a * from[k];
    c.put(y, y_step, to);
  });
}

template <class T, class I>
cublasStatus_t copy(cublasHandle_t handle, I n, const T* x, I x_step, T* y, I y_step) {
  return run(handle, [=](Call& c) {
    if (n > 0) c.put(y, y_step, c.vector(x, n, x_step));
  });
}

template <class T, class I>
cublasStatus_t swap(cublasHandle_t handle, I n, T* x, I x_step, T* y, I y_step) {
  return run(handle, [=](Call& c) {
    if (n <= 0) return;
    const Vector<T> a = c.vector(x, n, x_step), b = c.vector(y, n, y_step);
    c.put(x, x_step, b);
    c.put(y, y_step, a);
  });
}

template <class T, class I>
cublasStatus_t dot(cublasHandle_t handle, I n, const T* x, I x_step, const T* y, I y_step, T* result) {
  return run(handle, [=](Call& c) {
    double sum = 0;
    if (n > 0) {
      const Vector<T> a = c.vector(x, n, x_step), b = c.vector(y, n, y_step);
      for (size_t k = 0; k < a.size(); ++k) sum += double(a[k]) * double(b[k]);
    }
    c.put_scalar(result, static_cast<T>(sum));
  });
}

template <class T, class I>
cublasStatus_t scale(cublasHandle_t handle, I n, const T* alpha, T* x, I step) {
  return run(handle, [=](Call& c) {
    const T a = c.scalar(alpha);
    if (n <= 0 || step <= 0) return;
    Vector<T> v = c.vector(x, n, step);
    for (T& e : v) e *= a;
    c.put(x, step, v);
  });
}

// The 2x2 matrix h (by columns) applied to each pair of elements.
template <class T, class I>
void turn(Call& c, I n, T* x, I x_step, T* y, I y_step, T h11, T h21, T h12, T h22) {
  if (n <= 0) return;
  Vector<T> a = c.vector(x, n, x_step), b = c.vector(y, n, y_step);
  for (size_t k = 0; k < a.size(); ++k) {
    const T p = a[k], q = b[k];
    a[k] = h11 * p + h12 * q;
    b[k] = h21 * p + h22 * q;
  }
  c.put(x, x_step, a);
  c.put(y, y_step, b);
}

template <class T, class I>
cublasStatus_t rotate(cublasHandle_t handle, I n, T* x, I x_step, T* y, I y_step, const T* cosine,
                      const T* sine) {
  return run(handle, [=](Call& c) {
    const T u = c.scalar(cosine), v = c.scalar(sine);
    turn(c, n, x, x_step, y, y_step, u, -v, v, u);
  });
}

// Givens: the rotation that makes b zero (reference BLAS, ROTG).
template <class T>
cublasStatus_t make_rotation(cublasHandle_t handle, T* a, T* b, T* cosine, T* sine) {
  return run(handle, [=](Call& c) {
    const T p = c.scalar(a), q = c.scalar(b);
    const T larger = std::abs(p) > std::abs(q) ? p : q;
    const T r = std::copysign(std::hypot(p, q), larger);
    const T u = r == T(0) ? T(1) : p / r, v = r == T(0) ? T(0) : q / r;
    T z = T(1);
    if (std::abs(p) > std::abs(q)) {
      z = v;
    } else if (u != T(0)) {
      z = T(1) / u;
    }
    c.put_scalar(a, r);
    c.put_scalar(b, r == T(0) ? T(0) : z);
    c.put_scalar(cosine, u);
    c.put_scalar(sine, v);
  });
}

template <class T, class I>
cublasStatus_t rotate_modified(cublasHandle_t handle, I n, T* x, I x_step, T* y, I y_step, const T* param) {
  return run(handle, [=](Call& c) {
    T p[5];
    for (int k = 0; k < 5; ++k) p[k] = c.scalar(param + k);
    const T flag = p[0];
    if (flag == T(-2)) return;
    const T h11 = flag == T(0) ? T(1) : p[1], h22 = flag == T(0) ? T(1) : p[4];
    const T h21 = flag == T(1) ? T(-1) : p[2], h12 = flag == T(1) ? T(1) : p[3];
    turn(c, n, x, x_step, y, y_step, h11, h21, h12, h22);
  });
}

#define LEVEL1(p, T, I, s)                                                                                \
  extern "C" {                                                                                            \
  cublasStatus_t cublas##p##asum_v2##s(cublasHandle_t h, I n, const T* x, I ix, T* r) {                   \
    return magnitudes(h, n, x, ix, r);                                                                    \
  }                                                                                                       \
  cublasStatus_t cublas##p##nrm2_v2##s(cublasHandle_t h, I n, const T* x, I ix, T* r) {                   \
    return norm(h, n, x, ix, r);                                                                          \
  }                                                                                                       \
  cublasStatus_t cublas##p##axpy_v2##s(cublasHandle_t h, I n, const T* a, const T* x, I ix, T* y, I iy) { \
    return axpy(h, n, a, x, ix, y, iy);                                                                   \
  }                                                                                                       \
  cublasStatus_t cublas##p##copy_v2##s(cublasHandle_t h, I n, const T* x, I ix, T* y, I iy) {             \
    return copy(h, n, x, ix, y, iy);                                                                      \
  }                                                                                                       \
  cublasStatus_t cublas##p##swap_v2##s(cublasHandle_t h, I n, T* x, I ix, T* y, I iy) {                   \
    return swap(h, n, x, ix, y, iy);                                                                      \
  }                                                                                                       \
  cublasStatus_t cublas##p##dot_v2##s(cublasHandle_t h, I n, const T* x, I ix, const T* y, I iy, T* r) {  \
    return dot(h, n, x, ix, y, iy, r);                                                                    \
  }                                                                                                       \
  cublasStatus_t cublas##p##scal_v2##s(cublasHandle_t h, I n, const T* a, T* x, I ix) {                   \
    return scale(h, n, a, x, ix);                                                                         \
  }                                                                                                       \
  cublasStatus_t cublas##p##rot_v2##s(cublasHandle_t h, I n, T* x, I ix, T* y, I iy, const T* u,          \
                                      const T* v) {                                                       \
    return rotate(h, n, x, ix, y, iy, u, v);                                                              \
  }                                                                                                       \
  cublasStatus_t cublas##p##rotm_v2##s(cublasHandle_t h, I n, T* x, I ix, T* y, I iy, const T* param) {   \
    return rotate_modified(h, n, x, ix, y, iy, param);                                                    \
  }                                                                                                       \
  }
}  // namespace

CUBLAS_FOR_EACH(LEVEL1)

#define EXTREMES(p, T, I, s)                                                                        \
  extern "C" cublasStatus_t cublasI##p##amax_v2##s(cublasHandle_t h, I n, const T* x, I ix, I* r) { \
    return extreme(h, n, x, ix, r, true);                                                           \
  }                                                                                                 \
  extern "C" cublasStatus_t cublasI##p##amin_v2##s(cublasHandle_t h, I n, const T* x, I ix, I* r) { \
    return extreme(h, n, x, ix, r, false);                                                          \
  }
EXTREMES(s, float, int, )
EXTREMES(d, double, int, )
EXTREMES(s, float, int64_t, _64)
EXTREMES(d, double, int64_t, _64)

extern "C" cublasStatus_t cublasSrotg_v2(cublasHandle_t h, float* a, float* b, float* u, float* v) {
  return make_rotation(h, a, b, u, v);
}
extern "C" cublasStatus_t cublasDrotg_v2(cublasHandle_t h, double* a, double* b, double* u, double* v) {
  return make_rotation(h, a, b, u, v);
}

}  // namespace warpgrade::cublas

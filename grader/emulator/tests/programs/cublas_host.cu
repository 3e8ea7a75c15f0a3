// cuBLAS of levels 1 and 2 against plain loops on the host, and handles. The same source runs on a GPU. With
// "left_out": a function that the emulator's cuBLAS does not have.
#include "cublas_check.h"

namespace {

// --- level 1 ---

template <class T>
void level1() {
  constexpr int n = 101, sx = 2, sy = -3;
  Array<T> x(n * 2, 1), y(n * 3, 2);
  const auto at_x = [&](int k) -> T& { return x[size_t(k) * sx]; };
  const auto at_y = [&](int k) -> T& { return y[size_t(n - 1 - k) * -sy]; };
  double dot = 0, sum = 0, squares = 0;
  int largest = 0, smallest = 0;
  for (int k = 0; k < n; ++k) {
    dot += double(at_x(k)) * at_y(k);
    sum += std::fabs(at_x(k));
    squares += double(at_x(k)) * at_x(k);
    if (std::fabs(at_x(k)) > std::fabs(at_x(largest))) largest = k;
    if (std::fabs(at_x(k)) < std::fabs(at_x(smallest))) smallest = k;
  }
  T got;
  int index;
  CHECK_CUBLAS(CALL(T, dot)(g_handle, n, x.device, sx, y.device, sy, &got));
  expect_value("dot", got, dot);
  CHECK_CUBLAS(CALL(T, asum)(g_handle, n, x.device, sx, &got));
  expect_value("asum", got, sum);
  CHECK_CUBLAS(CALL(T, nrm2)(g_handle, n, x.device, sx, &got));
  expect_value("nrm2", got, std::sqrt(squares));
  CHECK_CUBLAS(overload(cublasIsamax, cublasIdamax, T{})(g_handle, n, x.device, sx, &index));
  expect(index == largest + 1, "amax counts from 1");
  CHECK_CUBLAS(overload(cublasIsamin, cublasIdamin, T{})(g_handle, n, x.device, sx, &index));
  expect(index == smallest + 1, "amin counts from 1");

  T alpha = T(1.5), cosine = T(0.8), sine = T(0.6);
  CHECK_CUBLAS(CALL(T, axpy)(g_handle, n, &alpha, x.device, sx, y.device, sy));
  for (int k = 0; k < n; ++k) at_y(k) += alpha * at_x(k);
  expect_near("axpy", y, y.host);
  CHECK_CUBLAS(CALL(T, scal)(g_handle, n, &alpha, x.device, sx));
  for (int k = 0; k < n; ++k) at_x(k) *= alpha;
  expect_near("scal", x, x.host);
  CHECK_CUBLAS(CALL(T, rot)(g_handle, n, x.device, sx, y.device, sy, &cosine, &sine));
  for (int k = 0; k < n; ++k) {
    const T p = at_x(k), q = at_y(k);
    at_x(k) = cosine * p + sine * q;
    at_y(k) = cosine * q - sine * p;
  }
  expect_near("rot of x", x, x.host);
  expect_near("rot of y", y, y.host);
  CHECK_CUBLAS(CALL(T, swap)(g_handle, n, x.device, sx, y.device, sy));
  for (int k = 0; k < n; ++k) std::swap(at_x(k), at_y(k));
  expect_near("swap", x, x.host);
  CHECK_CUBLAS(CALL(T, copy)(g_handle, n, x.device, sx, y.device, sy));
  for (int k = 0; k < n; ++k) at_y(k) = at_x(k);
  expect_near("copy", y, y.host);
  const T param[5] = {T(-1), T(2), T(0.5), T(-1), T(3)};
  CHECK_CUBLAS(CALL(T, rotm)(g_handle, n, x.device, sx, y.device, sy, param));
  for (int k = 0; k < n; ++k) {
    const T p = at_x(k), q = at_y(k);
    at_x(k) = param[1] * p + param[3] * q;
    at_y(k) = param[2] * p + param[4] * q;
  }
  expect_near("rotm of x", x, x.host);
  expect_near("rotm of y", y, y.host);

  // Scalars in device memory.
  Array<T> scalar(1, 3);
  CHECK_CUBLAS(cublasSetPointerMode(g_handle, CUBLAS_POINTER_MODE_DEVICE));
  CHECK_CUBLAS(CALL(T, dot)(g_handle, n, x.device, sx, x.device, sx, scalar.device));
  CHECK_CUBLAS(cublasSetPointerMode(g_handle, CUBLAS_POINTER_MODE_HOST));
  dot = 0;
  for (int k = 0; k < n; ++k) dot += double(at_x(k)) * at_x(k);
  expect_value("a result on the device", scalar.received()[0], dot);

  T a = T(3), b = T(4), u, v;
  CHECK_CUBLAS(CALL(T, rotg)(g_handle, &a, &b, &u, &v));
  expect_value("rotg's r", a, 5);
  expect_value("rotg's cosine", u, 0.6);
  expect_value("rotg's sine", v, 0.8);
}

// --- level 2 ---

// y = alpha * e * x + beta * y of rows x columns, in the host's copy of y.
template <class T>
void times_vector(const Element& e, int rows, int columns, T alpha, const Array<T>& x, T beta, Array<T>& y) {
  for (int r = 0; r < rows; ++r) {
    double sum = 0;
    for (int c = 0; c < columns; ++c) sum += e(r, c) * x.host[c];
    y[r] = T(alpha * sum + (beta == T(0) ? 0.0 : beta * double(y[r])));
  }
}

template <class T>
void general_vectors() {
  constexpr int m = 17, n = 11, ld = 20, kl = 2, ku = 3, band_ld = 7;
  const T alpha = T(1.25), beta = T(-0.5);
  for (const auto op : kOps) {
    const int rows = op == CUBLAS_OP_N ? m : n, columns = op == CUBLAS_OP_N ? n : m;
    Array<T> a(ld * n, 1), x(m, 2), y(m, 3), banded(band_ld * n, 4);
    CHECK_CUBLAS(CALL(T, gemv)(g_handle, op, m, n, &alpha, a.device, ld, x.device, 1, &beta, y.device, 1));
    times_vector(with(stored(a, ld), op), rows, columns, alpha, x, beta, y);
    expect_near("gemv", y, y.host);
    const Element band = [&](int r, int c) {
      return r - c > kl || c - r > ku ? 0.0 : double(banded.host[size_t(c) * band_ld + ku + r - c]);
    };
    CHECK_CUBLAS(CALL(T, gbmv)(g_handle, op, m, n, kl, ku, &alpha, banded.device, band_ld, x.device, 1, &beta,
                               y.device, 1));
    times_vector(with(band, op), rows, columns, alpha, x, beta, y);
    expect_near("gbmv", y, y.host);
  }
  Array<T> a(ld * n, 1), x(m, 2), y(n, 3);
  CHECK_CUBLAS(CALL(T, ger)(g_handle, m, n, &alpha, x.device, 1, y.device, 1, a.device, ld));
  for (int c = 0; c < n; ++c) {
    for (int r = 0; r < m; ++r) a[size_t(c) * ld + r] += alpha * x[r] * y[c];
  }
  expect_near("ger", a, a.host);
}

size_t packed_place(int r, int c, int n, cublasFillMode_t fill) {
  return fill == CUBLAS_FILL_MODE_UPPER ? size_t(r) + size_t(c) * (c + 1) / 2
                                        : size_t(r) + size_t(2 * n - c - 1) * c / 2;
}

// Matrices with one triangle, in their three forms in memory.
template <class T>
struct Triangle {
  static constexpr int n = 13, ld = 15, k = 4, band_ld = 6;
  explicit Triangle(cublasFillMode_t f)
      : fill(f), dense(ld * n, 5), banded(band_ld * n, 6), packed(n * (n + 1) / 2, 7) {
    // Diagonals that are large enough to divide by.
    for (int d = 0; d < n; ++d) {
      dense[size_t(d) * ld + d] = T(4 + d % 3);
      banded[size_t(d) * band_ld + (fill == CUBLAS_FILL_MODE_UPPER ? k : 0)] = T(5);
      packed[packed_place(d, d, n, fill)] = T(6);
    }
    dense.send();
    banded.send();
    packed.send();
  }
  Element of_band() const {
    return [this](int r, int c) {
      if (std::abs(r - c) > k) return 0.0;
      return double(banded.host[size_t(c) * band_ld + (fill == CUBLAS_FILL_MODE_UPPER ? k + r - c : r - c)]);
    };
  }
  Element of_packed() const {
    return [this](int r, int c) { return double(packed.host[packed_place(r, c, n, fill)]); };
  }
  cublasFillMode_t fill;
  Array<T> dense, banded, packed;
};

template <class T>
void symmetric_vectors() {
  using M = Triangle<T>;
  constexpr int n = M::n;
  const T alpha = T(0.75), beta = T(2);
  for (const auto fill : kFills) {
    M m(fill);
    Array<T> x(n, 8), y(n, 9);
    CHECK_CUBLAS(
        CALL(T, symv)(g_handle, fill, n, &alpha, m.dense.device, M::ld, x.device, 1, &beta, y.device, 1));
    times_vector(symmetric(stored(m.dense, M::ld), fill), n, n, alpha, x, beta, y);
    expect_near("symv", y, y.host);
    CHECK_CUBLAS(CALL(T, sbmv)(g_handle, fill, n, M::k, &alpha, m.banded.device, M::band_ld, x.device, 1,
                               &beta, y.device, 1));
    times_vector(symmetric(m.of_band(), fill), n, n, alpha, x, beta, y);
    expect_near("sbmv", y, y.host);
    CHECK_CUBLAS(CALL(T, spmv)(g_handle, fill, n, &alpha, m.packed.device, x.device, 1, &beta, y.device, 1));
    times_vector(symmetric(m.of_packed(), fill), n, n, alpha, x, beta, y);
    expect_near("spmv", y, y.host);

    y.send();
    const auto update = [&](bool both) {
      for (int c = 0; c < n; ++c) {
        for (int r = 0; r < n; ++r) {
          if ((fill == CUBLAS_FILL_MODE_UPPER) != (r <= c) && r != c) continue;
          const T term = both ? T(alpha * (x[r] * y[c] + y[r] * x[c])) : T(alpha * x[r] * x[c]);
          m.dense[size_t(c) * M::ld + r] += term;
          m.packed[packed_place(r, c, n, fill)] += term;
        }
      }
    };
    CHECK_CUBLAS(CALL(T, syr)(g_handle, fill, n, &alpha, x.device, 1, m.dense.device, M::ld));
    CHECK_CUBLAS(CALL(T, spr)(g_handle, fill, n, &alpha, x.device, 1, m.packed.device));
    update(false);
    expect_near("syr", m.dense, m.dense.host);
    expect_near("spr", m.packed, m.packed.host);
    CHECK_CUBLAS(CALL(T, syr2)(g_handle, fill, n, &alpha, x.device, 1, y.device, 1, m.dense.device, M::ld));
    CHECK_CUBLAS(CALL(T, spr2)(g_handle, fill, n, &alpha, x.device, 1, y.device, 1, m.packed.device));
    update(true);
    expect_near("syr2", m.dense, m.dense.host);
    expect_near("spr2", m.packed, m.packed.host);
  }
}

template <class T>
void triangular_vectors() {
  using M = Triangle<T>;
  constexpr int n = M::n;
  for (const auto fill : kFills) {
    for (const auto op : kOps) {
      for (const auto diagonal : kDiags) {
        const M m(fill);
        // Times a vector, and back: the second undoes the first.
        const auto there_and_back = [&](const char* name, const Element& e, auto times, auto solve) {
          Array<T> x(n, 10);
          const std::vector<T> before = x.host;
          times(x.device);
          Array<T> y(n, 10);
          times_vector(with(triangular(e, fill, diagonal), op), n, n, T(1), x, T(0), y);
          expect_near(name, x, y.host);
          // A unit diagonal beside large elements makes the way back inexact.
          if (diagonal == CUBLAS_DIAG_UNIT) return;
          solve(x.device);
          expect_near(name, x, before, tolerance<T>() * 50);
        };
        there_and_back(
            "trmv and trsv", stored(m.dense, M::ld),
            [&](T* x) {
              CHECK_CUBLAS(CALL(T, trmv)(g_handle, fill, op, diagonal, n, m.dense.device, M::ld, x, 1));
            },
            [&](T* x) {
              CHECK_CUBLAS(CALL(T, trsv)(g_handle, fill, op, diagonal, n, m.dense.device, M::ld, x, 1));
            });
        there_and_back(
            "tbmv and tbsv", m.of_band(),
            [&](T* x) {
              CHECK_CUBLAS(
                  CALL(T, tbmv)(g_handle, fill, op, diagonal, n, M::k, m.banded.device, M::band_ld, x, 1));
            },
            [&](T* x) {
              CHECK_CUBLAS(
                  CALL(T, tbsv)(g_handle, fill, op, diagonal, n, M::k, m.banded.device, M::band_ld, x, 1));
            });
        there_and_back(
            "tpmv and tpsv", m.of_packed(),
            [&](T* x) {
              CHECK_CUBLAS(CALL(T, tpmv)(g_handle, fill, op, diagonal, n, m.packed.device, x, 1));
            },
            [&](T* x) {
              CHECK_CUBLAS(CALL(T, tpsv)(g_handle, fill, op, diagonal, n, m.packed.device, x, 1));
            });
      }
    }
  }
}

void handles() {
  cudaStream_t stream, told;
  CHECK_CUDA(cudaStreamCreate(&stream));
  CHECK_CUBLAS(cublasSetStream(g_handle, stream));
  CHECK_CUBLAS(cublasGetStream(g_handle, &told));
  expect(told == stream, "a handle keeps its stream");
  CHECK_CUBLAS(cublasSetStream(g_handle, nullptr));
  CHECK_CUDA(cudaStreamDestroy(stream));
  cublasPointerMode_t mode;
  CHECK_CUBLAS(cublasGetPointerMode(g_handle, &mode));
  expect(mode == CUBLAS_POINTER_MODE_HOST, "scalars are on the host at first");
  int version = 0;
  CHECK_CUBLAS(cublasGetVersion(g_handle, &version));
  expect(version == CUBLAS_VERSION, "cublasGetVersion");
}

template <class T>
void precision() {
  level1<T>();
  general_vectors<T>();
  symmetric_vectors<T>();
  triangular_vectors<T>();
}

}  // namespace

int main(int argc, char** argv) {
  CHECK_CUBLAS(cublasCreate(&g_handle));
  if (argc > 1 && !std::strcmp(argv[1], "left_out")) {
    cuComplex *x, result;
    CHECK_CUDA(cudaMalloc(&x, sizeof *x));
    std::printf("%d\n", int(cublasCdotu(g_handle, 1, x, 1, x, 1, &result)));
    return 0;
  }
  const bool is_captured = argc > 1 && !std::strcmp(argv[1], "captured");
  if (is_captured) {
    capture_calls();
  } else {
    handles();
  }
  precision<float>();
  precision<double>();
  expect(!is_captured || g_graphs >= 40, "calls went through graphs");
  CHECK_CUBLAS(cublasDestroy(g_handle));
  return g_failures;
}

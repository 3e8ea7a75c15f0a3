// cuBLAS of level 3, batches and products of mixed types, against plain loops on the host. The same source runs
// on a GPU.
#include <cuda_bf16.h>

#include "cublas_check.h"

namespace {

// --- level 3 ---

// c = alpha * a * b + beta * c of m x n, in the host's copy of c; `inside` tells which elements.
template <class T>
void product_into(Array<T>& c, int ld, int m, int n, int k, double alpha, const Element& a, const Element& b,
                  double beta, const std::function<bool(int, int)>& inside = nullptr) {
  for (int j = 0; j < n; ++j) {
    for (int i = 0; i < m; ++i) {
      if (inside && !inside(i, j)) continue;
      double sum = 0;
      for (int l = 0; l < k; ++l) sum += a(i, l) * b(l, j);
      T& to = c[size_t(j) * ld + i];
      to = T(alpha * sum + (beta == 0 ? 0.0 : beta * double(to)));
    }
  }
}

template <class T>
void products() {
  constexpr int m = 19, n = 14, k = 23, ld = 25;
  const T alpha = T(0.5), beta = T(-1.5), zero = T(0);
  for (const auto oa : kOps) {
    for (const auto ob : kOps) {
      Array<T> a(ld * 25, 1), b(ld * 25, 2), c(ld * n, 3);
      CHECK_CUBLAS(
          CALL(T, gemm)(g_handle, oa, ob, m, n, k, &alpha, a.device, ld, b.device, ld, &beta, c.device, ld));
      product_into(c, ld, m, n, k, alpha, with(stored(a, ld), oa), with(stored(b, ld), ob), beta);
      expect_near("gemm", c, c.host);
    }
  }
  // With beta 0 what was there is not looked at.
  Array<T> a(ld * k, 1), b(ld * n, 2), c(ld * n, 3);
  for (int j = 0; j < n; ++j) {
    for (int i = 0; i < m; ++i) c[size_t(j) * ld + i] = T(NAN);
  }
  c.send();
  CHECK_CUBLAS(CALL(T, gemm)(g_handle, CUBLAS_OP_N, CUBLAS_OP_N, m, n, k, &alpha, a.device, ld, b.device, ld,
                             &zero, c.device, ld));
  product_into(c, ld, m, n, k, alpha, stored(a, ld), stored(b, ld), 0);
  expect_near("gemm into NaN", c, c.host);
  expect(CALL(T, gemm)(g_handle, CUBLAS_OP_N, CUBLAS_OP_N, m, n, k, &alpha, a.device, m - 1, b.device, ld,
                       &zero, c.device, ld) == CUBLAS_STATUS_INVALID_VALUE,
         "a leading dimension that is too small");
}

template <class T>
void batches() {
  constexpr int m = 6, n = 5, k = 7, count = 4, size = 64;
  const T alpha = T(2), beta = T(0.25);
  Array<T> a(size * count, 1), b(size * count, 2), c(size * count, 3), again(size * count, 3);
  CHECK_CUBLAS(CALL(T, gemmStridedBatched)(g_handle, CUBLAS_OP_N, CUBLAS_OP_T, m, n, k, &alpha, a.device, m,
                                           size, b.device, n, size, &beta, c.device, m, size, count));
  std::vector<const T*> as, bs;
  std::vector<T*> cs;
  for (int i = 0; i < count; ++i) {
    as.push_back(a.device + i * size);
    bs.push_back(b.device + i * size);
    cs.push_back(again.device + i * size);
    const auto from = [&, i](const Array<T>& x, int ld) -> Element {
      return [&x, ld, i](int r, int col) { return double(x.host[size_t(i) * size + size_t(col) * ld + r]); };
    };
    for (int j = 0; j < n; ++j) {
      for (int r = 0; r < m; ++r) {
        double sum = 0;
        for (int l = 0; l < k; ++l) sum += from(a, m)(r, l) * from(b, n)(j, l);
        T& to = c[size_t(i) * size + size_t(j) * m + r];
        to = T(alpha * sum + beta * to);
      }
    }
  }
  expect_near("gemmStridedBatched", c, c.host);
  T *const *pa, *const *pb, *const *pc;
  const auto send = [&](auto& list, auto*& to) {
    void* memory;
    CHECK_CUDA(cudaMalloc(&memory, count * sizeof(void*)));
    CHECK_CUDA(cudaMemcpy(memory, list.data(), count * sizeof(void*), cudaMemcpyHostToDevice));
    to = reinterpret_cast<T* const*>(memory);
  };
  send(as, pa);
  send(bs, pb);
  send(cs, pc);
  CHECK_CUBLAS(CALL(T, gemmBatched)(g_handle, CUBLAS_OP_N, CUBLAS_OP_T, m, n, k, &alpha, pa, m, pb, n, &beta,
                                    pc, m, count));
  expect_near("gemmBatched", again, c.host);
  for (auto* list : {pa, pb, pc}) CHECK_CUDA(cudaFree(const_cast<T**>(list)));
}

template <class T>
void level3_of_triangles() {
  constexpr int m = 12, n = 9, ld = 16;
  const T alpha = T(0.5), beta = T(2);
  for (const auto fill : kFills) {
    const auto inside = [fill](int r, int c) {
      return r == c || (fill == CUBLAS_FILL_MODE_UPPER) == (r < c);
    };
    for (const auto side : kSides) {
      const int size = side == CUBLAS_SIDE_LEFT ? m : n;
      Array<T> a(ld * ld, 1), b(ld * n, 2), c(ld * n, 3);
      for (int d = 0; d < size; ++d) a[size_t(d) * ld + d] = T(6 + d % 3);
      a.send();
      const Element s = symmetric(stored(a, ld), fill), other = stored(b, ld);
      CHECK_CUBLAS(
          CALL(T, symm)(g_handle, side, fill, m, n, &alpha, a.device, ld, b.device, ld, &beta, c.device, ld));
      side == CUBLAS_SIDE_LEFT ? product_into(c, ld, m, n, size, alpha, s, other, beta)
                               : product_into(c, ld, m, n, size, alpha, other, s, beta);
      expect_near("symm", c, c.host);
      for (const auto op : kOps) {
        for (const auto diagonal : kDiags) {
          const Element t = with(triangular(stored(a, ld), fill, diagonal), op);
          CHECK_CUBLAS(CALL(T, trmm)(g_handle, side, fill, op, diagonal, m, n, &alpha, a.device, ld, b.device,
                                     ld, c.device, ld));
          side == CUBLAS_SIDE_LEFT ? product_into(c, ld, m, n, size, alpha, t, other, 0)
                                   : product_into(c, ld, m, n, size, alpha, other, t, 0);
          expect_near("trmm", c, c.host);
          if (diagonal == CUBLAS_DIAG_UNIT) continue;
          // Back again: op(a) * x = 2 * (alpha * op(a) * b), so x is b.
          const T two = T(2);
          CHECK_CUBLAS(
              CALL(T, trsm)(g_handle, side, fill, op, diagonal, m, n, &two, a.device, ld, c.device, ld));
          std::vector<T> want = c.host;
          for (int j = 0; j < n; ++j)
            std::copy_n(b.host.begin() + size_t(j) * ld, m, want.begin() + size_t(j) * ld);
          expect_near("trsm", c, want, tolerance<T>() * 50);
        }
      }
    }
    for (const auto op : kOps) {
      constexpr int k = 8;
      Array<T> a(ld * ld, 4), b(ld * ld, 5), c(ld * m, 6);
      const Element x = with(stored(a, ld), op), y = with(stored(b, ld), op);
      const auto flip = [](const Element& e) -> Element { return [e](int r, int col) { return e(col, r); }; };
      CHECK_CUBLAS(CALL(T, syrk)(g_handle, fill, op, m, k, &alpha, a.device, ld, &beta, c.device, ld));
      product_into(c, ld, m, m, k, alpha, x, flip(x), beta, inside);
      expect_near("syrk", c, c.host);
      CHECK_CUBLAS(
          CALL(T, syr2k)(g_handle, fill, op, m, k, &alpha, a.device, ld, b.device, ld, &beta, c.device, ld));
      product_into(c, ld, m, m, k, alpha, x, flip(y), beta, inside);
      product_into(c, ld, m, m, k, alpha, y, flip(x), 1, inside);
      expect_near("syr2k", c, c.host);
    }
  }
}

template <class T>
void relatives() {
  constexpr int m = 10, n = 7, ld = 11;
  const T alpha = T(2), beta = T(-3);
  Array<T> a(ld * ld, 1), b(ld * ld, 2), c(ld * n, 3), x(m, 4);
  CHECK_CUBLAS(CALL(T, geam)(g_handle, CUBLAS_OP_T, CUBLAS_OP_N, m, n, &alpha, a.device, ld, &beta, b.device,
                             ld, c.device, ld));
  for (int j = 0; j < n; ++j) {
    for (int i = 0; i < m; ++i)
      c[size_t(j) * ld + i] = alpha * a[size_t(i) * ld + j] + beta * b[size_t(j) * ld + i];
  }
  expect_near("geam", c, c.host);
  CHECK_CUBLAS(CALL(T, dgmm)(g_handle, CUBLAS_SIDE_LEFT, m, n, a.device, ld, x.device, 1, c.device, ld));
  for (int j = 0; j < n; ++j) {
    for (int i = 0; i < m; ++i) c[size_t(j) * ld + i] = a[size_t(j) * ld + i] * x[i];
  }
  expect_near("dgmm", c, c.host);
}

// --- other types ---

template <class In, class Out>
void mixed(const char* name, cudaDataType in, cudaDataType out, double tolerance_of) {
  constexpr int m = 16, n = 12, k = 20;
  Array<In> a(m * k, 1), b(k * n, 2);
  Array<Out> c(m * n, 3);
  const float alpha = 0.5f, beta = 1.0f;
  CHECK_CUBLAS(cublasGemmEx(g_handle, CUBLAS_OP_N, CUBLAS_OP_N, m, n, k, &alpha, a.device, in, m, b.device,
                            in, k, &beta, c.device, out, m, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));
  std::vector<Out> want = c.host;
  for (int j = 0; j < n; ++j) {
    for (int i = 0; i < m; ++i) {
      double sum = 0;
      for (int l = 0; l < k; ++l)
        sum += double(float(a[size_t(l) * m + i])) * double(float(b[size_t(j) * k + l]));
      want[size_t(j) * m + i] = Out(float(alpha * sum + beta * double(float(want[size_t(j) * m + i]))));
    }
  }
  expect_near(name, c, want, tolerance_of);
}

void integers() {
  constexpr int m = 16, n = 12, k = 20;
  std::vector<int8_t> a(m * k), b(k * n);
  for (size_t i = 0; i < a.size(); ++i) a[i] = int8_t(bits_of(int(i), 1));
  for (size_t i = 0; i < b.size(); ++i) b[i] = int8_t(bits_of(int(i), 2));
  int8_t *da, *db;
  int* dc;
  CHECK_CUDA(cudaMalloc(&da, a.size()));
  CHECK_CUDA(cudaMalloc(&db, b.size()));
  CHECK_CUDA(cudaMalloc(&dc, m * n * sizeof(int)));
  CHECK_CUBLAS(cublasSetVector(int(a.size()), 1, a.data(), 1, da, 1));
  CHECK_CUBLAS(cublasSetMatrix(k, n, 1, b.data(), k, db, k));
  const int alpha = 1, beta = 0;
  CHECK_CUBLAS(cublasGemmEx(g_handle, CUBLAS_OP_N, CUBLAS_OP_N, m, n, k, &alpha, da, CUDA_R_8I, m, db,
                            CUDA_R_8I, k, &beta, dc, CUDA_R_32I, m, CUBLAS_COMPUTE_32I, CUBLAS_GEMM_DEFAULT));
  std::vector<int> c(m * n);
  CHECK_CUBLAS(cublasGetMatrix(m, n, sizeof(int), dc, m, c.data(), m));
  bool same = true;
  for (int j = 0; j < n; ++j) {
    for (int i = 0; i < m; ++i) {
      int sum = 0;
      for (int l = 0; l < k; ++l) sum += a[size_t(l) * m + i] * b[size_t(j) * k + l];
      same = same && c[size_t(j) * m + i] == sum;
    }
  }
  expect(same, "GemmEx of 8-bit integers");
  for (void* p : {static_cast<void*>(da), static_cast<void*>(db), static_cast<void*>(dc)})
    CHECK_CUDA(cudaFree(p));
}

template <class T>
void precision() {
  products<T>();
  batches<T>();
  level3_of_triangles<T>();
  relatives<T>();
}

}  // namespace

int main(int argc, char** argv) {
  CHECK_CUBLAS(cublasCreate(&g_handle));
  const bool is_captured = argc > 1 && !std::strcmp(argv[1], "captured");
  if (is_captured) capture_calls();
  precision<float>();
  precision<double>();
  mixed<__half, __half>("GemmEx of halves", CUDA_R_16F, CUDA_R_16F, 2e-3);
  mixed<__half, float>("GemmEx of halves into floats", CUDA_R_16F, CUDA_R_32F, 1e-4);
  mixed<__nv_bfloat16, __nv_bfloat16>("GemmEx of bfloat16", CUDA_R_16BF, CUDA_R_16BF, 1e-2);
  mixed<float, float>("GemmEx of floats", CUDA_R_32F, CUDA_R_32F, 1e-4);
  integers();
  expect(!is_captured || g_graphs >= 40, "calls went through graphs");
  CHECK_CUBLAS(cublasDestroy(g_handle));
  return g_failures;
}

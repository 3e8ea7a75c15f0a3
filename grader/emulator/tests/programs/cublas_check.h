// What programs of cuBLAS have in common: arrays on both sides, and matrices as an operation sees them.
#pragma once
#include <cublas_v2.h>
#include <cuda_fp16.h>

#include <functional>

#include "through_graph.h"

#define CHECK_CUBLAS(call)                                                                       \
  do {                                                                                           \
    const cublasStatus_t status_ = through_graph([&] { return (call); });                        \
    if (status_ != CUBLAS_STATUS_SUCCESS) {                                                      \
      std::printf("%s:%d: %s: %s\n", __FILE__, __LINE__, #call, cublasGetStatusString(status_)); \
      std::exit(100);                                                                            \
    }                                                                                            \
  } while (0)

inline cublasHandle_t g_handle;

// From here on calls go through graphs.
inline void capture_calls() {
  cudaStream_t stream;
  CHECK_CUDA(cudaStreamCreate(&stream));
  CHECK_CUBLAS(cublasSetStream(g_handle, stream));
  g_captured = stream;
}

// Device memory with a copy on the host, of which the rows between the matrix's end and the leading dimension
// stay.
template <class T>
struct Array {
  explicit Array(size_t n, int salt) : host(n) {
    for (size_t k = 0; k < n; ++k) host[k] = T(float(int(bits_of(int(k), salt) % 2001) - 1000) / 500.0f);
    CHECK_CUDA(cudaMalloc(&device, n * sizeof(T)));
    send();
  }
  ~Array() { cudaFree(device); }
  Array(const Array&) = delete;
  void send() {
    CHECK_CUDA(cudaMemcpy(device, host.data(), host.size() * sizeof(T), cudaMemcpyHostToDevice));
  }
  std::vector<T> received() const {
    std::vector<T> now(host.size());
    CHECK_CUDA(cudaMemcpy(now.data(), device, now.size() * sizeof(T), cudaMemcpyDeviceToHost));
    return now;
  }
  T& operator[](size_t k) { return host[k]; }
  std::vector<T> host;
  T* device = nullptr;
};

template <class T>
double tolerance() {
  return sizeof(T) == 8 ? 1e-11 : 2e-4;
}

inline double wide(double value) {
  return value;
}
inline double wide(__half value) {
  return double(__half2float(value));
}

// What the device has against the expected array, all of it: what must not be written, too.
template <class T>
void expect_near(const char* name, const Array<T>& got, const std::vector<T>& want,
                 double tolerance_of = tolerance<T>()) {
  const std::vector<T> now = got.received();
  for (size_t k = 0; k < now.size(); ++k) {
    const double a = wide(now[k]), b = wide(want[k]);
    if (std::fabs(a - b) <= tolerance_of * (1 + std::fabs(b))) continue;
    ++g_failures;
    std::printf("FAILED: %s at %zu: got %.9g want %.9g\n", name, k, a, b);
    return;
  }
}
template <class T>
void expect_value(const char* name, T got, double want) {
  if (std::fabs(double(got) - want) <= tolerance<T>() * (1 + std::fabs(want))) return;
  ++g_failures;
  std::printf("FAILED: %s: got %.9g want %.9g\n", name, double(got), want);
}

// The calls of one precision by their names without the letter.
#define CALL(T, name) (overload(cublasS##name, cublasD##name, T{}))
template <class S, class D>
S overload(S s, D, float) {
  return s;
}
template <class S, class D>
D overload(S, D d, double) {
  return d;
}

// An element of a matrix as an operation sees it.
using Element = std::function<double(int, int)>;

template <class T>
Element stored(const Array<T>& a, int ld) {
  return [&a, ld](int r, int c) { return double(a.host[size_t(c) * ld + r]); };
}
inline Element with(Element e, cublasOperation_t op) {
  if (op == CUBLAS_OP_N) return e;
  return [e](int r, int c) { return e(c, r); };
}
inline Element symmetric(Element e, cublasFillMode_t fill) {
  return [=](int r, int c) { return (fill == CUBLAS_FILL_MODE_UPPER) == (r <= c) ? e(r, c) : e(c, r); };
}
inline Element triangular(Element e, cublasFillMode_t fill, cublasDiagType_t diagonal) {
  return [=](int r, int c) {
    if (r == c) return diagonal == CUBLAS_DIAG_UNIT ? 1.0 : e(r, c);
    return (fill == CUBLAS_FILL_MODE_UPPER) == (r < c) ? e(r, c) : 0.0;
  };
}

constexpr cublasOperation_t kOps[] = {CUBLAS_OP_N, CUBLAS_OP_T};
constexpr cublasFillMode_t kFills[] = {CUBLAS_FILL_MODE_UPPER, CUBLAS_FILL_MODE_LOWER};
constexpr cublasDiagType_t kDiags[] = {CUBLAS_DIAG_NON_UNIT, CUBLAS_DIAG_UNIT};
constexpr cublasSideMode_t kSides[] = {CUBLAS_SIDE_LEFT, CUBLAS_SIDE_RIGHT};

// cuBLASLt against plain loops on the host, by the toolkit's own cublasLt.h: products of every type, order, transpose
// and batch, and their epilogues. These are defined as NVIDIA's tests of them have it: nvmath-python,
// tests/nvmath_tests/linalg/advanced/matmul/test_epilog.py. The same source runs on a GPU.
#include <cublasLt.h>
#include <cublas_v2.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#include <dlfcn.h>

#include <string>

#include "check.h"

namespace {

#define CHECK_LT(call)                                                                             \
  do {                                                                                             \
    const cublasStatus_t status_ = (call);                                                         \
    if (status_ != CUBLAS_STATUS_SUCCESS) {                                                        \
      std::printf("%s:%d: %s: %s\n", __FILE__, __LINE__, #call, cublasLtGetStatusString(status_)); \
      std::exit(100);                                                                              \
    }                                                                                              \
  } while (0)

cublasLtHandle_t g_handle;

template <class T>
constexpr cudaDataType kType = CUDA_R_32F;
template <>
constexpr cudaDataType kType<double> = CUDA_R_64F;
template <>
constexpr cudaDataType kType<__half> = CUDA_R_16F;
template <>
constexpr cudaDataType kType<__nv_bfloat16> = CUDA_R_16BF;
template <>
constexpr cudaDataType kType<int8_t> = CUDA_R_8I;
template <>
constexpr cudaDataType kType<int32_t> = CUDA_R_32I;
template <>
constexpr cudaDataType kType<__nv_fp8_e4m3> = CUDA_R_8F_E4M3;
template <>
constexpr cudaDataType kType<__nv_fp8_e5m2> = CUDA_R_8F_E5M2;

template <class T>
double value_of(T x) {
  return double(float(x));
}
double value_of(double x) {
  return x;
}
double value_of(int32_t x) {
  return x;
}

// The nearest element. Eighths in -4 to 4 are exact in every type but integers, and so are sums of their products.
template <class T>
T element_of(double x) {
  return T(float(x));
}
template <>
double element_of(double x) {
  return x;
}
template <>
int8_t element_of(double x) {
  return int8_t(std::nearbyint(std::min(127.0, std::max(-128.0, x))));
}
template <>
int32_t element_of(double x) {
  return int32_t(x);
}

// How near a result of this type is to the exact one.
template <class T>
double tolerance() {
  return sizeof(T) == 8 ? 1e-13 : sizeof(T) == 4 ? 1e-5 : std::is_same<T, __half>::value ? 1e-3 : 8e-3;
}

// One or several matrices of the device with a copy on the host, from which no element is read or written beside them.
template <class T>
struct Matrices {
  Matrices(int rows_, int columns_, int salt, int order_ = CUBLASLT_ORDER_COL, int batch_ = 1)
      : rows(rows_), columns(columns_), order(order_), batch(batch_) {
    const int padded = (rows + 31) / 32 * 32;
    ld = (order == CUBLASLT_ORDER_COL     ? rows
          : order == CUBLASLT_ORDER_ROW   ? columns
          : order == CUBLASLT_ORDER_COL32 ? 32 * rows
                                          : 32 * padded) +
         (sizeof(T) == 1 ? 16 - (order == CUBLASLT_ORDER_ROW ? columns : rows) % 16 : 3);
    stride = ld * (order == CUBLASLT_ORDER_COL   ? columns
                   : order == CUBLASLT_ORDER_ROW ? rows
                                                 : (columns + 31) / 32) +
             16;
    host.resize(size_t(stride) * batch);
    const bool whole = std::is_integral<T>::value;
    for (size_t k = 0; k < host.size(); ++k) {
      const int eighths = int(bits_of(int(k), salt) % 33) - 16;
      host[k] = element_of<T>(whole ? eighths : eighths / 8.0);
    }
    CHECK_CUDA(cudaMalloc(&device, host.size() * sizeof(T)));
    send();
    CHECK_LT(cublasLtMatrixLayoutCreate(&layout, kType<T>, rows, columns, ld));
    set(CUBLASLT_MATRIX_LAYOUT_ORDER, int32_t(order));
    set(CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, int32_t(batch));
    set(CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, int64_t(stride));
  }
  ~Matrices() {
    cublasLtMatrixLayoutDestroy(layout);
    cudaFree(device);
  }
  Matrices(const Matrices&) = delete;
  template <class V>
  void set(cublasLtMatrixLayoutAttribute_t attribute, V value) {
    CHECK_LT(cublasLtMatrixLayoutSetAttribute(layout, attribute, &value, sizeof value));
  }
  void send() {
    CHECK_CUDA(cudaMemcpy(device, host.data(), host.size() * sizeof(T), cudaMemcpyHostToDevice));
  }
  // As cublasLt.h describes cublasLtOrder_t.
  size_t index(int b, int r, int c) const {
    const size_t first = size_t(b) * stride;
    if (order == CUBLASLT_ORDER_COL) return first + size_t(c) * ld + r;
    if (order == CUBLASLT_ORDER_ROW) return first + size_t(r) * ld + c;
    const size_t group = first + size_t(c / 32) * ld;
    if (order == CUBLASLT_ORDER_COL32) return group + r * 32 + c % 32;
    // As NVIDIA's FasterTransformer has it, index_CUBLASLT_ORDER_COL4_4R2_8C() in weight_quantize_op.
    if (order == CUBLASLT_ORDER_COL4_4R2_8C)
      return group + ((((r >> 3) << 3) + ((r & 1) << 2) + ((c & 31) >> 3)) << 5) +
             ((((c & 7) >= 4 ? 4 : 0) + ((r & 7) >> 1)) << 2) + (c & 3);
    const int row = r % 32;
    return group + r / 32 * 1024 + (((row % 8) / 2 * 4 + row / 8) * 2 + row % 2) * 32 + c % 32;
  }
  double at(int b, int r, int c) const { return value_of(host[index(b, r, c)]); }
  void put(int b, int r, int c, double x) { host[index(b, r, c)] = element_of<T>(x); }
  // All of the device's memory against the host's: what must not be written, too.
  void expect_near(const std::string& name, double near = tolerance<T>()) const {
    std::vector<T> now(host.size());
    CHECK_CUDA(cudaMemcpy(now.data(), device, now.size() * sizeof(T), cudaMemcpyDeviceToHost));
    for (size_t k = 0; k < now.size(); ++k) {
      const double got = value_of(now[k]), want = value_of(host[k]);
      if (std::fabs(got - want) <= near * (1 + std::fabs(want))) continue;
      ++g_failures;
      std::printf("FAILED: %s at %zu: got %.9g want %.9g\n", name.c_str(), k, got, want);
      return;
    }
  }
  int rows, columns, order, batch;
  int ld = 0, stride = 0;
  std::vector<T> host;
  T* device = nullptr;
  cublasLtMatrixLayout_t layout;
};

struct Operation {
  Operation(cublasComputeType_t compute, cudaDataType scale) {
    CHECK_LT(cublasLtMatmulDescCreate(&it, compute, scale));
  }
  ~Operation() { cublasLtMatmulDescDestroy(it); }
  Operation(const Operation&) = delete;
  template <class V>
  void set(cublasLtMatmulDescAttributes_t attribute, V value) {
    CHECK_LT(cublasLtMatmulDescSetAttribute(it, attribute, &value, sizeof value));
  }
  cublasLtMatmulDesc_t it;
};

template <class AB, class C, class D, class S>
cublasStatus_t multiply(Operation& op, const S* alpha, Matrices<AB>& a, Matrices<AB>& b, const S* beta,
                        Matrices<C>& c, Matrices<D>& d) {
  cublasLtMatmulPreference_t preference;
  CHECK_LT(cublasLtMatmulPreferenceCreate(&preference));
  const size_t workspace = 1 << 20;
  CHECK_LT(cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                                &workspace, sizeof workspace));
  cublasLtMatmulHeuristicResult_t found;
  int count = 0;
  const cublasStatus_t status = cublasLtMatmulAlgoGetHeuristic(g_handle, op.it, a.layout, b.layout, c.layout,
                                                               d.layout, preference, 1, &found, &count);
  cublasLtMatmulPreferenceDestroy(preference);
  if (status != CUBLAS_STATUS_SUCCESS || count == 0) return status;
  void* memory = nullptr;
  CHECK_CUDA(cudaMalloc(&memory, workspace));
  const cublasStatus_t done =
      cublasLtMatmul(g_handle, op.it, alpha, a.device, a.layout, b.device, b.layout, beta, c.device, c.layout,
                     d.device, d.layout, &found.algo, memory, workspace, nullptr);
  CHECK_CUDA(cudaDeviceSynchronize());
  cudaFree(memory);
  return done;
}

template <class AB, class C>
double product(const Matrices<AB>& a, bool ta, const Matrices<AB>& b, bool tb, int batch, int r, int c,
               int k) {
  double sum = 0;
  for (int l = 0; l < k; ++l)
    sum += (ta ? a.at(batch, l, r) : a.at(batch, r, l)) * (tb ? b.at(batch, c, l) : b.at(batch, l, c));
  return sum;
}

bool g_survey = false;  // prints each combination's status: what a GPU takes

// Each order of each matrix, each transpose, one matrix or three.
template <class AB, class CD, class S>
void products(const char* name, cublasComputeType_t compute, cudaDataType scale, double alpha_value,
              double beta_value) {
  constexpr int m = 36, n = 20, k = 40;
  const S alpha = element_of<S>(alpha_value), beta = element_of<S>(beta_value);
  for (int kind = 0; kind < 64; ++kind) {
    const bool ta = kind & 1, tb = kind & 2;
    const int batch = kind & 4 ? 3 : 1;
    const int orders[] = {kind >> 3 & 1, kind >> 4 & 1, kind >> 5 & 1};
    Matrices<AB> a(ta ? k : m, ta ? m : k, 1, orders[0], batch),
        b(tb ? n : k, tb ? k : n, 2, orders[1], batch);
    Matrices<CD> c(m, n, 3, orders[2], batch), d(m, n, 4, orders[2], batch);
    Operation op(compute, scale);
    op.set(CUBLASLT_MATMUL_DESC_TRANSA, int32_t(ta ? CUBLAS_OP_T : CUBLAS_OP_N));
    op.set(CUBLASLT_MATMUL_DESC_TRANSB, int32_t(tb ? CUBLAS_OP_T : CUBLAS_OP_N));
    if (g_survey) {
      std::printf("%s, kind %d: %d\n", name, kind, multiply(op, &alpha, a, b, &beta, c, d));
      continue;
    }
    // 8-bit integers: what an H200 takes, as the survey there said.
    const bool along_k = ta != (orders[0] != 0) && tb == (orders[1] != 0);
    const bool any_order = std::is_same_v<CD, int8_t> && orders[2] != 0;
    if (std::is_same_v<AB, int8_t> && !along_k && !any_order) {
      expect(multiply(op, &alpha, a, b, &beta, c, d) == CUBLAS_STATUS_NOT_SUPPORTED, name);
      continue;
    }
    CHECK_LT(multiply(op, &alpha, a, b, &beta, c, d));
    for (int i = 0; i < batch; ++i)
      for (int y = 0; y < n; ++y)
        for (int x = 0; x < m; ++x)
          d.put(i, x, y,
                value_of(alpha) * product<AB, CD>(a, ta, b, tb, i, x, y, k) + value_of(beta) * c.at(i, x, y));
    d.expect_near(std::string(name) + " " + std::to_string(kind));
  }
}

// Orders in tiles, as in NVIDIA's sample LtIgemmTensor: A and C of COL32, B transposed.
void products_in_tiles() {
  constexpr int m = 37, n = 21, k = 70;
  const int32_t alpha = 1, beta = 0;
  for (const int order : {3, 4}) {
    Matrices<int8_t> a(m, k, 1, CUBLASLT_ORDER_COL32), b(n, k, 2, order);
    Matrices<int32_t> c(m, n, 3, CUBLASLT_ORDER_COL32);
    Operation op(CUBLAS_COMPUTE_32I, CUDA_R_32I);
    op.set(CUBLASLT_MATMUL_DESC_TRANSB, int32_t(CUBLAS_OP_T));
    CHECK_LT(multiply(op, &alpha, a, b, &beta, c, c));
    for (int y = 0; y < n; ++y)
      for (int x = 0; x < m; ++x) c.put(0, x, y, product<int8_t, int32_t>(a, false, b, true, 0, x, y, k));
    c.expect_near("a product in tiles of order " + std::to_string(order), 0);
  }
}

// One matrix A for the whole batch, C in the place of D, and beta 0, which does not look at C.
void strides_of_zero() {
  constexpr int m = 17, n = 9, k = 8;
  const float alpha = 2, beta = 0;
  Matrices<float> a(m, k, 1), b(k, n, 2, CUBLASLT_ORDER_COL, 3), d(m, n, 3, CUBLASLT_ORDER_COL, 3);
  a.set(CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, int32_t(3));
  a.set(CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, int64_t(0));
  for (int i = 0; i < 3; ++i)
    for (int y = 0; y < n; ++y)
      for (int x = 0; x < m; ++x) d.put(i, x, y, NAN);
  d.send();
  Operation op(CUBLAS_COMPUTE_32F_FAST_TF32, CUDA_R_32F);
  CHECK_LT(multiply(op, &alpha, a, b, &beta, d, d));
  for (int i = 0; i < 3; ++i) {
    for (int y = 0; y < n; ++y) {
      for (int x = 0; x < m; ++x) {
        double sum = 0;
        for (int l = 0; l < k; ++l) sum += a.at(0, x, l) * b.at(i, l, y);
        d.put(i, x, y, 2 * sum);
      }
    }
  }
  d.expect_near("a batch with one A");
}

// Scalars in the device's memory: one, or one for each row of D.
void pointer_modes() {
  constexpr int m = 12, n = 7, k = 5;
  for (const int mode : {1, 2, 3, 4}) {
    const bool of_host = mode == CUBLASLT_POINTER_MODE_ALPHA_DEVICE_VECTOR_BETA_HOST;
    const int batch = of_host ? 2 : 1;  // an alpha for each of two products
    Matrices<float> a(m, k, 1, 0, batch), b(k, n, 2, 0, batch), c(m, n, 3, 0, batch), d(m, n, 4, 0, batch),
        alpha(m, batch, 5), beta(m, 1, 6);
    Operation op(CUBLAS_COMPUTE_32F, CUDA_R_32F);
    op.set(CUBLASLT_MATMUL_DESC_POINTER_MODE, int32_t(mode));
    op.set(CUBLASLT_MATMUL_DESC_ALPHA_VECTOR_BATCH_STRIDE, int64_t(of_host ? alpha.ld : 0));
    const float beta_of_host = -0.5F;
    CHECK_LT(multiply(op, alpha.device, a, b, of_host ? &beta_of_host : beta.device, c, d));
    for (int i = 0; i < batch; ++i) {
      for (int y = 0; y < n; ++y) {
        for (int x = 0; x < m; ++x) {
          const double b_of_row = mode == 1   ? beta.at(0, 0, 0)
                                  : mode == 2 ? beta.at(0, x, 0)
                                  : mode == 3 ? 0
                                              : beta_of_host;
          d.put(i, x, y,
                alpha.at(0, mode == 1 ? 0 : x, i) * product<float, float>(a, false, b, false, i, x, y, k) +
                    b_of_row * c.at(i, x, y));
        }
      }
    }
    d.expect_near("pointer mode " + std::to_string(mode));
  }
}

double gelu(double x) {
  return 0.5 * x * (1 + std::tanh(std::sqrt(2 / 3.14159265358979323846) * (x + 0.044715 * x * x * x)));
}
double gelu_slope(double x) {
  const double step = 1e-5;
  return (gelu(x + step) - gelu(x - step)) / (2 * step);
}

// Each epilogue, of one matrix and of two with vectors and auxiliary matrices of their own.
template <class AB, class D, class Bias>
void epilogues(const char* name, cublasComputeType_t compute, cudaDataType scale) {
  constexpr int m = 20, n = 12, k = 16, bits_ld = 128, inputs_ld = 24;
  using S = std::conditional_t<std::is_same<AB, double>::value, double, float>;
  const S alpha = S(0.25), beta = S(1);
  for (const uint32_t epilogue :
       {2U, 4U, 6U, 130U, 134U, 32U, 36U, 160U, 164U, 136U, 152U, 192U, 208U, 256U, 512U}) {
    for (const int batch : {1, 2}) {
      Matrices<AB> a(m, k, 1, 0, batch), b(k, n, 2, 0, batch);
      Matrices<D> c(m, n, 3, 0, batch), d(m, n, 4, 0, batch), inputs(inputs_ld, n, 7, 0, batch);
      Matrices<Bias> bias(m, 1, 5, 0, batch);  // n is less than m
      std::vector<uint8_t> bits(bits_ld / 8 * n * batch), now;
      for (size_t i = 0; i < bits.size(); ++i) bits[i] = uint8_t(bits_of(int(i), 6));
      uint8_t* device_bits = nullptr;
      CHECK_CUDA(cudaMalloc(&device_bits, bits.size()));
      CHECK_CUDA(cudaMemcpy(device_bits, bits.data(), bits.size(), cudaMemcpyHostToDevice));
      const auto bit = [&](int i, int x, int y) -> std::pair<uint8_t*, int> {
        return {&bits[(size_t(i) * n + y) * bits_ld / 8 + x / 8], x % 8};
      };
      const bool of_bits = epilogue & (2 | 8), has_bias = epilogue & 4, gradient = epilogue & 16;
      Operation op(compute, scale);
      op.set(CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue);
      op.set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias.device);
      op.set(CUBLASLT_MATMUL_DESC_BIAS_BATCH_STRIDE, int64_t(bias.stride));
      if (epilogue & 128) {
        op.set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER,
               of_bits ? (void*)device_bits : (void*)inputs.device);
        op.set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, int64_t(of_bits ? bits_ld : inputs.ld / 8 * 8));
        op.set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_BATCH_STRIDE,
               int64_t(of_bits ? bits_ld * n : inputs.stride / 8 * 8));
      }
      CHECK_LT(multiply(op, &alpha, a, b, &beta, c, d));
      const size_t input_stride = inputs.stride / 8 * 8, input_ld = inputs.ld / 8 * 8;
      std::vector<uint8_t> sure(bits.size(), 0);
      for (int i = 0; i < batch; ++i) {
        std::vector<double> sums(m, 0);
        for (int y = 0; y < n; ++y) {
          for (int x = 0; x < m; ++x) {
            double v = alpha * product<AB, D>(a, false, b, false, i, x, y, k) + c.at(i, x, y);
            if (has_bias) v += bias.at(i, x, 0);
            D& input = inputs.host[i * input_stride + y * input_ld + x];
            if (epilogue == 130 || epilogue == 134) {
              const auto place = bit(i, x, y);
              *place.first = uint8_t((*place.first & ~(1 << place.second)) | (v >= 0) << place.second);
              if (v != 0) sure[place.first - bits.data()] |= uint8_t(1 << place.second);
            }
            if (epilogue & 2) v = std::max(v, 0.0);
            if (epilogue & 8) v *= *bit(i, x, y).first >> bit(i, x, y).second & 1;
            if (epilogue == 160 || epilogue == 164) input = element_of<D>(v);
            if (epilogue & 32) v = gelu(v);
            if (epilogue & 64) v *= gelu_slope(value_of(input));
            d.put(i, x, y, v);
            sums[x] += d.at(i, x, y);
          }
        }
        for (int x = 0; x < m && gradient; ++x) bias.put(i, x, 0, sums[x]);
        for (int x = 0; x < m && epilogue == 256; ++x) {
          double sum = 0;
          for (int l = 0; l < k; ++l) sum += a.at(i, x, l);
          bias.put(i, x, 0, sum);
        }
        for (int y = 0; y < n && epilogue == 512; ++y) {
          double sum = 0;
          for (int l = 0; l < k; ++l) sum += b.at(i, l, y);
          bias.put(i, y, 0, sum);
        }
      }
      const std::string what = std::string(name) + ", epilogue " + std::to_string(epilogue);
      const double near = std::max(tolerance<D>(), 1e-8);  // of the slope by differences
      d.expect_near(what, near);
      bias.expect_near(what + ", bias", gradient ? 20 * near : near);
      inputs.expect_near(what + ", inputs");
      now.resize(bits.size());
      CHECK_CUDA(cudaMemcpy(now.data(), device_bits, now.size(), cudaMemcpyDeviceToHost));
      for (size_t i = 0; i < now.size(); ++i)
        expect((now[i] & sure[i]) == (bits[i] & sure[i]), (what + ", bits").c_str());
      cudaFree(device_bits);
    }
  }
}

// To another order and back, and a sum of two.
template <class T>
void transforms(cudaDataType scale) {
  constexpr int rows = 45, columns = 70;
  const float one = 1, two = 2, zero = 0;
  const int32_t whole_one = 1, whole_two = 2, whole_zero = 0;
  const bool whole = scale == CUDA_R_32I;
  const auto scalar = [&](const float& x, const int32_t& y) {
    return whole ? (const void*)&y : (const void*)&x;
  };
  for (const int order : {0, 1, 2, 3, 4}) {
    Matrices<T> a(columns, rows, 1), b(rows, columns, 2, CUBLASLT_ORDER_ROW), c(rows, columns, 3, order),
        back(rows, columns, 4);
    cublasLtMatrixTransformDesc_t how;
    CHECK_LT(cublasLtMatrixTransformDescCreate(&how, scale));
    const int32_t transposed = CUBLAS_OP_T;
    CHECK_LT(cublasLtMatrixTransformDescSetAttribute(how, CUBLASLT_MATRIX_TRANSFORM_DESC_TRANSA, &transposed,
                                                     sizeof transposed));
    CHECK_LT(cublasLtMatrixTransform(g_handle, how, scalar(two, whole_two), a.device, a.layout,
                                     scalar(one, whole_one), b.device, b.layout, c.device, c.layout,
                                     nullptr));
    cublasLtMatrixTransformDesc_t plain;
    CHECK_LT(cublasLtMatrixTransformDescCreate(&plain, scale));
    CHECK_LT(cublasLtMatrixTransform(g_handle, plain, scalar(one, whole_one), c.device, c.layout,
                                     scalar(zero, whole_zero), nullptr, nullptr, back.device, back.layout,
                                     nullptr));
    for (int y = 0; y < columns; ++y) {
      for (int x = 0; x < rows; ++x) {
        c.put(0, x, y, 2 * a.at(0, y, x) + b.at(0, x, y));
        back.put(0, x, y, c.at(0, x, y));
      }
    }
    c.expect_near("transform to order " + std::to_string(order), 0);
    back.expect_near("transform from order " + std::to_string(order), 0);
    cublasLtMatrixTransformDescDestroy(how);
    cublasLtMatrixTransformDescDestroy(plain);
  }
}

// 8-bit floats with scales and the largest magnitude, for devices of compute capability 8.9 and more.
template <class D>
void narrow_floats(const char* name, float scale_of_d) {
  constexpr int m = 32, n = 16, k = 48;
  const float alpha = 1, beta = 1, scales[] = {0.5F, 4.0F, scale_of_d};
  float *device_scales = nullptr, *device_amax = nullptr, amax = -1;
  CHECK_CUDA(cudaMalloc(&device_scales, sizeof scales));
  CHECK_CUDA(cudaMemcpy(device_scales, scales, sizeof scales, cudaMemcpyHostToDevice));
  CHECK_CUDA(cudaMalloc(&device_amax, sizeof amax));
  Matrices<__nv_fp8_e4m3> a(k, m, 1), b(k, n, 2);
  Matrices<__nv_bfloat16> c(m, n, 3), bias(m, 1, 5);
  Matrices<D> d(m, n, 4);
  Operation op(CUBLAS_COMPUTE_32F, CUDA_R_32F);
  op.set(CUBLASLT_MATMUL_DESC_TRANSA, int32_t(CUBLAS_OP_T));
  op.set(CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, device_scales);
  op.set(CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, device_scales + 1);
  op.set(CUBLASLT_MATMUL_DESC_EPILOGUE, uint32_t(CUBLASLT_EPILOGUE_BIAS));
  op.set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias.device);
  const bool narrow = sizeof(D) == 1;
  if (narrow) {
    op.set(CUBLASLT_MATMUL_DESC_D_SCALE_POINTER, device_scales + 2);
    op.set(CUBLASLT_MATMUL_DESC_AMAX_D_POINTER, device_amax);
  }
  CHECK_LT(multiply(op, &alpha, a, b, &beta, c, d));
  double largest = 0;
  for (int y = 0; y < n; ++y) {
    for (int x = 0; x < m; ++x) {
      const double v =
          2 * product<__nv_fp8_e4m3, D>(a, true, b, false, 0, x, y, k) + c.at(0, x, y) + bias.at(0, x, 0);
      largest = std::max(largest, std::fabs(v));
      d.put(0, x, y, narrow ? v * scale_of_d : v);
    }
  }
  d.expect_near(name, narrow ? 0 : tolerance<D>());
  CHECK_CUDA(cudaMemcpy(&amax, device_amax, sizeof amax, cudaMemcpyDeviceToHost));
  if (narrow) expect(amax == float(largest), "the largest magnitude");
  cudaFree(device_scales);
  cudaFree(device_amax);
}

// What a program may ask of algorithms, in the way of NVIDIA's sample LtSgemmCustomFind.
void algorithms() {
  int ids[8], count = 0;
  CHECK_LT(cublasLtMatmulAlgoGetIds(g_handle, CUBLAS_COMPUTE_32F, CUDA_R_32F, CUDA_R_32F, CUDA_R_32F,
                                    CUDA_R_32F, CUDA_R_32F, 8, ids, &count));
  expect(count >= 1, "there is an algorithm");
  cublasLtMatmulAlgo_t algorithm;
  CHECK_LT(cublasLtMatmulAlgoInit(g_handle, CUBLAS_COMPUTE_32F, CUDA_R_32F, CUDA_R_32F, CUDA_R_32F,
                                  CUDA_R_32F, CUDA_R_32F, ids[0], &algorithm));
  size_t written = 0;
  CHECK_LT(cublasLtMatmulAlgoCapGetAttribute(&algorithm, CUBLASLT_ALGO_CAP_TILE_IDS, nullptr, 0, &written));
  std::vector<uint32_t> tiles(written / sizeof(uint32_t));
  CHECK_LT(cublasLtMatmulAlgoCapGetAttribute(&algorithm, CUBLASLT_ALGO_CAP_TILE_IDS, tiles.data(), written,
                                             &written));
  const uint32_t tile = tiles.empty() ? CUBLASLT_MATMUL_TILE_UNDEFINED : tiles[0];
  CHECK_LT(
      cublasLtMatmulAlgoConfigSetAttribute(&algorithm, CUBLASLT_ALGO_CONFIG_TILE_ID, &tile, sizeof tile));
  Matrices<float> a(8, 8, 1), b(8, 8, 2), c(8, 8, 3);
  Operation op(CUBLAS_COMPUTE_32F, CUDA_R_32F);
  cublasLtMatmulHeuristicResult_t result;
  CHECK_LT(
      cublasLtMatmulAlgoCheck(g_handle, op.it, a.layout, b.layout, c.layout, c.layout, &algorithm, &result));
  const float alpha = 1, beta = 0;
  CHECK_LT(cublasLtMatmul(g_handle, op.it, &alpha, a.device, a.layout, b.device, b.layout, &beta, c.device,
                          c.layout, c.device, c.layout, &result.algo, nullptr, 0, nullptr));
  for (int y = 0; y < 8; ++y)
    for (int x = 0; x < 8; ++x) c.put(0, x, y, product<float, float>(a, false, b, false, 0, x, y, 8));
  c.expect_near("a configured algorithm");
}

// An algorithm by a number that the program brings with it, as in NVIDIA's sample LtDgemmPresetAlgo; and matrices whose
// addresses lie in arrays of the device, as in LtHSHgemmPointerArrayBatchSimple.
void presets_and_pointers() {
  constexpr int m = 9, n = 6, k = 7, batch = 3;
  Matrices<double> a(m, k, 1, 0, batch), b(k, n, 2, 0, batch), c(m, n, 3, 0, batch);
  cublasLtMatmulAlgo_t algorithm;
  CHECK_LT(cublasLtMatmulAlgoInit(g_handle, CUBLAS_COMPUTE_64F, CUDA_R_64F, CUDA_R_64F, CUDA_R_64F,
                                  CUDA_R_64F, CUDA_R_64F, 10, &algorithm));
  const int32_t splits = 256;
  CHECK_LT(cublasLtMatmulAlgoConfigSetAttribute(&algorithm, CUBLASLT_ALGO_CONFIG_SPLITK_NUM, &splits,
                                                sizeof splits));
  int32_t id = 0;
  CHECK_LT(
      cublasLtMatmulAlgoConfigGetAttribute(&algorithm, CUBLASLT_ALGO_CONFIG_ID, &id, sizeof id, nullptr));
  expect(id == 10, "the number of an algorithm");
#if CUBLAS_VER_MAJOR >= 13
  const auto pointers = [](Matrices<double>& of) {
    std::vector<double*> host;
    for (int i = batch - 1; i >= 0; --i) host.push_back(of.device + of.stride * i);
    double** device = nullptr;
    CHECK_CUDA(cudaMalloc(&device, batch * sizeof(double*)));
    CHECK_CUDA(cudaMemcpy(device, host.data(), batch * sizeof(double*), cudaMemcpyHostToDevice));
    of.set(CUBLASLT_MATRIX_LAYOUT_BATCH_MODE, uint32_t(CUBLASLT_BATCH_MODE_POINTER_ARRAY));
    return device;
  };
  double **as = pointers(a), **bs = pointers(b), **cs = pointers(c);
  Operation op(CUBLAS_COMPUTE_64F, CUDA_R_64F);
  const double alpha = 2, beta = 0.5;
  CHECK_LT(cublasLtMatmul(g_handle, op.it, &alpha, as, a.layout, bs, b.layout, &beta, cs, c.layout, cs,
                          c.layout, &algorithm, nullptr, 0, nullptr));
  for (int i = 0; i < batch; ++i)
    for (int y = 0; y < n; ++y)
      for (int x = 0; x < m; ++x)
        c.put(i, x, y, 2 * product<double, double>(a, false, b, false, i, x, y, k) + 0.5 * c.at(i, x, y));
  c.expect_near("matrices by pointers");
  for (double** array : {as, bs, cs}) cudaFree(array);
#endif
}

// A program's own memory for descriptors.
void descriptors_on_the_stack() {
  cublasLtMatrixLayoutOpaque_t layout;
  CHECK_LT(cublasLtMatrixLayoutInit(&layout, CUDA_R_16F, 5, 7, 6));
  uint64_t columns = 0;
  size_t written = 0;
  CHECK_LT(cublasLtMatrixLayoutGetAttribute(&layout, CUBLASLT_MATRIX_LAYOUT_COLS, &columns, sizeof columns,
                                            &written));
  expect(columns == 7 && written == 8, "a layout on the stack");
  cublasLtMatmulDescOpaque_t operation;
  CHECK_LT(cublasLtMatmulDescInit(&operation, CUBLAS_COMPUTE_32F, CUDA_R_32F));
  cublasLtMatmulPreferenceOpaque_t preference;
  CHECK_LT(cublasLtMatmulPreferenceInit(&preference));
  cublasLtMatrixTransformDescOpaque_t transform;
  CHECK_LT(cublasLtMatrixTransformDescInit(&transform, CUDA_R_32F));
}

// libcublas in the same process. Its handle may stand for one of cuBLASLt.
void beside_cublas() {
  const std::string name = "libcublas.so." + std::to_string(CUBLAS_VER_MAJOR);
  void* library = dlopen(name.c_str(), RTLD_NOW);
  expect(library != nullptr, "libcublas beside cuBLASLt");
  if (library == nullptr) return;
  const auto create = (cublasStatus_t(*)(cublasHandle_t*))dlsym(library, "cublasCreate_v2");
  const auto destroy = (cublasStatus_t(*)(cublasHandle_t))dlsym(library, "cublasDestroy_v2");
  const auto gemm = (decltype(&cublasSgemm_v2))dlsym(library, "cublasSgemm_v2");
  cublasHandle_t handle;
  CHECK_LT(create(&handle));
  Matrices<float> a(6, 4, 1), b(4, 5, 2), c(6, 5, 3), d(6, 5, 3);
  const float alpha = 1, beta = 1;
  CHECK_LT(gemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, 6, 5, 4, &alpha, a.device, a.ld, b.device, b.ld, &beta,
                c.device, c.ld));
  Operation op(CUBLAS_COMPUTE_32F, CUDA_R_32F);
  CHECK_LT(cublasLtMatmul((cublasLtHandle_t)handle, op.it, &alpha, a.device, a.layout, b.device, b.layout,
                          &beta, d.device, d.layout, d.device, d.layout, nullptr, nullptr, 0, nullptr));
  for (int y = 0; y < 5; ++y) {
    for (int x = 0; x < 6; ++x) {
      const double sum = c.at(0, x, y) + product<float, float>(a, false, b, false, 0, x, y, 4);
      c.put(0, x, y, sum);
      d.put(0, x, y, sum);
    }
  }
  c.expect_near("cublasSgemm beside cuBLASLt");
  d.expect_near("cublasLtMatmul by a handle of cuBLAS");
  CHECK_LT(destroy(handle));
}

// What is wrong or missing is told by name.
void refusals(const std::string& which) {
  const float alpha = 1, beta = 1;
  Matrices<float> a(6, 4, 1), b(4, 5, 2), wide_b(3, 5, 2), c(6, 5, 3);
  Operation op(CUBLAS_COMPUTE_32F, CUDA_R_32F);
  if (which == "shape") {
    std::printf("%d\n", multiply(op, &alpha, a, wide_b, &beta, c, c));
  } else if (which == "epilogue") {
    op.set(CUBLASLT_MATMUL_DESC_EPILOGUE, uint32_t(1024));
    std::printf("%d\n", multiply(op, &alpha, a, b, &beta, c, c));
  } else if (which == "bias") {
    op.set(CUBLASLT_MATMUL_DESC_EPILOGUE, uint32_t(CUBLASLT_EPILOGUE_BIAS));
    std::printf("%d\n", multiply(op, &alpha, a, b, &beta, c, c));
  } else if (which == "aux") {
    op.set(CUBLASLT_MATMUL_DESC_EPILOGUE, uint32_t(CUBLASLT_EPILOGUE_RELU_AUX));
    op.set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, int64_t(8));
    std::printf("%d\n", multiply(op, &alpha, a, b, &beta, c, c));
  } else if (which == "order") {
    a.set(CUBLASLT_MATRIX_LAYOUT_ORDER, int32_t(9));
    std::printf("%d\n", multiply(op, &alpha, a, b, &beta, c, c));
  } else if (which == "complex") {
    a.set(CUBLASLT_MATRIX_LAYOUT_TYPE, uint32_t(CUDA_C_32F));
    std::printf("%d\n", multiply(op, &alpha, a, b, &beta, c, c));
  } else if (which == "fp8") {
    Matrices<__nv_fp8_e4m3> x(16, 16, 1), y(16, 16, 2);
    Matrices<float> z(16, 16, 3);
    op.set(CUBLASLT_MATMUL_DESC_TRANSA, int32_t(CUBLAS_OP_T));
    std::printf("%d\n", multiply(op, &alpha, x, y, &beta, z, z));
  } else {  // the last column of D ends behind its allocation, or lies behind it as a whole
    Matrices<float> few(6, 1, 4);
    float* late = which == "overrun" ? c.device + 20 : few.device;
    const auto multiply_late = [&](const void* x, const void* y) {
      const auto layout = c.layout;
      return cublasLtMatmul(  // MISTAKE overrun
          g_handle, op.it, &alpha, x, a.layout, y, b.layout, &beta, c.device, layout, late, layout, nullptr,
          nullptr, 0, nullptr);
    };
    std::printf("%d\n", multiply_late(a.device, b.device));
  }
}

}  // namespace

int main(int argc, char** argv) {
  CHECK_LT(cublasLtCreate(&g_handle));
  const std::string what = argc > 1 ? argv[1] : "";
  g_survey = what == "survey";
  if (g_survey) std::setvbuf(stdout, nullptr, _IOLBF, 0);  // whole lines beside what is refused
  if (what == "fp8_products") {
    narrow_floats<__nv_bfloat16>("8-bit floats into bfloat16", 1);
    narrow_floats<__nv_fp8_e4m3>("8-bit floats into 8-bit floats", 0.125F);
    narrow_floats<__nv_fp8_e4m3>("8-bit floats that saturate", 64.0F);
  } else if (!what.empty() && !g_survey) {
    refusals(what);
  } else {
    products<float, float, float>("float", CUBLAS_COMPUTE_32F, CUDA_R_32F, 0.5, -1.5);
    products<float, float, float>("TF32", CUBLAS_COMPUTE_32F_FAST_TF32, CUDA_R_32F, 1, 0);
    products<double, double, double>("double", CUBLAS_COMPUTE_64F, CUDA_R_64F, 0.5, -1.5);
    products<__half, __half, float>("half", CUBLAS_COMPUTE_32F, CUDA_R_32F, 0.5, 1);
    products<__half, float, float>("half into float", CUBLAS_COMPUTE_32F, CUDA_R_32F, 0.5, 1);
    products<__half, __half, __half>("half in half", CUBLAS_COMPUTE_16F, CUDA_R_16F, 0.5, 1);
    products<__nv_bfloat16, __nv_bfloat16, float>("bfloat16", CUBLAS_COMPUTE_32F, CUDA_R_32F, 0.5, 1);
    products<__nv_bfloat16, float, float>("bfloat16 into float", CUBLAS_COMPUTE_32F, CUDA_R_32F, 0.5, 1);
    products<int8_t, int32_t, int32_t>("8-bit integers", CUBLAS_COMPUTE_32I, CUDA_R_32I, 2, -1);
    products<int8_t, int8_t, float>("8-bit integers, scaled", CUBLAS_COMPUTE_32I, CUDA_R_32F, 1.0 / 16, 1);
    if (g_survey) return 0;
    products_in_tiles();
    strides_of_zero();
    pointer_modes();
    epilogues<float, float, float>("float", CUBLAS_COMPUTE_32F, CUDA_R_32F);
    epilogues<double, double, double>("double", CUBLAS_COMPUTE_64F, CUDA_R_64F);
    epilogues<__half, __half, __half>("half", CUBLAS_COMPUTE_32F, CUDA_R_32F);
    epilogues<__nv_bfloat16, float, float>("bfloat16 into float", CUBLAS_COMPUTE_32F, CUDA_R_32F);
    transforms<float>(CUDA_R_32F);
    transforms<__half>(CUDA_R_32F);
    transforms<int8_t>(CUDA_R_32I);
    algorithms();
    presets_and_pointers();
    descriptors_on_the_stack();
    beside_cublas();
  }
  CHECK_LT(cublasLtDestroy(g_handle));
  return g_failures;
}

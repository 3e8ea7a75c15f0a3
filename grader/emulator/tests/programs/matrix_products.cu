// Warp-wide matrix products: mma.sync with the register layouts of the PTX manual, and nvcuda::wmma, against
// matrix products on the host. Integers and f64 agree bit for bit; the others within the bound that
// exec_mma.cpp states, which a GPU keeps as well.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <mma.h>

#include "check.h"

using namespace nvcuda;

// One product of a warp: m x n x k, with the values as doubles in row-major order.
struct Problem {
  int m, n, k;
  std::vector<double> a, b, c;
  // Values of `range` multiples of `scale`, around zero or from zero.
  Problem(int m_, int n_, int k_, int range, double scale, bool has_sign = true) : m(m_), n(n_), k(k_) {
    const auto fill = [&](std::vector<double>& v, int count, int salt) {
      for (int i = 0; i < count; ++i) {
        v.push_back(double(int(bits_of(i, salt) >> 40) % range - (has_sign ? range / 2 : 0)) * scale);
      }
    };
    fill(a, m * k, 1);
    fill(b, k * n, 2);
    fill(c, m * n, 3);
  }
};

template <class T>
T narrow(double v) {
  return T(v);
}
template <>
__half narrow(double v) {
  return __float2half(float(v));
}
template <>
__nv_bfloat16 narrow(double v) {
  return __float2bfloat16(float(v));
}
template <class T>
double widen(T v) {
  return double(v);
}
template <>
double widen(__half v) {
  return __half2float(v);
}
template <>
double widen(__nv_bfloat16 v) {
  return __bfloat162float(v);
}

// Runs kernel(a, b, c, d) with one warp and compares d with a b + c. relative_rounding: of d's type.
template <class A, class C, class D, class Kernel>
void check_product(const char* name, Kernel kernel, const Problem& p, bool exact, double d_rounding = 0) {
  Managed<A> a(p.m * p.k), b(p.k * p.n);
  Managed<C> c(p.m * p.n);
  Managed<D> d(p.m * p.n);
  for (int i = 0; i < p.m * p.k; ++i) a[i] = narrow<A>(p.a[i]);
  for (int i = 0; i < p.k * p.n; ++i) b[i] = narrow<A>(p.b[i]);
  for (int i = 0; i < p.m * p.n; ++i) c[i] = narrow<C>(p.c[i]);
  kernel<<<1, 32>>>(a.data, b.data, c.data, d.data);
  CHECK_CUDA(cudaGetLastError());
  CHECK_CUDA(cudaDeviceSynchronize());
  for (int row = 0; row < p.m; ++row) {
    for (int column = 0; column < p.n; ++column) {
      double sum = widen(c[row * p.n + column]), magnitude = std::fabs(sum);
      for (int k = 0; k < p.k; ++k) {
        const double x = widen(a[row * p.k + k]), y = widen(b[k * p.n + column]);
        sum = exact ? std::fma(x, y, sum) : sum + x * y;
        magnitude += std::fabs(x * y);
      }
      const double got = widen(d[row * p.n + column]);
      const double bound = exact ? 0 : (p.k + 1) * 0x1p-22 * magnitude + d_rounding * std::fabs(sum);
      if (std::fabs(got - sum) <= bound) continue;
      ++g_failures;
      std::printf("FAILED: %s at (%d, %d): got %.17g want %.17g\n", name, row, column, got, sum);
      return;
    }
  }
}

__device__ int group() {
  return int(threadIdx.x) / 4;
}
__device__ int within() {
  return int(threadIdx.x) % 4;
}

template <class T>
__device__ uint32_t pair(T low, T high) {
  uint16_t l, h;
  memcpy(&l, &low, 2);
  memcpy(&h, &high, 2);
  return l | uint32_t(h) << 16;
}

// --- m16n8k16 and m16n8k8 of f16 and bf16 ---

template <class T, int K>
__device__ void load_16x8(const T* a, const T* b, uint32_t (&ra)[4], uint32_t (&rb)[2]) {
  for (int r = 0; r < K / 4; ++r) {  // a0 a1: row g; a2 a3: row g + 8; then eight columns further
    const int row = group() + (r % 2) * 8, column = within() * 2 + (r / 2) * 8;
    ra[r] = pair(a[row * K + column], a[row * K + column + 1]);
  }
  for (int r = 0; r < K / 8; ++r) {
    const int row = within() * 2 + r * 8;
    rb[r] = pair(b[row * 8 + group()], b[(row + 1) * 8 + group()]);
  }
}

__device__ int accumulator_index(int i) {  // c0 c1: row g; c2 c3: row g + 8
  return (group() + (i / 2) * 8) * 8 + within() * 2 + i % 2;
}

#define FLOATS4(d) "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
#define A4 "r"(ra[0]), "r"(ra[1]), "r"(ra[2]), "r"(ra[3])

__global__ void f16_k16(const __half* a, const __half* b, const float* c, float* d) {
  uint32_t ra[4], rb[2];
  load_16x8<__half, 16>(a, b, ra, rb);
  float acc[4];
  for (int i = 0; i < 4; ++i) acc[i] = c[accumulator_index(i)];
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
      "{%0,%1,%2,%3};"
      : FLOATS4(acc)
      : A4, "r"(rb[0]), "r"(rb[1]));
  for (int i = 0; i < 4; ++i) d[accumulator_index(i)] = acc[i];
}

__global__ void bf16_k8(const __nv_bfloat16* a, const __nv_bfloat16* b, const float* c, float* d) {
  uint32_t ra[4], rb[2];
  load_16x8<__nv_bfloat16, 8>(a, b, ra, rb);
  float acc[4];
  for (int i = 0; i < 4; ++i) acc[i] = c[accumulator_index(i)];
  asm volatile(
      "mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5}, {%6}, {%0,%1,%2,%3};"
      : FLOATS4(acc)
      : "r"(ra[0]), "r"(ra[1]), "r"(rb[0]));
  for (int i = 0; i < 4; ++i) d[accumulator_index(i)] = acc[i];
}

__global__ void bf16_k16(const __nv_bfloat16* a, const __nv_bfloat16* b, const float* c, float* d) {
  uint32_t ra[4], rb[2];
  load_16x8<__nv_bfloat16, 16>(a, b, ra, rb);
  float acc[4];
  for (int i = 0; i < 4; ++i) acc[i] = c[accumulator_index(i)];
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
      "{%0,%1,%2,%3};"
      : FLOATS4(acc)
      : A4, "r"(rb[0]), "r"(rb[1]));
  for (int i = 0; i < 4; ++i) d[accumulator_index(i)] = acc[i];
}

template <int K>
__global__ void f16_f16(const __half* a, const __half* b, const __half* c, __half* d) {
  uint32_t ra[4] = {}, rb[2] = {}, acc[2];
  load_16x8<__half, K>(a, b, ra, rb);
  for (int i = 0; i < 2; ++i) acc[i] = pair(c[accumulator_index(2 * i)], c[accumulator_index(2 * i + 1)]);
  if (K == 16) {
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%0,%1}, {%2,%3,%4,%5}, {%6,%7}, {%0,%1};"
                 : "+r"(acc[0]), "+r"(acc[1])
                 : A4, "r"(rb[0]), "r"(rb[1]));
  } else {
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16 {%0,%1}, {%2,%3}, {%4}, {%0,%1};"
                 : "+r"(acc[0]), "+r"(acc[1])
                 : "r"(ra[0]), "r"(ra[1]), "r"(rb[0]));
  }
  for (int i = 0; i < 4; ++i) {
    const auto bits = uint16_t(acc[i / 2] >> 16 * (i % 2));
    memcpy(&d[accumulator_index(i)], &bits, 2);
  }
}

// --- tf32 ---

template <int K>
__global__ void tf32(const float* a, const float* b, const float* c, float* d) {
  uint32_t ra[4] = {}, rb[2] = {};
  for (int r = 0; r < K / 2; ++r)
    ra[r] = __float_as_uint(a[(group() + (r % 2) * 8) * K + within() + (r / 2) * 4]);
  for (int r = 0; r < K / 4; ++r) rb[r] = __float_as_uint(b[(within() + r * 4) * 8 + group()]);
  float acc[4];
  for (int i = 0; i < 4; ++i) acc[i] = c[accumulator_index(i)];
  if (K == 8) {
    asm volatile(
        "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
        "{%0,%1,%2,%3};"
        : FLOATS4(acc)
        : A4, "r"(rb[0]), "r"(rb[1]));
  } else {
    asm volatile(
        "mma.sync.aligned.m16n8k4.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5}, {%6}, {%0,%1,%2,%3};"
        : FLOATS4(acc)
        : "r"(ra[0]), "r"(ra[1]), "r"(rb[0]));
  }
  for (int i = 0; i < 4; ++i) d[accumulator_index(i)] = acc[i];
}

// --- int8 ---

template <class T>
__device__ uint32_t four(const T* at, int step) {
  uint32_t word = 0;
  for (int j = 0; j < 4; ++j) word |= uint32_t(uint8_t(at[j * step])) << 8 * j;
  return word;
}

#define INTS4(d) "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])

template <int K, class T, bool kSaturate>
__global__ void int8(const T* a, const T* b, const int* c, int* d) {
  uint32_t ra[4] = {}, rb[2] = {};
  for (int r = 0; r < K / 8; ++r)
    ra[r] = four(a + (group() + (r % 2) * 8) * K + within() * 4 + (r / 2) * 16, 1);
  for (int r = 0; r < K / 16; ++r) rb[r] = four(b + (within() * 4 + r * 16) * 8 + group(), 8);
  int acc[4];
  for (int i = 0; i < 4; ++i) acc[i] = c[accumulator_index(i)];
  if (K == 16) {
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.s32.s8.s8.s32 {%0,%1,%2,%3}, {%4,%5}, {%6}, {%0,%1,%2,%3};"
        : INTS4(acc)
        : "r"(ra[0]), "r"(ra[1]), "r"(rb[0]));
  } else if (kSaturate) {
    asm volatile(
        "mma.sync.aligned.m16n8k32.row.col.satfinite.s32.s8.s8.s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
        "{%0,%1,%2,%3};"
        : INTS4(acc)
        : A4, "r"(rb[0]), "r"(rb[1]));
  } else {
    asm volatile(
        "mma.sync.aligned.m16n8k32.row.col.s32.u8.u8.s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
        "{%0,%1,%2,%3};"
        : INTS4(acc)
        : A4, "r"(rb[0]), "r"(rb[1]));
  }
  for (int i = 0; i < 4; ++i) d[accumulator_index(i)] = acc[i];
}

__global__ void int8_8x8(const int8_t* a, const int8_t* b, const int* c, int* d) {
  const uint32_t ra = four(a + group() * 16 + within() * 4, 1), rb = four(b + within() * 4 * 8 + group(), 8);
  int acc[2] = {c[accumulator_index(0)], c[accumulator_index(1)]};
  asm volatile("mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32 {%0,%1}, {%2}, {%3}, {%0,%1};"
               : "+r"(acc[0]), "+r"(acc[1])
               : "r"(ra), "r"(rb));
  for (int i = 0; i < 2; ++i) d[accumulator_index(i)] = acc[i];
}

// Every c is close to the largest int: the sum wraps, or stays there with .satfinite.
void check_saturation() {
  Managed<int8_t> a(16 * 32), b(32 * 8);
  Managed<int> c(128), d(128);
  std::memset(a.data, 100, 16 * 32);
  std::memset(b.data, 100, 32 * 8);
  for (int i = 0; i < 128; ++i) c[i] = INT32_MAX - 5;
  int8<32, int8_t, true><<<1, 32>>>(a.data, b.data, c.data, d.data);
  CHECK_CUDA(cudaDeviceSynchronize());
  for (int i = 0; i < 128; ++i) expect(d[i] == INT32_MAX, "satfinite");
  int8<16, int8_t, false><<<1, 32>>>(a.data, b.data, c.data, d.data);
  CHECK_CUDA(cudaDeviceSynchronize());
  for (int i = 0; i < 128; ++i) expect(d[i] == int(uint32_t(INT32_MAX - 5) + 160000u), "wrapping sum");
}

// --- f64 ---

__global__ void f64_8x8(const double* a, const double* b, const double* c, double* d) {
  double acc[2] = {c[accumulator_index(0)], c[accumulator_index(1)]};
  asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1}, {%2}, {%3}, {%0,%1};"
               : "+d"(acc[0]), "+d"(acc[1])
               : "d"(a[group() * 4 + within()]), "d"(b[within() * 8 + group()]));
  for (int i = 0; i < 2; ++i) d[accumulator_index(i)] = acc[i];
}

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
#define ON_SM_90(...) __VA_ARGS__
#else
#define ON_SM_90(...)
#endif

__global__ void f64_k8(const double* a, const double* b, const double* c, double* d) {
  [[maybe_unused]] double ra[4], rb[2];
  double acc[4];
  for (int i = 0; i < 4; ++i) ra[i] = a[(group() + (i % 2) * 8) * 8 + within() + (i / 2) * 4];
  for (int i = 0; i < 2; ++i) rb[i] = b[(within() + i * 4) * 8 + group()];
  for (int i = 0; i < 4; ++i) acc[i] = c[accumulator_index(i)];
  ON_SM_90(
      asm volatile("mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
                   "{%0,%1,%2,%3};"
                   : "+d"(acc[0]), "+d"(acc[1]), "+d"(acc[2]), "+d"(acc[3])
                   : "d"(ra[0]), "d"(ra[1]), "d"(ra[2]), "d"(ra[3]), "d"(rb[0]), "d"(rb[1]));)
  for (int i = 0; i < 4; ++i) d[accumulator_index(i)] = acc[i];
}

// --- m8n8k4 of f16: four products, of quad pairs; here all with the same operands ---

__global__ void f16_quad_pairs(const __half* a, const __half* b, const float* c, float* d) {
  const int lane = int(threadIdx.x), outer = lane % 4 + (lane < 16 ? 0 : 4);
  uint32_t ra[2], rb[2];
  for (int r = 0; r < 2; ++r) {
    ra[r] = pair(a[outer * 4 + 2 * r], a[outer * 4 + 2 * r + 1]);
    rb[r] = pair(b[2 * r * 8 + outer], b[(2 * r + 1) * 8 + outer]);
  }
  const auto at = [=](int i) {
    return ((lane & 1) + (i & 2) + (lane < 16 ? 0 : 4)) * 8 + (i & 4) + (lane & 2) + (i & 1);
  };
  float x[8];
  for (int i = 0; i < 8; ++i) x[i] = c[at(i)];
  asm volatile(
      "mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32 {%0,%1,%2,%3,%4,%5,%6,%7}, {%8,%9}, {%10,%11}, "
      "{%0,%1,%2,%3,%4,%5,%6,%7};"
      : "+f"(x[0]), "+f"(x[1]), "+f"(x[2]), "+f"(x[3]), "+f"(x[4]), "+f"(x[5]), "+f"(x[6]), "+f"(x[7])
      : "r"(ra[0]), "r"(ra[1]), "r"(rb[0]), "r"(rb[1]));
  for (int i = 0; i < 8; ++i) d[at(i)] = x[i];
}

// --- nvcuda::wmma ---

template <int M, int N, int K, class T, class C, class LayoutA, class LayoutB, bool kStoreColumns = false>
__global__ void fragments(const T* a, const T* b, const C* c, C* d) {
  __shared__ T sa[M * K], sb[K * N];  // in the order that the layouts want
  __shared__ C sd[M * N];
  constexpr bool kAColumns = std::is_same<LayoutA, wmma::col_major>::value;
  constexpr bool kBColumns = std::is_same<LayoutB, wmma::col_major>::value;
  for (int i = int(threadIdx.x); i < M * K; i += 32) sa[kAColumns ? i % K * M + i / K : i] = a[i];
  for (int i = int(threadIdx.x); i < K * N; i += 32) sb[kBColumns ? i % N * K + i / N : i] = b[i];
  __syncwarp();
  using Precision = typename std::conditional<std::is_same<T, float>::value, wmma::precision::tf32, T>::type;
  wmma::fragment<wmma::matrix_a, M, N, K, Precision, LayoutA> fa;
  wmma::fragment<wmma::matrix_b, M, N, K, Precision, LayoutB> fb;
  wmma::fragment<wmma::accumulator, M, N, K, C> fc;
  wmma::load_matrix_sync(fa, sa, kAColumns ? M : K);
  wmma::load_matrix_sync(fb, sb, kBColumns ? K : N);
  wmma::load_matrix_sync(fc, c, N, wmma::mem_row_major);
  wmma::mma_sync(fc, fa, fb, fc);
  for (int i = 0; i < fc.num_elements; ++i) fc.x[i] = fc.x[i] + C(0.0f);
  if (!kStoreColumns) return wmma::store_matrix_sync(d, fc, N, wmma::mem_row_major);
  wmma::store_matrix_sync(sd, fc, M, wmma::mem_col_major);
  __syncwarp();
  for (int i = int(threadIdx.x); i < M * N; i += 32) d[i] = sd[i % N * M + i / N];
}

void check_wmma() {
  using Row = wmma::row_major;
  using Column = wmma::col_major;
  const auto p = [](int m, int n, int k) { return Problem(m, n, k, 200, 1.0 / 64); };
  check_product<__half, float, float>("wmma 16x16 row col", fragments<16, 16, 16, __half, float, Row, Column>,
                                      p(16, 16, 16), false);
  check_product<__half, float, float>("wmma 16x16 col row, stored by columns",
                                      fragments<16, 16, 16, __half, float, Column, Row, true>, p(16, 16, 16),
                                      false);
  check_product<__half, float, float>("wmma 32x8", fragments<32, 8, 16, __half, float, Row, Row>,
                                      p(32, 8, 16), false);
  check_product<__half, float, float>("wmma 8x32", fragments<8, 32, 16, __half, float, Column, Column>,
                                      p(8, 32, 16), false);
  check_product<__half, __half, __half>("wmma f16 sum", fragments<16, 16, 16, __half, __half, Row, Row>,
                                        p(16, 16, 16), false, 0x1p-10);
  check_product<__nv_bfloat16, float, float>(
      "wmma bf16", fragments<32, 8, 16, __nv_bfloat16, float, Row, Column, true>, p(32, 8, 16), false);
  check_product<float, float, float>("wmma tf32", fragments<16, 16, 8, float, float, Row, Row>, p(16, 16, 8),
                                     false);
  check_product<double, double, double>("wmma f64", fragments<8, 8, 4, double, double, Row, Column>,
                                        Problem(8, 8, 4, 100000, 0.1), true);
  const auto integers = [](int m, int n) { return Problem(m, n, 16, 128, 1.0, false); };
  check_product<signed char, int, int>("wmma s8", fragments<16, 16, 16, signed char, int, Row, Column>,
                                       integers(16, 16), true);
  check_product<unsigned char, int, int>(
      "wmma u8 32x8", fragments<32, 8, 16, unsigned char, int, Column, Row, true>, integers(32, 8), true);
}

// --- ldmatrix, stmatrix, movmatrix: which element arrives where ---
int main(int argc, char**) {
  const auto p = [](int m, int k) { return Problem(m, 8, k, 200, 1.0 / 64); };
  check_product<__half, float, float>("m16n8k16 f16", f16_k16, p(16, 16), false);
  check_product<__nv_bfloat16, float, float>("m16n8k8 bf16", bf16_k8, p(16, 8), false);
  check_product<__nv_bfloat16, float, float>("m16n8k16 bf16", bf16_k16, p(16, 16), false);
  check_product<__half, __half, __half>("m16n8k16 f16 sum", f16_f16<16>, p(16, 16), false, 0x1p-10);
  check_product<__half, __half, __half>("m16n8k8 f16 sum", f16_f16<8>, p(16, 8), false, 0x1p-10);
  check_product<float, float, float>("m16n8k8 tf32", tf32<8>, p(16, 8), false);
  check_product<float, float, float>("m16n8k4 tf32", tf32<4>, p(16, 4), false);
  check_product<int8_t, int, int>("m16n8k16 s8", int8<16, int8_t, false>, Problem(16, 8, 16, 256, 1), true);
  check_product<uint8_t, int, int>("m16n8k32 u8", int8<32, uint8_t, false>, Problem(16, 8, 32, 256, 1, false),
                                   true);
  check_product<int8_t, int, int>("m8n8k16 s8", int8_8x8, Problem(8, 8, 16, 256, 1), true);
  check_product<double, double, double>("m8n8k4 f64", f64_8x8, Problem(8, 8, 4, 100000, 0.1), true);
  check_product<__half, float, float>("m8n8k4 f16", f16_quad_pairs, p(8, 4), false);
  check_saturation();
  check_wmma();
  if (argc > 1) {  // sm_90
    check_product<double, double, double>("m16n8k8 f64", f64_k8, Problem(16, 8, 8, 100000, 0.1), true);
  }
  return g_failures;
}

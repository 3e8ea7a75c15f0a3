// Not a test: times the emulator on matrix products by tensor cores, one type of operands a line, beside the
// naive loop in native code (stopwatch.h). Each warp forms C = A B for a tile of its own, along k.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <mma.h>

#include "check.h"
#include "stopwatch.h"

using namespace nvcuda;

constexpr int kSize = 256;  // of the square matrices
constexpr int kWarps = 4;

__device__ uint32_t word(const void* p) {
  return *static_cast<const uint32_t*>(p);
}

// A is row-major, B column-major, so that neighbours along k are neighbours in memory.
#define PRODUCT_KERNEL(name, T, TILE_K, INSTRUCTION, A_WORDS, B_WORDS, SUM, CONSTRAINT, OPERANDS)            \
  __global__ void name(const T* a, const T* b, SUM* c) {                                                     \
    const int warp = blockIdx.x * kWarps + int(threadIdx.x) / 32, lane = int(threadIdx.x) % 32;              \
    const int row = warp / (kSize / 8) * 16 + lane / 4, column = warp % (kSize / 8) * 8 + lane / 4;          \
    constexpr int kPacked = 4 / sizeof(T);                                                                   \
    SUM d[4] = {};                                                                                           \
    for (int k = 0; k < kSize; k += TILE_K) {                                                                \
      uint32_t ra[A_WORDS], rb[B_WORDS];                                                                     \
      for (int r = 0; r < A_WORDS; ++r)                                                                      \
        ra[r] = word(a + (row + r % 2 * 8) * kSize + k + (lane % 4 + r / 2 * 4) * kPacked);                  \
      for (int r = 0; r < B_WORDS; ++r) rb[r] = word(b + column * kSize + k + (lane % 4 + r * 4) * kPacked); \
      asm volatile(INSTRUCTION                                                                               \
                   : CONSTRAINT(d[0]), CONSTRAINT(d[1]), CONSTRAINT(d[2]), CONSTRAINT(d[3])                  \
                   : OPERANDS);                                                                              \
    }                                                                                                        \
    SUM* out = c + row * kSize + warp % (kSize / 8) * 8 + lane % 4 * 2;                                      \
    out[0] = d[0], out[1] = d[1], out[8 * kSize] = d[2], out[8 * kSize + 1] = d[3];                          \
  }

#define A4_B2 "r"(ra[0]), "r"(ra[1]), "r"(ra[2]), "r"(ra[3]), "r"(rb[0]), "r"(rb[1])
#define SIX_WORDS "{%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%0,%1,%2,%3};"
PRODUCT_KERNEL(product_f16, __half, 16, "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 " SIX_WORDS, 4, 2,
               float, "+f", A4_B2)
PRODUCT_KERNEL(product_bf16, __nv_bfloat16, 16,
               "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 " SIX_WORDS, 4, 2, float, "+f", A4_B2)
PRODUCT_KERNEL(product_tf32, float, 8, "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 " SIX_WORDS, 4, 2,
               float, "+f", A4_B2)
PRODUCT_KERNEL(product_s8, int8_t, 32, "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 " SIX_WORDS, 4, 2,
               int, "+r", A4_B2)

__global__ void product_f64(const double* a, const double* b, double* c) {
  const int warp = blockIdx.x * kWarps + int(threadIdx.x) / 32, lane = int(threadIdx.x) % 32;
  const int row = warp / (kSize / 8) * 8 + lane / 4, column = warp % (kSize / 8) * 8;
  double d[2] = {};
  for (int k = 0; k < kSize; k += 4) {
    asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1},{%2},{%3},{%0,%1};"
                 : "+d"(d[0]), "+d"(d[1])
                 : "d"(a[row * kSize + k + lane % 4]), "d"(b[(column + lane / 4) * kSize + k + lane % 4]));
  }
  c[row * kSize + column + lane % 4 * 2] = d[0];
  c[row * kSize + column + lane % 4 * 2 + 1] = d[1];
}

__global__ void product_wmma(const __half* a, const __half* b, float* c) {
  const int warp = blockIdx.x * kWarps + int(threadIdx.x) / 32;
  const int row = warp / (kSize / 16) * 16, column = warp % (kSize / 16) * 16;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;
  wmma::fill_fragment(sum, 0.0f);
  for (int k = 0; k < kSize; k += 16) {
    wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> fa;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::col_major> fb;
    wmma::load_matrix_sync(fa, a + row * kSize + k, kSize);
    wmma::load_matrix_sync(fb, b + column * kSize + k, kSize);
    wmma::mma_sync(sum, fa, fb, sum);
  }
  wmma::store_matrix_sync(c + row * kSize + column, sum, kSize, wmma::mem_row_major);
}

__device__ void load_four(uint32_t (&to)[4], const __half* shared) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3},[%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(uint32_t(__cvta_generic_to_shared(shared))));
}

// The way of hand-written products: tiles of shared memory, ldmatrix, two products an operand.
__global__ void product_staged(const __half* a, const __half* b, float* c) {
  __shared__ __align__(16) __half tile_a[64][24], tile_b[16][24];
  const int warp = int(threadIdx.x) / 32, lane = int(threadIdx.x) % 32;
  const int row = blockIdx.x / (kSize / 16) * 64, column = blockIdx.x % (kSize / 16) * 16;
  float d[2][4] = {};
  for (int k = 0; k < kSize; k += 16) {
    for (int i = int(threadIdx.x); i < 64 * 8; i += 32 * kWarps)
      *reinterpret_cast<uint32_t*>(&tile_a[i / 8][i % 8 * 2]) =
          word(a + (row + i / 8) * kSize + k + i % 8 * 2);
    *reinterpret_cast<uint32_t*>(&tile_b[threadIdx.x / 8][threadIdx.x % 8 * 2]) =
        word(b + (column + int(threadIdx.x) / 8) * kSize + k + int(threadIdx.x) % 8 * 2);
    __syncthreads();
    uint32_t ra[4], rb[4];
    load_four(ra, &tile_a[warp * 16 + lane % 16][lane / 16 * 8]);
    load_four(rb, &tile_b[lane % 8 + lane / 16 * 8][lane / 8 % 2 * 8]);
    for (int half = 0; half < 2; ++half) {
      asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 " SIX_WORDS
                   : "+f"(d[half][0]), "+f"(d[half][1]), "+f"(d[half][2]), "+f"(d[half][3])
                   : "r"(ra[0]), "r"(ra[1]), "r"(ra[2]), "r"(ra[3]), "r"(rb[2 * half]),
                     "r"(rb[2 * half + 1]));
    }
    __syncthreads();
  }
  for (int half = 0; half < 2; ++half) {
    float* out = c + (row + warp * 16 + lane / 4) * kSize + column + half * 8 + lane % 4 * 2;
    out[0] = d[half][0], out[1] = d[half][1], out[8 * kSize] = d[half][2], out[8 * kSize + 1] = d[half][3];
  }
}

template <class T>
T value_of(int i) {
  return T(float(int(bits_of(i, 7) % 15) - 7));
}

template <class T, class Sum>
void compare(const char* name, int tile_elements, void (*kernel)(const T*, const T*, Sum*)) {
  constexpr size_t kElements = size_t(kSize) * kSize;
  Managed<T> a(kElements), b(kElements);
  Managed<Sum> c(kElements);
  std::vector<float> na(kElements), nb(kElements), nc(kElements);
  for (size_t i = 0; i < kElements; ++i) {
    a[i] = value_of<T>(int(i)), b[i] = value_of<T>(int(i + kElements));
    na[i] = float(a[i]), nb[i] = float(b[i]);
  }
  const int blocks = int(kElements) / tile_elements / kWarps;
  stopwatch::compare(
      name,
      [&] {
        kernel<<<blocks, 32 * kWarps>>>(a.data, b.data, c.data);
        CHECK_CUDA(cudaGetLastError());
        CHECK_CUDA(cudaDeviceSynchronize());
      },
      [&] {
        for (int row = 0; row < kSize; ++row) {
          for (int column = 0; column < kSize; ++column) {
            float sum = 0;
            for (int k = 0; k < kSize; ++k) sum += na[row * kSize + k] * nb[column * kSize + k];
            nc[row * kSize + column] = sum;
          }
        }
      });
  for (size_t i = 0; i < kElements; ++i) {
    if (float(c[i]) == nc[i]) continue;
    std::printf("FAILED: %s at %zu: got %g want %g\n", name, i, double(c[i]), double(nc[i]));
    std::exit(1);
  }
}

int main() {
  compare("products, f16", 128, product_f16);
  compare("products, bf16", 128, product_bf16);
  compare("products, tf32", 128, product_tf32);
  compare("products, s8", 128, product_s8);
  compare("products, f64", 64, product_f64);
  compare("products, wmma", 256, product_wmma);
  compare("products, staged, ldmatrix", 256, product_staged);
}

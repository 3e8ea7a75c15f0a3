// Matrix instructions. Operands are small integers, so that every type's products and sums are exact and
// all bits count.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <mma.h>

#include "common.h"

namespace {

#define REGISTER(name) const Registration register_##name(#name, "bits", Kind::u64, name)

__device__ int small(int which) {
  return static_cast<int>(scramble(threadIdx.x * 16ull + which) % 15) - 7;
}
__device__ unsigned halves(int which) {
  return as<unsigned>(
      __floats2half2_rn(static_cast<float>(small(which)), static_cast<float>(small(which + 7))));
}
__device__ unsigned bfloats(int which) {
  return as<unsigned>(
      __floats2bfloat162_rn(static_cast<float>(small(which)), static_cast<float>(small(which + 7))));
}
__device__ unsigned tf32(int which) {
  return as<unsigned>(static_cast<float>(small(which)));
}
__device__ unsigned bytes(int which) {
  return static_cast<unsigned>(scramble(threadIdx.x * 16ull + which));
}
__device__ unsigned long long fold(float a, float b, float c, float d) {
  return bits_of(a) * 3 ^ bits_of(b) * 5 << 9 ^ bits_of(c) * 7 << 18 ^ bits_of(d) * 11 << 27;
}
__device__ unsigned long long fold(int a, int b, int c, int d) {
  return static_cast<unsigned>(a) * 3ull ^ static_cast<unsigned>(b) * 5ull << 9 ^
         static_cast<unsigned>(c) * 7ull << 18 ^ static_cast<unsigned>(d) * 11ull << 27;
}

#define MMA_FLOAT(name, shape_and_types, a_regs, a_list, b_regs, b_list, ...)                    \
  __global__ void name(unsigned long long* out) {                                                \
    float d[4] = {1, 2, 3, static_cast<float>(small(9))};                                        \
    asm volatile("mma.sync.aligned." shape_and_types " {%0, %1, %2, %3}, {" a_list "}, {" b_list \
                 "}, {%0, %1, %2, %3};"                                                          \
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])                                \
                 : __VA_ARGS__);                                                                 \
    out[threadIdx.x] = fold(d[0], d[1], d[2], d[3]);                                             \
  }                                                                                              \
  REGISTER(name)

MMA_FLOAT(mma_m16n8k8_f16, "m16n8k8.row.col.f32.f16.f16.f32", 2, "%4, %5", 1, "%6", "r"(halves(0)),
          "r"(halves(1)), "r"(halves(2)));
MMA_FLOAT(mma_m16n8k16_f16, "m16n8k16.row.col.f32.f16.f16.f32", 4, "%4, %5, %6, %7", 2, "%8, %9",
          "r"(halves(0)), "r"(halves(1)), "r"(halves(2)), "r"(halves(3)), "r"(halves(4)), "r"(halves(5)));
MMA_FLOAT(mma_m16n8k8_bf16, "m16n8k8.row.col.f32.bf16.bf16.f32", 2, "%4, %5", 1, "%6", "r"(bfloats(0)),
          "r"(bfloats(1)), "r"(bfloats(2)));
MMA_FLOAT(mma_m16n8k16_bf16, "m16n8k16.row.col.f32.bf16.bf16.f32", 4, "%4, %5, %6, %7", 2, "%8, %9",
          "r"(bfloats(0)), "r"(bfloats(1)), "r"(bfloats(2)), "r"(bfloats(3)), "r"(bfloats(4)),
          "r"(bfloats(5)));
MMA_FLOAT(mma_m16n8k4_tf32, "m16n8k4.row.col.f32.tf32.tf32.f32", 2, "%4, %5", 1, "%6", "r"(tf32(0)),
          "r"(tf32(1)), "r"(tf32(2)));
MMA_FLOAT(mma_m16n8k8_tf32, "m16n8k8.row.col.f32.tf32.tf32.f32", 4, "%4, %5, %6, %7", 2, "%8, %9",
          "r"(tf32(0)), "r"(tf32(1)), "r"(tf32(2)), "r"(tf32(3)), "r"(tf32(4)), "r"(tf32(5)));

#define MMA_INT(name, shape_and_types, a_list, b_list, ...)                                      \
  __global__ void name(unsigned long long* out) {                                                \
    int d[4] = {1, 2, 3, small(9)};                                                              \
    asm volatile("mma.sync.aligned." shape_and_types " {%0, %1, %2, %3}, {" a_list "}, {" b_list \
                 "}, {%0, %1, %2, %3};"                                                          \
                 : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])                                \
                 : __VA_ARGS__);                                                                 \
    out[threadIdx.x] = fold(d[0], d[1], d[2], d[3]);                                             \
  }                                                                                              \
  REGISTER(name)

MMA_INT(mma_m16n8k16_s8, "m16n8k16.row.col.s32.s8.s8.s32", "%4, %5", "%6", "r"(bytes(0)), "r"(bytes(1)),
        "r"(bytes(2)));
MMA_INT(mma_m16n8k16_u8_s8, "m16n8k16.row.col.s32.u8.s8.s32", "%4, %5", "%6", "r"(bytes(0)), "r"(bytes(1)),
        "r"(bytes(2)));
MMA_INT(mma_m16n8k32_s8, "m16n8k32.row.col.s32.s8.s8.s32", "%4, %5, %6, %7", "%8, %9", "r"(bytes(0)),
        "r"(bytes(1)), "r"(bytes(2)), "r"(bytes(3)), "r"(bytes(4)), "r"(bytes(5)));
MMA_INT(mma_m16n8k32_u8, "m16n8k32.row.col.s32.u8.u8.s32", "%4, %5, %6, %7", "%8, %9", "r"(bytes(0)),
        "r"(bytes(1)), "r"(bytes(2)), "r"(bytes(3)), "r"(bytes(4)), "r"(bytes(5)));
MMA_INT(mma_m16n8k32_s8_satfinite, "m16n8k32.row.col.satfinite.s32.s8.s8.s32", "%4, %5, %6, %7", "%8, %9",
        "r"(bytes(0)), "r"(bytes(1)), "r"(bytes(2)), "r"(bytes(3)), "r"(bytes(4)), "r"(bytes(5)));

__global__ void mma_m8n8k16_s8(unsigned long long* out) {
  int d[2] = {5, small(9)};
  asm volatile("mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32 {%0, %1}, {%2}, {%3}, {%0, %1};"
               : "+r"(d[0]), "+r"(d[1])
               : "r"(bytes(0)), "r"(bytes(1)));
  out[threadIdx.x] = fold(d[0], d[1], 0, 0);
}
REGISTER(mma_m8n8k16_s8);

__global__ void mma_m16n8k16_f16_accumulate(unsigned long long* out) {
  unsigned d[2] = {halves(8), halves(9)};
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%0, %1}, {%2, %3, %4, %5}, {%6, %7}, {%0, %1};"
      : "+r"(d[0]), "+r"(d[1])
      : "r"(halves(0)), "r"(halves(1)), "r"(halves(2)), "r"(halves(3)), "r"(halves(4)), "r"(halves(5)));
  out[threadIdx.x] = d[0] + (static_cast<unsigned long long>(d[1]) << 32);
}
REGISTER(mma_m16n8k16_f16_accumulate);

__global__ void mma_m8n8k4_f64(unsigned long long* out) {
  double d[2] = {0.5, static_cast<double>(small(9))};
  asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
               : "+d"(d[0]), "+d"(d[1])
               : "d"(small(0) * 0.125), "d"(small(1) * 0.25));
  out[threadIdx.x] = bits_of(d[0]) ^ bits_of(d[1]) * 3;
}
REGISTER(mma_m8n8k4_f64);

template <bool kTransposed>
__global__ void load_matrices(unsigned long long* out) {
  __shared__ alignas(16) unsigned short tile[4][8 * 64];
  const unsigned warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  for (unsigned k = lane; k < 8 * 64; k += 32)
    tile[warp][k] = static_cast<unsigned short>(scramble(k + warp * 1000));
  __syncwarp();
  const auto address =
      static_cast<unsigned>(__cvta_generic_to_shared(&tile[warp][lane % 8 * 64 + lane / 8 * 8]));
  unsigned r0, r1, r2, r3;
  if (kTransposed) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r0), "=r"(r1), "=r"(r2), "=r"(r3)
                 : "r"(address));
  } else {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r0), "=r"(r1), "=r"(r2), "=r"(r3)
                 : "r"(address));
  }
  out[threadIdx.x] = r0 ^ r1 * 3ull ^ r2 * 5ull << 8 ^ r3 * 7ull << 16;
}
const Registration register_load("ldmatrix.x4", "bits", Kind::u64, load_matrices<false>);
const Registration register_load_transposed("ldmatrix.x4.trans", "bits", Kind::u64, load_matrices<true>);

template <class T, class Accumulator, int kM, int kN, int kK>
__global__ void wmma_product(unsigned long long* out) {
  namespace wmma = nvcuda::wmma;
  __shared__ T a[4][kM * kK], b[4][kK * kN];
  __shared__ Accumulator c[4][kM * kN];
  const int warp = static_cast<int>(threadIdx.x / 32), lane = static_cast<int>(threadIdx.x % 32);
  for (int k = lane; k < kM * kK; k += 32) a[warp][k] = T(static_cast<float>(scramble(k + warp) % 9) - 4.0f);
  for (int k = lane; k < kK * kN; k += 32) b[warp][k] = T(static_cast<float>(scramble(k + 777) % 7) - 3.0f);
  __syncwarp();
  wmma::fragment<wmma::matrix_a, kM, kN, kK, T, wmma::row_major> fa;
  wmma::fragment<wmma::matrix_b, kM, kN, kK, T, wmma::col_major> fb;
  wmma::fragment<wmma::accumulator, kM, kN, kK, Accumulator> fc;
  wmma::fill_fragment(fc, Accumulator(2));
  wmma::load_matrix_sync(fa, a[warp], kK);
  wmma::load_matrix_sync(fb, b[warp], kK);
  wmma::mma_sync(fc, fa, fb, fc);
  wmma::store_matrix_sync(c[warp], fc, kN, wmma::mem_row_major);
  __syncwarp();
  unsigned long long sum = 0;
  for (int k = lane; k < kM * kN; k += 32) sum = sum * 31 + bits_of(c[warp][k]);
  out[threadIdx.x] = sum;
}
const Registration register_wmma_f32("wmma 16x16x16 f16 f32", "bits", Kind::u64,
                                     wmma_product<__half, float, 16, 16, 16>);
const Registration register_wmma_f16("wmma 16x16x16 f16 f16", "bits", Kind::u64,
                                     wmma_product<__half, __half, 16, 16, 16>);
const Registration register_wmma_tall("wmma 32x8x16 f16 f32", "bits", Kind::u64,
                                      wmma_product<__half, float, 32, 8, 16>);
const Registration register_wmma_bf16("wmma 16x16x16 bf16", "bits", Kind::u64,
                                      wmma_product<__nv_bfloat16, float, 16, 16, 16>);
const Registration register_wmma_f64("wmma 8x8x4 f64", "bits", Kind::u64,
                                     wmma_product<double, double, 8, 8, 4>);

}  // namespace

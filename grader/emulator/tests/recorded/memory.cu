// Memory: widths, spaces, generic addresses, atomics of every type, asynchronous copies, constants
// and relocations.
#include <cuda_fp16.h>
#include <cuda_pipeline.h>

#include "common.h"

namespace {

#define REGISTER(name) const Registration register_##name(#name, "bits", Kind::u64, name)

struct alignas(16) Four {
  unsigned a, b, c, d;
};

__constant__ int table[8] = {3, 1, 4, 1, 5, 9, 2, 6};
__device__ int counter = 17;
__device__ const int* pointer_to_table = &counter;
__device__ unsigned long long scratch[4096];

template <class T, class Update>
__device__ unsigned long long shared_cells(T initial, Update update) {
  __shared__ T cells[8];
  if (threadIdx.x < 8) cells[threadIdx.x] = initial;
  __syncthreads();
  update(&cells[threadIdx.x % 8], static_cast<int>(threadIdx.x));
  __syncthreads();
  return bits_of(cells[threadIdx.x % 8]);
}

template <class T, class Update>
__device__ unsigned long long global_cells(int base, T initial, Update update) {
  T* cells = reinterpret_cast<T*>(scratch + base);
  if (threadIdx.x < 8) cells[threadIdx.x] = initial;
  __syncthreads();
  update(&cells[threadIdx.x % 8], static_cast<int>(threadIdx.x));
  __syncthreads();
  return bits_of(cells[threadIdx.x % 8]);
}

#define ATOMIC(name, type, initial, ...)                                                        \
  __global__ void shared_##name(unsigned long long* out) {                                      \
    out[threadIdx.x] = shared_cells<type>(initial, [](type* p, int i) { __VA_ARGS__; });        \
  }                                                                                             \
  REGISTER(shared_##name);                                                                      \
  __global__ void global_##name(unsigned long long* out) {                                      \
    out[threadIdx.x] =                                                                          \
        global_cells<type>(64 * (__LINE__ % 60), initial, [](type* p, int i) { __VA_ARGS__; }); \
  }                                                                                             \
  REGISTER(global_##name)

ATOMIC(add_int, int, 5, atomicAdd(p, i * 3 - 100));
ATOMIC(add_unsigned, unsigned, 0xfffffff0u, atomicAdd(p, static_cast<unsigned>(i)));
ATOMIC(add_long, unsigned long long, 1ull << 40, atomicAdd(p, static_cast<unsigned long long>(i) << 20));
ATOMIC(add_float, float, 0.5f, atomicAdd(p, static_cast<float>(i)));
ATOMIC(add_double, double, 0.25, atomicAdd(p, static_cast<double>(i)));
ATOMIC(sub_int, int, 5, atomicSub(p, i));
ATOMIC(min_int, int, 1000, atomicMin(p, operand<Kind::s32>(i, 1)));
ATOMIC(max_int, int, -1000, atomicMax(p, operand<Kind::s32>(i, 1)));
ATOMIC(min_unsigned, unsigned, ~0u, atomicMin(p, operand<Kind::u32>(i, 2) | 1u));
ATOMIC(max_unsigned, unsigned, 0u, atomicMax(p, operand<Kind::u32>(i, 2)));
ATOMIC(min_long, long long, 1000, atomicMin(p, operand<Kind::s64>(i, 1)));
ATOMIC(max_unsigned_long, unsigned long long, 1, atomicMax(p, operand<Kind::u64>(i, 1)));
ATOMIC(and_bits, unsigned, ~0u, atomicAnd(p, ~(1u << (i / 8))));
ATOMIC(or_bits, unsigned, 0u, atomicOr(p, 1u << (i / 8)));
ATOMIC(xor_bits, unsigned, 0x55u, atomicXor(p, operand<Kind::u32>(i, 3)));
ATOMIC(or_long, unsigned long long, 0ull, atomicOr(p, 1ull << (i / 4)));
ATOMIC(inc_wrapping, unsigned, 0u, atomicInc(p, 5u));
ATOMIC(dec_wrapping, unsigned, 3u, atomicDec(p, 9u));
ATOMIC(cas_loop, unsigned, 1u, {
  unsigned old = *static_cast<volatile unsigned*>(p), seen;
  do {
    seen = old;
    old = atomicCAS(p, seen, seen + static_cast<unsigned>(i));
  } while (old != seen);
});
ATOMIC(cas_long, unsigned long long, 7ull,
       if (i < 8) atomicCAS(p, 7ull, 1ull << 33 | static_cast<unsigned>(i)));
ATOMIC(exchange, unsigned, 7u, if (i < 8) atomicExch(p, static_cast<unsigned>(i) * 11));
ATOMIC(add_half2, __half2, __floats2half2_rn(0, 1), atomicAdd(p, __floats2half2_rn(1, 2)));

__global__ void widths(unsigned long long* out) {
  auto* bytes = reinterpret_cast<unsigned char*>(scratch + 2048);
  const int i = static_cast<int>(threadIdx.x);
  for (int k = 0; k < 16; ++k) bytes[i * 16 + k] = static_cast<unsigned char>(scramble(i * 16 + k));
  __syncthreads();
  const int other = (i * 37) % kThreads;
  const Four wide = reinterpret_cast<const Four*>(bytes)[other];
  const auto narrow = reinterpret_cast<const signed char*>(bytes)[other * 3];
  const auto half_word = reinterpret_cast<const short*>(bytes)[other * 5];
  const auto pair = reinterpret_cast<const ulonglong2*>(bytes)[(other + 1) % kThreads];
  out[i] = wide.a ^ wide.b * 3ull ^ wide.c * 5ull ^ wide.d * 7ull ^ static_cast<unsigned long long>(narrow) ^
           static_cast<unsigned long long>(half_word) * 9 ^ pair.x ^ pair.y * 11;
}
REGISTER(widths);

__global__ void cached_forms(unsigned long long* out) {
  const int i = static_cast<int>(threadIdx.x);
  unsigned* cells = reinterpret_cast<unsigned*>(scratch + 3072);
  __stcs(cells + i, static_cast<unsigned>(scramble(i)));
  __stcg(cells + kThreads + i, static_cast<unsigned>(scramble(i + 1)));
  __stwt(cells + 2 * kThreads + i, static_cast<unsigned>(scramble(i + 2)));
  __syncthreads();
  const int other = kThreads - 1 - i;
  out[i] = __ldcs(cells + other) + 3ull * __ldcg(cells + kThreads + other) +
           5ull * __ldcv(cells + 2 * kThreads + other) + 7ull * __ldca(cells + other) +
           9ull * __ldlu(cells + kThreads + other);
}
REGISTER(cached_forms);

__global__ void generic_addresses(unsigned long long* out) {
  __shared__ int shared_cell[kThreads];
  int local_cells[4] = {1, 2, 3, static_cast<int>(threadIdx.x)};
  shared_cell[threadIdx.x] = static_cast<int>(threadIdx.x) * 5;
  __syncthreads();
  const int* choices[] = {&shared_cell[(threadIdx.x + 1) % kThreads], &local_cells[threadIdx.x % 4],
                          &table[threadIdx.x % 8], pointer_to_table};
  const int* chosen = choices[threadIdx.x / 3 % 4];
  out[threadIdx.x] = static_cast<unsigned>(*chosen) + 1000ull * __isShared(chosen) +
                     2000ull * __isLocal(chosen) + 4000ull * __isGlobal(chosen);
}
REGISTER(generic_addresses);

__global__ void local_array(unsigned long long* out) {
  unsigned cells[32];
  for (int k = 0; k < 32; ++k) cells[k] = static_cast<unsigned>(scramble(k + threadIdx.x));
  for (int k = 0; k < 64; ++k) {
    const unsigned a = cells[k & 31] & 31, b = cells[(k * 7) & 31] & 31;
    const unsigned t = cells[a];
    cells[a] = cells[b];
    cells[b] = t + 1;
  }
  unsigned long long sum = 0;
  for (int k = 0; k < 32; ++k) sum = sum * 31 + cells[k];
  out[threadIdx.x] = sum;
}
REGISTER(local_array);

template <int kBytes>
__global__ void async_copy(unsigned long long* out) {
  __shared__ alignas(16) unsigned char tile[kThreads * 16];
  auto* from = reinterpret_cast<unsigned char*>(scratch + 1024);
  const int i = static_cast<int>(threadIdx.x);
  for (int k = 0; k < 16; ++k) from[i * 16 + k] = static_cast<unsigned char>(scramble(i * 16 + k) >> 8);
  __threadfence_block();
  __syncthreads();
  __pipeline_memcpy_async(tile + i * kBytes, from + (kThreads - 1 - i) * 16, kBytes,
                          i % 3 == 0 ? kBytes / 2 : 0);
  __pipeline_commit();
  __pipeline_wait_prior(0);
  __syncthreads();
  unsigned long long sum = 0;
  for (int k = 0; k < kBytes; ++k) sum = sum * 257 + tile[(i * 5 % kThreads) * kBytes + k];
  out[i] = sum;
}
const Registration register_async_4("cp.async 4", "bits", Kind::u64, async_copy<4>);
const Registration register_async_8("cp.async 8", "bits", Kind::u64, async_copy<8>);
const Registration register_async_16("cp.async 16", "bits", Kind::u64, async_copy<16>);

__global__ void dynamic_shared(unsigned long long* out) {
  extern __shared__ double cells[];
  cells[threadIdx.x] = threadIdx.x * 0.5;
  __syncthreads();
  out[threadIdx.x] = bits_of(cells[(threadIdx.x * 3) % kThreads]);
}
const Registration register_dynamic("dynamic_shared", "bits", Kind::u64, dynamic_shared, 1024);

}  // namespace

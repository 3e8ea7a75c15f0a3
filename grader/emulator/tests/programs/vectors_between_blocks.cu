// Aligned vectors of up to 16 bytes that one block writes while another reads them: no part of an older
// vector is ever seen beside a part of a newer one. CUB's look-back between blocks counts on it.
#include "check.h"

constexpr int kRounds = 100000;

template <class Vector>
__device__ void store_all(Vector* to, unsigned value);
template <class Vector>
__device__ bool is_whole(const Vector* from);

template <>
__device__ void store_all(uint4* to, unsigned value) {
  asm volatile("st.volatile.global.v4.u32 [%0], {%1, %1, %1, %1};" ::"l"(to), "r"(value) : "memory");
}
template <>
__device__ bool is_whole(const uint4* from) {
  unsigned x, y, z, w;
  asm volatile("ld.volatile.global.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(x), "=r"(y), "=r"(z), "=r"(w)
               : "l"(from)
               : "memory");
  return x == y && x == z && x == w;
}

template <>
__device__ void store_all(ulonglong2* to, unsigned value) {
  const unsigned long long wide = (unsigned long long)value << 32 | value;
  asm volatile("st.volatile.global.v2.u64 [%0], {%1, %1};" ::"l"(to), "l"(wide) : "memory");
}
template <>
__device__ bool is_whole(const ulonglong2* from) {
  unsigned long long x, y;
  asm volatile("ld.volatile.global.v2.u64 {%0, %1}, [%2];" : "=l"(x), "=l"(y) : "l"(from) : "memory");
  return x == y && unsigned(x) == unsigned(x >> 32);
}

template <>
__device__ void store_all(uint2* to, unsigned value) {
  asm volatile("st.volatile.global.v2.u32 [%0], {%1, %1};" ::"l"(to), "r"(value) : "memory");
}
template <>
__device__ bool is_whole(const uint2* from) {
  unsigned x, y;
  asm volatile("ld.volatile.global.v2.u32 {%0, %1}, [%2];" : "=r"(x), "=r"(y) : "l"(from) : "memory");
  return x == y;
}

template <>
__device__ void store_all(ushort4* to, unsigned value) {
  const auto narrow = (unsigned short)value;
  asm volatile("st.volatile.global.v4.u16 [%0], {%1, %1, %1, %1};" ::"l"(to), "h"(narrow) : "memory");
}
template <>
__device__ bool is_whole(const ushort4* from) {
  unsigned short x, y, z, w;
  asm volatile("ld.volatile.global.v4.u16 {%0, %1, %2, %3}, [%4];"
               : "=h"(x), "=h"(y), "=h"(z), "=h"(w)
               : "l"(from)
               : "memory");
  return x == y && x == z && x == w;
}

template <class Vector>
__global__ void write_and_read(Vector* vectors, unsigned* whole) {
  Vector* const mine = vectors + threadIdx.x;
  unsigned count = 0;
  for (unsigned k = 0; k < kRounds; ++k) {
    if (blockIdx.x == 0) {
      store_all(mine, k);
    } else if (is_whole(mine)) {
      ++count;
    }
  }
  atomicAdd(whole, count);
}

template <class Vector>
void expect_no_tearing(const char* what) {
  Managed<Vector> vectors(32);
  Managed<unsigned> whole(1);
  write_and_read<<<2, 32>>>(vectors.data, whole.data);
  CHECK_CUDA(cudaGetLastError());
  CHECK_CUDA(cudaDeviceSynchronize());
  if (whole[0] != kRounds * 32) std::printf("%u of %d reads: ", whole[0], kRounds * 32);
  expect(whole[0] == kRounds * 32, what);
}

int main() {
  expect_no_tearing<uint4>("16 bytes as four words are read as they were written");
  expect_no_tearing<ulonglong2>("16 bytes as two words are read as they were written");
  expect_no_tearing<uint2>("8 bytes as two words are read as they were written");
  expect_no_tearing<ushort4>("8 bytes as four halves are read as they were written");
  return g_failures;
}

// atom and red on global and shared memory, all operations and types; vector reductions on sm_90.
#include "check.h"

__global__ void global_atomics(int* i, unsigned* u, float* f, double* d, unsigned long long* l, int* order) {
  const int t = blockIdx.x * blockDim.x + threadIdx.x;
  order[atomicAdd(&i[0], 1)] = 1;
  atomicMax(&i[1], t);
  atomicMin(&i[2], -t);
  atomicSub(&i[3], 2);
  atomicAnd(&u[0], ~(1u << t % 32));
  atomicOr(&u[1], 1u << t % 32);
  atomicXor(&u[2], 1u << t % 32);
  atomicInc(&u[3], 9);
  atomicDec(&u[4], 9);
  atomicExch(&u[5], 77u);
  atomicAdd(f, 0.5f);
  atomicAdd(d, 0.25);
  atomicAdd(&l[0], 3ull);
  atomicMax(&l[1], (unsigned long long)t << 33);
  int seen = i[4], assumed;
  do {
    assumed = seen;
    seen = atomicCAS(&i[4], assumed, assumed + t);
  } while (seen != assumed);
}

__global__ void histogram(const int* values, int n, int* bins) {
  __shared__ int local[32];
  if (threadIdx.x < 32) local[threadIdx.x] = 0;
  __syncthreads();
  for (int k = blockIdx.x * blockDim.x + threadIdx.x; k < n; k += gridDim.x * blockDim.x)
    atomicAdd(&local[values[k]], 1);
  __syncthreads();
  if (threadIdx.x < 32) atomicAdd(&bins[threadIdx.x], local[threadIdx.x]);
}

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
__global__ void vector_atomics(float4* sum, float2* pair, float4* old) {
  old[threadIdx.x] = atomicAdd(sum, make_float4(1, 2, 3, threadIdx.x));
  asm volatile("red.global.add.v2.f32 [%0], {%1, %2};" ::"l"(pair), "f"(1.0f), "f"(0.5f) : "memory");
}
#else
__global__ void vector_atomics(float4*, float2*, float4*) {}
#endif

// Pairs of 64-bit numbers that change together: (count, sum) by compare-and-swap, then an exchange.
__global__ void wide_atomics(ulonglong2* total, ulonglong2* slot) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  const unsigned long long t = blockIdx.x * blockDim.x + threadIdx.x;
  ulonglong2 seen{0, 0}, found;
  for (bool done = false; !done; seen = found) {
    asm volatile(
        "{ .reg .b128 seen, next, found;\n"
        "mov.b128 seen, {%2, %3}; mov.b128 next, {%4, %5};\n"
        "atom.global.cas.b128 found, [%6], seen, next;\n"
        "mov.b128 {%0, %1}, found; }"
        : "=l"(found.x), "=l"(found.y)
        : "l"(seen.x), "l"(seen.y), "l"(seen.x + 1), "l"(seen.y + t), "l"(total)
        : "memory");
    done = found.x == seen.x && found.y == seen.y;
  }
  asm volatile(
      "{ .reg .b128 mine, old;\n"
      "mov.b128 mine, {%0, %1};\n"
      "atom.global.exch.b128 old, [%2], mine; }" ::"l"(t),
      "l"(~t), "l"(slot)
      : "memory");
#endif
}

int main(int argc, char**) {
  constexpr int n = 256;
  Managed<int> i(8), order(n);
  Managed<unsigned> u(8);
  Managed<float> f(1);
  Managed<double> d(1);
  Managed<unsigned long long> l(2);
  u[0] = ~0u;
  global_atomics<<<4, n / 4>>>(i.data, u.data, f.data, d.data, l.data, order.data);
  CHECK_CUDA(cudaDeviceSynchronize());
  expect(i[0] == n && i[1] == n - 1 && i[2] == 1 - n && i[3] == -2 * n, "add, max, min, sub");
  for (int t = 0; t < n; ++t) expect(order[t] == 1, "each old value is seen once");
  expect(u[0] == 0 && u[1] == ~0u && u[2] == 0 && u[5] == 77, "and, or, xor, exch");
  expect(u[3] == n % 10 && u[4] == (10 - n % 10) % 10, "inc and dec wrap");
  expect(f[0] == n * 0.5f && d[0] == n * 0.25, "float and double add");
  expect(l[0] == 3 * n && l[1] == (unsigned long long)(n - 1) << 33, "64-bit add and max");
  expect(i[4] == n * (n - 1) / 2, "compare and swap");

  constexpr int values = 10000;
  Managed<int> input(values), bins(32);
  int expected[32] = {};
  for (int k = 0; k < values; ++k) ++expected[input[k] = int(bits_of(k, 3) % 32)];
  histogram<<<7, 128>>>(input.data, values, bins.data);
  CHECK_CUDA(cudaDeviceSynchronize());
  for (int k = 0; k < 32; ++k) expect(bins[k] == expected[k], "histogram in shared memory");

  if (argc > 1) {
    Managed<float4> sum(1), old(64);
    Managed<float2> pair(1);
    vector_atomics<<<1, 64>>>(sum.data, pair.data, old.data);
    CHECK_CUDA(cudaDeviceSynchronize());
    expect(sum[0].x == 64 && sum[0].y == 128 && sum[0].z == 192 && sum[0].w == 2016, "atom.add.v4.f32");
    expect(pair[0].x == 64 && pair[0].y == 32, "red.add.v2.f32");
    Managed<ulonglong2> total(1), slot(1);
    wide_atomics<<<4, 64>>>(total.data, slot.data);
    CHECK_CUDA(cudaDeviceSynchronize());
    expect(total[0].x == n && total[0].y == n * (n - 1) / 2, "atom.cas.b128");
    expect(slot[0].x < n && slot[0].y == ~slot[0].x, "atom.exch.b128");
    float olds = 0;
    for (int t = 0; t < 64; ++t) olds += old[t].x;
    expect(olds == 2016, "old values of atom.add.v4.f32");
  }
  return g_failures;
}

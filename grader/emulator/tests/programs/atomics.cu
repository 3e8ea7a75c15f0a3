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
    float olds = 0;
    for (int t = 0; t < 64; ++t) olds += old[t].x;
    expect(olds == 2016, "old values of atom.add.v4.f32");
  }
  return g_failures;
}

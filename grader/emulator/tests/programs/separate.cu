// Relocatable device code (-rdc=true): functions, variables, virtual functions and kernels of another file.
#include <cooperative_groups.h>

#include "check.h"
#include "separate.h"

__global__ void part_kernel(int* out, int n);

static __device__ __noinline__ int local_helper(int x) {
  return x + 1;
}
static __device__ int own_counter;

__global__ void across_files(int* out) {
  const int t = threadIdx.x;
  Shape* shape = new_square(t);
  out[t] = scaled(local_helper(t)) + offset + shape->area() + twice(t);
  delete shape;
  atomicAdd(&own_counter, 1);
}

// What -rdc=true was needed for once.
__global__ void reverse_grid(const int* in, int* half, int* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  half[i] = in[i] / 2;
  cooperative_groups::this_grid().sync();
  out[i] = half[gridDim.x * blockDim.x - 1 - i];
}

int main(int argc, char**) {
  Managed<int> in(64), half(64), out(64);
  if (argc > 1) {
    int* exact;
    CHECK_CUDA(cudaMalloc(&exact, 32 * sizeof(int)));
    part_kernel<<<1, 32>>>(exact, 64);
    std::printf("%d\n", int(cudaDeviceSynchronize()));
    return 0;
  }
  across_files<<<1, 32>>>(out.data);
  CHECK_CUDA(cudaGetLastError());
  CHECK_CUDA(cudaDeviceSynchronize());
  const int scales[] = {1, 10, 100, 1000};
  for (int t = 0; t < 32; ++t)
    expect(out[t] == (t + 1) * 6 * scales[(t + 1) % 4] + 7 + t * t + 2 * t, "calls across files");
  int counted = 0, table[4] = {}, new_offset = 1000;
  CHECK_CUDA(cudaMemcpyFromSymbol(&counted, own_counter, sizeof counted));
  CHECK_CUDA(cudaMemcpyFromSymbol(table, scale_table, sizeof table));
  expect(counted == 32 && table[3] == 1000, "variables of both files by symbol");
  CHECK_CUDA(cudaMemcpyToSymbol(offset, &new_offset, sizeof offset));
  across_files<<<1, 32>>>(out.data);
  CHECK_CUDA(cudaDeviceSynchronize());
  expect(out[3] == 4 * 6 + 1000 + 9 + 6, "a constant of the other file is set");
  part_kernel<<<1, 32>>>(out.data, 0);
  CHECK_CUDA(cudaDeviceSynchronize());
  expect(out[5] == 15, "a kernel of the other file");
  for (int k = 0; k < 64; ++k) in[k] = 2 * k;
  void* arguments[] = {&in.data, &half.data, &out.data};
  CHECK_CUDA(cudaLaunchCooperativeKernel(reverse_grid, dim3(2), dim3(32), arguments, 0, 0));
  CHECK_CUDA(cudaDeviceSynchronize());
  for (int k = 0; k < 64; ++k) expect(out[k] == 63 - k, "the grid's barrier");
  return g_failures;
}

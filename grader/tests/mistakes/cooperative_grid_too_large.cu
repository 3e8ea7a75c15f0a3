// More blocks than the device holds at a time cannot wait for each other.
#include <cooperative_groups.h>
#include <cuda_runtime.h>

__global__ void two_steps(int* a, int count) {
  const cooperative_groups::grid_group grid = cooperative_groups::this_grid();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) a[i] = i;
  grid.sync();
}

int main() {
  int count = 4096;
  int* a;
  cudaMalloc(&a, count * sizeof(int));
  void* arguments[] = {&a, &count};
#ifdef FIXED
  const int blocks = 8;
#else
  const int blocks = 100000;
#endif
  // CURE: cudaOccupancyMaxActiveBlocksPerMultiprocessor
  cudaLaunchCooperativeKernel(two_steps, blocks, 512, arguments);  // MISTAKE: invalid_launch
  cudaDeviceSynchronize();
  cudaFree(a);
  return 0;
}

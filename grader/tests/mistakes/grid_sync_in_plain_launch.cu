// The grid's barrier is there in cooperative launches alone.
#include <cooperative_groups.h>
#include <cuda_runtime.h>

__global__ void two_rounds(const int* a, int* half, int* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  half[i] = a[i] / 2;
  cooperative_groups::this_grid().sync();  // MISTAKE: trap
  out[i] = half[gridDim.x * blockDim.x - 1 - i];
}

int main() {
  int *a, *half, *out;
  cudaMalloc(&a, 256);
  cudaMalloc(&half, 256);
  cudaMalloc(&out, 256);
  cudaMemset(a, 1, 256);
  void* arguments[] = {&a, &half, &out};
#ifdef FIXED
  cudaLaunchCooperativeKernel(two_rounds, dim3(2), dim3(32), arguments, 0, 0);
#else
  cudaLaunchKernel(two_rounds, dim3(2), dim3(32), arguments, 0, 0);
#endif
  cudaDeviceSynchronize();
  cudaFree(a);
  cudaFree(half);
  cudaFree(out);
  return 0;
}

// 64 KB of dynamic shared memory take an attribute of the kernel.
#include <cuda_runtime.h>

__global__ void stage(int* a) {
  extern __shared__ int tile[];
  tile[threadIdx.x] = threadIdx.x;
  a[threadIdx.x] = tile[threadIdx.x];
}

int main() {
  int* a;
  cudaMalloc(&a, 64 * sizeof(int));
#ifdef FIXED
  cudaFuncSetAttribute(stage, cudaFuncAttributeMaxDynamicSharedMemorySize, 64 << 10);
#endif
  stage<<<1, 64, 64 << 10>>>(a);  // MISTAKE: invalid_launch
  cudaDeviceSynchronize();
  cudaFree(a);
  return 0;
}

// 2048 threads a block: the kernel never runs, and nobody looks at the error.
#include <cuda_runtime.h>

__global__ void set_all(int* a) {
  a[blockIdx.x * blockDim.x + threadIdx.x] = 1;
}

int main() {
  int* a;
  cudaMalloc(&a, 2048 * sizeof(int));
#ifdef FIXED
  set_all<<<2, 1024>>>(a);
#else
  set_all<<<1, 2048>>>(a);  // MISTAKE: invalid_launch
#endif
  cudaDeviceSynchronize();
  cudaFree(a);
  return 0;
}

// The output was never allocated.
#include <cuda_runtime.h>

__global__ void copy(const int* from, int* to) {
  to[threadIdx.x] = from[threadIdx.x];  // MISTAKE: null_pointer
}

int main() {
  int *a, *b = nullptr;
  cudaMalloc(&a, 256);
  cudaMemset(a, 0, 256);
#ifdef FIXED
  cudaMalloc(&b, 256);
#endif
  copy<<<1, 64>>>(a, b);
  cudaDeviceSynchronize();
  cudaFree(a);
  cudaFree(b);
  return 0;
}

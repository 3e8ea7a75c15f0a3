// The input is freed before the kernel that reads it is launched.
#include <cuda_runtime.h>

__global__ void copy(const int* from, int* to) {
  to[threadIdx.x] = from[threadIdx.x];  // MISTAKE: use_after_free
}

int main() {
  int *a, *b;
  cudaMalloc(&a, 256);
  cudaMalloc(&b, 256);
  cudaMemset(a, 0, 256);
#ifndef FIXED
  cudaFree(a);
#endif
  copy<<<1, 64>>>(a, b);
  cudaDeviceSynchronize();
#ifdef FIXED
  cudaFree(a);
#endif
  cudaFree(b);
  return 0;
}

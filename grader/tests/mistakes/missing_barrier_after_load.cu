// Threads read their neighbours' elements before those are loaded.
#include <cuda_runtime.h>

__global__ void reverse(int* a) {
  __shared__ int tile[128];
  tile[threadIdx.x] = a[threadIdx.x];
#ifdef FIXED
  __syncthreads();
#endif
  a[threadIdx.x] = tile[127 - threadIdx.x];  // MISTAKE: shared_race
}

int main() {
  const int n = 1000;
  int* a;
  cudaMalloc(&a, n * sizeof(int));
  cudaMemset(a, 0, n * sizeof(int));
  reverse<<<1, 128>>>(a);
  cudaDeviceSynchronize();
  cudaFree(a);
  return 0;
}

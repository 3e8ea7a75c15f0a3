// A fence orders one thread's writes; it does not wait for other threads.
#include <cuda_runtime.h>

__global__ void shift(int* a) {
  __shared__ int tile[64];
  tile[threadIdx.x] = a[threadIdx.x];
#ifdef FIXED
  __syncthreads();
#else
  __threadfence_block();
#endif
  a[threadIdx.x] = tile[(threadIdx.x + 33) % 64];  // MISTAKE: shared_race
}

int main() {
  const int n = 1000;
  int* a;
  cudaMalloc(&a, n * sizeof(int));
  cudaMemset(a, 0, n * sizeof(int));
  shift<<<1, 64>>>(a);
  cudaDeviceSynchronize();
  cudaFree(a);
  return 0;
}

// Only some threads reach the barrier in the branch; the others wait at another one.
#include <cuda_runtime.h>

__global__ void guarded(int* a) {
#ifdef FIXED
  if (threadIdx.x < 32) a[threadIdx.x] = 1;
  __syncthreads();
#else
  if (threadIdx.x < 32) {
    a[threadIdx.x] = 1;
    __syncthreads();  // MISTAKE: divergent_barrier
  } else {
    __syncthreads();
  }
#endif
  a[threadIdx.x + 64] = 2;
}

int main() {
  const int n = 1000;
  int* a;
  cudaMalloc(&a, n * sizeof(int));
  cudaMemset(a, 0, n * sizeof(int));
  guarded<<<1, 64>>>(a);
  cudaDeviceSynchronize();
  cudaFree(a);
  return 0;
}

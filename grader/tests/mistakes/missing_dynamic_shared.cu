// The kernel uses dynamic shared memory that the launch does not give.
#include <cuda_runtime.h>

__global__ void reverse(int* a) {
  extern __shared__ int tile[];
  tile[threadIdx.x] = a[threadIdx.x];  // MISTAKE: out_of_bounds
  __syncthreads();
  a[threadIdx.x] = tile[blockDim.x - 1 - threadIdx.x];
}

int main() {
  const int n = 1000;
  int* a;
  cudaMalloc(&a, n * sizeof(int));
  cudaMemset(a, 0, n * sizeof(int));

#ifdef FIXED
  reverse<<<1, 64, 64 * sizeof(int)>>>(a);
#else
  reverse<<<1, 64>>>(a);
#endif
  cudaDeviceSynchronize();
  cudaFree(a);
  return 0;
}

// Threads without work return; the rest of the block meets at a barrier without them.
#include <cuda_runtime.h>

__global__ void reverse(int* a, int n) {
  __shared__ int tile[128];
  int i = threadIdx.x;
#ifdef FIXED
  if (i < n) tile[i] = a[i];
#else
  if (i >= n) return;
  tile[i] = a[i];
#endif
  __syncthreads();  // MISTAKE: early_exit
  if (i < n) a[i] = tile[n - 1 - i];
}

int main() {
  const int n = 1000;
  int* a;
  cudaMalloc(&a, n * sizeof(int));
  cudaMemset(a, 0, n * sizeof(int));
  reverse<<<1, 128>>>(a, 100);
  cudaDeviceSynchronize();
  cudaFree(a);
  return 0;
}

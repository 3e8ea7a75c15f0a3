// Threads go through the loop a different number of times, and so through its barrier.
#include <cuda_runtime.h>

__global__ void strides(int* a, int n) {
  __shared__ int turn;
#ifdef FIXED
  for (int base = 0; base < n; base += blockDim.x) {
    int i = base + threadIdx.x;
#else
  for (int i = threadIdx.x; i < n; i += blockDim.x) {
#endif
    if (threadIdx.x == 0) turn = i;
    __syncthreads();  // MISTAKE: early_exit
    if (i < n) a[i] = turn;
    __syncthreads();
  }
}

int main() {
  const int n = 1000;
  int* a;
  cudaMalloc(&a, n * sizeof(int));
  cudaMemset(a, 0, n * sizeof(int));
  strides<<<1, 64>>>(a, 96);
  cudaDeviceSynchronize();
  cudaFree(a);
  return 0;
}

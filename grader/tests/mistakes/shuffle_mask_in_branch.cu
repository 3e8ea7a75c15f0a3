// The full mask in a branch that half of the warp takes; the other half waits at the barrier behind it.
#include <cuda_runtime.h>

__global__ void sum_half(int* a) {
  int value = a[threadIdx.x];
  if (threadIdx.x < 16) {
#ifdef FIXED
    value += __shfl_xor_sync(0x0000ffff, value, 8);
#else
    value += __shfl_xor_sync(0xffffffff, value, 8);  // MISTAKE: barrier_deadlock
#endif
  }
  __syncthreads();
  a[threadIdx.x] = value;
}

int main() {
  int* a;
  cudaMalloc(&a, 128);
  cudaMemset(a, 0, 128);
  sum_half<<<1, 32>>>(a);
  cudaDeviceSynchronize();
  cudaFree(a);
  return 0;
}

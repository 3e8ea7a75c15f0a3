// Lanes hand values on through shared memory without meeting.
#include <cuda_runtime.h>

__global__ void rotate(int* a) {
  __shared__ int tile[32];
  tile[threadIdx.x] = a[threadIdx.x];
#ifdef FIXED
  __syncwarp();
#endif
  a[threadIdx.x] = tile[(threadIdx.x + 1) % 32];  // MISTAKE: shared_race
}

int main() {
  const int n = 1000;
  int* a;
  cudaMalloc(&a, n * sizeof(int));
  cudaMemset(a, 0, n * sizeof(int));
  rotate<<<1, 32>>>(a);
  cudaDeviceSynchronize();
  cudaFree(a);
  return 0;
}

// The next tile is loaded while slow threads still read the last one.
#include <cuda_runtime.h>

__global__ void sum_tiles(const int* a, int* out) {
  __shared__ int tile[64];
  int sum = 0;
  for (int t = 0; t < 8; t++) {
    tile[threadIdx.x] = a[t * 64 + threadIdx.x] + t;  // MISTAKE: shared_race
    __syncthreads();
    for (int k = 0; k < 64; k++) sum += tile[k];
#ifdef FIXED
    __syncthreads();
#endif
  }
  out[threadIdx.x] = sum;
}

int main() {
  int *a, *out;
  cudaMalloc(&a, 8 * 64 * sizeof(int));
  cudaMalloc(&out, 256);
  cudaMemset(a, 1, 8 * 64 * sizeof(int));
  sum_tiles<<<1, 64>>>(a, out);
  cudaDeviceSynchronize();
  cudaFree(a);
  cudaFree(out);
  return 0;
}

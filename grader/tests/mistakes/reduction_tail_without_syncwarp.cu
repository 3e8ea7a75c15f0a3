// The last 32 threads go on without a barrier, as if a warp ran in step; volatile does not order lanes.
#include <cuda_runtime.h>

__global__ void reduce(const int* in, int* out) {
  __shared__ int memory[64];
  volatile int* sums = memory;
  sums[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  if (threadIdx.x < 32) {
    for (int half = 32; half > 0; half /= 2) {
      int other = sums[threadIdx.x + half];  // MISTAKE: shared_race
#ifdef FIXED
      __syncwarp();
#endif
      sums[threadIdx.x] += other;
#ifdef FIXED
      __syncwarp();
#endif
    }
  }
  if (threadIdx.x == 0) *out = sums[0];
}

int main() {
  int *in, *out;
  cudaMalloc(&in, 256);
  cudaMalloc(&out, 4);
  cudaMemset(in, 1, 256);
  reduce<<<1, 64>>>(in, out);
  cudaDeviceSynchronize();
  cudaFree(in);
  cudaFree(out);
  return 0;
}

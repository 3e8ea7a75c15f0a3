// Threads count into one bin at the same time; an increment is a read and a write.
#include <cuda_runtime.h>

__global__ void count(const int* in, int* bins) {
  __shared__ int local[8];
  if (threadIdx.x < 8) local[threadIdx.x] = 0;
  __syncthreads();
#ifdef FIXED
  atomicAdd(&local[in[threadIdx.x] & 7], 1);
#else
  local[in[threadIdx.x] & 7]++;  // MISTAKE: shared_race
#endif
  __syncthreads();
  if (threadIdx.x < 8) bins[threadIdx.x] = local[threadIdx.x];
}

int main() {
  int host[128], *in, *bins;
  for (int i = 0; i < 128; i++) host[i] = i / 3;
  cudaMalloc(&in, sizeof host);
  cudaMalloc(&bins, 32);
  cudaMemcpy(in, host, sizeof host, cudaMemcpyHostToDevice);
  count<<<1, 128>>>(in, bins);
  cudaDeviceSynchronize();
  cudaFree(in);
  cudaFree(bins);
  return 0;
}

// The tile is read by other threads before the asynchronous copies into it were awaited together.
#include <cuda_pipeline.h>
#include <cuda_runtime.h>

__global__ void reverse(const int* in, int* out) {
  __shared__ int tile[64];
  __pipeline_memcpy_async(&tile[threadIdx.x], &in[threadIdx.x], sizeof(int));
  __pipeline_commit();
  __pipeline_wait_prior(0);
#ifdef FIXED
  __syncthreads();
#endif
  out[threadIdx.x] = tile[63 - threadIdx.x];  // MISTAKE: shared_race
}

int main() {
  int *in, *out;
  cudaMalloc(&in, 256);
  cudaMalloc(&out, 256);
  cudaMemset(in, 1, 256);
  reverse<<<1, 64>>>(in, out);
  cudaDeviceSynchronize();
  cudaFree(in);
  cudaFree(out);
  return 0;
}

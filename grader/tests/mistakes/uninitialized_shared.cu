// Only full rows are loaded into the tile; all of it is read.
#include <cuda_runtime.h>

__global__ void sum_tile(const int* in, int* out, int n) {
  __shared__ int tile[64];
  int i = threadIdx.x;
#ifdef FIXED
  tile[i] = i < n ? in[i] : 0;
#else
  if (i < n) tile[i] = in[i];
#endif
  __syncthreads();
  int sum = 0;
  for (int k = 0; k < 64; k++) sum += tile[k];  // MISTAKE: uninitialized_read
  out[i] = sum;
}

int main() {
  int *in, *out;
  cudaMalloc(&in, 256);
  cudaMalloc(&out, 256);
  cudaMemset(in, 0, 256);
  sum_tile<<<1, 64>>>(in, out, 50);
  cudaDeviceSynchronize();
  cudaFree(in);
  cudaFree(out);
  return 0;
}

// A stencil needs a halo on both sides; the tile has room for one.
#include <cuda_runtime.h>

__global__ void blur(const int* in, int* out) {
#ifdef FIXED
  __shared__ int tile[66];
#else
  __shared__ int tile[65];
#endif
  int i = threadIdx.x;
  tile[i + 1] = in[i];
  if (i == 0) tile[0] = 0;
  if (i == 63) tile[i + 2] = 0;  // MISTAKE: out_of_bounds
  __syncthreads();
  out[i] = tile[i] + tile[i + 1] + tile[i + 2];
}

int main() {
  int *in, *out;
  cudaMalloc(&in, 256);
  cudaMalloc(&out, 256);
  cudaMemset(in, 1, 256);
  blur<<<1, 64>>>(in, out);
  cudaDeviceSynchronize();
  cudaFree(in);
  cudaFree(out);
  return 0;
}

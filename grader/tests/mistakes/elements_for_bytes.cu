// The copy's size is in elements, so three quarters of the input stay uninitialized.
#include <cuda_runtime.h>

__global__ void increment(const int* in, int* out) {
  out[threadIdx.x] = in[threadIdx.x] + 1;  // MISTAKE: uninitialized_read
}

int main() {
  static int host[128];
  int *in, *out;
  cudaMalloc(&in, sizeof host);
  cudaMalloc(&out, sizeof host);
#ifdef FIXED
  cudaMemcpy(in, host, 128 * sizeof(int), cudaMemcpyHostToDevice);
#else
  cudaMemcpy(in, host, 128, cudaMemcpyHostToDevice);
#endif
  increment<<<1, 128>>>(in, out);
  cudaDeviceSynchronize();
  cudaFree(in);
  cudaFree(out);
  return 0;
}

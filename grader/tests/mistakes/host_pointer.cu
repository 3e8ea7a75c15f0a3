// The kernel gets the host's array.
#include <cuda_runtime.h>

__global__ void sum(const int* in, int* out) {
  int total = 0;
  for (int i = 0; i < 16; i++) total += in[i];  // MISTAKE: out_of_bounds
  *out = total;
}

int main() {
  static int host[16];
  int *device, *out;
  cudaMalloc(&device, sizeof host);
  cudaMalloc(&out, sizeof(int));
  cudaMemcpy(device, host, sizeof host, cudaMemcpyHostToDevice);
#ifdef FIXED
  sum<<<1, 1>>>(device, out);
#else
  sum<<<1, 1>>>(host, out);
#endif
  cudaDeviceSynchronize();
  cudaFree(device);
  cudaFree(out);
  return 0;
}

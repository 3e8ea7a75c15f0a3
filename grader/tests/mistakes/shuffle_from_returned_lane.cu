// Lanes beyond n have returned; the shuffle takes their values all the same.
#include <cuda_runtime.h>

__global__ void warp_sum(const int* in, int* out, int n) {
  int i = threadIdx.x;
#ifdef FIXED
  int value = i < n ? in[i] : 0;
#else
  if (i >= n) return;
  int value = in[i];
#endif
  for (int d = 16; d > 0; d /= 2)
    value += __shfl_down_sync(0xffffffff, value, d);  // MISTAKE: undefined_shuffle
  if (i == 0) *out = value;
}

int main() {
  int *in, *out;
  cudaMalloc(&in, 128);
  cudaMalloc(&out, 4);
  cudaMemset(in, 1, 128);
  warp_sum<<<1, 32>>>(in, out, 20);
  cudaDeviceSynchronize();
  cudaFree(in);
  cudaFree(out);
  return 0;
}

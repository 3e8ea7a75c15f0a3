// Blocks read neighbours that other blocks overwrite: the result depends on who comes first.
#include <cuda_runtime.h>

__global__ void smooth(const int* in, int* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i == 0 || i >= n - 1) return;
  int sum = in[i - 1] + in[i] + in[i + 1];
#ifdef FIXED
  out[i] = sum;
#else
  const_cast<int*>(in)[i] = sum;  // MISTAKE: global_race
#endif
}

int main() {
  const int n = 512;
  int *in, *out;
  cudaMalloc(&in, n * 4);
  cudaMalloc(&out, n * 4);
  cudaMemset(in, 1, n * 4);
  smooth<<<16, 32>>>(in, out, n);
  cudaDeviceSynchronize();
  cudaFree(in);
  cudaFree(out);
  return 0;
}
// CURE: Read from one array and write to another

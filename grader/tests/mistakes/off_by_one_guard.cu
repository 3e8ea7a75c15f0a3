// The guard lets one thread too many through.
#include <cuda_runtime.h>

__global__ void double_all(int* a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
#ifdef FIXED
  if (i < n) a[i] *= 2;
#else
  if (i <= n) a[i] *= 2;  // MISTAKE: out_of_bounds
#endif
}

int main() {
  const int n = 1000;
  int* a;
  cudaMalloc(&a, n * sizeof(int));
  cudaMemset(a, 0, n * sizeof(int));
  double_all<<<(n + 255) / 256, 256>>>(a, n);
  cudaDeviceSynchronize();
  cudaFree(a);
  return 0;
}

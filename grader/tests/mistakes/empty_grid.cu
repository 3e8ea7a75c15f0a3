// n / 256 blocks are none for a small n.
#include <cuda_runtime.h>

__global__ void set_all(int* a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) a[i] = 1;
}

int main() {
  const int n = 100;
  int* a;
  cudaMalloc(&a, n * sizeof(int));
#ifdef FIXED
  set_all<<<(n + 255) / 256, 256>>>(a, n);
#else
  set_all<<<n / 256, 256>>>(a, n);  // MISTAKE: invalid_launch
#endif
  cudaDeviceSynchronize();
  cudaFree(a);
  return 0;
}

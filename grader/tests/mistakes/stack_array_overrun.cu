// A thread's own array is one element short.
#include <cuda_runtime.h>

__global__ void sort_four(int* a, int k) {
#ifdef FIXED
  int local[8];
#else
  int local[4];
#endif
  for (int i = 0; i < k; i++) local[(i * 5) % 8] = a[i];  // MISTAKE: out_of_bounds
  a[0] = local[k % 4];
}

int main() {
  const int n = 1000;
  int* a;
  cudaMalloc(&a, n * sizeof(int));
  cudaMemset(a, 0, n * sizeof(int));
  sort_four<<<1, 1>>>(a, 8);
  cudaDeviceSynchronize();
  cudaFree(a);
  return 0;
}

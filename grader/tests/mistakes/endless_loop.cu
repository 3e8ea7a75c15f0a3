// The loop's step is zero for the last element.
#include <cuda_runtime.h>

__global__ void count_down(int* a, int step) {
  volatile int* left = a;
  while (left[0] > 0) left[0] = left[0] - step;  // MISTAKE: launch_timeout
}

int main() {
  int *a, start = 100;
  cudaMalloc(&a, 4);
  cudaMemcpy(a, &start, 4, cudaMemcpyHostToDevice);
#ifdef FIXED
  count_down<<<1, 1>>>(a, 1);
#else
  count_down<<<1, 1>>>(a, 0);
#endif
  cudaDeviceSynchronize();
  cudaFree(a);
  return 0;
}

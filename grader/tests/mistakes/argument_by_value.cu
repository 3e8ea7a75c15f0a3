// cudaLaunchKernel takes the address of each argument, and gets an argument.
#include <cuda_runtime.h>

__global__ void set_to(int* a, int value) {
  a[threadIdx.x] = value;
}

int main() {
  int value = 7;
  int* a;
  cudaMalloc(&a, 32 * sizeof(int));
#ifdef FIXED
  void* arguments[] = {&a, &value};
#else
  void* arguments[] = {a, &value};
#endif
  // CURE: address of the variable with its value
  cudaLaunchKernel((const void*)set_to, dim3(1), dim3(32), arguments, 0, nullptr);  // MISTAKE: invalid_launch
  cudaDeviceSynchronize();
  cudaFree(a);
  return 0;
}

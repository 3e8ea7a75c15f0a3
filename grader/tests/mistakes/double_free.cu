// Two owners free one buffer.
#include <cuda_runtime.h>

int main() {
  int* a;
  cudaMalloc(&a, 256);
  int* alias = a;
  cudaFree(a);
#ifndef FIXED
  cudaFree(alias);  // MISTAKE: invalid_free
#endif
  (void)alias;
  return 0;
}

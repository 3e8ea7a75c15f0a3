// A pointer that was moved is freed.
#include <cuda_runtime.h>

int main() {
  char* a;
  cudaMalloc(&a, 1024);
  char* second_half = a + 512;
#ifdef FIXED
  second_half -= 512;
#endif
  cudaFree(second_half);  // MISTAKE: invalid_free
#ifndef FIXED
  cudaFree(a);
#endif
  return 0;
}

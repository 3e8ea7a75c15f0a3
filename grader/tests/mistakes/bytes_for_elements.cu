// The copy takes elements for bytes twice over: n ints are n * sizeof(int) bytes, not n * n.
#include <cuda_runtime.h>

int main() {
  static int host[64 * 64];
  int* a;
  cudaMalloc(&a, 64 * sizeof(int));
#ifdef FIXED
  cudaMemcpy(a, host, 64 * sizeof(int), cudaMemcpyHostToDevice);
#else
  cudaMemcpy(a, host, 64 * 64, cudaMemcpyHostToDevice);  // MISTAKE: host_copy_overrun
#endif
  cudaFree(a);
  return 0;
}

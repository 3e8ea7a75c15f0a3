// The fill's destination is the address of the variable that holds the pointer.
#include <cuda_runtime.h>

int main() {
  int* counts;
  cudaMalloc(&counts, 256 * sizeof(int));
#ifdef FIXED
  cudaMemset(counts, 0, 256 * sizeof(int));
#else
  // CURE: `d`, not `&d`
  cudaMemset(&counts, 0, 256 * sizeof(int));  // MISTAKE: invalid_copy
#endif
  cudaFree(counts);
  return 0;
}

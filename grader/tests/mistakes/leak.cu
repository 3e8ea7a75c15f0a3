// A buffer is allocated in each round and never freed.
#include <cuda_runtime.h>

int main() {
  for (int round = 0; round < 3; round++) {
    float* scratch;
    cudaMalloc(&scratch, 4096);  // MISTAKE: device_memory_leak
    cudaMemset(scratch, 0, 4096);
#ifdef FIXED
    cudaFree(scratch);
#endif
  }
  return 0;
}

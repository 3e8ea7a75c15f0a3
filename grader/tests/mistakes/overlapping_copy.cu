// A queue moves up by one place, onto itself.
#include <cuda_runtime.h>

int main() {
  constexpr int kPlaces = 500;
  int *queue, *moved;
  cudaMalloc(&queue, kPlaces * sizeof(int));
  cudaMalloc(&moved, kPlaces * sizeof(int));
  cudaMemset(queue, 0, kPlaces * sizeof(int));
  const size_t bytes = (kPlaces - 1) * sizeof(int);
#ifdef FIXED
  cudaMemcpy(moved, queue + 1, bytes, cudaMemcpyDeviceToDevice);
  cudaMemcpy(queue, moved, bytes, cudaMemcpyDeviceToDevice);
#else
  // CURE: another array first
  cudaMemcpy(queue, queue + 1, bytes, cudaMemcpyDeviceToDevice);  // MISTAKE: invalid_copy
#endif
  cudaFree(queue);
  cudaFree(moved);
  return 0;
}

// The columns of an image move to the right by less than are copied.
#include <cuda_runtime.h>

int main() {
  constexpr size_t kPitch = 256, kRows = 16;
  unsigned char* image;
  cudaMalloc(&image, kPitch * kRows);
  cudaMemset(image, 0, kPitch * kRows);
  unsigned char* to = image + 64;
#ifdef FIXED
  to = image + 128;
#endif
  // CURE: another array first
  cudaMemcpy2D(to, kPitch, image, kPitch, 128, kRows, cudaMemcpyDeviceToDevice);  // MISTAKE: invalid_copy
  cudaFree(image);
  return 0;
}

// Row and column are exchanged in a matrix that is not square.
#include <cuda_runtime.h>

__global__ void fill(float* a, int rows, int cols) {
  int col = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
  if (row >= rows || col >= cols) return;
#ifdef FIXED
  a[row * cols + col] = 1;
#else
  a[col * cols + row] = 1;  // MISTAKE: out_of_bounds
#endif
}

int main() {
  const int rows = 20, cols = 50;
  float* a;
  cudaMalloc(&a, rows * cols * sizeof(float));
  fill<<<dim3(4, 2), dim3(16, 16)>>>(a, rows, cols);
  cudaDeviceSynchronize();
  cudaFree(a);
  return 0;
}

// A row ends where the next begins; here it takes one entry more.
#include <cuda_runtime.h>

__global__ void row_sums(const int* offsets, const float* values, float* sums, int rows) {
  int row = threadIdx.x;
  if (row >= rows) return;
  float sum = 0;
#ifdef FIXED
  for (int e = offsets[row]; e < offsets[row + 1]; e++)
#else
  for (int e = offsets[row]; e <= offsets[row + 1]; e++)
#endif
    sum += values[e];  // MISTAKE: out_of_bounds
  sums[row] = sum;
}

int main() {
  const int rows = 3, offsets[] = {0, 2, 2, 5};
  const float values[] = {1, 2, 3, 4, 5};
  int* o;
  float *v, *s;
  cudaMalloc(&o, sizeof offsets);
  cudaMalloc(&v, sizeof values);
  cudaMalloc(&s, rows * sizeof(float));
  cudaMemcpy(o, offsets, sizeof offsets, cudaMemcpyHostToDevice);
  cudaMemcpy(v, values, sizeof values, cudaMemcpyHostToDevice);
  row_sums<<<1, 32>>>(o, v, s, rows);
  cudaDeviceSynchronize();
  cudaFree(o);
  cudaFree(v);
  cudaFree(s);
  return 0;
}
// CURE: comes from values in memory

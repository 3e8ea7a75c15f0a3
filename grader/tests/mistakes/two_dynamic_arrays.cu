// Two arrays of dynamic shared memory are one: both begin where it begins.
#include <cuda_runtime.h>

__global__ void dot_by_row(const float* x, const float* y, float* out) {
  extern __shared__ float first[];
#ifdef FIXED
  float* second = first + blockDim.x;
#else
  extern __shared__ float second[];
#endif
  const int t = threadIdx.x;
  first[t] = x[t];
  // CURE: one array
  second[t] = y[t];  // MISTAKE: aliased_shared
  __syncthreads();
  out[t] = first[t] * second[blockDim.x - 1 - t];
}

int main() {
  float *x, *y, *out;
  for (float** array : {&x, &y, &out}) {
    cudaMalloc(array, 96 * sizeof(float));
    cudaMemset(*array, 0, 96 * sizeof(float));
  }
  dot_by_row<<<1, 96, 2 * 96 * sizeof(float)>>>(x, y, out);
  cudaDeviceSynchronize();
  for (float* array : {x, y, out}) cudaFree(array);
  return 0;
}

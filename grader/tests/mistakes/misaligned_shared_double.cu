// Ints come first in dynamic shared memory, doubles behind an odd number of them.
#include <cuda_runtime.h>

__global__ void stage(double* out, int ints) {
  extern __shared__ int memory[];
  double* values = reinterpret_cast<double*>(memory + ints);
  values[threadIdx.x] = threadIdx.x;  // MISTAKE: misaligned
  out[threadIdx.x] = values[threadIdx.x];
}

int main() {
  double* out;
  cudaMalloc(&out, 32 * sizeof(double));
#ifdef FIXED
  stage<<<1, 32, 1024>>>(out, 32);
#else
  stage<<<1, 32, 1024>>>(out, 33);
#endif
  cudaDeviceSynchronize();
  cudaFree(out);
  return 0;
}

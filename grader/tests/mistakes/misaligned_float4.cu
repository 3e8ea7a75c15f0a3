// Rows of 33 floats are not aligned for float4.
#include <cuda_runtime.h>

__global__ void copy_rows(const float* in, float4* out, int stride) {
  out[threadIdx.x] = *reinterpret_cast<const float4*>(in + threadIdx.x * stride);  // MISTAKE: misaligned
}

int main() {
  float* in;
  float4* out;
  cudaMalloc(&in, 8 * 36 * sizeof(float));
  cudaMalloc(&out, 8 * sizeof(float4));
  cudaMemset(in, 0, 8 * 36 * sizeof(float));
#ifdef FIXED
  copy_rows<<<1, 8>>>(in, out, 36);
#else
  copy_rows<<<1, 8>>>(in, out, 33);
#endif
  cudaDeviceSynchronize();
  cudaFree(in);
  cudaFree(out);
  return 0;
}

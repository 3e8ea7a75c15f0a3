// An object with virtual functions is made in host code, and its bytes are copied.
#include <cuda_runtime.h>

#include <new>

struct Kernel1d {
  __host__ __device__ virtual float at(float x) const = 0;
};
struct Triangle : Kernel1d {
  __host__ __device__ explicit Triangle(float w) : width(w) {}
  __host__ __device__ float at(float x) const override { return x < width ? 1 - x / width : 0; }
  float width;
};

__global__ void make(Triangle* place) {
  new (place) Triangle(2);
}

__global__ void evaluate(const Kernel1d* kernel, float* out) {
  // CURE: Construct it in a kernel
  out[threadIdx.x] = kernel->at(threadIdx.x * 0.125f);  // MISTAKE: out_of_bounds
}

int main() {
  Triangle* triangle;
  float* out;
  cudaMalloc(&triangle, sizeof(Triangle));
  cudaMalloc(&out, 16 * sizeof(float));
#ifdef FIXED
  make<<<1, 1>>>(triangle);
#else
  const Triangle here(2);
  cudaMemcpy(triangle, &here, sizeof here, cudaMemcpyHostToDevice);
#endif
  evaluate<<<1, 16>>>(triangle, out);
  cudaDeviceSynchronize();
  cudaFree(triangle);
  cudaFree(out);
  return 0;
}

// The device code that separate.cu calls.
#include <cuda_runtime.h>

#include "separate.h"

__device__ int scale_table[4] = {1, 10, 100, 1000};
__constant__ int offset = 7;

// A function of the same name as one of the other file, and a different one.
static __device__ __noinline__ int local_helper(int x) {
  return x * 3;
}
__device__ int scaled(int x) {
  return twice(local_helper(x)) * scale_table[x % 4];
}

struct Square : Shape {
  int side;
  __device__ explicit Square(int s) : side(s) {}
  __device__ int area() const override { return side * side; }
};
__device__ Shape* new_square(int side) {
  return new Square(side);
}

__global__ void part_kernel(int* out, int n) {
  out[threadIdx.x + (n > 32 ? n : 0)] = local_helper(int(threadIdx.x));  // MISTAKE past_end
}

// A kernel that launches a kernel (-rdc=true): refused by name at its line.
#include <cstdio>

__global__ void child(int* out) {
  out[threadIdx.x] = 1;
}
__global__ void parent(int* out) {
  child<<<1, 32>>>(out);  // LEFT OUT nested_launch
}

int main() {
  int* out;
  cudaMalloc(&out, 128);
  parent<<<1, 1>>>(out);
  std::printf("%d\n", int(cudaGetLastError()));
  return 0;
}

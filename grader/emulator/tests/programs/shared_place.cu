// Where static shared memory lies: ptxas places a kernel's first variable at address 0 below sm_90, and at 1024
// from sm_90 on (in ptxas 13.0's cubin the section .nv.shared of `place` has 128 and 1152 bytes).
#include "check.h"

__global__ void place(unsigned* out) {
  __shared__ unsigned s[32];
  s[threadIdx.x] = threadIdx.x;
  out[threadIdx.x] = static_cast<unsigned>(__cvta_generic_to_shared(s)) + s[0];
}

__global__ void reads_at_zero(unsigned* out) {
  __shared__ unsigned s[32];
  s[threadIdx.x] = threadIdx.x + 5;
  __syncthreads();
  unsigned value;
  asm volatile("ld.shared.u32 %0, [%1];" : "=r"(value) : "r"(threadIdx.x * 4) : "memory");  // MISTAKE zero
  out[threadIdx.x] = value * 100 + s[31 - threadIdx.x];
}

int main() {
  Managed<unsigned> out(32);
  place<<<1, 32>>>(out.data);
  CHECK_CUDA(cudaDeviceSynchronize());
  std::printf("%u\n", out[0]);
  reads_at_zero<<<1, 32>>>(out.data);
  const cudaError_t error = cudaDeviceSynchronize();
  std::printf("%d\n", int(error));
  if (error == cudaSuccess) std::printf("%u\n", out[7]);
  return 0;
}

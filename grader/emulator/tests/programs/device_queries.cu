// Prints what the device claims to be, and how many blocks of a kernel fit.
#include "check.h"

__global__ void uses_shared(int* out) {
  extern __shared__ int tile[];
  tile[threadIdx.x] = 1;
  __syncthreads();
  out[threadIdx.x] = tile[threadIdx.x ^ 1];
}

int main() {
  cudaDeviceProp p;
  CHECK_CUDA(cudaGetDeviceProperties(&p, 0));
  int optin, clock, registers, blocks = 0;
  CHECK_CUDA(cudaDeviceGetAttribute(&optin, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0));
  CHECK_CUDA(cudaDeviceGetAttribute(&clock, cudaDevAttrClockRate, 0));
  CHECK_CUDA(cudaDeviceGetAttribute(&registers, cudaDevAttrMaxRegistersPerMultiprocessor, 0));
  std::printf("%s|%d.%d|sms %d|optin %d|l2 %d|memory %zu|clock %d|registers %d|threads %d\n", p.name, p.major,
              p.minor, p.multiProcessorCount, optin, p.l2CacheSize, p.totalGlobalMem >> 20, clock, registers,
              p.maxThreadsPerMultiProcessor);
  if (p.major < 8) return 0;  // no PTX for it here
  CHECK_CUDA(cudaFuncSetAttribute(uses_shared, cudaFuncAttributeMaxDynamicSharedMemorySize, optin));
  expect(cudaFuncSetAttribute(uses_shared, cudaFuncAttributeMaxDynamicSharedMemorySize, optin + 1) ==
             cudaErrorInvalidValue,
         "more shared memory than the device allows");
  CHECK_CUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, uses_shared, 256, 40 << 10));
  std::printf("blocks %d\n", blocks);
  return g_failures;
}

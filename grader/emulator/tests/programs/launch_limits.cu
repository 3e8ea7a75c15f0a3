// Launches that a GPU refuses for their registers. Prints what the runtime answers.
#include <cstring>
#include <string>

#include "check.h"

template <int N>
__device__ void mix(float* x) {
  float r[N];
#pragma unroll
  for (int i = 0; i < N; ++i) r[i] = x[threadIdx.x * N + i];
#pragma unroll 1
  for (int round = 0; round < 2; ++round) {
#pragma unroll
    for (int i = 0; i < N; ++i) r[i] = r[i] * r[(i * 5 + 2) % N] + r[(i + 9) % N];
  }
#pragma unroll
  for (int i = 0; i < N; ++i) x[threadIdx.x * N + i] = r[i];
}

__global__ void many(float* x) {
  mix<170>(x);
}

__global__ void some(float* x) {
  mix<80>(x);
}

__global__ void few(float* x) {
  x[threadIdx.x] += 1;
}

__global__ void __launch_bounds__(1024) bounded(float* x) {
  mix<170>(x);
}

struct Named {
  const char* name;
  void (*kernel)(float*);
};

const Named kKernels[] = {{"many", many}, {"some", some}, {"few", few}, {"bounded", bounded}};

// Registers, the largest block by attribute, the largest that starts, the error of the next one, and the
// blocks of one warp and of the largest block on a multiprocessor.
int tell(float* x) {
  for (const Named& k : kKernels) {
    cudaFuncAttributes facts;
    CHECK_CUDA(cudaFuncGetAttributes(&facts, k.kernel));
    int largest = 0, error = 0, small = 0, large = 0;
    for (int threads = 32; threads <= 1024; threads += 32) {
      k.kernel<<<1, threads>>>(x);
      const int code = cudaGetLastError();
      if (code == 0) largest = threads;
      if (code != 0 && error == 0) error = code;
    }
    CHECK_CUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&small, k.kernel, 32, 0));
    CHECK_CUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&large, k.kernel, largest, 0));
    std::printf("%s %d %d %d %d %d %d\n", k.name, facts.numRegs, facts.maxThreadsPerBlock, largest, error,
                small, large);
  }
  return 0;
}

int main(int argc, char** argv) {
  float* x = nullptr;
  CHECK_CUDA(cudaMalloc(&x, 1024 * 170 * sizeof(float)));
  CHECK_CUDA(cudaMemset(x, 0, 1024 * 170 * sizeof(float)));
  if (argc < 2) return tell(x);
  void* arguments[] = {&x};
  int error = 0;
  if (std::strcmp(argv[1], "plain") == 0) {
    many<<<1, 1024>>>(x);  // MISTAKE plain
    error = cudaGetLastError();
  } else {
    const bool one = std::strcmp(argv[1], "one_block") == 0;
    const int blocks = one ? 1 : 9999, threads = one ? 1024 : 128;
    error = cudaLaunchCooperativeKernel(many, blocks, threads, arguments);  // MISTAKE one_block many_blocks
  }
  std::printf("%d\n", error);
  return 0;
}

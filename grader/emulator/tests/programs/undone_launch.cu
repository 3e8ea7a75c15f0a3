// Blocks update arrays in place, and all add to one number without an atomic operation: a race, for which a launch of
// several workers is undone and run again by one. So each element is updated once, and the number is the sum.
#include <cstdio>

#include "check.h"

constexpr int kBlocks = 64, kThreads = 96, kCount = kBlocks * kThreads;

__global__ void update(float* rows, float* beside, float4* vectors, float* every_third, float* total) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  rows[i] = 2 * rows[i] + 1;
  beside[i] = 2 * beside[i] + 1;  // begins within a group of the check's stamps
  float4 v = vectors[i];
  v.x = 2 * v.x + 1, v.w = 2 * v.w + 1;
  vectors[i] = v;
  if (i % 3 == 0) every_third[i] = 2 * every_third[i] + 1;
  if (threadIdx.x == 0) *total += rows[i];  // race
}

int main() {
  float *memory, *total;
  const size_t floats = kCount + (kCount + 3) + 4 * kCount + kCount;
  CHECK_CUDA(cudaMallocManaged(&memory, floats * sizeof(float)));
  CHECK_CUDA(cudaMallocManaged(&total, sizeof(float)));
  float *vectors = memory, *rows = memory + 4 * kCount, *every_third = rows + kCount,
        *beside = every_third + kCount + 3;
  for (size_t k = 0; k < floats; ++k) memory[k] = float(k % 1000);
  *total = 0;
  update<<<kBlocks, kThreads>>>(rows, beside, reinterpret_cast<float4*>(vectors), every_third, total);
  CHECK_CUDA(cudaDeviceSynchronize());
  int wrong = 0;
  float sum = 0;
  const auto count = [&](const float* at, bool updated) {
    const auto before = float((at - memory) % 1000);
    wrong += *at != (updated ? 2 * before + 1 : before);
  };
  for (int i = 0; i < kCount; ++i) {
    count(rows + i, true);
    count(beside + i, true);
    for (int k = 0; k < 4; ++k) count(vectors + 4 * i + k, k % 3 == 0);
    count(every_third + i, i % 3 == 0);
    if (i % kThreads == 0) sum += rows[i];
  }
  std::printf("%d elements wrong, total %s\n", wrong, *total == sum ? "right" : "wrong");
  CHECK_CUDA(cudaFree(memory));
  return cudaFree(total);
}

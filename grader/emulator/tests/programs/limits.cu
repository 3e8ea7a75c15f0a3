// The ends of what there is: memory, address space, launches, blocks of a grid. Prints the error of each
// call.
#include <string>

#include "check.h"

__global__ void empty() {}

__global__ void store(int* out) {
  *out = 7;
}

__global__ void copy_one(const int* from, int* to) {
  *to = *from;
}

__global__ void spin(volatile int* flag) {
  while (*flag == 0) {  // SPIN loop
  }
}

// As many blocks as a grid can have in x.
int largest_grid() {
  empty<<<0x7fffffff, 1>>>();
  std::printf("%d\n", int(cudaDeviceSynchronize()));
  return 0;
}

// More than any host has: refused by an error, not by a signal when it is touched.
int whole_memory() {
  size_t free_bytes = 0, total_bytes = 0;
  CHECK_CUDA(cudaMemGetInfo(&free_bytes, &total_bytes));
  std::printf("total %zu\n", total_bytes >> 20);
  constexpr size_t kPart = size_t(1) << 30;
  int error = 0, parts = 0;
  for (void* p = nullptr; error == 0 && size_t(parts) * kPart < free_bytes; ++parts)
    error = cudaMalloc(&p, kPart);
  std::printf("%d\n", error);
  int* word = nullptr;
  CHECK_CUDA(cudaGetLastError() == cudaErrorMemoryAllocation ? cudaSuccess : cudaErrorUnknown);
  CHECK_CUDA(cudaMalloc(&word, sizeof(int)));
  store<<<1, 1>>>(word);
  int value = 0;
  CHECK_CUDA(cudaMemcpy(&value, word, sizeof value, cudaMemcpyDefault));
  expect(value == 7, "a small allocation after the refusal");
  return g_failures;
}

int many_launches(int count) {
  for (int k = 0; k < count; ++k) empty<<<1, 32>>>();
  CHECK_CUDA(cudaDeviceSynchronize());
  return 0;
}

// A read 90 KB past the end of 100 KB, nearer to the 400 bytes behind than to that end.
int stray() {
  constexpr int kMany = 25000, kPast = 22500, kFew = 100;
  int *many = nullptr, *few = nullptr, *word = nullptr;
  CHECK_CUDA(cudaMalloc(&many, kMany * sizeof(int)));
  CHECK_CUDA(cudaMalloc(&few, kFew * sizeof(int)));
  CHECK_CUDA(cudaMalloc(&word, sizeof(int)));
  copy_one<<<1, 1>>>(many + kMany + kPast, word);
  std::printf("%d\n", int(cudaDeviceSynchronize()));
  return 0;
}

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "";
  if (what == "largest_grid") return largest_grid();
  if (what == "whole_memory") return whole_memory();
  if (what == "many_launches") return many_launches(std::atoi(argv[2]));
  if (what == "stray") return stray();
  if (what == "spin") {
    Managed<int> flag(1);
    spin<<<1, 32>>>(flag.data);
    std::printf("%d\n", int(cudaDeviceSynchronize()));
    return 0;
  }
  int* word = nullptr;
  CHECK_CUDA(cudaMalloc(&word, sizeof(int)));
  store<<<1, 1>>>(word);
  int value = 0;
  CHECK_CUDA(cudaMemcpy(&value, word, sizeof value, cudaMemcpyDefault));
  expect(value == 7, "a store");
  return g_failures;
}

// Kernels that all buffers on a GPU need: guards, comparisons.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>

#include "judge/judging/shared_buffer.h"
#include "judge/measure/random.h"

namespace warpgrade {

constexpr int kBufferThreads = 256;

static __global__ void fill_words_kernel(unsigned* words, std::size_t count, unsigned value) {
  const std::size_t stride = std::size_t(gridDim.x) * blockDim.x;
  for (std::size_t i = std::size_t(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += stride)
    words[i] = value;
}

// Writes (or, with `damaged`, checks) the guard bytes: 1 for damage in front of the payload, 2 behind it.
static __global__ void guard_kernel(unsigned char* base, std::size_t payload_begin, std::size_t payload_end,
                                    std::size_t mapped_bytes, unsigned* damaged) {
  const std::size_t stride = std::size_t(gridDim.x) * blockDim.x;
  const std::size_t guard_bytes = payload_begin + mapped_bytes - payload_end;
  for (std::size_t n = std::size_t(blockIdx.x) * blockDim.x + threadIdx.x; n < guard_bytes; n += stride) {
    const std::size_t i = n < payload_begin ? n : n - payload_begin + payload_end;
    const auto want = static_cast<unsigned char>(random_bits(kGuardSeed, i >> 3) >> (8 * (i & 7)));
    if (damaged == nullptr)
      base[i] = want;
    else if (base[i] != want)
      atomicOr(damaged, i < payload_begin ? 1u : 2u);
  }
}

template <typename Word>
static __global__ void differs_kernel(const Word* shared, const Word* kept, std::size_t count,
                                      unsigned* differs) {
  const std::size_t stride = std::size_t(gridDim.x) * blockDim.x;
  for (std::size_t i = std::size_t(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += stride) {
    if (shared[i] != kept[i]) *differs = 1;
  }
}

}  // namespace warpgrade

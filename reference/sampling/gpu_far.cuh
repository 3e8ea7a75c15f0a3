// The counting kernels of the far tests (far.h) for arrays of hundreds of millions of samples: the counts are
// those of the CPU's functions, number for number.
//
// Cost    a lag or a triple: 2 or 3 bytes a cell and an atomic addition in shared memory or L2; a
// search: kMostStretchWords
//         words compared a cell, about 64 population counts.
#pragma once

#include <cuda_runtime.h>

#include "sampling/gpu_check.cuh"
#include "sampling/lags.h"

namespace warpgrade::sampling {

constexpr int kFarBlocks = 264;  // few: each adds its own table to the total

// Grid: any. `counts` is cleared before.
static __global__ __launch_bounds__(kCheckThreads) void lag_kernel(LocatedArrays run, LocatedArrays other,
                                                                   unsigned fanout, Lag lag,
                                                                   LagCounts* counts) {
  __shared__ unsigned joint[kLevels * kLevels];
  for (int c = threadIdx.x; c < kLevels * kLevels; c += kCheckThreads) joint[c] = 0;
  __syncthreads();
  unsigned long long comparable = 0, equal = 0;
  double expected = 0;
  const unsigned step = gridDim.x * kCheckThreads;
  const auto begin = static_cast<unsigned>(lag.begin), end = static_cast<unsigned>(lag.end);
  for (unsigned long long at = begin + blockIdx.x * kCheckThreads + threadIdx.x; at < end; at += step) {
    const auto cell = static_cast<unsigned>(at);
    const auto partner = static_cast<unsigned>(static_cast<long long>(at) + lag.distance);
    const unsigned char a = run.levels[cell], b = other.levels[partner];
    if (a == kNoLevel || b == kNoLevel) continue;
    atomicAdd(&joint[a * kLevels + b], 1u);
    const unsigned degree = run.degrees[cell / fanout];
    if (degree != other.degrees[partner / fanout]) continue;
    ++comparable;
    equal += run.places[cell] == other.places[partner] ? 1 : 0;
    expected += 1.0 / degree;
  }
  __syncthreads();
  for (int c = threadIdx.x; c < kLevels * kLevels; c += kCheckThreads) {
    if (joint[c] != 0)
      atomicAdd(reinterpret_cast<unsigned long long*>(&counts->joint[c]),
                static_cast<unsigned long long>(joint[c]));
  }
  if (comparable == 0) return;
  atomicAdd(reinterpret_cast<unsigned long long*>(&counts->comparable), comparable);
  atomicAdd(reinterpret_cast<unsigned long long*>(&counts->equal), equal);
  atomicAdd(&counts->expected_equal, expected);
}

// Grid: any. `counts` is cleared before; 128 KB, which L2 holds.
static __global__ __launch_bounds__(kCheckThreads) void triple_kernel(
    const unsigned char* __restrict__ levels, Triple triple, TripleCounts* counts) {
  constexpr int kShare = kLevels / kTripleLevels;
  const unsigned step = gridDim.x * kCheckThreads;
  for (unsigned long long cell = triple.begin + blockIdx.x * kCheckThreads + threadIdx.x; cell < triple.end;
       cell += step) {
    const unsigned char a = levels[cell], b = levels[cell + triple.first], c = levels[cell + triple.second];
    if (a == kNoLevel || b == kNoLevel || c == kNoLevel) continue;
    atomicAdd(&counts->joint[(a / kShare * kTripleLevels + b / kShare) * kTripleLevels + c / kShare], 1u);
  }
}

// A run's bits, 32 cells a word. Grid: any; blocks of whole warps.
static __global__ __launch_bounds__(kCheckThreads) void bits_kernel(LocatedArrays run, unsigned fanout,
                                                                    unsigned cells, int plane,
                                                                    std::uint64_t seed, unsigned* bits) {
  const unsigned words = (cells + 31) / 32, step = gridDim.x * kCheckThreads / 32, lane = threadIdx.x % 32;
  for (unsigned word = (blockIdx.x * kCheckThreads + threadIdx.x) / 32; word < words; word += step) {
    const unsigned long long cell = word * 32ull + lane;
    unsigned bit = 0;
    if (cell < cells) {
      bit = plane_bit(plane, run.degrees[static_cast<unsigned>(cell) / fanout], run.places[cell],
                      run.levels[cell], tie_breaker(cell, seed));
    }
    const unsigned value = __ballot_sync(0xFFFFFFFFu, bit != 0);
    if (lane == 0) bits[word] = value;
  }
}

// A block of stretches against 128 giant steps: blockIdx.x names these, blockIdx.y the 32 offsets within a
// word. `baby`: the bits in which the baby steps lie. `best`: the largest repeat_key, cleared before. Dynamic
// shared memory: (block / 32 + kMostStretchWords) words.
constexpr int kGiantThreads = 128;
static __global__ __launch_bounds__(kGiantThreads) void repeats_kernel(const unsigned* __restrict__ run,
                                                                       const unsigned* __restrict__ baby,
                                                                       RepeatSearch search,
                                                                       unsigned long long* best) {
  extern __shared__ unsigned stretch[];
  const unsigned offset = blockIdx.y, steps = search.block / 32;
  const std::uint64_t first = search.base + offset, last_word = (search.cells + 31) / 32;
  for (unsigned w = threadIdx.x; w < steps + kMostStretchWords; w += kGiantThreads) {
    const std::uint64_t at = first / 32 + w;
    const unsigned low = at < last_word ? baby[at] : 0, high = at + 1 < last_word ? baby[at + 1] : 0;
    stretch[w] = __funnelshift_r(low, high, static_cast<unsigned>(first % 32));
  }
  __syncthreads();
  const std::uint64_t giant = blockIdx.x * static_cast<std::uint64_t>(kGiantThreads) + threadIdx.x;
  if (giant >= search.giants()) return;
  const unsigned* own = run + giant * (search.block / 32);
  unsigned mine[kMostStretchWords];
#pragma unroll
  for (int w = 0; w < kMostStretchWords; ++w) mine[w] = w < static_cast<int>(search.words) ? own[w] : 0;
  unsigned long long most = 0;
  for (unsigned step = 0; step < steps; ++step) {
    const unsigned number = step * 32 + offset;  // of the baby step
    int differ = 0;
    if (search.words == kMostStretchWords) {
#pragma unroll
      for (int w = 0; w < kMostStretchWords; ++w) differ += __popc(mine[w] ^ stretch[step + w]);
    } else {
#pragma unroll
      for (int w = 0; w < kMostStretchWords; ++w)
        differ += w < static_cast<int>(search.words) ? __popc(mine[w] ^ stretch[step + w]) : 0;
    }
    if (!search.earlier_run && giant * search.block == search.base + number) continue;
    const unsigned long long key =
        repeat_key(static_cast<int>(search.words) * 32 - differ, search.words, giant, number);
    most = key > most ? key : most;
  }
  if (most > *static_cast<volatile unsigned long long*>(best)) atomicMax(best, most);
}

// Both runs' bits have (cells + 31) / 32 words; `best` is a word on the device.
inline void enqueue_repeats(const unsigned* run, const unsigned* baby, const RepeatSearch& search,
                            unsigned long long* best, cudaStream_t stream) {
  cudaMemsetAsync(best, 0, sizeof *best, stream);
  if (search.giants() == 0) return;
  const dim3 grid(static_cast<unsigned>((search.giants() + kGiantThreads - 1) / kGiantThreads), 32);
  const std::size_t shared = (search.block / 32 + kMostStretchWords) * sizeof(unsigned);
  repeats_kernel<<<grid, kGiantThreads, shared, stream>>>(run, baby, search, best);
}

}  // namespace warpgrade::sampling

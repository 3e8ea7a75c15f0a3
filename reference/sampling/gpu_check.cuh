// The counting kernels of the trusted check (oracle.h) for arrays of hundreds of millions of samples. The
// counts are judged on the host by the same functions as the CPU's.
//
// Shapes  samples, places, levels [rows, fanout], degrees [rows]; all device memory of the judge's own.
// Cost    locate: a binary search a sample in shared memory, 9 bytes of traffic; a pairing: 2 to 10 bytes
// a cell.
#pragma once

#include <cuda_runtime.h>

#include "sampling/places.h"

namespace warpgrade::sampling {

constexpr int kCheckThreads = 256;
constexpr int kCheckStaged = 8192;  // entries of a row that are searched in shared memory

// Cleared before locate_kernel.
struct DeviceFindings {
  unsigned long long bad_cells, never_written;
  unsigned long long levels[kDegreeClasses][kLevels];
};

struct LocatedArrays {
  unsigned* degrees;
  int* places;
  unsigned char* levels;
};

// Grid: any; a block a row at a time.
static __global__ __launch_bounds__(kCheckThreads) void locate_kernel(
    const int* __restrict__ row_offsets, const int* __restrict__ columns, const int* __restrict__ nodes,
    unsigned rows, unsigned fanout, const int* __restrict__ samples, int poison, std::uint64_t seed,
    LocatedArrays out, DeviceFindings* findings) {
  __shared__ int staged[kCheckStaged];
  __shared__ unsigned level_counts[kDegreeClasses][kLevels];
  unsigned* flat_counts = &level_counts[0][0];
  for (int c = threadIdx.x; c < kDegreeClasses * kLevels; c += kCheckThreads) flat_counts[c] = 0;
  for (unsigned row = blockIdx.x; row < rows; row += gridDim.x) {
    const int node = nodes[row], begin = row_offsets[node];
    const unsigned degree = row_offsets[node + 1] - begin;
    const int* neighbours = columns + begin;
    __syncthreads();
    if (degree <= kCheckStaged && degree <= 8 * fanout) {
      for (unsigned e = threadIdx.x; e < degree; e += kCheckThreads) staged[e] = neighbours[e];
      neighbours = staged;
    }
    __syncthreads();
    if (threadIdx.x == 0) out.degrees[row] = degree;
    for (unsigned draw = threadIdx.x; draw < fanout; draw += kCheckThreads) {
      const std::uint64_t cell = static_cast<std::uint64_t>(row) * fanout + draw;
      const int sample = samples[cell];
      Place place;
      if (degree > 0) {
        place = place_of(neighbours, degree, sample, tie_breaker(cell, seed));
      } else if (sample != kNoSample) {
        place.place = kBadPlace;
      }
      out.places[cell] = place.place;
      out.levels[cell] = place.level;
      if (place.level != kNoLevel) {
        atomicAdd(&level_counts[31 - __clz(degree)][place.level], 1u);
      } else if (place.place == kBadPlace) {
        atomicAdd(&findings->bad_cells, 1ull);
        if (sample == poison) atomicAdd(&findings->never_written, 1ull);
      }
    }
  }
  __syncthreads();
  for (int c = threadIdx.x; c < kDegreeClasses * kLevels; c += kCheckThreads) {
    if (flat_counts[c] != 0) {
      atomicAdd(&findings->levels[c / kLevels][c % kLevels], static_cast<unsigned long long>(flat_counts[c]));
    }
  }
}

// A block's share of the counts, added to the total at the end.
struct BlockPairCounts {
  unsigned cells[kCheckThreads / 32][kPairLevels * kPairLevels];  // a copy a warp

  __device__ void clear() {
    for (int c = threadIdx.x; c < kCheckThreads / 32 * kPairLevels * kPairLevels; c += kCheckThreads)
      (&cells[0][0])[c] = 0;
    __syncthreads();
  }
  __device__ void add(unsigned char a, unsigned char b) {
    if (a == kNoLevel || b == kNoLevel) return;
    constexpr int kShare = kLevels / kPairLevels;
    atomicAdd(&cells[threadIdx.x / 32][a / kShare * kPairLevels + b / kShare], 1u);
  }
  __device__ void flush(PairCounts* total) {
    __syncthreads();
    for (int c = threadIdx.x; c < kPairLevels * kPairLevels; c += kCheckThreads) {
      unsigned long long sum = 0;
      for (int warp = 0; warp < kCheckThreads / 32; ++warp) sum += cells[warp][c];
      if (sum != 0) atomicAdd(reinterpret_cast<unsigned long long*>(&total->cells[c]), sum);
    }
  }
};

// Pairs of a grid pairing. Grid: any; a block a row at a time. `counts` is cleared before.
static __global__ __launch_bounds__(kCheckThreads) void grid_pairs_kernel(LocatedArrays run,
                                                                          LocatedArrays earlier,
                                                                          unsigned rows, unsigned fanout,
                                                                          Pairing pairing,
                                                                          PairCounts* counts) {
  __shared__ BlockPairCounts block;
  block.clear();
  unsigned long long comparable = 0, equal = 0;
  double expected = 0;
  for (unsigned row = blockIdx.x; row < rows; row += gridDim.x) {
    const unsigned other_row = row ^ pairing.row_mask;
    if (other_row >= rows || (!pairing.earlier_run && other_row < row)) continue;
    const unsigned degree = run.degrees[row];
    const bool same_degree = degree > 1 && degree == earlier.degrees[other_row];
    const std::uint64_t base = static_cast<std::uint64_t>(row) * fanout;
    const std::uint64_t other_base = static_cast<std::uint64_t>(other_row) * fanout;
    unsigned pairs = 0;
    for (unsigned draw = threadIdx.x; draw < fanout; draw += kCheckThreads) {
      const unsigned other_draw = draw ^ pairing.draw_mask;
      if (other_draw >= fanout) continue;
      if (!pairing.earlier_run && pairing.row_mask == 0 && other_draw < draw) continue;
      block.add(run.levels[base + draw], earlier.levels[other_base + other_draw]);
      if (!same_degree) continue;
      ++pairs;
      equal += run.places[base + draw] == earlier.places[other_base + other_draw] ? 1 : 0;
    }
    comparable += pairs;
    if (pairs > 0) expected += static_cast<double>(pairs) / degree;
  }
  block.flush(counts);
  if (comparable == 0) return;
  atomicAdd(reinterpret_cast<unsigned long long*>(&counts->comparable), comparable);
  atomicAdd(reinterpret_cast<unsigned long long*>(&counts->equal), equal);
  atomicAdd(&counts->expected_equal, expected);
}

// Pairs of a flat pairing within one run.
static __global__ __launch_bounds__(kCheckThreads) void flat_pairs_kernel(
    const unsigned char* __restrict__ levels, std::uint64_t cells, std::uint64_t flat_mask,
    PairCounts* counts) {
  __shared__ BlockPairCounts block;
  block.clear();
  const std::uint64_t step = static_cast<std::uint64_t>(gridDim.x) * kCheckThreads;
  for (std::uint64_t cell = blockIdx.x * static_cast<std::uint64_t>(kCheckThreads) + threadIdx.x;
       cell < cells; cell += step) {
    const std::uint64_t partner = cell ^ flat_mask;
    if (partner > cell && partner < cells) block.add(levels[cell], levels[partner]);
  }
  block.flush(counts);
}

}  // namespace warpgrade::sampling

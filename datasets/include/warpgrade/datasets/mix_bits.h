// 64 bits mixed so that each depends on all: splitmix64's finalizer (G. L. Steele, D. Lea, C. H. Flood: Fast
// splittable pseudorandom number generators, OOPSLA 2014). On the host and on a GPU.
#pragma once

#include <cstdint>

#ifdef __CUDACC__
#define WARPGRADE_HOST_DEVICE __host__ __device__
#else
#define WARPGRADE_HOST_DEVICE
#endif

namespace warpgrade {

WARPGRADE_HOST_DEVICE inline std::uint64_t mix_bits(std::uint64_t z) {
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
  return z ^ (z >> 31);
}

}  // namespace warpgrade

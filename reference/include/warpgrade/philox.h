// Philox4x32-10, a counter-based generator: four random words are a function of a counter and a key, so that
// any thread can make any part of the sequence without state. Use it, or a generator of your own.
//
//   Salmon, Moraes, Dror, Shaw: Parallel Random Numbers: As Easy as 1, 2, 3 (SC 2011).
//
// Counters may be consecutive numbers; keys too. Never use the same counter twice under one key.
#pragma once

#include <cstdint>

#ifdef __CUDACC__
#define WARPGRADE_PHILOX_FUNCTION __host__ __device__ inline
#else
#define WARPGRADE_PHILOX_FUNCTION inline
#endif

namespace warpgrade {

struct PhiloxWords {
  std::uint32_t x, y, z, w;
};

WARPGRADE_PHILOX_FUNCTION std::uint32_t multiply_high(std::uint32_t a, std::uint32_t b) {
  return static_cast<std::uint32_t>((static_cast<std::uint64_t>(a) * b) >> 32);
}

// The four words of `counter` under `key` (a generator's seed).
WARPGRADE_PHILOX_FUNCTION PhiloxWords philox(PhiloxWords counter, std::uint64_t key) {
  std::uint32_t k0 = static_cast<std::uint32_t>(key), k1 = static_cast<std::uint32_t>(key >> 32);
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t p0 = static_cast<std::uint64_t>(0xD2511F53u) * counter.x;
    const std::uint64_t p1 = static_cast<std::uint64_t>(0xCD9E8D57u) * counter.z;
    counter = {static_cast<std::uint32_t>(p1 >> 32) ^ counter.y ^ k0, static_cast<std::uint32_t>(p1),
               static_cast<std::uint32_t>(p0 >> 32) ^ counter.w ^ k1, static_cast<std::uint32_t>(p0)};
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  return counter;
}

// The same for a 64-bit counter.
WARPGRADE_PHILOX_FUNCTION PhiloxWords philox(std::uint64_t counter, std::uint64_t key) {
  return philox({static_cast<std::uint32_t>(counter), static_cast<std::uint32_t>(counter >> 32), 0, 0}, key);
}

// 32 random bits to [0, range): the high word of a product, where a remainder would cost a division (Lemire,
// Fast Random Integer Generation in an Interval, 2019). A value's probability is off by at most range / 2^32.
WARPGRADE_PHILOX_FUNCTION std::uint32_t draw_below(std::uint32_t random, std::uint32_t range) {
  return multiply_high(random, range);
}

}  // namespace warpgrade

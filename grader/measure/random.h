// Counter-based random values: cell i of a buffer depends on (seed, i) alone, so host and GPU fill and check
// the same buffer without keeping a copy. The mixer is splitmix64's finalizer (Steele, Lea, Flood 2014),
// applied twice.
#pragma once

#include <cstdint>

#ifdef __CUDACC__
#define WARPGRADE_HOST_DEVICE __host__ __device__
#else
#define WARPGRADE_HOST_DEVICE
#endif

namespace warpgrade {

enum class Distribution {
  kUniform,     // [-1, 1), zero mean, full 24-bit significands
  kUnit,        // -1 or 1
  kOddInteger,  // odd integers of 13 bits with sign: sums of up to 2048 of them are exact in fp32, not in
                // TF32 or BF16
};

WARPGRADE_HOST_DEVICE inline std::uint64_t mix_bits(std::uint64_t z) {
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
  return z ^ (z >> 31);
}

WARPGRADE_HOST_DEVICE inline std::uint64_t random_bits(std::uint64_t seed, std::uint64_t index) {
  return mix_bits(mix_bits(seed + (index + 1) * 0x9E3779B97F4A7C15ull) ^ seed);
}

WARPGRADE_HOST_DEVICE inline float random_value(Distribution distribution, std::uint64_t seed,
                                                std::uint64_t index) {
  const std::uint64_t bits = random_bits(seed, index);
  switch (distribution) {
    case Distribution::kUnit:
      return (bits >> 63) != 0 ? 1.0f : -1.0f;
    case Distribution::kOddInteger: {
      const int magnitude = static_cast<int>((bits >> 20) & 0x0FFF) * 2 + 1;  // 1 .. 8191
      return static_cast<float>((bits >> 63) != 0 ? magnitude : -magnitude);
    }
    case Distribution::kUniform:
      break;
  }
  return static_cast<float>(static_cast<std::int32_t>(bits >> 32)) * 0x1p-31f;
}

// Sums of more terms of kUnit * kOddInteger than this may leave the 24 bits in which fp32 counts exactly.
inline constexpr int kExactTerms = (1 << 24) / 8192;

}  // namespace warpgrade

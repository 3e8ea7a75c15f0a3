// The id arrays of the lab: id i is a function of (pattern, seed, i), so that host and GPU draw the same ones
// and neither keeps a copy.
#pragma once

#include "warpgrade/philox.h"

namespace warpgrade::histogram {

enum class Pattern {
  kUniform,
  kPowerLaw,  // the node of rank r with a probability like 1 / sqrt(r), ranks scattered over the ids
  kFirstBin,  // all in bin 0
  kLastBin,   // all in the last bin, which may be a partial one
  kOneBin,    // all in one bin that the seed chooses
  kHalfLast,  // every second id is the last node
};

// A bijection of [0, nodes): consecutive ranks land far apart, as a graph's hubs do.
WARPGRADE_PHILOX_FUNCTION int scatter(std::uint64_t rank, std::uint64_t nodes) {
  // 2^31 - 1 is prime, so every `nodes` below it that it exceeds is coprime to it.
  return static_cast<int>(rank * 2147483647ull % nodes);
}

WARPGRADE_PHILOX_FUNCTION int id_at(Pattern pattern, std::uint64_t seed, std::uint64_t i, int nodes) {
  const PhiloxWords random = philox(i, seed);
  const int bins = (nodes + 39) / 40, last_bin_size = nodes - 40 * (bins - 1);
  switch (pattern) {
    case Pattern::kPowerLaw: {
      // u^2 * nodes has density 1 / (2 sqrt(r * nodes)).
      const std::uint32_t root = random.x >> 1;  // 31 bits: the square fits 62
      const std::uint64_t square = (static_cast<std::uint64_t>(root) * root) >> 30;  // 32 bits
      return scatter((square * static_cast<std::uint64_t>(nodes)) >> 32, nodes);
    }
    case Pattern::kFirstBin:
      return static_cast<int>(draw_below(random.x, nodes < 40 ? nodes : 40));
    case Pattern::kLastBin:
      return 40 * (bins - 1) + static_cast<int>(draw_below(random.x, last_bin_size));
    case Pattern::kOneBin: {
      const int bin = static_cast<int>(draw_below(philox(~0ull, seed).x, bins));
      return 40 * bin + static_cast<int>(draw_below(random.x, bin == bins - 1 ? last_bin_size : 40));
    }
    case Pattern::kHalfLast:
      return i % 2 == 0 ? nodes - 1 : static_cast<int>(draw_below(random.x, nodes));
    case Pattern::kUniform:
      break;
  }
  return static_cast<int>(draw_below(random.x, nodes));
}

}  // namespace warpgrade::histogram

// What accesses cost on a GPU: sectors of global memory, passes through the banks of shared memory.
#include "simt/count_access.h"

#include <algorithm>

namespace warpgrade::emu {
namespace {

constexpr uint64_t kSectorBytes = 32;

bool is_contiguous(uint32_t mask, uint32_t bytes, const Access& x) {
  if (mask != kAllLanes || x.high - x.low != (kLanes - 1) * uint64_t(bytes)) return false;
  uint64_t difference = 0;
  for (uint32_t l = 0; l < kLanes; ++l) difference |= x.host[l] ^ (x.low + l * uint64_t(bytes));
  return difference == 0;
}

// Distinct 32-byte sectors that the active lanes touch. Accesses are aligned to their size, so only those of
// more than 32 bytes take several.
uint32_t count_sectors(uint32_t mask, uint32_t bytes, const Access& x) {
  const auto each = static_cast<uint32_t>(std::max<uint64_t>(1, bytes / kSectorBytes));
  if (x.low == x.high) return each;
  if (is_contiguous(mask, bytes, x)) {
    return static_cast<uint32_t>((x.high + bytes - 1) / kSectorBytes - x.low / kSectorBytes + 1);
  }
  constexpr uint32_t kTableBits = 6;
  uint64_t table[1u << kTableBits] = {};  // by a hash of the sector; 0 is free, no mapped page has sector 0
  uint32_t distinct = 0;
  uint64_t previous = 0;
  for (uint32_t m = mask; m != 0; m &= m - 1) {
    const uint64_t sector = x.host[__builtin_ctz(m)] / kSectorBytes;
    if (sector == previous) continue;
    previous = sector;
    uint32_t at = static_cast<uint32_t>(sector * 0x9e3779b97f4a7c15ull >> (64 - kTableBits));
    while (table[at] != 0 && table[at] != sector) at = (at + 1) % (1u << kTableBits);
    distinct += table[at] == 0;
    table[at] = sector;
  }
  return distinct * each;
}

void count_global(Warp& w, uint32_t bytes, const Access& x) {
  Counters& c = w.worker->counters;
  const auto active = static_cast<uint32_t>(__builtin_popcount(w.mask));
  const uint64_t wanted = x.low == x.high ? bytes : active * uint64_t(bytes);
  ++c.global_requests;
  c.global_sectors += count_sectors(w.mask, bytes, x);
  c.global_sectors_ideal += (wanted + kSectorBytes - 1) / kSectorBytes;
}

// Passes through the 32 banks of 4 bytes: lanes that want different words of one bank take turns. 8- and
// 16-byte accesses go in two and four groups of lanes.
uint32_t count_passes(uint32_t mask, uint32_t bytes, uint64_t base, const Access& x) {
  const uint32_t groups = bytes == 16 ? 4 : bytes == 8 ? 2 : 1;
  const uint32_t per_group = kLanes / groups, words_per_lane = std::max(1u, bytes / 4);
  uint32_t passes = 0;
  for (uint32_t g = 0; g < groups; ++g) {
    uint64_t seen[kLanes * 4];
    uint8_t in_bank[32] = {};
    uint32_t n = 0, worst = 0;
    for (uint32_t l = g * per_group; l < (g + 1) * per_group; ++l) {
      if (!(mask >> l & 1)) continue;
      for (uint32_t k = 0; k < words_per_lane; ++k) {
        const uint64_t word = (x.host[l] - base) / 4 + k;
        const bool repeated = in_bank[word % 32] != 0 && std::find(seen, seen + n, word) != seen + n;
        if (repeated) continue;
        seen[n++] = word;
        worst = std::max<uint32_t>(worst, ++in_bank[word % 32]);
      }
    }
    passes += worst;
  }
  return passes;
}

void count_shared(Warp& w, uint32_t bytes, const Access& x) {
  Counters& c = w.worker->counters;
  ++c.shared_requests;
  const bool whole_words = x.high - x.low < 4 * kLanes && bytes == 4;  // each word in a bank of its own
  const bool broadcast = x.low == x.high;
  c.shared_passes += whole_words || broadcast
                         ? 1
                         : count_passes(w.mask, bytes, reinterpret_cast<uint64_t>(w.block->shared), x);
}

}  // namespace

void count_access(Warp& w, uint32_t bytes, AccessKind kind, const Access& x) {
  if (kind == AccessKind::atomic)
    w.worker->counters.atomics += static_cast<uint32_t>(__builtin_popcount(w.mask));
  if (x.space == Space::shared) count_shared(w, bytes, x);
  if (x.space == Space::global) count_global(w, bytes, x);
}

}  // namespace warpgrade::emu

// What accesses cost on a GPU (sectors, bank passes) and whether loads read what nobody wrote.
#include <algorithm>
#include <cstring>

#include "exec/access.h"
#include "program/program.h"
#include "simt/launch.h"
#include "simt/report.h"

namespace warpgrade::emu {
namespace {

constexpr uint64_t kSectorBytes = 32;

// Distinct 32-byte sectors that the active lanes touch.
uint32_t count_sectors(uint32_t mask, uint32_t bytes, const Access& x) {
  uint64_t sectors[kLanes];
  uint32_t n = 0;
  bool sorted = true;
  for (uint32_t m = mask; m != 0; m &= m - 1) {
    const uint64_t sector = x.host[__builtin_ctz(m)] / kSectorBytes;
    if (n != 0 && sectors[n - 1] == sector) continue;
    sorted &= n == 0 || sectors[n - 1] < sector;
    sectors[n++] = sector;
  }
  if (!sorted) {
    std::sort(sectors, sectors + n);
    n = static_cast<uint32_t>(std::unique(sectors, sectors + n) - sectors);
  }
  // Accesses are aligned to their size: only wider ones than a sector take several.
  return n * std::max<uint32_t>(1, bytes / kSectorBytes);
}

void count_global(Warp& w, uint32_t bytes, const Access& x) {
  Counters& c = w.worker->counters;
  const uint32_t sectors = x.low == x.high ? 1 : count_sectors(w.mask, bytes, x);
  const auto active = static_cast<uint32_t>(__builtin_popcount(w.mask));
  ++c.global_requests;
  c.global_sectors += sectors;
  c.global_sectors_ideal +=
      x.low == x.high ? 1 : (active * uint64_t(bytes) + kSectorBytes - 1) / kSectorBytes;
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
  c.shared_passes +=
      whole_words ? 1 : count_passes(w.mask, bytes, reinterpret_cast<uint64_t>(w.block->shared), x);
}

// The flags of the bytes that a lane touches, or nullptr when they are not followed.
uint8_t* flags_of(Warp& w, const Inst& i, uint64_t host, Space space, const Allocation** allocation) {
  if (space == Space::shared)
    return w.block->shared_init + (host - reinterpret_cast<uint64_t>(w.block->shared));
  const Worker& worker = *w.worker;
  const uint32_t hint = worker.allocation_hint[i.index];
  const auto holds = [&](const Allocation& a) { return host >= a.begin + a.alias && host < a.end + a.alias; };
  if (hint < worker.allocation_count && holds(worker.allocations[hint])) {
    *allocation = &worker.allocations[hint];
  } else {
    for (uint32_t k = 0; k < worker.allocation_count; ++k) {
      if (holds(worker.allocations[k])) *allocation = &worker.allocations[k];
    }
  }
  if (*allocation == nullptr || !(*allocation)->initialized) return nullptr;
  return (*allocation)->initialized.get() + (host - ((*allocation)->begin + (*allocation)->alias));
}

void report_uninitialized(Warp& w, const Inst& i, uint32_t lane, uint32_t bytes, const Allocation* a,
                          uint64_t host) {
  Diagnostic d = diagnose(w, i, lane, "uninitialized_read");
  d.access = "load";
  d.bytes = bytes;
  if (a != nullptr) {
    const uint64_t address = host - a->alias;
    d.address = address;
    d.allocation = DiagnosedAllocation{a->name, a->bytes(), static_cast<int64_t>(address - a->begin)};
    d.message +=
        "reads byte " + std::to_string(address - a->begin) + " of " + a->name + ", which nobody has written";
    d.advice = "Copy or clear the memory first (cudaMemcpy, cudaMemset); cudaMalloc does not clear it.";
  } else {
    d.message += "reads shared memory that no thread of this block has written";
    d.advice = "Shared memory starts with unspecified contents: write each element before reading it.";
  }
  Diagnostics::instance().add(std::move(d));
}

void check_initialized(Warp& w, const Inst& i, uint32_t bytes, AccessKind kind, const Access& x) {
  bool reported = false;
  for (uint32_t m = w.mask; m != 0; m &= m - 1) {
    const auto l = static_cast<uint32_t>(__builtin_ctz(m));
    const Allocation* allocation = nullptr;
    uint8_t* flags = flags_of(w, i, x.host[l], x.space, &allocation);
    if (flags == nullptr) continue;
    if (kind != AccessKind::store && !reported && std::memchr(flags, 0, bytes) != nullptr) {
      report_uninitialized(w, i, l, bytes, allocation, x.host[l]);
      reported = true;
    }
    if (kind != AccessKind::load) std::memset(flags, 1, bytes);
  }
}

}  // namespace

void observe_access(Warp& w, const Inst& i, uint32_t bytes, AccessKind kind, const Access& x) {
  if (w.block->launch->abort.load(std::memory_order_relaxed)) return;
  if (w.worker->count) {
    if (kind == AccessKind::atomic)
      w.worker->counters.atomics += static_cast<uint32_t>(__builtin_popcount(w.mask));
    if (x.space == Space::shared) count_shared(w, bytes, x);
    if (x.space == Space::global) count_global(w, bytes, x);
  }
  const bool followed = x.space == Space::shared || x.space == Space::global;
  if (w.worker->init_check && followed) check_initialized(w, i, bytes, kind, x);
}

}  // namespace warpgrade::emu

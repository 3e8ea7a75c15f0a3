// From lane addresses to host addresses, with exact bounds. For exec_*.cpp only (see handlers.h).
//
// The fast paths cover a warp whose lanes all fall into one allocation, one shared variable or their stacks;
// everything else, mistakes included, goes to resolve_slowly(), which knows each lane and reports. An address may lie
// just below 2^64: bounds are compared with the last byte, whose address cannot wrap around in an aligned access.
#pragma once
#include "exec/lane_loops.h"
#include "memory/device_memory.h"
#include "program/program.h"
#include "state/access.h"

namespace warpgrade::emu::WARPEMU_ISA {
namespace {

[[gnu::always_inline]] inline void lane_addresses(Warp& w, const Inst& i, Access& x) {
  if (i.address_is_32) {
    const uint32_t* a = lanes<uint32_t>(w, i.a);
    const auto offset = uint32_t(i.imm);
    WARPEMU_VECTORIZE for (uint32_t l = 0; l < kLanes; ++l) x.host[l] = uint32_t(a[l] + offset);
  } else {
    const uint64_t* a = lanes<uint64_t>(w, i.a);
    const auto offset = uint64_t(i.imm);
    WARPEMU_VECTORIZE for (uint32_t l = 0; l < kLanes; ++l) x.host[l] = a[l] + offset;
  }
  // Inactive lanes follow the first active one, so that loops need not look at the mask.
  if (w.mask != kAllLanes) {
    const uint64_t first = x.host[__builtin_ctz(w.mask)];
    const uint32_t mask = w.mask;
    WARPEMU_VECTORIZE for (uint32_t l = 0; l < kLanes; ++l) x.host[l] = (mask >> l & 1) ? x.host[l] : first;
  }
}

[[gnu::always_inline]] inline bool resolve_shared(Warp& w, const Inst& i, uint32_t bytes, Access& x) {
  const Block& block = *w.block;
  const uint32_t variable = w.worker->shared_hint[i.index];
  const SharedVariable& v = w.block->launch_shared[variable];
  if (x.low < v.begin || x.high + (bytes - 1) >= v.end) return false;
  const auto base = reinterpret_cast<uint64_t>(block.shared);
  WARPEMU_VECTORIZE for (uint32_t l = 0; l < kLanes; ++l) x.host[l] += base;
  x.low += base;
  x.high += base;
  return true;
}

[[gnu::always_inline]] inline bool resolve_local(Warp& w, uint32_t bytes, Access& x) {
  const uint64_t stride = w.block->stack_bytes;
  if (x.high >= stride || x.high + bytes > stride) return false;
  const auto base = reinterpret_cast<uint64_t>(w.local);
  WARPEMU_VECTORIZE for (uint32_t l = 0; l < kLanes; ++l) x.host[l] += base + stride * l;
  x.low = 0;
  x.high = 1;  // neither uniform nor contiguous
  return true;
}

// From generic addresses to offsets in each lane's own stack; a pointer into another's becomes an offset
// far beyond.
[[gnu::always_inline]] inline void offsets_in_stacks(const Warp& w, Access& x) {
  const uint32_t mask = w.mask;
  const auto first = uint32_t(__builtin_ctz(mask));
  const uint64_t base = local_window(w, 0), first_offset = x.host[first] - base - (uint64_t(first) << 32);
  uint64_t low = first_offset, high = first_offset;
  WARPEMU_VECTORIZE for (uint32_t l = 0; l < kLanes; ++l) {
    x.host[l] = (mask >> l & 1) ? x.host[l] - base - (uint64_t(l) << 32) : first_offset;
    low = smaller(low, x.host[l]);
    high = larger(high, x.host[l]);
  }
  x.low = low;
  x.high = high;
}

[[gnu::always_inline]] inline bool resolve_global(Warp& w, const Inst& i, uint32_t bytes, AccessKind kind,
                                                  Access& x) {
  const Worker& worker = *w.worker;
  const uint32_t hint = worker.allocation_hint[i.index];
  if (hint >= worker.allocation_count) return false;
  const Allocation& a = worker.allocations[hint];
  if (x.low < a.begin || x.high + (bytes - 1) >= a.end || a.freed ||
      (a.read_only && kind != AccessKind::load))
    return false;
  const auto alias = uint64_t(a.alias);
  WARPEMU_VECTORIZE for (uint32_t l = 0; l < kLanes; ++l) x.host[l] += alias;
  x.low += alias;
  x.high += alias;
  return true;
}

// From device addresses in x.host (of inactive lanes: those of an active one) to host addresses; faulty lanes
// get one that is safe to read.
[[gnu::always_inline]] inline void resolve_addresses(Warp& w, const Inst& i, uint32_t bytes, AccessKind kind,
                                                     Access& x) {
  uint64_t low = x.host[0], high = x.host[0], all = 0;
  WARPEMU_VECTORIZE for (uint32_t l = 0; l < kLanes; ++l) {
    low = smaller(low, x.host[l]);
    high = larger(high, x.host[l]);
    all |= x.host[l];
  }
  x.low = low;
  x.high = high;
  x.space = i.space;
  if (x.space == Space::generic) {
    const uint64_t tag = low & kTagMask;
    x.space = Space::global;
    if ((high & kTagMask) == tag && tag == kSharedTag) {
      WARPEMU_VECTORIZE for (uint32_t l = 0; l < kLanes; ++l) x.host[l] &= ~kTagMask;
      x.low &= ~kTagMask;
      x.high &= ~kTagMask;
      x.space = Space::shared;
    } else if ((high & kTagMask) == tag && tag == kLocalTag) {
      offsets_in_stacks(w, x);
      x.space = Space::local;
    }
  }
  bool done = (all & (bytes - 1)) == 0;
  if (done) {
    done = x.space == Space::shared  ? resolve_shared(w, i, bytes, x)
           : x.space == Space::local ? resolve_local(w, bytes, x)
                                     : resolve_global(w, i, bytes, kind, x);
  }
  if (!done) [[unlikely]]
    resolve_slowly(w, i, bytes, kind, x);
  if (w.worker->observe) [[unlikely]]
    observe_access(w, i, bytes, kind, x);
}

// The addresses of a plain memory operand, resolved.
[[gnu::always_inline]] inline void resolve(Warp& w, const Inst& i, uint32_t bytes, AccessKind kind,
                                           Access& x) {
  lane_addresses(w, i, x);
  resolve_addresses(w, i, bytes, kind, x);
}

}  // namespace
}  // namespace warpgrade::emu::WARPEMU_ISA

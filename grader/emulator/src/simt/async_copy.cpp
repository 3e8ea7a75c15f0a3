// cp.async: a copy happens when its group is awaited, so that a missing wait shows as on a GPU: shared memory
// still holds what it held before.
#include <algorithm>
#include <cstring>

#include "check/async_copies.h"
#include "exec/handlers.h"
#include "simt/mbarrier.h"
#include "state/access.h"

namespace warpgrade::emu {
namespace {

// Sources of lanes that read the same number of bytes, then of those that read another: only what is read
// must be there, but a source is aligned to the whole copy.
void resolve_sources(Warp& w, const Inst& source, const uint32_t* size, uint32_t reading, uint64_t* from) {
  while (reading != 0) {
    const uint32_t bytes = size[__builtin_ctz(reading)];
    uint32_t alike = 0;
    for (uint32_t m = reading; m != 0; m &= m - 1) {
      const int l = __builtin_ctz(m);
      if (size[l] == bytes) alike |= 1u << l;
    }
    reading &= ~alike;
    Access x;
    w.mask = alike;
    resolve_async(w, source, bytes, AccessKind::load, x, source.bytes);
    for (uint32_t m = alike; m != 0; m &= m - 1) from[__builtin_ctz(m)] = x.host[__builtin_ctz(m)];
  }
}

// a/imm: source; b: destination in shared memory with offset vec[0] and width vec[1]. Of each lane's source
// `wanted` bytes are read, the rest is zero.
void issue_copies(Warp& w, const Inst& i, const uint32_t* wanted) {
  Access to;
  Inst source = i;
  source.space = Space::global;
  Inst destination = i;
  destination.space = Space::shared;
  destination.a = i.b;
  destination.imm = static_cast<int32_t>(i.vec[0]);
  destination.address_is_32 = i.vec[1] == 4;
  const uint32_t all = w.mask;
  uint32_t size[kLanes] = {}, reading = 0;
  uint64_t from[kLanes] = {};
  for (uint32_t m = all; m != 0; m &= m - 1) {
    const int l = __builtin_ctz(m);
    size[l] = std::min<uint32_t>(wanted[l], i.bytes);
    if (size[l] != 0) reading |= 1u << l;
  }
  resolve_async(w, destination, i.bytes, AccessKind::store, to);
  resolve_sources(w, source, size, reading, from);
  w.mask = all;
  if (w.stop == Stop::none) follow_lane_copies(w, i, i.bytes, to.host);
  for (uint32_t m = all; m != 0; m &= m - 1) {
    const auto l = static_cast<uint32_t>(__builtin_ctz(m));
    w.async_copies.push_back({from[l], to.host[l], i.bytes, static_cast<uint8_t>(size[l]),
                              static_cast<uint8_t>(l), w.async_group[l]});
  }
}

// c: bytes to read.
void issue(Warp& w, const Inst& i) {
  issue_copies(w, i, lanes<uint32_t>(w, i.c));
}

// c: lanes that read nothing; flags: negated.
void issue_ignoring(Warp& w, const Inst& i) {
  const uint32_t ignoring = predicate(w, i.c) ^ (i.flags != 0 ? ~0u : 0u);
  uint32_t wanted[kLanes];
  for (uint32_t l = 0; l < kLanes; ++l) wanted[l] = (ignoring >> l & 1) ? 0 : i.bytes;
  issue_copies(w, i, wanted);
}

void commit(Warp& w, const Inst&) {
  for (uint32_t m = w.mask; m != 0; m &= m - 1) ++w.async_group[__builtin_ctz(m)];
}

void perform(const AsyncCopy& c) {
  uint8_t data[16] = {};
  if (c.source_bytes != 0) std::memcpy(data, reinterpret_cast<const void*>(c.from), c.source_bytes);
  std::memcpy(reinterpret_cast<void*>(c.to), data, c.bytes);
}

// Copies of the active lanes; imm: groups that may stay pending; variant 1: everything, committed or not.
void perform_awaited(Warp& w, const Inst& i) {
  const bool everything = i.variant != 0;
  const auto complete = [&](const AsyncCopy& c) {
    if (!(w.mask >> c.lane & 1)) return false;
    const int64_t oldest_allowed = static_cast<int64_t>(w.async_group[c.lane]) - i.imm;
    if (!everything && static_cast<int64_t>(c.group) >= oldest_allowed) return false;
    perform(c);
    return true;
  };
  w.async_copies.erase(std::remove_if(w.async_copies.begin(), w.async_copies.end(), complete),
                       w.async_copies.end());
}

void wait(Warp& w, const Inst& i) {
  const uint32_t committed = w.async_group[__builtin_ctz(w.mask)], left = static_cast<uint32_t>(i.imm);
  follow_async_wait(w, i.variant != 0 ? ~0u : committed - std::min(committed, left));
  perform_awaited(w, i);
}

// Copies of these lanes happen now, as they may, and then arrive at each lane's barrier. Without .noinc
// (variant 1) that arrival is one that the barrier did not expect.
void arrive_after_copies(Warp& w, const Inst& i) {
  Access x;
  resolve_async(w, i, sizeof(uint64_t), AccessKind::atomic, x);
  Inst everything = i;
  everything.variant = 1;
  perform_awaited(w, everything);
  for (uint32_t m = w.mask; m != 0; m &= m - 1) {
    const uint64_t host = x.host[__builtin_ctz(m)];
    auto& bits = *reinterpret_cast<uint64_t*>(host);
    Mbarrier barrier(bits);
    follow_async_arrival(w, host);
    follow_arrival(w, host);
    if (i.variant == 0) barrier.add_pending(1);
    barrier.arrive(1);
    bits = barrier.bits();
    follow_mbarrier(w, host, barrier.parity());
  }
}

}  // namespace

void add_async_copy_handlers(HandlerTable& t) {
  t.add(issue, "cp.async");
  t.add(issue_ignoring, "cp.async.ignoring");
  t.add(commit, "cp.async.commit");
  t.add(wait, "cp.async.wait");
  t.add(arrive_after_copies, "cp.async.mbarrier");
}

}  // namespace warpgrade::emu

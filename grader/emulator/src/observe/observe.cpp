// What is looked at in each access when it is asked for: its cost (count_access.cpp), whether a load reads
// what nobody wrote, and whether it races with another thread's (src/check).
#include <algorithm>
#include <utility>

#include "check/global_races.h"
#include "check/initialized.h"
#include "check/shared_races.h"
#include "observe/count_access.h"
#include "order/touched_memory.h"
#include "program/computed_addresses.h"
#include "state/access.h"
#include "state/launch.h"
#include "state/observe_row.h"

namespace warpgrade::emu {
namespace {

// One access, all of whose lanes stand in the memory that x.space names.
void check_access(Warp& w, const Inst& i, uint32_t bytes, AccessKind kind, const Access& x) {
  const bool local = x.space == Space::local && (kind != AccessKind::load || (i.flags & kComputedAddress));
  const bool followed = x.space == Space::shared || x.space == Space::global || local;
  if (w.worker->touched != nullptr && x.space == Space::global) w.worker->touched->note(w, i, bytes, kind, x);
  // Before initcheck: it remembers what is to be undone.
  if (w.worker->race_check && x.space == Space::global)
    w.block->launch->global_races->check(w, i, bytes, kind, x);
  if (w.worker->init_check && followed) check_initialized(w, i, bytes, kind, x);
  if (w.worker->race_check && x.space == Space::shared) w.block->races->check(w, i, bytes, kind, x);
}

Space space_of(const Warp& w, uint64_t host) {
  const auto within = [host](const void* begin, uint64_t bytes) {
    return host - reinterpret_cast<uint64_t>(begin) < bytes;
  };
  if (within(w.block->shared, w.block->shared_bytes)) return Space::shared;
  if (within(w.local, uint64_t(w.block->stack_bytes) * kLanes)) return Space::local;
  return Space::global;
}

// An access whose lanes stand in several kinds of memory, or nowhere: each kind by itself, without the faulty
// lanes. Their addresses belong to no memory that the checks follow, so an index made of one would lie
// outside of the checks' own arrays.
void check_apart(Warp& w, const Inst& i, uint32_t bytes, AccessKind kind, const Access& x, uint32_t faulty) {
  const uint32_t active = w.mask;
  for (const Space space : {Space::global, Space::shared, Space::local}) {
    uint32_t lanes = 0;
    for (uint32_t m = active & ~faulty; m != 0; m &= m - 1) {
      const auto l = static_cast<uint32_t>(__builtin_ctz(m));
      if (space_of(w, x.host[l]) == space) lanes |= 1u << l;
    }
    if (lanes == 0) continue;
    Access part = x;
    part.space = space;
    for (uint32_t l = 0; l < kLanes; ++l) {
      if (!(lanes >> l & 1)) part.host[l] = x.host[__builtin_ctz(lanes)];
    }
    part.low = *std::min_element(part.host, part.host + kLanes);
    part.high = *std::max_element(part.host, part.host + kLanes);
    w.mask = lanes;
    check_access(w, i, bytes, kind, part);
  }
  w.mask = active;
}

}  // namespace

void observe_access(Warp& w, const Inst& i, uint32_t bytes, AccessKind kind, const Access& x) {
  const uint32_t faulty = std::exchange(w.worker->faulty_lanes, 0);
  // In a trial that is over what still runs writes, and has to be undone.
  if (w.block->launch->stops(w.block->linear) && w.worker->undo == nullptr) return;
  if (w.worker->counts != nullptr) count_access(w, i, bytes, kind, x);
  if (faulty != 0 || x.space == Space::generic) [[unlikely]]
    return check_apart(w, i, bytes, kind, x, faulty);
  check_access(w, i, bytes, kind, x);
}

// In the order of observe_access(): initcheck remembers what is to be undone.
void observe_lanes(Warp& w, const Inst& i, uint32_t bytes, AccessKind kind, const Access& x, bool counted) {
  if (w.block->launch->stops(w.block->linear) && w.worker->undo == nullptr) return;
  if (!counted && w.worker->counts != nullptr && !count_ordered_lanes(w, i, bytes, kind, x))
    count_access(w, i, bytes, kind, x);
  if (w.worker->touched != nullptr && x.space == Space::global) w.worker->touched->note(w, i, bytes, kind, x);
  if (w.worker->race_check && x.space == Space::global)
    w.block->launch->global_races->check(w, i, bytes, kind, x);
  if (w.worker->init_check && !pass_initialized_lanes(w, i, bytes, kind, x))
    check_initialized(w, i, bytes, kind, x);
  if (w.worker->race_check && x.space == Space::shared) w.block->races->check(w, i, bytes, kind, x);
}

void observe_row(Warp& w, const Inst& i, uint32_t bytes, AccessKind kind, const Row& row, bool counted) {
  if (w.block->launch->stops(w.block->linear) && w.worker->undo == nullptr) return;
  if (!counted && w.worker->counts != nullptr) count_row(w, i, bytes, kind, row);
  const bool global = row.space == Space::global;
  if (w.worker->touched != nullptr && global) w.worker->touched->note(w, i, bytes, kind, row);
  if (w.worker->race_check && global && !w.block->launch->global_races->pass_row(w, i, bytes, kind, row))
    w.block->launch->global_races->check(w, i, bytes, kind, row.access());
  if (w.worker->init_check && !pass_initialized(w, i, bytes, kind, row))
    check_initialized(w, i, bytes, kind, row.access());
  if (w.worker->race_check && !global) w.block->races->check_row(w, i, bytes, kind, row);
}

}  // namespace warpgrade::emu

// What is looked at in each access when it is asked for: its cost (count_access.cpp), whether a load reads
// what nobody wrote, and whether it races with another thread's (src/check).
#include "check/global_races.h"
#include "check/initialized.h"
#include "check/shared_races.h"
#include "exec/access.h"
#include "program/computed_addresses.h"
#include "simt/count_access.h"
#include "simt/launch.h"
#include "simt/observe_row.h"

namespace warpgrade::emu {

void observe_access(Warp& w, const Inst& i, uint32_t bytes, AccessKind kind, const Access& x) {
  // In a trial that is over what still runs writes, and has to be undone.
  if (w.block->launch->stops(w.block->linear) && w.worker->undo == nullptr) return;
  if (w.worker->counts != nullptr) count_access(w, i, bytes, kind, x);
  const bool local = x.space == Space::local && (kind != AccessKind::load || (i.flags & kComputedAddress));
  const bool followed = x.space == Space::shared || x.space == Space::global || local;
  // Before initcheck: it remembers what is to be undone.
  if (w.worker->race_check && x.space == Space::global)
    w.block->launch->global_races->check(w, i, bytes, kind, x);
  if (w.worker->init_check && followed) check_initialized(w, i, bytes, kind, x);
  if (w.worker->race_check && x.space == Space::shared) w.block->races->check(w, i, bytes, kind, x);
}

void observe_lanes(Warp& w, const Inst& i, uint32_t bytes, AccessKind kind, const Access& x) {
  if (w.block->launch->stops(w.block->linear) && w.worker->undo == nullptr) return;
  if (w.worker->counts != nullptr && !count_ordered_lanes(w, i, bytes, kind, x))
    count_access(w, i, bytes, kind, x);
  if (w.worker->race_check && x.space == Space::global)
    w.block->launch->global_races->check(w, i, bytes, kind, x);
  if (w.worker->init_check && !pass_initialized_lanes(w, i, bytes, kind, x))
    check_initialized(w, i, bytes, kind, x);
  if (w.worker->race_check && x.space == Space::shared) w.block->races->check(w, i, bytes, kind, x);
}

void observe_row(Warp& w, const Inst& i, uint32_t bytes, AccessKind kind, const Row& row) {
  if (w.block->launch->stops(w.block->linear) && w.worker->undo == nullptr) return;
  if (w.worker->counts != nullptr) count_row(w, i, bytes, kind, row);
  const bool global = row.space == Space::global;
  if (w.worker->race_check && global && !w.block->launch->global_races->pass_row(w, i, bytes, kind, row))
    w.block->launch->global_races->check(w, i, bytes, kind, row.access());
  if (w.worker->init_check && !pass_initialized(w, i, bytes, kind, row))
    check_initialized(w, i, bytes, kind, row.access());
  if (w.worker->race_check && !global) w.block->races->check_row(w, i, bytes, kind, row);
}

}  // namespace warpgrade::emu

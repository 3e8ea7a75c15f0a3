#include "simt/barriers.h"

#include <algorithm>

#include "check/shared_races.h"
#include "exec/handlers.h"
#include "program/program.h"
#include "simt/convergence.h"
#include "simt/launch.h"
#include "simt/report.h"

namespace warpgrade::emu {
namespace {

enum BarrierForm : uint8_t { kSync, kPopc, kAnd, kOr, kArrive };

// Lanes may name different barriers or counts; each group of equal lanes arrives by itself.
template <class Arrive>
void for_each_barrier(Warp& w, const Inst& i, Arrive arrive) {
  const uint32_t* ids = lanes<uint32_t>(w, i.a);
  const uint32_t* counts = lanes<uint32_t>(w, i.b);
  for (uint32_t rest = w.mask; rest != 0;) {
    const int first = __builtin_ctz(rest);
    uint32_t group = 0;
    for (uint32_t m = rest; m != 0; m &= m - 1) {
      const int l = __builtin_ctz(m);
      if (ids[l] == ids[first] && counts[l] == counts[first]) group |= 1u << l;
    }
    rest &= ~group;
    arrive(group, ids[first] % kBarriers, counts[first]);
  }
}

void barrier(Warp& w, const Inst& i) {
  Block& block = *w.block;
  const uint32_t value =
      i.variant == kSync || i.variant == kArrive ? 0 : predicate(w, i.c) ^ (i.flags ? ~0u : 0u);
  for_each_barrier(w, i, [&](uint32_t group, uint32_t id, uint32_t count) {
    block.waiting[id] += static_cast<uint32_t>(__builtin_popcount(group));
    block.reductions[id].arrived += static_cast<uint32_t>(__builtin_popcount(group));
    block.reductions[id].true_count += static_cast<uint32_t>(__builtin_popcount(value & group));
    block.expected[id] = count;
    if (i.variant != kArrive) w.at_barrier.push_back({w.pc, group, id, count, &i});
  });
  if (i.variant == kArrive) return;
  w.active &= ~w.mask;
  reschedule(w);
}

void write_reduction(Warp& w, const BarrierWait& wait, const BarrierReduction& reduction) {
  const Inst& i = *wait.at;
  if (i.variant == kSync) return;
  const uint32_t mask = w.mask;
  w.mask = wait.mask;
  if (i.variant == kPopc) {
    uint32_t* d = lanes<uint32_t>(w, i.d);
    for (uint32_t m = wait.mask; m != 0; m &= m - 1) d[__builtin_ctz(m)] = reduction.true_count;
  } else {
    const bool result =
        i.variant == kAnd ? reduction.true_count == reduction.arrived : reduction.true_count > 0;
    write_predicate(w, i.d, result ? ~0u : 0u);
  }
  w.mask = mask;
}

// Threads of one block that meet at different source lines have diverged at a barrier. Copies of one source
// line that the compiler made are the same barrier.
void check_same_place(Block& block, uint32_t id) {
  const Inst* first = nullptr;
  for (Warp& w : block.warps) {
    for (const BarrierWait& wait : w.at_barrier) {
      if (wait.barrier != id) continue;
      if (first == nullptr) first = wait.at;
      if (wait.at == first) continue;
      const Program::Place here = block.program->place(*wait.at), there = block.program->place(*first);
      if (here.line == there.line && here.path == there.path) continue;
      Diagnostic d =
          diagnose(w, *wait.at, static_cast<uint32_t>(__builtin_ctz(wait.mask)), "divergent_barrier");
      d.message += "this thread waits at this barrier while others of its block wait at line " +
                   std::to_string(there.line);
      d.advice = "Every thread of a block must reach the same __syncthreads(): move it out of the condition.";
      Diagnostics::instance().add(std::move(d));
      return;
    }
  }
}

void release(Block& block, uint32_t id) {
  check_same_place(block, id);
  for (Warp& w : block.warps) {
    for (size_t j = 0; j < w.at_barrier.size();) {
      const BarrierWait wait = w.at_barrier[j];
      if (wait.barrier != id) {
        ++j;
        continue;
      }
      write_reduction(w, wait, block.reductions[id]);
      w.parked.push_back({wait.pc, wait.mask, nullptr});
      w.at_barrier[j] = w.at_barrier.back();
      w.at_barrier.pop_back();
    }
  }
  block.waiting[id] = 0;
  block.reductions[id] = {};
  if (block.races != nullptr) block.races->order().order_all();
}

}  // namespace

bool open_barriers(Block& block) {
  bool opened = false;
  for (uint32_t id = 0; id < kBarriers; ++id) {
    if (block.waiting[id] == 0) continue;
    // Threads that have exited are not awaited.
    const uint32_t wanted = block.expected[id] != 0 ? block.expected[id] : block.live;
    if (block.waiting[id] < wanted) continue;
    release(block, id);
    opened = true;
  }
  return opened;
}

void report_deadlock(Block& block) {
  for (Warp& w : block.warps) {
    for (const Fragment& f : w.parked) {
      if (f.blocked_at == nullptr) continue;
      Diagnostic d =
          diagnose(w, *f.blocked_at, static_cast<uint32_t>(__builtin_ctz(f.mask)), "barrier_deadlock");
      d.message += "lanes wait here for lanes of their mask that never come";
      d.advice =
          "Every lane named in the mask of a *_sync function must call it: use the mask of the lanes that "
          "do.";
      Diagnostics::instance().add(std::move(d));
    }
    for (const BarrierWait& wait : w.at_barrier) {
      Diagnostic d =
          diagnose(w, *wait.at, static_cast<uint32_t>(__builtin_ctz(wait.mask)), "barrier_deadlock");
      d.message += "threads wait at this barrier, which the rest of the block never reaches";
      d.advice =
          "Every thread of a block must reach __syncthreads(): move it out of the condition, or return late.";
      Diagnostics::instance().add(std::move(d));
    }
  }
  block.launch->fail(Fault::launch_failure);
}

void add_barrier_handlers(HandlerTable& t) {
  t.add(barrier, "bar");
}

}  // namespace warpgrade::emu

// Branches, exit, and the choice of the fragment that runs.
#include <algorithm>

#include "check/diagnose.h"
#include "check/shared_races.h"
#include "check/warp_sync.h"
#include "exec/handlers.h"
#include "native/run.h"
#include "observe/counts.h"
#include "program/program.h"
#include "state/convergence.h"
#include "state/launch.h"

namespace warpgrade::emu {
namespace {

bool runnable(const Fragment& f) {
  return f.blocked_at == nullptr;
}

constexpr int kKeep = -1;

// The fragment after the current one in cyclic pc order: every parked fragment gets its turn.
int next_in_rotation(const Warp& w) {
  int best = kKeep;
  uint64_t best_key = ~0ull;
  for (size_t j = 0; j < w.parked.size(); ++j) {
    if (!runnable(w.parked[j])) continue;
    const uint64_t key = (w.parked[j].pc > w.pc ? 0 : 1ull << 32) + w.parked[j].pc;
    if (key < best_key) {
      best_key = key;
      best = static_cast<int>(j);
    }
  }
  return best;
}

int lowest(const Warp& w) {
  int best = kKeep;
  uint32_t best_pc = w.active != 0 ? w.pc : ~0u;
  for (size_t j = 0; j < w.parked.size(); ++j) {
    if (!runnable(w.parked[j]) || w.parked[j].pc >= best_pc) continue;
    best_pc = w.parked[j].pc;
    best = static_cast<int>(j);
  }
  return best;
}

int choose(Warp& w) {
  if (w.rotate && w.active != 0) {
    w.rotate = false;
    return next_in_rotation(w);
  }
  if (w.prefer_others && w.active != 0) return kKeep;
  return lowest(w);
}

void back_edge(Warp& w, const Inst& i) {
  const uint32_t limit = i.patient ? (w.prefer_others ? kPatientTurnsAgain : kPatientTurns)
                                   : (w.prefer_others ? kTurnsAgain : kTurns);
  if (++w.back_edges > limit) {
    w.back_edges = 0;
    if (!w.parked.empty()) w.prefer_others = w.rotate = true;
  }
  if (w.worker->native != nullptr && ++w.worker->back_edges % kHotBackEdges == 0) warm_up(*w.worker);
  w.spin += i.patient ? kPatientStep : 1;
  if (w.spin > kYieldAfter) {
    w.spin = 0;
    w.stop = Stop::yielded;
    w.block->patient_yield |= i.patient;
  }
}

void branch(Warp& w, const Inst& i) {
  const uint32_t taken = w.mask, stays = w.active & ~taken;
  const bool backward = i.target <= i.index;
  if (stays == 0) {
    w.pc = i.target;
  } else {
    if (w.worker->counts != nullptr) ++w.worker->counts->accesses[i.index].divergent_branches;
    if (i.target < w.pc) {
      park(w, w.pc, stays);
      w.pc = i.target;
      w.active = taken;
    } else {
      park(w, i.target, taken);
      w.active = stays;
    }
  }
  if (backward) back_edge(w, i);
  if (!w.parked.empty()) reschedule(w);
}

void branch_indexed(Warp& w, const Inst& i) {
  const uint32_t* index = lanes<uint32_t>(w, i.a);
  const std::vector<uint32_t>& table = w.block->program->branch_tables[i.target];
  uint32_t targets[kLanes];
  for (uint32_t l = 0; l < kLanes; ++l) targets[l] = table[std::min<size_t>(index[l], table.size() - 1)];
  scatter(w, targets);
}

void exit_lanes(Warp& w, const Inst&) {
  w.live &= ~w.mask;
  w.active &= ~w.mask;
  w.block->live -= static_cast<uint32_t>(__builtin_popcount(w.mask));
  // Lanes that waited for these may be complete now: let them look again.
  for (Fragment& f : w.parked) f.blocked_at = nullptr;
  if (w.active == 0 || !w.parked.empty()) reschedule(w);
}

}  // namespace

void merge_here(Warp& w) {
  uint32_t join = ~0u;
  for (size_t j = 0; j < w.parked.size();) {
    Fragment& f = w.parked[j];
    if (f.pc == w.pc) {
      w.active |= f.mask;
      f = w.parked.back();
      w.parked.pop_back();
      w.back_edges = 0;
      w.prefer_others = false;
    } else {
      if (f.pc > w.pc) join = std::min(join, f.pc);
      ++j;
    }
  }
  w.join_pc = join;
}

void park(Warp& w, uint32_t pc, uint32_t mask) {
  w.parked.push_back({pc, mask, nullptr});
}

void scatter(Warp& w, const uint32_t* targets) {
  uint32_t rest = w.mask;
  const uint32_t stays = w.active & ~rest;
  if (stays != 0) park(w, w.pc, stays);
  w.active = 0;
  while (rest != 0) {
    const uint32_t target = targets[__builtin_ctz(rest)];
    uint32_t group = 0;
    for (uint32_t m = rest; m != 0; m &= m - 1) {
      const int l = __builtin_ctz(m);
      if (targets[l] == target) group |= 1u << l;
    }
    rest &= ~group;
    park(w, target, group);
  }
  reschedule(w);
}

void reschedule(Warp& w) {
  if (w.parked.empty()) {
    w.join_pc = ~0u;
    if (w.active == 0) w.stop = w.live == 0 ? Stop::exited : Stop::waiting;
    return;
  }
  const int best = choose(w);
  if (best != kKeep) {
    const Fragment chosen = w.parked[best];
    if (w.active != 0) {
      w.parked[best] = {w.pc, w.active, nullptr};
    } else {
      w.parked[best] = w.parked.back();
      w.parked.pop_back();
    }
    w.pc = chosen.pc;
    w.active = chosen.mask;
  } else if (w.active == 0) {
    w.join_pc = ~0u;
    w.stop = Stop::waiting;
    return;
  }
  merge_here(w);
}

Gathering::Gathering(Warp& w, const Inst& i, uint32_t member_slot) : w_(w) {
  const uint32_t* members = lanes<uint32_t>(w, member_slot);
  const uint32_t arrived = w.mask;
  uint32_t complete = 0, differs = 0;
  for (uint32_t l = 0; l < kLanes; ++l) differs |= members[l] ^ kAllLanes;
  if (differs == 0 && arrived == w.live) {  // as nearly always
    if (w.block->races != nullptr) w.block->races->order().order_lanes(w.index, arrived);
    return;
  }
  for (uint32_t rest = arrived; rest != 0;) {
    const int first = __builtin_ctz(rest);
    const uint32_t wanted = members[first];
    uint32_t group = 0;
    for (uint32_t m = rest; m != 0; m &= m - 1) {
      const int l = __builtin_ctz(m);
      if (members[l] == wanted) group |= 1u << l;
    }
    rest &= ~group;
    if (w.worker->sync_check && (group & ~wanted) != 0)
      report_not_in_mask(w, i, static_cast<uint32_t>(__builtin_ctz(group & ~wanted)), wanted);
    const uint32_t needed = wanted & w.live;
    if ((group & needed) == needed) complete |= group;
  }
  if (complete != 0 && w.block->races != nullptr) w.block->races->order().order_lanes(w.index, complete);
  if (complete == arrived) return;
  const uint32_t waiting = arrived & ~complete;
  w.parked.push_back({i.index, waiting, &i});
  w.active &= ~waiting;
  w.mask = complete;
  partial_ = true;
}

bool join_warp_barriers(Warp& w) {
  for (const Fragment& first : w.parked) {
    if (runnable(first) ||
        w.block->program->texts[first.blocked_at->index].compare(0, 13, "bar.warp.sync") != 0)
      continue;
    const uint32_t wanted = lanes<uint32_t>(w, first.blocked_at->e)[__builtin_ctz(first.mask)];
    uint32_t present = 0;
    for (const Fragment& f : w.parked) {
      if (!runnable(f) && f.blocked_at->run == first.blocked_at->run) present |= f.mask;
    }
    if ((present & wanted & w.live) != (wanted & w.live)) continue;
    const Handler barrier = first.blocked_at->run;
    for (Fragment& f : w.parked) {
      if (runnable(f) || f.blocked_at->run != barrier || (f.mask & wanted) == 0) continue;
      if (w.block->races != nullptr) w.block->races->order().order_lanes(w.index, f.mask);
      f.pc = f.blocked_at->index + 1;
      f.blocked_at = nullptr;
    }
    return true;
  }
  return false;
}

void add_control_handlers(HandlerTable& t) {
  t.add(branch, "bra");
  t.add(branch_indexed, "brx");
  t.add(exit_lanes, "exit");
}

}  // namespace warpgrade::emu

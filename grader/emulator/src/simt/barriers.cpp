#include "simt/barriers.h"

#include <algorithm>

#include "check/diagnose.h"
#include "check/shared_races.h"
#include "check/warp_sync.h"
#include "exec/handlers.h"
#include "program/program.h"
#include "state/convergence.h"
#include "state/launch.h"

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

// Threads that arrive with a group: hardware counts whole warps, so that of a warp's lanes those that do not
// exist or have returned arrive with its lowest one.
uint32_t arrivals_of(const Warp& w, uint32_t group, uint32_t count) {
  const auto arriving = static_cast<uint32_t>(__builtin_popcount(group));
  const bool has_lowest = (group & w.live & -w.live) != 0;
  return count == 0 || !has_lowest ? arriving
                                   : arriving + kLanes - static_cast<uint32_t>(__builtin_popcount(w.live));
}

bool is_complete(const Block& block, uint32_t id) {
  // Threads that have exited are not awaited.
  const uint32_t wanted = block.expected[id] != 0 ? block.expected[id] : block.live;
  return block.waiting[id] != 0 && block.waiting[id] >= wanted;
}

void report_count(Warp& w, const Inst& i, uint32_t group, const std::string& message,
                  const BarrierWait* other) {
  Diagnostic d = diagnose(w, i, static_cast<uint32_t>(__builtin_ctz(group)), Finding::barrier_count);
  d.message += message;
  d.advice =
      "The count of bar.sync and bar.arrive is the number of threads that meet there, whole warps, the same "
      "at every "
      "place of one barrier.";
  if (other != nullptr) {
    for (const Warp& there : w.block->warps) {
      for (const BarrierWait& wait : there.at_barrier) {
        if (&wait == other)
          d.other = party_of(there, *wait.at, static_cast<uint32_t>(__builtin_ctz(wait.mask)), "barrier");
      }
    }
  }
  w.block->launch->report(*w.block, std::move(d));
  w.block->launch->fail(*w.block, Fault::launch_failure);
  w.stop = Stop::aborted;
}

const BarrierWait* first_wait(const Block& block, uint32_t id) {
  for (const Warp& w : block.warps) {
    for (const BarrierWait& wait : w.at_barrier) {
      if (wait.barrier == id) return &wait;
    }
  }
  return nullptr;
}

// Whether a count can be met at all and is that of the threads that wait already. False: reported.
bool check_count(Warp& w, const Inst& i, uint32_t group, uint32_t id, uint32_t count) {
  const Block& block = *w.block;
  const uint32_t most = (block.threads + kLanes - 1) / kLanes * kLanes;
  const auto meant = [&](uint32_t n) { return n != 0 ? n : most; };
  const bool differs = block.waiting[id] != 0 && meant(count) != meant(block.expected[id]);
  if (count <= most && count % kLanes == 0 && !differs) [[likely]]
    return true;
  const std::string at = " at barrier " + std::to_string(id);
  const std::string expects = "expects " + std::to_string(count) + " threads" + at;
  if (count > most) {
    report_count(w, i, group, expects + ", and its block has " + std::to_string(block.threads), nullptr);
  } else if (count % kLanes != 0) {
    report_count(w, i, group, expects + ", which is not a whole number of warps", nullptr);
  } else {
    const uint32_t theirs = block.expected[id] != 0 ? block.expected[id] : block.threads;
    report_count(w, i, group,
                 (count != 0 ? expects : "expects the whole block" + at) + ", where others wait for " +
                     std::to_string(theirs),
                 first_wait(block, id));
  }
  return false;
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
// line that the compiler made are the same barrier. Barriers other than 0, which __syncthreads() is, have been named:
// warps with different parts of the work meet there, from different places (PTX ISA, barrier; Triton's
// warp specialization).
void check_same_place(Block& block, uint32_t id) {
  if (id != 0) return;
  const Inst* first = nullptr;
  const Warp* first_warp = nullptr;
  uint32_t first_lane = 0;
  for (Warp& w : block.warps) {
    for (const BarrierWait& wait : w.at_barrier) {
      if (wait.barrier != id) continue;
      if (first == nullptr) {
        first = wait.at;
        first_warp = &w;
        first_lane = static_cast<uint32_t>(__builtin_ctz(wait.mask));
      }
      if (wait.at == first) continue;
      const Program::Place here = block.program->place(*wait.at), there = block.program->place(*first);
      if (here.line == there.line && here.path == there.path) continue;
      Diagnostic d =
          diagnose(w, *wait.at, static_cast<uint32_t>(__builtin_ctz(wait.mask)), Finding::divergent_barrier);
      d.message += "this thread waits at this barrier while others of its block wait at line " +
                   std::to_string(there.line);
      d.other = party_of(*first_warp, *first, first_lane, "barrier");
      d.advice = "Every thread of a block must reach the same __syncthreads(): move it out of the condition.";
      block.launch->report(block, std::move(d));
      return;
    }
  }
}

// Threads that have returned are not awaited; that they were is a mistake all the same.
void check_early_exits(Block& block, uint32_t id) {
  if (block.live == block.threads || block.expected[id] != 0) return;
  for (Warp& w : block.warps) {
    for (const BarrierWait& wait : w.at_barrier) {
      if (wait.barrier != id) continue;
      report_early_exit(w, *wait.at, static_cast<uint32_t>(__builtin_ctz(wait.mask)));
      return;
    }
  }
}

void release(Block& block, uint32_t id) {
  check_same_place(block, id);
  if (block.warps.front().worker->sync_check) check_early_exits(block, id);
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
  if (block.races != nullptr) block.races->meet();
}

void barrier(Warp& w, const Inst& i) {
  Block& block = *w.block;
  const uint32_t value =
      i.variant == kSync || i.variant == kArrive ? 0 : predicate(w, i.c) ^ (i.flags ? ~0u : 0u);
  for_each_barrier(w, i, [&](uint32_t group, uint32_t id, uint32_t count) {
    if (block.waiting[id] != 0 && block.expected[id] != count && is_complete(block, id)) release(block, id);
    if (!check_count(w, i, group, id, count)) return;
    block.waiting[id] += arrivals_of(w, group, count);
    block.reductions[id].arrived += static_cast<uint32_t>(__builtin_popcount(group));
    block.reductions[id].true_count += static_cast<uint32_t>(__builtin_popcount(value & group));
    block.expected[id] = count;
    if (i.variant != kArrive) w.at_barrier.push_back({w.pc, group, id, count, &i});
  });
  if (i.variant == kArrive) return;
  w.active &= ~w.mask;
  reschedule(w);
}

void arrive_at_cluster(Warp& w, const Inst&) {
  w.cluster_arrived |= w.mask;
}

// Lanes whose arrival has been answered already go on.
void wait_for_cluster(Warp& w, const Inst& i) {
  const uint32_t waiting = w.mask & w.cluster_arrived;
  if (waiting == 0) return;
  w.at_barrier.push_back({w.pc, waiting, kClusterBarrier, 0, &i});
  w.active &= ~waiting;
  reschedule(w);
}

bool have_all_arrived(const Cluster& cluster) {
  return std::all_of(cluster.blocks.begin(), cluster.blocks.end(), [](const Block* block) {
    return block->has_returned || std::all_of(block->warps.begin(), block->warps.end(), [](const Warp& w) {
             return (w.live & ~w.cluster_arrived) == 0;
           });
  });
}

bool waits_at_cluster_barrier(const BarrierWait& wait) {
  return wait.barrier == kClusterBarrier;
}

}  // namespace

bool waits_for_cluster(const Block& block) {
  return std::any_of(block.warps.begin(), block.warps.end(), [](const Warp& w) {
    return std::any_of(w.at_barrier.begin(), w.at_barrier.end(), waits_at_cluster_barrier);
  });
}

bool open_cluster_barrier(const Cluster& cluster) {
  if (!have_all_arrived(cluster)) return false;
  for (Block* block : cluster.blocks) {
    if (block->has_returned) continue;
    for (Warp& w : block->warps) {
      w.cluster_arrived = 0;
      for (const BarrierWait& wait : w.at_barrier) {
        if (waits_at_cluster_barrier(wait)) w.parked.push_back({wait.pc, wait.mask, nullptr});
      }
      std::erase_if(w.at_barrier, waits_at_cluster_barrier);
    }
    if (block->races != nullptr) block->races->meet();
  }
  if (SharedShadow* races = cluster.blocks.front()->races) races->meet_blocks();
  return true;
}

bool open_barriers(Block& block) {
  bool opened = false;
  for (uint32_t id = 0; id < kBarriers; ++id) {
    if (!is_complete(block, id)) continue;
    release(block, id);
    opened = true;
  }
  return opened;
}

// Everything that lives waits at one barrier of an explicit count: it is the count that is wrong.
bool report_unmet_count(Block& block) {
  const BarrierWait* first = nullptr;
  Warp* first_warp = nullptr;
  for (Warp& w : block.warps) {
    if (!w.parked.empty() || w.active != 0) return false;
    for (const BarrierWait& wait : w.at_barrier) {
      if (first != nullptr && wait.barrier != first->barrier) return false;
      if (first == nullptr) first_warp = &w;
      if (first == nullptr) first = &wait;
    }
  }
  if (first == nullptr || first->expected == 0) return false;
  report_count(*first_warp, *first->at, first->mask,
               "expects " + std::to_string(first->expected) + " threads at barrier " +
                   std::to_string(first->barrier) + ", to which " +
                   std::to_string(block.waiting[first->barrier]) + " have come and no other thread will come",
               nullptr);
  return true;
}

// One report: lanes of a warp that wait for each other first, since what waits at barriers waits for them.
void report_deadlock(Block& block) {
  if (report_unmet_count(block)) return;
  struct Waiting {
    Warp* warp;
    const Inst* at;
    uint32_t mask;
    bool in_warp;
  };
  std::vector<Waiting> waiting;
  for (Warp& w : block.warps) {
    for (const Fragment& f : w.parked) {
      if (f.blocked_at != nullptr) waiting.push_back({&w, f.blocked_at, f.mask, true});
    }
  }
  for (Warp& w : block.warps) {
    for (const BarrierWait& wait : w.at_barrier) waiting.push_back({&w, wait.at, wait.mask, false});
  }
  block.launch->fail(block, Fault::launch_failure);
  if (waiting.empty()) return;
  const Waiting& first = waiting.front();
  Diagnostic d = diagnose(*first.warp, *first.at, static_cast<uint32_t>(__builtin_ctz(first.mask)),
                          Finding::barrier_deadlock);
  const bool of_cluster = !first.in_warp && waits_for_cluster(block);
  d.message +=
      first.in_warp ? "lanes wait here for lanes of their mask that never come"
      : of_cluster
          ? "threads wait at the barrier of their cluster, which other threads of the cluster never reach"
          : "threads wait at this barrier, which the rest of the block never reaches";
  for (const Waiting& other : waiting) {
    const Program::Place there = block.program->place(*other.at);
    if (there.line == d.line && there.path == d.path) continue;
    const auto lane = static_cast<uint32_t>(__builtin_ctz(other.mask));
    d.message += "; others wait at line " + std::to_string(there.line);
    d.other = party_of(*other.warp, *other.at, lane, "barrier");
    break;
  }
  d.advice =
      first.in_warp ? "Every lane named in the mask of a *_sync function must call it: use the mask of the "
                      "lanes that really call it."
      : of_cluster
          ? "Every thread of a cluster must reach cluster.sync(), or return: move it out of the condition."
          : "Every thread of a block must reach __syncthreads(): move it out of the condition, or let "
            "threads return only after it.";
  block.launch->report(block, std::move(d));
}

void add_barrier_handlers(HandlerTable& t) {
  t.add(barrier, "bar");
  t.add(arrive_at_cluster, "cluster.arrive");
  t.add(wait_for_cluster, "cluster.wait");
}

}  // namespace warpgrade::emu

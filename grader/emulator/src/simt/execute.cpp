#include "simt/execute.h"

#include <algorithm>
#include <cstring>

#include "check/diagnose.h"
#include "native/run.h"
#include "observe/counts.h"
#include "simt/barriers.h"
#include "state/convergence.h"
#include "state/stack.h"
#include "support/settings.h"

namespace warpgrade::emu {
namespace {

constexpr int kSharedPoison = 0xCD;
constexpr size_t kAlign = 64;

uint8_t* aligned(std::vector<uint8_t>& storage, size_t bytes) {
  if (storage.size() < bytes + kAlign) storage.resize(bytes + kAlign);
  return reinterpret_cast<uint8_t*>((reinterpret_cast<uintptr_t>(storage.data()) + kAlign - 1) &
                                    ~(kAlign - 1));
}

uint64_t special_value(Special what, const Launch& launch, const Worker& worker, uint32_t warp,
                       uint32_t lane) {
  const uint32_t t = warp * kLanes + lane;
  const uint32_t bit = 1u << lane;
  switch (what) {
    case Special::tid_x:
      return t % launch.block[0];
    case Special::tid_y:
      return t / launch.block[0] % launch.block[1];
    case Special::tid_z:
      return t / launch.block[0] / launch.block[1];
    case Special::ntid_x:
      return launch.block[0];
    case Special::ntid_y:
      return launch.block[1];
    case Special::ntid_z:
      return launch.block[2];
    case Special::nctaid_x:
      return launch.grid[0];
    case Special::nctaid_y:
      return launch.grid[1];
    case Special::nctaid_z:
      return launch.grid[2];
    case Special::laneid:
      return lane;
    case Special::warpid:
      return warp;
    case Special::nwarpid:
      return (launch.threads_per_block() + kLanes - 1) / kLanes;
    case Special::smid:
      return worker.index;
    case Special::nsmid:
      return settings().threads;
    case Special::gridid:
      return launch.sequence;
    case Special::lanemask_eq:
      return bit;
    case Special::lanemask_lt:
      return bit - 1;
    case Special::lanemask_le:
      return bit | (bit - 1);
    case Special::lanemask_gt:
      return ~(bit | (bit - 1));
    case Special::lanemask_ge:
      return ~(bit - 1);
    case Special::dynamic_smem_size:
      return launch.dynamic_shared;
    case Special::total_smem_size:
      return launch.program->static_shared_bytes + launch.dynamic_shared;
    case Special::workspace_low:
      return launch.workspace_address & 0xffffffff;
    case Special::workspace_high:
      return launch.workspace_address >> 32;
    case Special::cluster_nctaid_x:
      return launch.cluster[0];
    case Special::cluster_nctaid_y:
      return launch.cluster[1];
    case Special::cluster_nctaid_z:
      return launch.cluster[2];
    case Special::cluster_nctarank:
      return launch.cluster_blocks();
    case Special::nclusterid_x:
      return launch.grid[0] / launch.cluster[0];
    case Special::nclusterid_y:
      return launch.grid[1] / launch.cluster[1];
    case Special::nclusterid_z:
      return launch.grid[2] / launch.cluster[2];
    default:  // zero, and what changes with the block
      break;
  }
  return 0;
}

// Of those that change with the block, but for the local window.
uint32_t block_special(Special what, const Block& block) {
  const auto axis = [what](Special first) {
    return static_cast<uint32_t>(what) - static_cast<uint32_t>(first);
  };
  const uint32_t* size = block.cluster->size;
  if (what == Special::cluster_ctarank) return block.rank;
  if (what <= Special::ctaid_z) return block.id[axis(Special::ctaid_x)];
  if (what <= Special::cluster_ctaid_z)
    return block.id[axis(Special::cluster_ctaid_x)] % size[axis(Special::cluster_ctaid_x)];
  return block.id[axis(Special::clusterid_x)] / size[axis(Special::clusterid_x)];
}

// Frames here hold parameters and variables that a GPU keeps in registers: a call takes more than it
// would there.
uint32_t stack_for_limit(uint64_t limit) {
  constexpr uint64_t kFrameFactor = 4;
  return static_cast<uint32_t>(std::min<uint64_t>(limit, 1 << 20) * kFrameFactor);
}

void fill(Warp& w, const SpecialRegister& r, uint32_t lane, uint64_t value) {
  if (r.bytes == 8) {
    lanes<uint64_t>(w, r.slot)[lane] = value;
  } else {
    lanes<uint32_t>(w, r.slot)[lane] = static_cast<uint32_t>(value);
  }
}

// What is counted while a warp runs: everything for counters, warp instructions alone for their limit.
enum class Counting : uint8_t { nothing, steps, everything };

// One instruction after the other until the warp stops; by native code where there is some.
template <Counting kCounting>
void run_warp(Warp& w, const Inst* code) {
  NativeContext* native = w.worker->native;
  if (native != nullptr) native->instructions = 0;
  bool interpret = false;
  w.stop = Stop::none;
  if (!w.parked.empty() || w.active == 0) reschedule(w);
  constexpr bool kCount = kCounting == Counting::everything;
  ExecutionCounts* executed = kCount ? w.worker->counts->of_warp(w.index).data() : nullptr;
  uint64_t instructions = 0;
  while (w.stop == Stop::none) {
    if (w.pc == w.join_pc) [[unlikely]] {
      reschedule(w);
      if (w.stop != Stop::none) break;
    }
    if (native != nullptr && native->code != nullptr && !interpret) {
      NativeReturn next = kDispatch;
      if (run_native(w, *native, next)) {
        interpret = next == kInterpretOne;
        continue;
      }
    }
    interpret = false;
    const Inst& i = code[w.pc++];
    const uint32_t mask = w.active & (predicate(w, i.guard) ^ i.guard_flip);
    if (kCounting != Counting::nothing) ++instructions;
    if (kCount) {
      ++executed[i.index].warps;
      executed[i.index].lanes += static_cast<uint32_t>(__builtin_popcount(i.control ? w.active : mask));
    }
    if (mask == 0) continue;
    w.mask = mask;
    i.run(w, i);
  }
  if (native != nullptr) instructions += native->instructions;
  if (kCount) w.instructions += instructions;
  // Where nobody asks for the sum, it is not worth waiting for.
  if (kCounting != Counting::nothing && w.block->launch->step_limit != 0)
    w.block->launch->steps.fetch_add(instructions, std::memory_order_relaxed);
}

bool can_run(const Warp& w) {
  if (w.live == 0) return false;
  if (w.active != 0) return true;
  return std::any_of(w.parked.begin(), w.parked.end(),
                     [](const Fragment& f) { return f.blocked_at == nullptr; });
}

bool past_deadline(const Launch& launch) {
  return launch.deadline != std::chrono::steady_clock::time_point::max() &&
         std::chrono::steady_clock::now() > launch.deadline;
}

// Where a warp stands, whatever it waits for.
std::pair<uint32_t, uint32_t> standing(const Warp& w) {
  if (w.active != 0) return {w.pc, w.active};
  if (!w.parked.empty()) return {w.parked.front().pc, w.parked.front().mask};
  return {w.at_barrier.front().at->index, w.at_barrier.front().mask};
}

bool past_step_limit(const Launch& launch) {
  return launch.step_limit != 0 &&
         launch.steps_before + launch.steps.load(std::memory_order_relaxed) > launch.step_limit;
}

// A thread that is not held at a barrier knows more about an endless loop than one that is.
const Warp* most_informative_warp(const Block& block) {
  const auto live = [](const Warp& w) { return w.live != 0; };
  auto found = std::find_if(block.warps.begin(), block.warps.end(), can_run);
  if (found == block.warps.end()) found = std::find_if(block.warps.begin(), block.warps.end(), live);
  return found == block.warps.end() ? nullptr : &*found;
}

void report_timeout(const Block& block) {
  const Launch& launch = *block.launch;
  const std::string limit =
      past_step_limit(launch)
          ? "the kernel has executed more than " + std::to_string(launch.step_limit) + " warp instructions"
          : "the kernel still runs after the time limit";
  Diagnostic d;
  d.kind = Finding::launch_timeout;
  d.kernel = block.program->title;
  if (const Warp* w = most_informative_warp(block)) {
    const auto [pc, mask] = standing(*w);
    d = diagnose(*w, block.program->code[pc], static_cast<uint32_t>(__builtin_ctz(mask)),
                 Finding::launch_timeout);
    d.message += limit + "; this thread is here" + loops_around(*block.program, pc);
  } else {
    d.message = limit;
  }
  d.advice =
      "Look near this line for a loop that never ends, or for a thread that waits for a value that no other "
      "thread writes.";
  block.launch->report(block, std::move(d));
}

// Few kernels have so many barriers: most blocks run from their begin to their end, and one that waits for
// another wastes little.
constexpr uint32_t kPassesOfFirstSlice = 4096, kPassesOfLaterSlice = 512;
constexpr uint32_t kPassesPerLook = 256;  // passes with progress between looks at the clock

struct Pass {
  bool ran = false;       // some warp executed
  bool progress = false;  // some warp got further than another turn of a loop
  bool alive = false;
};

// One turn of a warp that can run. False: the launch is over.
bool run_turn(Warp& w, Counting counting, Pass& pass) {
  const Inst* code = w.block->program->code.data();
  pass.ran = true;
  switch (counting) {
    case Counting::nothing:
      run_warp<Counting::nothing>(w, code);
      break;
    case Counting::steps:
      run_warp<Counting::steps>(w, code);
      break;
    case Counting::everything:
      run_warp<Counting::everything>(w, code);
      break;
  }
  if (w.stop == Stop::aborted) return false;
  pass.progress |= w.stop != Stop::yielded;
  return true;
}

// The warp in the middle gets far ahead of the others: until it waits for them, or has given way so often in
// this block that it may be polling for what they write.
bool run_ahead(Block& block, Counting counting, Pass& pass) {
  constexpr uint32_t kTurnsAhead = 64;
  Warp& leader = block.warps[block.warps.size() / 2];
  while (can_run(leader)) {
    if (!run_turn(leader, counting, pass)) return false;
    if (leader.stop == Stop::yielded && ++block.turns_ahead >= kTurnsAhead) break;
  }
  return true;
}

Pass run_pass(Block& block, Counting counting) {
  Pass pass;
  const Schedule schedule = settings().schedule;
  const size_t count = block.warps.size();
  for (const Warp& w : block.warps) pass.alive |= w.live != 0;
  if (schedule == Schedule::one_ahead && !run_ahead(block, counting, pass)) return pass;
  for (size_t k = 0; k < count; ++k) {
    Warp& w = block.warps[schedule == Schedule::reversed ? count - 1 - k : k];
    if (can_run(w) && !run_turn(w, counting, pass)) return pass;
  }
  return pass;
}

bool join_all_warp_barriers(Block& block) {
  bool joined = false;
  for (Warp& w : block.warps) joined |= w.live != 0 && join_warp_barriers(w);
  return joined;
}

// After a pass that moved the block.
bool ends_slice(Block& block) {
  if (--block.passes_left != 0) return false;
  block.passes_left = kPassesOfLaterSlice;
  return true;
}

}  // namespace

void BlockSlot::prepare(Launch& launch, Worker& worker) {
  const Program& program = *launch.program;
  const uint32_t warp_count = (launch.threads_per_block() + kLanes - 1) / kLanes;
  const size_t file_bytes = program.register_image.size();
  uint8_t* file = aligned(registers, file_bytes * warp_count);
  block.stack_bytes = program.local_bytes + (program.grows_stack ? stack_for_limit(launch.stack_limit) : 0);
  block.warps.resize(warp_count);
  uint8_t* stacks = aligned(local, stacks_bytes(block) * (worker.init_check ? 2 : 1));
  block.program = &program;
  block.launch = &launch;
  block.threads = launch.threads_per_block();
  block.window_salt = launch.depth == 0 ? 0 : static_cast<uint32_t>(launch.sequence * 0x2f6d);
  block.shared = aligned(shared, launch.shared_bytes + 16);
  block.shared_bytes = launch.shared_bytes;
  block.launch_shared = launch.shared.data();
  block.shared_init = worker.init_check ? aligned(shared_init, launch.shared_bytes + 16) : nullptr;
  if (worker.race_check) {
    races.prepare(launch);
    block.races = &races;
  }
  for (uint32_t k = 0; k < warp_count; ++k) {
    Warp& w = block.warps[k];
    w.regs = file + file_bytes * k;
    w.local = stacks + size_t(block.stack_bytes) * kLanes * k;
    w.block = &block;
    w.worker = &worker;
    w.index = k;
    const uint32_t threads_here = std::min(kLanes, block.threads - k * kLanes);
    w.initial = threads_here == kLanes ? kAllLanes : (1u << threads_here) - 1;
    std::memcpy(w.regs, program.register_image.data(), file_bytes);
    for (const SpecialRegister& r : program.warp_specials) {
      for (uint32_t l = 0; l < kLanes; ++l) fill(w, r, l, special_value(r.what, launch, worker, k, l));
    }
    if (program.param_slot != kNoSlot) {
      std::fill_n(lanes<uint64_t>(w, program.param_slot), kLanes, launch.params_address);
    }
  }
}

void BlockSlot::start(uint64_t linear) {
  const Launch& launch = *block.launch;
  block.linear = linear;
  block.id[0] = static_cast<uint32_t>(linear % launch.grid[0]);
  block.id[1] = static_cast<uint32_t>(linear / launch.grid[0] % launch.grid[1]);
  block.id[2] = static_cast<uint32_t>(linear / launch.grid[0] / launch.grid[1]);
  block.live = block.threads;
  block.turns_ahead = 0;
  block.has_returned = false;
  block.passes_left = kPassesOfFirstSlice;
  block.slices_after_fault = 0;
  std::fill(std::begin(block.waiting), std::end(block.waiting), 0);
  std::fill(std::begin(block.reductions), std::end(block.reductions), BarrierReduction{});
  std::memset(block.shared, kSharedPoison, block.shared_bytes);
  if (block.shared_init != nullptr) std::memset(block.shared_init, 0, block.shared_bytes);
  if (block.races != nullptr) block.races->start(block);
  const Warp& first = block.warps.front();
  mark_stack(first, first.local, stacks_bytes(block), false);
  const std::vector<FunctionRecord>& functions = block.program->functions;
  const bool recursive = std::any_of(functions.begin(), functions.end(),
                                     [](const FunctionRecord& f) { return !f.saved.empty(); });
  for (Warp& w : block.warps) {
    w.live = w.active = w.initial;
    w.pc = block.program->entry;
    w.join_pc = ~0u;
    std::fill(std::begin(w.stack_top), std::end(w.stack_top), block.program->local_bytes);
    if (recursive) {
      for (std::vector<uint8_t>& saved : w.saved_registers) saved.clear();
    }
    w.parked.clear();
    w.at_barrier.clear();
    w.cluster_arrived = 0;
    w.async_copies.clear();
    std::fill(std::begin(w.async_group), std::end(w.async_group), 0);
    w.back_edges = w.spin = 0;
    w.prefer_others = w.rotate = false;
    w.carry = 0;
    if (block.program->uses_device_runtime) std::fill(std::begin(w.last_error), std::end(w.last_error), 0);
    w.instructions = w.lines_touched = w.loads = 0;
    for (const SpecialRegister& r : block.program->block_specials) {
      if (r.what == Special::local_window) {
        for (uint32_t l = 0; l < kLanes; ++l) fill(w, r, l, local_window(w, l));
        continue;
      }
      const uint32_t value = block_special(r.what, block);
      if (r.bytes == 8) {
        std::fill_n(lanes<uint64_t>(w, r.slot), kLanes, value);
      } else {
        std::fill_n(lanes<uint32_t>(w, r.slot), kLanes, value);
      }
    }
  }
}

bool stop_if_late(const Block& block, Launch& launch) {
  if (!past_step_limit(launch) && !past_deadline(launch)) return false;
  if (launch.end_of_time()) report_timeout(block);
  return true;
}

BlockState run_block(Block& block, Launch& launch) {
  constexpr int kIdlePasses = 8;  // turns without progress before other blocks get theirs
  const Counting counting = block.warps.front().worker->counts != nullptr ? Counting::everything
                            : launch.step_limit != 0                      ? Counting::steps
                                                                          : Counting::nothing;
  for (int idle = 0;;) {
    block.patient_yield = false;
    const Pass pass = run_pass(block, counting);
    if (!pass.alive) return BlockState::finished;
    if (launch.stops(block.linear)) return BlockState::aborted;
    const bool opened = open_barriers(block);
    if (!pass.ran && !opened && !join_all_warp_barriers(block)) {
      if (waits_for_cluster(block)) return BlockState::held;
      report_deadlock(block);
      return BlockState::aborted;
    }
    const bool moves = pass.progress || opened;
    const bool preempted = moves && ends_slice(block);
    const bool look = !moves || block.passes_left % kPassesPerLook == 0 || past_step_limit(launch);
    if (look && stop_if_late(block, launch)) return BlockState::aborted;
    if (preempted) return BlockState::preempted;
    if (moves) {
      idle = 0;
    } else if (pass.ran && (block.patient_yield || ++idle >= kIdlePasses)) {
      return BlockState::spinning;
    }
  }
}

}  // namespace warpgrade::emu

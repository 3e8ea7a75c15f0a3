#include "native/run.h"

#include <algorithm>

#include "check/global_races.h"
#include "check/shared_races.h"
#include "native/lanes.h"
#include "observe/counts.h"
#include "program/handlers.h"
#include "program/program.h"
#include "state/convergence.h"
#include "support/settings.h"

namespace warpgrade::emu {
namespace {

constexpr uint32_t kFailuresBeforeDoubt = 4;

void write_out(const Warp& w, const NativeContext& context, const std::vector<ScalarRegister>& registers,
               uint32_t mask) {
  lane_operations().write_out(w, context, registers, mask);
}

void write_out(const Warp& w, const NativeContext& context, const std::vector<ScalarRegister>& registers) {
  write_out(w, context, registers, w.active);
}

// What was counted for a whole block of which instructions from `from` on did not run.
void take_back(const Warp& w, NativeContext& context, const NativeBlock& block, uint32_t from) {
  if (context.block_counts == nullptr) return;
  ExecutionCounts* executed =
      w.worker->counts != nullptr ? w.worker->counts->of_warp(w.index).data() : nullptr;
  const auto active = static_cast<uint32_t>(__builtin_popcount(w.active));
  for (uint32_t k = from; k < block.end; ++k) {
    --context.instructions;
    if (executed == nullptr) continue;
    const Inst& i = w.block->program->code[k];
    --executed[k].warps;
    if (i.guard == kAlwaysSlot || i.control) executed[k].lanes -= active;
  }
}

void learn_address(const Warp& w, NativeContext& context, const Inst& i, uint32_t span) {
  NativeHint& hint = context.hints[i.index];
  hint = NativeHint();
  const Worker& worker = *w.worker;
  if (i.space == Space::shared) {
    const SharedVariable& v = w.block->launch_shared[worker.shared_hint[i.index]];
    hint = {v.begin, 0, 0, v.end - v.begin};
  } else {
    const uint32_t k = worker.allocation_hint[i.index];
    if (k >= worker.allocation_count) return;
    const Allocation& a = worker.allocations[k];
    if (a.freed || (a.read_only && w.block->program->operations[i.index][0] != 'l')) return;
    hint = {a.begin, 0, static_cast<uint64_t>(a.alias), a.bytes()};
    if (a.initialized) hint.flags = reinterpret_cast<uint64_t>(a.initialized.get()) - (a.begin + hint.alias);
    const GlobalRaces* races = worker.launch->global_races;
    hint.unraced = worker.touched == nullptr && (races == nullptr || !races->follows(k)) ? 1 : 0;
  }
  hint.starts = hint.bytes >= span ? hint.bytes - span + 1 : 0;
}

bool gathers_all(Warp& w, const Inst& i) {
  const uint32_t* members = lanes<uint32_t>(w, i.e);
  const uint32_t wanted = members[__builtin_ctz(w.mask)];
  for (uint32_t m = w.mask; m != 0; m &= m - 1) {
    if (members[__builtin_ctz(m)] != wanted) return false;
  }
  return (wanted & w.live & ~w.mask) == 0;
}

}  // namespace

int native_run(Warp* warp, NativeContext* context, uint32_t number) {
  Warp& w = *warp;
  const NativeSite& site = context->code->sites[number];
  const Inst& i = w.block->program->code[site.instruction];
  const uint32_t active = w.active, mask = active & (predicate(w, i.guard) ^ i.guard_flip);
  if (context->block_counts != nullptr && i.guard != kAlwaysSlot && w.worker->counts != nullptr)
    w.worker->counts->of_warp(w.index)[i.index].lanes += static_cast<uint32_t>(__builtin_popcount(mask));
  // Lanes that do not write keep what they had, which the code looks for in the register file from now on.
  write_out(w, *context, site.reads);
  if (mask == 0) return 0;
  w.mask = mask;
  w.pc = i.index + 1;
  const bool may_park = site.waits && !gathers_all(w, i);
  if (may_park) write_out(w, *context, site.live);
  if (site.atomic == NativeAtomic::none || !native_update(w, *context, number)) i.run(w, i);
  if (site.span != 0) learn_address(w, *context, i, site.span);
  for (const ScalarRegister& r : site.results) {
    const auto lane = static_cast<uint32_t>(__builtin_ctz(mask));
    context->scalars[unit_of(r.slot)] =
        r.bytes == 4 ? lanes<uint32_t>(w, r.slot)[lane] : lanes<uint64_t>(w, r.slot)[lane];
  }
  if (w.stop == Stop::none && w.active == active && w.pc == i.index + 1 && !may_park) return 0;
  if (!may_park) {
    // A result that came back is in the file already.
    std::vector<ScalarRegister> rest = site.live;
    std::erase_if(rest, [&](const ScalarRegister& r) {
      return std::any_of(site.results.begin(), site.results.end(),
                         [&](const ScalarRegister& x) { return x.slot == r.slot; });
    });
    write_out(w, *context, rest);
  }
  const uint32_t here = w.active;
  w.active = active;
  take_back(w, *context, context->code->blocks[site.block], i.index + 1);
  w.active = here;
  return 1 + kDispatch;
}

void native_stop_before(Warp* warp, NativeContext* context, uint32_t number) {
  Warp& w = *warp;
  const NativeSite& site = context->code->sites[number];
  write_out(w, *context, site.live);
  w.pc = site.instruction;
  take_back(w, *context, context->code->blocks[site.block], site.instruction);
}

namespace {

NativeMode mode_of(const Launch& launch) {
  NativeMode mode;
  mode.counts = settings().counters || launch.step_limit != 0;
  mode.observes = settings().counters || settings().init_check || settings().race_check;
  mode.checks = settings().init_check || settings().race_check;
  mode.orders_lanes = settings().race_check;
  mode.follows_lines = settings().levels;
  const bool one_row = launch.block[1] * launch.block[2] == 1;
  mode.shape.tid_x_is_affine = launch.block[0] % kLanes == 0 || one_row;
  mode.shape.tid_yz_are_uniform = mode.shape.tid_x_is_affine;
  mode.shape.rows_are_whole = launch.block[0] % kLanes == 0;
  return mode;
}

// Between two entries into native code.
void attach(NativeContext& context, const Launch& launch, Worker& worker, const NativeCode* code) {
  fold_native_counts(context, *launch.program, worker);
  context.code = code;
  if (code == nullptr) return;
  context.hint_storage.assign(launch.program->code.size(), NativeHint());
  context.hints = context.hint_storage.data();
  context.scalar_storage.assign(code->units, 0);
  context.scalars = context.scalar_storage.data();
  context.entry_failures.assign(code->blocks.size(), 0);
  const bool counts = worker.counts != nullptr || launch.step_limit != 0;
  context.block_storage.assign(counts ? code->blocks.size() : 0, ExecutionCounts());
  context.block_counts = counts ? context.block_storage.data() : nullptr;
  context.busy_storage.assign(worker.counts != nullptr ? code->blocks.size() : 0, ExecutionCounts());
  const bool counts_rows = worker.counts != nullptr;
  context.row_storage.assign(counts_rows ? code->sites.size() : 0, CountedRow());
  context.rows = counts_rows ? context.row_storage.data() : nullptr;
  context.stop_from = &launch.stop_from;
}

}  // namespace

void prepare_native(Launch& launch) {
  static const bool able = can_compile();
  launch.native_able = able && native_use() != NativeUse::never && !launch.program->code.empty();
  if (!launch.native_able) return;
  if (!launch.program->native) launch.program->native = std::make_shared<NativeKernel>();
  const uint64_t warps = launch.blocks() * ((launch.threads_per_block() + kLanes - 1) / kLanes);
  launch.native = launch.program->native->code_for(*launch.program, mode_of(launch), warps);
}

std::unique_ptr<NativeContext> make_native_context(const Launch& launch, Worker& worker) {
  if (!launch.native_able) return nullptr;
  auto context = std::make_unique<NativeContext>();
  context->params = launch.params;
  attach(*context, launch, worker, launch.native);
  return context;
}

void renew(NativeContext& context, Worker& worker) {
  const Launch& launch = *worker.launch;
  context.doubts = false;
  const NativeCode* code =
      launch.program->native->code_for(*launch.program, mode_of(launch), NativeKernel::kHotWarps);
  if (code != nullptr && code != context.code) attach(context, launch, worker, code);
}

void warm_up(Worker& worker) {
  if (worker.native->code == nullptr) renew(*worker.native, worker);
}

void fold_native_counts(NativeContext& context, const Program& program, Worker& worker) {
  if (worker.counts == nullptr || context.block_counts == nullptr) return;
  const auto fold = [&](const std::vector<ExecutionCounts>& of_blocks, std::vector<ExecutionCounts>& to) {
    for (size_t b = 0; b < context.code->blocks.size(); ++b) {
      for (uint32_t k = context.code->blocks[b].begin; k < context.code->blocks[b].end; ++k) {
        const Inst& i = program.code[k];
        to[k].warps += of_blocks[b].warps;
        if (i.guard == kAlwaysSlot || i.control) to[k].lanes += of_blocks[b].lanes;
      }
    }
  };
  fold(context.block_storage, worker.counts->executed);
  fold(context.busy_storage, worker.counts->busy);
  context.block_counts = nullptr;
}

namespace {

// Whether the facts that a block's code relies on hold for the lanes that are there; takes the scalars in.
bool take_in(Warp& w, NativeContext& context, uint32_t number) {
  const NativeBlock& block = context.code->blocks[number];
  const auto first = static_cast<uint32_t>(__builtin_ctz(w.active));
  for (const ScalarRegister& r : block.scalars) {
    const uint64_t base = r.bytes == 4
                              ? uint32_t(lanes<uint32_t>(w, r.slot)[first] - uint32_t(r.stride) * first)
                              : lanes<uint64_t>(w, r.slot)[first] - uint64_t(r.stride) * first;
    if (!lane_operations().holds(w, r, base, w.active) || (r.known && base != r.value)) {
      if (++context.entry_failures[number] == kFailuresBeforeDoubt) {
        w.block->program->native->doubt(block, {unit_of(r.slot)});
        context.doubts = true;
      }
      return false;
    }
    context.scalars[unit_of(r.slot)] = base;
  }
  return true;
}

// The code to go on with at w.pc; nullptr: the interpreter's dispatch is asked.
const uint8_t* entry_at(Warp& w, NativeContext& context) {
  if (w.stop != Stop::none || w.pc == w.join_pc || w.prefer_others) return nullptr;
  const uint32_t number = context.code->block_at[w.pc];
  if (number == Flow::kNone) return nullptr;
  const NativeBlock& block = context.code->blocks[number];
  if (w.join_pc < block.end) return nullptr;
  for (const Fragment& f : w.parked) {
    if (f.pc < w.join_pc) return nullptr;
  }
  return take_in(w, context, number) ? block.address : nullptr;
}

// Lanes part and the lower of the two places runs, as simt/control.cpp has it, where that changes nothing for
// lanes that are parked: scalars stay, and those that leave get theirs in the register file.
bool part(Warp& w, const NativeContext& context, const NativeSite& site, const Inst& i, uint32_t taken) {
  const uint32_t stays = w.active & ~taken, next = i.index + 1;
  if (stays == 0 || w.prefer_others) return false;
  const bool backward = i.target <= i.index;
  const uint32_t runs_at = std::min(i.target, next), parks_at = std::max(i.target, next);
  if (runs_at >= w.join_pc || runs_at == parks_at) return false;
  if (backward) {
    const uint32_t step = i.patient ? kPatientStep : 1;
    if (w.back_edges >= (i.patient ? kPatientTurns : kTurns) || w.spin + step > kYieldAfter) return false;
    ++w.back_edges;
    w.spin += step;
  }
  if (w.worker->counts != nullptr) ++w.worker->counts->accesses[i.index].divergent_branches;
  const uint32_t leave = backward ? stays : taken;
  write_out(w, context, site.live, leave);
  park(w, parks_at, leave);
  w.active &= ~leave;
  w.join_pc = std::min(w.join_pc, parks_at);
  w.pc = runs_at;
  return true;
}

// Parked lanes that wait at a block's begin, and have the scalars that this code has, come along.
bool join(Warp& w, const NativeContext& context, const NativeBlock& block) {
  if (w.join_pc != block.begin || w.prefer_others) return false;
  uint32_t joining = 0;
  for (const Fragment& f : w.parked) {
    if (f.pc < block.begin || (f.pc > block.begin && f.pc < block.end)) return false;
    if (f.pc == block.begin) joining |= f.mask;
  }
  for (const ScalarRegister& r : block.scalars) {
    if (!lane_operations().holds(w, r, base_of(context, r), joining)) return false;
  }
  w.pc = block.begin;
  merge_here(w);
  return true;
}

}  // namespace

int native_control(Warp* warp, NativeContext* context, uint32_t number, uint32_t mask) {
  Warp& w = *warp;
  const NativeSite& site = context->code->sites[number];
  const Inst& i = w.block->program->code[site.instruction];
  write_out(w, *context, site.live);
  if (context->block_counts != nullptr && i.guard != kAlwaysSlot && !i.control && w.worker->counts != nullptr)
    w.worker->counts->of_warp(w.index)[i.index].lanes += static_cast<uint32_t>(__builtin_popcount(mask));
  w.mask = mask;
  w.pc = i.index + 1;
  i.run(w, i);
  return 0;
}

const uint8_t* native_branch(Warp* warp, NativeContext* context, uint32_t number, uint32_t mask) {
  Warp& w = *warp;
  const NativeSite& site = context->code->sites[number];
  const Inst& i = w.block->program->code[site.instruction];
  if (part(w, *context, site, i, mask)) {
    const NativeBlock& block = context->code->blocks[context->code->block_at[w.pc]];
    return block.address;
  }
  native_control(warp, context, number, mask);
  return entry_at(w, *context);
}

const uint8_t* native_join(Warp* warp, NativeContext* context, uint32_t number) {
  Warp& w = *warp;
  const NativeBlock& block = context->code->blocks[number];
  if (join(w, *context, block)) return block.address;
  write_out(w, *context, block.scalars);
  w.pc = block.begin;
  if (!w.parked.empty()) reschedule(w);
  return entry_at(w, *context);
}

bool run_native(Warp& w, NativeContext& context, NativeReturn& next) {
  // A version without the facts that did not hold.
  if (context.doubts) renew(context, *w.worker);
  context.shared = w.block->shared;
  context.shared_flags = w.block->shared_init;
  context.block = w.block->linear;
  context.warp = &w;
  if (w.worker->counts != nullptr && context.block_counts != nullptr) {
    const bool is_busy = w.index == w.worker->counts->busy_warp;
    context.block_counts = (is_busy ? context.busy_storage : context.block_storage).data();
  }
  if (w.block->races != nullptr) {
    context.clock = w.block->races->order().clock();
    context.lanes_since = w.block->races->order().lanes_of(w.index);
    context.warp_since = w.block->races->order().warp_of(w.index);
    context.stamps = w.block->races->stamps();
  }
  const uint8_t* entry = entry_at(w, context);
  if (entry == nullptr) return false;
  next = static_cast<NativeReturn>(context.code->enter(&w, &context, entry));
  return true;
}

}  // namespace warpgrade::emu

#include "native/run.h"

#include <algorithm>

#include "exec/handlers.h"
#include "program/program.h"
#include "simt/convergence.h"
#include "simt/counts.h"
#include "simt/observe_row.h"
#include "support/settings.h"

#define WARPEMU_FOR_EACH_ISA [[gnu::target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")]]

namespace warpgrade::emu {
namespace {

constexpr uint32_t kFailuresBeforeDoubt = 4;

WARPEMU_FOR_EACH_ISA
uint32_t differs_32(const uint32_t* lane, uint32_t base, uint32_t stride, uint32_t active) {
  uint32_t found = 0;
  for (uint32_t l = 0; l < kLanes; ++l) found |= (active >> l & 1) != 0 ? lane[l] ^ (base + stride * l) : 0;
  return found;
}

WARPEMU_FOR_EACH_ISA
uint64_t differs_64(const uint64_t* lane, uint64_t base, uint64_t stride, uint32_t active) {
  uint64_t found = 0;
  for (uint32_t l = 0; l < kLanes; ++l) found |= (active >> l & 1) != 0 ? lane[l] ^ (base + stride * l) : 0;
  return found;
}

WARPEMU_FOR_EACH_ISA
void write_32(uint32_t* lane, uint32_t base, uint32_t stride, uint32_t active) {
  for (uint32_t l = 0; l < kLanes; ++l) lane[l] = (active >> l & 1) != 0 ? base + stride * l : lane[l];
}

WARPEMU_FOR_EACH_ISA
void write_64(uint64_t* lane, uint64_t base, uint64_t stride, uint32_t active) {
  for (uint32_t l = 0; l < kLanes; ++l) lane[l] = (active >> l & 1) != 0 ? base + stride * l : lane[l];
}

// To the register file, for the lanes that are there.
void write_out(Warp& w, const NativeContext& context, const std::vector<ScalarRegister>& registers) {
  for (const ScalarRegister& r : registers) {
    const uint64_t base = r.known ? r.value : context.scalars[unit_of(r.slot)];
    if (r.bytes == 4) {
      write_32(lanes<uint32_t>(w, r.slot), uint32_t(base), uint32_t(r.stride), w.active);
    } else {
      write_64(lanes<uint64_t>(w, r.slot), base, uint64_t(r.stride), w.active);
    }
  }
}

// What was counted for a whole block of which instructions from `from` on did not run.
void take_back(const Warp& w, NativeContext& context, const NativeBlock& block, uint32_t from) {
  if (context.block_counts == nullptr) return;
  ExecutionCounts* executed = w.worker->counts != nullptr ? w.worker->counts->executed.data() : nullptr;
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
    w.worker->counts->executed[i.index].lanes += static_cast<uint32_t>(__builtin_popcount(mask));
  if (mask == 0) return 0;
  w.mask = mask;
  w.pc = i.index + 1;
  write_out(w, *context, site.reads);
  const bool may_park = site.waits && !gathers_all(w, i);
  if (may_park) write_out(w, *context, site.live);
  i.run(w, i);
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

void native_observe(Warp* warp, NativeContext* context, uint32_t number, uint64_t host) {
  Warp& w = *warp;
  const NativeSite& site = context->code->sites[number];
  const Inst& i = w.block->program->code[site.instruction];
  w.mask = w.active;
  const bool loads = w.block->program->operations[i.index][0] == 'l';
  observe_row(w, i, site.bytes, loads ? AccessKind::load : AccessKind::store,
              {host, site.row ? site.bytes : 0, i.space});
}

int native_control(Warp* warp, NativeContext* context, uint32_t number, uint32_t mask) {
  Warp& w = *warp;
  const NativeSite& site = context->code->sites[number];
  const Inst& i = w.block->program->code[site.instruction];
  write_out(w, *context, site.live);
  if (context->block_counts != nullptr && i.guard != kAlwaysSlot && !i.control && w.worker->counts != nullptr)
    w.worker->counts->executed[i.index].lanes += static_cast<uint32_t>(__builtin_popcount(mask));
  w.mask = mask;
  w.pc = i.index + 1;
  i.run(w, i);
  return 0;
}

void native_stop_before(Warp* warp, NativeContext* context, uint32_t number) {
  Warp& w = *warp;
  const NativeSite& site = context->code->sites[number];
  write_out(w, *context, site.live);
  w.pc = site.instruction;
  take_back(w, *context, context->code->blocks[site.block], site.instruction);
}

void native_stop_at_block(Warp* warp, NativeContext* context, uint32_t block) {
  const NativeBlock& b = context->code->blocks[block];
  write_out(*warp, *context, b.scalars);
  warp->pc = b.begin;
}

const NativeCode* native_code_for(const Launch& launch) {
  if (!settings().native || launch.program->code.empty()) return nullptr;
  static const bool able = isa_name() == std::string_view("v4");
  if (!able) return nullptr;
  if (!launch.program->native) launch.program->native = std::make_shared<NativeKernel>();
  NativeMode mode;
  mode.counts = settings().counters || launch.step_limit != 0;
  mode.observes = settings().counters || settings().init_check || settings().race_check;
  mode.orders_lanes = settings().race_check;
  const bool one_row = launch.block[1] * launch.block[2] == 1;
  mode.shape.tid_x_is_affine = launch.block[0] % kLanes == 0 || one_row;
  mode.shape.tid_yz_are_uniform = mode.shape.tid_x_is_affine;
  mode.shape.rows_are_whole = launch.block[0] % kLanes == 0;
  const uint64_t warps = launch.blocks() * ((launch.threads_per_block() + kLanes - 1) / kLanes);
  return launch.program->native->code_for(*launch.program, mode, warps * launch.program->code.size());
}

std::unique_ptr<NativeContext> make_native_context(const Launch& launch, Worker& worker) {
  if (launch.native == nullptr) return nullptr;
  auto context = std::make_unique<NativeContext>();
  context->code = launch.native;
  context->hint_storage.resize(launch.program->code.size());
  context->hints = context->hint_storage.data();
  context->scalar_storage.resize(launch.native->units);
  context->scalars = context->scalar_storage.data();
  context->entry_failures.resize(launch.native->blocks.size());
  context->params = launch.params;
  context->block_storage.resize(
      worker.counts != nullptr || launch.step_limit != 0 ? launch.native->blocks.size() : 0);
  context->block_counts = context->block_storage.empty() ? nullptr : context->block_storage.data();
  return context;
}

void fold_native_counts(const NativeContext& context, const Program& program, Worker& worker) {
  if (worker.counts == nullptr || context.block_counts == nullptr) return;
  for (size_t b = 0; b < context.code->blocks.size(); ++b) {
    for (uint32_t k = context.code->blocks[b].begin; k < context.code->blocks[b].end; ++k) {
      const Inst& i = program.code[k];
      worker.counts->executed[k].warps += context.block_counts[b].warps;
      if (i.guard == kAlwaysSlot || i.control)
        worker.counts->executed[k].lanes += context.block_counts[b].lanes;
    }
  }
}

namespace {

// Whether the facts that a block's code relies on hold for the lanes that are there; takes the scalars in.
bool take_in(Warp& w, NativeContext& context, uint32_t number) {
  const NativeBlock& block = context.code->blocks[number];
  const auto first = static_cast<uint32_t>(__builtin_ctz(w.active));
  for (const ScalarRegister& r : block.scalars) {
    uint64_t base, different;
    if (r.bytes == 4) {
      const uint32_t* lane = lanes<uint32_t>(w, r.slot);
      base = uint32_t(lane[first] - uint32_t(r.stride) * first);
      different = differs_32(lane, uint32_t(base), uint32_t(r.stride), w.active);
    } else {
      const uint64_t* lane = lanes<uint64_t>(w, r.slot);
      base = lane[first] - uint64_t(r.stride) * first;
      different = differs_64(lane, base, uint64_t(r.stride), w.active);
    }
    if (different != 0 || (r.known && base != r.value)) {
      if (++context.entry_failures[number] >= kFailuresBeforeDoubt)
        w.block->program->native->doubt(block, {unit_of(r.slot)});
      return false;
    }
    context.scalars[unit_of(r.slot)] = base;
  }
  return true;
}

}  // namespace

NativeContext*& native_context() {
  static thread_local NativeContext* context = nullptr;
  return context;
}

bool run_native(Warp& w, NativeContext& context, NativeReturn& next) {
  const uint32_t number = context.code->block_at[w.pc];
  if (number == Flow::kNone || w.prefer_others) return false;
  const NativeBlock& block = context.code->blocks[number];
  if (w.join_pc < block.end) return false;
  for (const Fragment& f : w.parked) {
    if (f.pc < w.join_pc) return false;
  }
  if (!take_in(w, context, number)) return false;
  context.shared = w.block->shared;
  next = static_cast<NativeReturn>(context.code->enter(&w, &context, block.address));
  return true;
}

}  // namespace warpgrade::emu

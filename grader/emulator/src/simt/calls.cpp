// Calls and returns, frames on the lanes' stacks, alloca.
//
// Callees stand below their callers in the code (recursion aside), so lanes inside a function run first and
// meet again at its return.
#include <algorithm>

#include "check/diagnose.h"
#include "exec/handlers.h"
#include "program/program.h"
#include "state/convergence.h"
#include "state/launch.h"
#include "state/stack.h"

namespace warpgrade::emu {
namespace {

template <class Visit>
void for_each_lane(uint32_t mask, Visit visit) {
  for (uint32_t m = mask; m != 0; m &= m - 1) visit(static_cast<uint32_t>(__builtin_ctz(m)));
}

const CallRecord& record_of(const Warp& w, const Inst& i) {
  return w.block->program->calls[i.target];
}

void abort_launch(Warp& w, Diagnostic d, Fault fault) {
  w.block->launch->report(*w.block, std::move(d));
  w.block->launch->fail(*w.block, fault);
  w.stop = Stop::aborted;
}

void report_overflow(Warp& w, const Inst& i, uint32_t lane, uint64_t wanted) {
  Diagnostic d = diagnose(w, i, lane, Finding::stack_overflow);
  d.message += "needs " + std::to_string(wanted) + " more bytes of stack, of which " +
               std::to_string(w.block->stack_bytes - w.stack_top[lane]) + " are left";
  d.advice =
      "Does the recursion end for every input? If it ends but is deep, raise cudaLimitStackSize with "
      "cudaDeviceSetLimit (" +
      std::to_string(w.block->launch->stack_limit) + " bytes now).";
  abort_launch(w, std::move(d), Fault::launch_failure);
}

void save_registers(Warp& w, const FunctionRecord& function, uint32_t lane) {
  std::vector<uint8_t>& saved = w.saved_registers[lane];
  for (const SavedRegister& r : function.saved) {
    if (r.bytes == 0) {
      saved.push_back(predicate(w, r.slot) >> lane & 1);
    } else {
      const uint8_t* value = w.regs + r.slot + lane * r.bytes;
      saved.insert(saved.end(), value, value + r.bytes);
    }
  }
}

void restore_registers(Warp& w, const FunctionRecord& function, uint32_t lane) {
  std::vector<uint8_t>& saved = w.saved_registers[lane];
  size_t at = saved.size();
  for (auto r = function.saved.rbegin(); r != function.saved.rend(); ++r) {
    at -= std::max(r->bytes, 1u);
    if (r->bytes == 0) {
      uint32_t& p = predicate(w, r->slot);
      p = (p & ~(1u << lane)) | uint32_t(saved[at]) << lane;
    } else {
      std::memcpy(w.regs + r->slot + lane * r->bytes, &saved[at], r->bytes);
    }
  }
  saved.resize(at);
}

// From the caller's frame to the callee's or to the mailbox; frames that are placed statically begin at 0.
void copy(Warp& w, uint32_t lane, const std::vector<ParamCopy>& copies, uint32_t from_slot,
          uint32_t to_slot) {
  const uint8_t* from = frame(w, from_slot, lane);
  uint8_t* to = frame(w, to_slot, lane);
  for (const ParamCopy& c : copies) {
    std::memmove(to + c.to, from + c.from, c.bytes);
    mark_stack(w, to + c.to, c.bytes, true);
  }
}

// Gives a lane its frame in the callee. False when its stack is full, which has been reported.
bool enter(Warp& w, const Inst& i, const FunctionRecord& function, uint32_t lane) {
  if (!function.saved.empty()) save_registers(w, function, lane);
  if (function.frame_slot != kNoSlot) {
    if (w.stack_top[lane] + function.frame_bytes > w.block->stack_bytes) {
      report_overflow(w, i, lane, function.frame_bytes);
      return false;
    }
    lanes<uint64_t>(w, function.frame_slot)[lane] = w.stack_top[lane];
    w.stack_top[lane] += function.frame_bytes;
    mark_stack(w, frame(w, function.frame_slot, lane), function.frame_bytes, false);
    copy(w, lane, function.params, kNoSlot, function.frame_slot);
  }
  lanes<uint32_t>(w, function.return_slot)[lane] = w.pc;
  return true;
}

void call(Warp& w, const Inst& i) {
  const CallRecord& record = record_of(w, i);
  const FunctionRecord& function = w.block->program->functions[record.function];
  for (uint32_t m = w.mask; m != 0; m &= m - 1) {
    const auto l = static_cast<uint32_t>(__builtin_ctz(m));
    copy(w, l, record.copies, record.frame_slot, kNoSlot);
    if (!enter(w, i, function, l)) return;
  }
  const uint32_t stays = w.active & ~w.mask;
  if (stays != 0) park(w, w.pc, stays);
  w.active = w.mask;
  w.pc = function.entry;
  if (!w.parked.empty()) reschedule(w);
}

void report_bad_target(Warp& w, const Inst& i, uint32_t lane, uint64_t address) {
  Diagnostic d = diagnose(w, i, lane, Finding::bad_call);
  d.address = address;
  const bool is_function = (address & kTagMask) == kFunctionTag;
  d.message += address == 0  ? "calls through a null pointer"
               : is_function ? "calls a function whose parameters differ from those that the call passes"
                             : "calls an address at which no function of this module begins";
  d.advice =
      "Device code must make function pointers and objects with virtual functions. Those that host code made "
      "do not work here, and memory that nobody has written holds none.";
  abort_launch(w, std::move(d), Fault::invalid_pc);
}

void call_indirect(Warp& w, const Inst& i) {
  const CallRecord& record = record_of(w, i);
  uint32_t entries[kLanes] = {};
  for (uint32_t m = w.mask; m != 0; m &= m - 1) {
    const auto l = static_cast<uint32_t>(__builtin_ctz(m));
    const uint64_t address = lanes<uint64_t>(w, i.a)[l];
    const auto target = record.targets.find(address);
    if (target == record.targets.end()) return report_bad_target(w, i, l, address);
    const FunctionRecord& function = w.block->program->functions[target->second];
    copy(w, l, record.copies, record.frame_slot, kNoSlot);
    if (!enter(w, i, function, l)) return;
    entries[l] = function.entry;
  }
  scatter(w, entries);
}

void call_return(Warp& w, const Inst& i) {
  const CallRecord& record = record_of(w, i);
  for_each_lane(w.mask, [&](uint32_t l) { copy(w, l, record.copies, kNoSlot, record.frame_slot); });
}

void return_from_static_frame(Warp& w, const Inst& i) {
  scatter(w, lanes<uint32_t>(w, w.block->program->functions[i.target].return_slot));
}

void return_from_frame(Warp& w, const Inst& i) {
  const FunctionRecord& function = w.block->program->functions[i.target];
  uint32_t targets[kLanes] = {};
  for_each_lane(w.mask, [&](uint32_t l) {
    targets[l] = lanes<uint32_t>(w, function.return_slot)[l];
    copy(w, l, function.results, function.frame_slot, kNoSlot);
    w.stack_top[l] = static_cast<uint32_t>(lanes<uint64_t>(w, function.frame_slot)[l]);
    if (!function.saved.empty()) restore_registers(w, function, l);
  });
  scatter(w, targets);
}

void allocate_on_stack(Warp& w, const Inst& i) {
  const auto align = static_cast<uint64_t>(std::max<int64_t>(i.imm, 1));
  for (uint32_t m = w.mask; m != 0; m &= m - 1) {
    const auto l = static_cast<uint32_t>(__builtin_ctz(m));
    const uint64_t bytes = lanes<uint64_t>(w, i.a)[l];
    const uint64_t begin = (w.stack_top[l] + align - 1) / align * align;
    if (bytes > w.block->stack_bytes || begin + bytes > w.block->stack_bytes)
      return report_overflow(w, i, l, bytes);
    lanes<uint64_t>(w, i.d)[l] = begin;
    mark_stack(w, frame(w, kNoSlot, l) + begin, bytes, false);
    w.stack_top[l] = static_cast<uint32_t>(begin + bytes);
  }
}

void save_stack(Warp& w, const Inst& i) {
  for_each_lane(w.mask, [&](uint32_t l) { lanes<uint64_t>(w, i.d)[l] = w.stack_top[l]; });
}

void restore_stack(Warp& w, const Inst& i) {
  for_each_lane(w.mask,
                [&](uint32_t l) { w.stack_top[l] = static_cast<uint32_t>(lanes<uint64_t>(w, i.a)[l]); });
}

}  // namespace

void add_call_handlers(HandlerTable& t) {
  t.add(call, "call");
  t.add(call_indirect, "call.indirect");
  t.add(call_return, "call.return");
  t.add(return_from_static_frame, "ret");
  t.add(return_from_frame, "ret.frame");
  t.add(allocate_on_stack, "alloca");
  t.add(save_stack, "stacksave");
  t.add(restore_stack, "stackrestore");
}

}  // namespace warpgrade::emu

#include "simt/conditions.h"

#include <cstring>
#include <mutex>
#include <unordered_map>

#include "check/diagnose.h"
#include "exec/handlers.h"
#include "state/launch.h"
#include "state/stack.h"

namespace warpgrade::emu {
namespace {

std::mutex g_mutex;

// Never destroyed: programs run graphs in their own static destructors.
std::unordered_map<uint64_t, uint32_t>& values() {
  static auto* all = new std::unordered_map<uint64_t, uint32_t>;
  return *all;
}

void report_no_handle(Warp& w, const Inst& i, uint32_t lane, uint64_t handle) {
  Diagnostic d = diagnose(w, i, lane, Finding::trap);
  d.message += "sets the conditional handle " + std::to_string(handle) + ", which no call created";
  d.advice = "Pass the kernel the handle that cudaGraphConditionalHandleCreate gave.";
  w.block->launch->report(*w.block, std::move(d));
  w.block->launch->fail(*w.block, Fault::launch_failure);
  w.stop = Stop::aborted;
}

// vec: offsets in the frame of the handle and of the value.
void set_by_kernel(Warp& w, const Inst& i) {
  for (uint32_t m = w.mask; m != 0; m &= m - 1) {
    const auto l = static_cast<uint32_t>(__builtin_ctz(m));
    const uint64_t handle = stack_word(w, i, l, i.vec[0], sizeof(uint64_t));
    const uint64_t value = stack_word(w, i, l, i.vec[1], sizeof(uint32_t));
    if (!set_condition(handle, static_cast<uint32_t>(value))) return report_no_handle(w, i, l, handle);
  }
}

}  // namespace

uint64_t create_condition() {
  std::lock_guard lock(g_mutex);
  const uint64_t handle = values().size() + 1;
  values()[handle] = 0;
  return handle;
}

bool set_condition(uint64_t handle, uint32_t value) {
  std::lock_guard lock(g_mutex);
  const auto found = values().find(handle);
  if (found == values().end()) return false;
  found->second = value;
  return true;
}

std::optional<uint32_t> condition(uint64_t handle) {
  std::lock_guard lock(g_mutex);
  const auto found = values().find(handle);
  if (found == values().end()) return std::nullopt;
  return found->second;
}

void add_condition_handlers(HandlerTable& t) {
  t.add(set_by_kernel, "cudaGraphSetConditional");
}

}  // namespace warpgrade::emu

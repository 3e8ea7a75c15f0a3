#include "simt/heap.h"

#include <cstring>

#include "check/diagnose.h"
#include "check/global_races.h"
#include "check/initialized.h"
#include "exec/handlers.h"
#include "memory/device_heap.h"
#include "state/launch.h"
#include "state/stack.h"

namespace warpgrade::emu {
namespace {

void report_bad_free(Warp& w, const Inst& i, uint32_t lane, uint64_t address, bool freed_before) {
  Diagnostic d = diagnose(w, i, lane, Finding::invalid_free);
  d.address = address;
  d.message += freed_before ? "frees memory of the device heap a second time"
                            : "frees an address at which no malloc of a kernel begins";
  d.advice = freed_before
                 ? "Free each block of memory once: do several threads free the same pointer?"
                 : "free and delete take exactly what malloc and new returned in a kernel; memory of "
                   "cudaMalloc is freed with cudaFree.";
  w.block->launch->report(*w.block, std::move(d));
  w.block->launch->fail(*w.block, Fault::launch_failure);
  w.stop = Stop::aborted;
}

// A new block: what the checks know of its addresses belongs to an earlier one.
void begin_anew(const Warp& w, uint64_t address, uint64_t bytes) {
  const Worker& worker = *w.worker;
  if (address == 0 || !(worker.init_check || worker.race_check)) return;
  for (uint32_t k = 0; k < worker.allocation_count; ++k) {
    const Allocation& heap = worker.allocations[k];
    if (heap.kind != MemoryKind::heap) continue;
    forget_initialized(heap, address, bytes);
    if (worker.race_check) w.block->launch->global_races->forget(k, address - heap.begin, bytes);
  }
}

// vec: offsets in the frame of the size and of the result.
void allocate(Warp& w, const Inst& i) {
  for (uint32_t m = w.mask; m != 0; m &= m - 1) {
    const auto l = static_cast<uint32_t>(__builtin_ctz(m));
    const uint64_t bytes = stack_word(w, i, l, i.vec[0], sizeof(uint64_t));
    const uint64_t address = take_from_heap(w, bytes);
    std::memcpy(frame(w, i.a, l) + i.vec[1], &address, sizeof address);
  }
}

// vec: offset in the frame of the address. Null is freed without effect.
void release(Warp& w, const Inst& i) {
  for (uint32_t m = w.mask; m != 0; m &= m - 1) {
    const auto l = static_cast<uint32_t>(__builtin_ctz(m));
    if (!give_back_to_heap(w, i, l, stack_word(w, i, l, i.vec[0], sizeof(uint64_t)))) return;
  }
}

}  // namespace

uint64_t take_from_heap(const Warp& w, uint64_t bytes) {
  const uint64_t address = DeviceHeap::instance().allocate(bytes);
  begin_anew(w, address, bytes);
  return address;
}

bool give_back_to_heap(Warp& w, const Inst& i, uint32_t lane, uint64_t address) {
  if (address == 0) return true;
  const DeviceHeap::Release outcome = DeviceHeap::instance().release(address);
  if (outcome == DeviceHeap::Release::released) return true;
  report_bad_free(w, i, lane, address, outcome == DeviceHeap::Release::already_freed);
  return false;
}

void add_heap_handlers(HandlerTable& t) {
  t.add(allocate, "malloc");
  t.add(release, "free");
}

}  // namespace warpgrade::emu

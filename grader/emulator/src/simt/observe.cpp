// What is looked at in each access when it is asked for: its cost (count_access.cpp), and whether a load
// reads what nobody wrote.
#include <cstring>

#include "check/global_races.h"
#include "check/shared_races.h"
#include "exec/access.h"
#include "program/program.h"
#include "simt/count_access.h"
#include "simt/launch.h"
#include "simt/report.h"

namespace warpgrade::emu {
namespace {

// The flags of the bytes that a lane touches, or nullptr when they are not followed.
uint8_t* flags_of(Warp& w, const Inst& i, uint64_t host, Space space, const Allocation** allocation) {
  if (space == Space::shared)
    return w.block->shared_init + (host - reinterpret_cast<uint64_t>(w.block->shared));
  const Worker& worker = *w.worker;
  const uint32_t hint = worker.allocation_hint[i.index];
  const auto holds = [&](const Allocation& a) { return host >= a.begin + a.alias && host < a.end + a.alias; };
  if (hint < worker.allocation_count && holds(worker.allocations[hint])) {
    *allocation = &worker.allocations[hint];
  } else {
    for (uint32_t k = 0; k < worker.allocation_count; ++k) {
      if (holds(worker.allocations[k])) *allocation = &worker.allocations[k];
    }
  }
  if (*allocation == nullptr || !(*allocation)->initialized) return nullptr;
  return (*allocation)->initialized.get() + (host - ((*allocation)->begin + (*allocation)->alias));
}

void report_uninitialized(Warp& w, const Inst& i, uint32_t lane, uint32_t bytes, const Allocation* a,
                          uint64_t host) {
  Diagnostic d = diagnose(w, i, lane, "uninitialized_read");
  d.access = "load";
  d.bytes = bytes;
  if (a != nullptr) {
    const uint64_t address = host - a->alias;
    d.address = address;
    d.allocation = DiagnosedAllocation{a->name, a->bytes(), static_cast<int64_t>(address - a->begin)};
    d.message +=
        "reads byte " + std::to_string(address - a->begin) + " of " + a->name + ", which nobody has written";
    d.advice = "Copy or clear the memory first (cudaMemcpy, cudaMemset); cudaMalloc does not clear it.";
  } else {
    d.message += "reads shared memory that no thread of this block has written";
    d.advice = "Shared memory starts with unspecified contents: write each element before reading it.";
  }
  Diagnostics::instance().add(std::move(d));
}

void check_initialized(Warp& w, const Inst& i, uint32_t bytes, AccessKind kind, const Access& x) {
  bool reported = false;
  for (uint32_t m = w.mask; m != 0; m &= m - 1) {
    const auto l = static_cast<uint32_t>(__builtin_ctz(m));
    const Allocation* allocation = nullptr;
    uint8_t* flags = flags_of(w, i, x.host[l], x.space, &allocation);
    if (flags == nullptr) continue;
    if (kind != AccessKind::store && !reported && std::memchr(flags, 0, bytes) != nullptr) {
      report_uninitialized(w, i, l, bytes, allocation, x.host[l]);
      reported = true;
    }
    if (kind != AccessKind::load) std::memset(flags, 1, bytes);
  }
}

}  // namespace

void observe_access(Warp& w, const Inst& i, uint32_t bytes, AccessKind kind, const Access& x) {
  if (w.block->launch->abort.load(std::memory_order_relaxed)) return;
  if (w.worker->counts != nullptr) count_access(w, i, bytes, kind, x);
  const bool followed = x.space == Space::shared || x.space == Space::global;
  if (w.worker->init_check && followed) check_initialized(w, i, bytes, kind, x);
  if (!w.worker->race_check) return;
  if (x.space == Space::shared) w.block->races->check(w, i, bytes, kind, x);
  if (x.space == Space::global) w.block->launch->global_races->check(w, i, bytes, kind, x);
}

}  // namespace warpgrade::emu

#include "check/initialized.h"

#include <algorithm>
#include <cstring>

#include "check/diagnose.h"
#include "check/vector_checks.h"
#include "memory/device_heap.h"
#include "program/program.h"
#include "program/unset_locals.h"
#include "state/launch.h"
#include "state/stack.h"
#include "support/for_each_level.h"

namespace warpgrade::emu {
namespace {

// Flags of a stretch of memory: a byte for each byte, 1 once it was written.
struct FlaggedMemory {
  uint8_t* flags = nullptr;                // nullptr: not followed
  uint64_t begin = 0, end = 0;             // host addresses
  const Allocation* allocation = nullptr;  // nullptr: shared or local memory
  bool local = false;

  bool holds(uint64_t host) const { return host >= begin && host < end; }
  uint8_t* at(uint64_t host) const { return flags + (host - begin); }
};

FlaggedMemory memory_of(const Warp& w, const Inst& i, uint64_t host, Space space) {
  if (space == Space::shared) {
    const auto begin = reinterpret_cast<uint64_t>(w.block->shared);
    return {w.block->shared_init, begin, begin + w.block->shared_bytes, nullptr};
  }
  if (space == Space::local) {
    const auto begin = reinterpret_cast<uint64_t>(w.local);
    return {w.local + stacks_bytes(*w.block), begin, begin + size_t(w.block->stack_bytes) * kLanes, nullptr,
            true};
  }
  const Worker& worker = *w.worker;
  const auto holds = [host](const Allocation& a) {
    return host >= a.begin + a.alias && host < a.end + a.alias;
  };
  uint32_t k = worker.allocation_hint[i.index];
  if (k >= worker.allocation_count || !holds(worker.allocations[k])) {
    for (k = 0; k < worker.allocation_count && !holds(worker.allocations[k]); ++k) {
    }
  }
  if (k == worker.allocation_count) return {};
  // Made in place: a copy of what was just written in pieces waits for all of them.
  const Allocation& a = worker.allocations[k];
  return {a.initialized.get(), a.begin + a.alias, a.end + a.alias, &a, false};
}

bool all_set(const uint8_t* flags, uint32_t bytes) {
  if (bytes == sizeof(uint32_t)) {
    uint32_t four;
    std::memcpy(&four, flags, sizeof four);
    return four == 0x01010101u;
  }
  return std::memchr(flags, 0, bytes) == nullptr;
}

void set(uint8_t* flags, uint32_t bytes) {
  if (bytes == sizeof(uint32_t)) {
    constexpr uint32_t kFour = 0x01010101u;
    std::memcpy(flags, &kFour, sizeof kFour);
  } else {
    std::memset(flags, 1, bytes);
  }
}

// Whether a load brings a value that nobody wrote any byte of. Copies of structs move padding along with the
// member before it, as integers of up to eight bytes: there a value that is written in part is no finding.
bool brings_unwritten_value(const Warp& w, const Inst& i, const uint8_t* flags, uint32_t bytes) {
  constexpr uint32_t kWidestPadded = 8;
  const bool floats = w.block->program->texts[i.index].find(".f32") != std::string::npos;
  const uint32_t value = std::min(bytes, floats ? uint32_t(sizeof(float)) : kWidestPadded);
  for (uint32_t k = 0; k + value <= bytes; k += value) {
    if (std::memchr(flags + k, 1, value) == nullptr) return true;
  }
  return false;
}

// Structs are moved about in local memory in pieces of any size, with padding: what counts is whether
// anything was written near.
bool is_unwritten_around(const FlaggedMemory& memory, uint64_t host, uint32_t bytes) {
  constexpr uint64_t kPiece = 8;
  const uint64_t begin = std::max(host / kPiece * kPiece, memory.begin);
  const uint64_t end = std::min((host + bytes + kPiece - 1) / kPiece * kPiece, memory.end);
  return std::memchr(memory.at(begin), 1, end - begin) == nullptr;
}

Diagnostic describe(Warp& w, const Inst& i, uint32_t lane, uint32_t bytes, const FlaggedMemory& memory,
                    uint64_t host) {
  Diagnostic d = diagnose(w, i, lane, Finding::uninitialized_read);
  d.access = "load";
  d.bytes = bytes;
  if (memory.allocation != nullptr) {
    const uint64_t address = host - memory.allocation->alias;
    const Allocation a = DeviceHeap::instance().named(*memory.allocation, address);
    d.address = address;
    d.allocation = DiagnosedAllocation{a.name, a.bytes(), static_cast<int64_t>(address - a.begin)};
    d.message +=
        "reads byte " + std::to_string(address - a.begin) + " of " + a.name + ", which nobody has written";
    d.advice = a.kind == MemoryKind::heap
                   ? "malloc and new do not clear memory: write each element before reading it."
                   : "Copy or clear the memory first (cudaMemcpy, cudaMemset); cudaMalloc does not clear it.";
  } else if (memory.local) {
    d.message += "reads a local array where this thread has not written it";
    d.advice = "Local arrays start with unspecified contents: clear them first (int bins[8] = {};).";
  } else {
    d.message += "reads shared memory that no thread of this block has written";
    d.advice = "Shared memory starts with unspecified contents: write each element before reading it.";
  }
  return d;
}

// Registers hold what the block before left there: which one that was must not depend on the workers.
void report_unset(Warp& w, const Inst& i) {
  if (w.block->launch->spoil_trial()) return;
  w.block->launch->add_doubtful(i.index, *w.block, [&] {
    const Program& program = *w.block->program;
    const Program::Place store = program.place(i);
    const auto lane = static_cast<uint32_t>(__builtin_ctz(w.mask));
    Diagnostic d = diagnose(w, program.code[i.target], lane, Finding::uninitialized_read);
    d.access = "load";
    d.message += "uses a local variable that was never given a value; the result is stored at line " +
                 std::to_string(store.line);
    d.advice =
        "Local variables start with unspecified contents: give the variable a value where it is declared "
        "(float sum = 0;).";
    return d;
  });
}

void check_lanes(Warp& w, const Inst& i, uint32_t bytes, AccessKind kind, const Access& x,
                 FlaggedMemory memory) {
  bool reported = false;
  for (uint32_t m = w.mask; m != 0; m &= m - 1) {
    const auto l = static_cast<uint32_t>(__builtin_ctz(m));
    const uint64_t host = x.host[l];
    if (!memory.holds(host)) memory = memory_of(w, i, host, x.space);
    if (memory.flags == nullptr) continue;
    uint8_t* flags = memory.at(host);
    if (kind != AccessKind::store && !reported && !all_set(flags, bytes) &&
        (memory.local ? is_unwritten_around(memory, host, bytes)
                      : brings_unwritten_value(w, i, flags, bytes))) {
      // A load that runs ahead of the store it should wait for finds nothing written: whether it is a race
      // shows when the store comes.
      w.block->launch->add_doubtful(i.index, *w.block,
                                    [&] { return describe(w, i, l, bytes, memory, host); });
      reported = true;
    }
    if (kind != AccessKind::load) set(flags, bytes);
  }
}

}  // namespace

void forget_initialized(const Allocation& allocation, uint64_t address, uint64_t bytes) {
  if (allocation.initialized)
    std::memset(allocation.initialized.get() + (address - allocation.begin), 0, bytes);
}

void check_initialized(Warp& w, const Inst& i, uint32_t bytes, AccessKind kind, const Access& x) {
  if (kind == AccessKind::store && (i.flags & kStoresUnset)) [[unlikely]]
    report_unset(w, i);
  if (x.space == Space::local)  // low and high say nothing there
    return check_lanes(w, i, bytes, kind, x, memory_of(w, i, 0, x.space));
  const FlaggedMemory memory = memory_of(w, i, x.low, x.space);
  if (memory.holds(x.low) && memory.holds(x.high)) {
    if (memory.flags == nullptr) return;
    // Nothing to find and nothing to mark.
    if (bytes == sizeof(uint32_t) && vector_checks() && all_words_set(memory.flags, x.host, memory.begin))
      return;
    const uint64_t span = x.high - x.low + bytes;
    // A row or a broadcast that is in order is done with at once; what is not is looked at lane by lane.
    if (kind == AccessKind::load && x.low == x.high && all_set(memory.at(x.low), bytes)) return;
    if (kind != AccessKind::atomic && is_row(w.mask, bytes, x)) {
      if (kind == AccessKind::store) {
        std::memset(memory.at(x.low), 1, span);
        return;
      }
      if (std::memchr(memory.at(x.low), 0, span) == nullptr) return;
    }
  }
  check_lanes(w, i, bytes, kind, x, memory);
}

void check_initialized_in(const Block& owner, Warp& w, const Inst& i, uint32_t lane, uint32_t bytes,
                          AccessKind kind, uint64_t host) {
  uint8_t* flags = owner.shared_init + (host - reinterpret_cast<uint64_t>(owner.shared));
  if (kind != AccessKind::store && brings_unwritten_value(w, i, flags, bytes)) {
    w.block->launch->add_doubtful(i.index, *w.block, [&] {
      Diagnostic d = diagnose(w, i, lane, Finding::uninitialized_read);
      d.access = "load";
      d.bytes = bytes;
      d.message += "reads shared memory of another block of the cluster, where nobody has written";
      d.advice =
          "Write each element before others read it, with cluster.sync() in between; shared memory starts "
          "with "
          "unspecified contents.";
      return d;
    });
  }
  if (kind != AccessKind::load) set(flags, bytes);
}

bool pass_initialized(Warp& w, const Inst& i, uint32_t bytes, AccessKind kind, const Row& row) {
  if (kind == AccessKind::store && (i.flags & kStoresUnset)) return false;
  const FlaggedMemory memory = memory_of(w, i, row.low, row.space);
  if (!memory.holds(row.high())) return false;
  if (memory.flags == nullptr) return true;
  const uint64_t span = row.high() - row.low + bytes;
  if (kind == AccessKind::store) {
    if (row.stride == 0) return false;
    std::memset(memory.at(row.low), 1, span);
    return true;
  }
  if (row.stride == 0) return all_set(memory.at(row.low), bytes);
  return std::memchr(memory.at(row.low), 0, span) == nullptr;
}

namespace {

WARPEMU_FOR_WIDEST_LEVEL bool words_set(const uint8_t* flags, const uint64_t* host, uint64_t begin) {
  uint32_t missing = 0;
  for (uint32_t l = 0; l < kLanes; ++l) {
    uint32_t four;
    __builtin_memcpy(&four, flags + (host[l] - begin), sizeof four);
    missing |= four ^ 0x01010101u;
  }
  return missing == 0;
}

}  // namespace

bool pass_initialized_lanes(Warp& w, const Inst& i, uint32_t bytes, AccessKind kind, const Access& x) {
  if (kind == AccessKind::store && (i.flags & kStoresUnset)) return false;
  if (bytes != sizeof(uint32_t)) return false;
  const FlaggedMemory memory = memory_of(w, i, x.low, x.space);
  if (!memory.holds(x.low) || !memory.holds(x.high)) return false;
  if (memory.flags == nullptr) return true;
  return vector_checks() ? all_words_set(memory.flags, x.host, memory.begin)
                         : words_set(memory.flags, x.host, memory.begin);
}

}  // namespace warpgrade::emu

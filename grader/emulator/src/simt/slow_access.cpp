// Memory accesses lane by lane: mixed address spaces, first touches of an allocation, and mistakes.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "check/address_shape.h"
#include "check/diagnose.h"
#include "check/initialized.h"
#include "memory/device_heap.h"
#include "program/linear.h"
#include "program/program.h"
#include "state/access.h"
#include "state/launch.h"
#include "support/host_process.h"

namespace warpgrade::emu {
namespace {

constexpr uint64_t kNullPageBytes = 4096;
constexpr uint32_t kScratchBytes = 64;
constexpr uint64_t kNear = 256;  // bytes before a variable, which an index below 0 is taken for

// Faulty lanes read zeros here and write where nobody looks.
uint64_t scratch_address() {
  alignas(64) static thread_local uint8_t scratch[kScratchBytes * 2];
  std::fill(std::begin(scratch), std::end(scratch), 0);
  return reinterpret_cast<uint64_t>(scratch);
}

const char* name_of(AccessKind kind) {
  return kind == AccessKind::load ? "load" : kind == AccessKind::store ? "store" : "atomic";
}

std::string verb(AccessKind kind) {
  return kind == AccessKind::load ? "reads" : kind == AccessKind::store ? "writes" : "updates atomically";
}

// Whether an address is mapped in this process, hence is host memory.
bool is_mapped_host_memory(uint64_t address) {
  static const int null_device = open("/dev/null", O_WRONLY | O_CLOEXEC);
  static int pipe_ends[2] = {-1, -1};
  if (null_device < 0 || (pipe_ends[0] < 0 && pipe2(pipe_ends, O_NONBLOCK | O_CLOEXEC) != 0)) return false;
  char byte;
  if (write(pipe_ends[1], reinterpret_cast<const void*>(address), 1) != 1) return false;
  return read(pipe_ends[0], &byte, 1) == 1;
}

// Of another process: where Linux puts programs, their data, heaps, libraries and stacks.
bool looks_like_host_memory(uint64_t address) {
  const uint64_t part = address >> 40;
  return (part >= 0x55 && part <= 0x56) || (part >= 0x7a && part <= 0x7f);
}

struct Mistake {
  Warp& w;
  const Inst& i;
  uint32_t lane;
  uint64_t address;
  uint32_t bytes;
  AccessKind kind;
  uint32_t align;

  Diagnostic diagnostic(Finding what, std::string message, std::string advice) const {
    Diagnostic d = diagnose(w, i, lane, what);
    d.access = name_of(kind);
    d.address = address;
    d.bytes = bytes;
    d.message += message;
    d.advice = std::move(advice);
    return d;
  }

  void report(Diagnostic d, Fault fault) const {
    w.block->launch->report(*w.block, std::move(d));
    w.block->launch->fail(*w.block, fault);
  }
};

std::string plural(uint64_t n, const char* noun) {
  return std::to_string(n) + " " + noun + (n == 1 ? "" : "s");
}

std::string past_the_end(uint64_t distance) {
  return distance == 0 ? "just past the end of " : plural(distance, "byte") + " past the end of ";
}

std::string where_in(const Allocation& a, uint64_t address, uint32_t bytes) {
  if (address < a.begin) return plural(a.begin - address, "byte") + " before the beginning of ";
  if (address >= a.end) return past_the_end(address - a.end);
  return "of which the last " + plural(address + bytes - a.end, "byte") + " lie past the end of ";
}

void report_null(const Mistake& m) {
  m.report(
      m.diagnostic(
          Finding::null_pointer, verb(m.kind) + " " + plural(m.bytes, "byte") + " through a null pointer",
          "The kernel was given a null pointer: check that cudaMalloc succeeded and that the pointer "
          "was passed."),
      Fault::illegal_address);
}

const char* cure_of_index(const Mistake& m) {
  const AddressShape shape = address_shape(*m.w.block->program, m.i.index);
  if (shape.by_data) {
    return "The index comes from values in memory, as in `a[index[i]]`: are they set and in range, "
           "and does a loop over them end with `<` and not with `<=`?";
  }
  if (!shape.by_thread && !shape.by_block) {
    return "The index is the same for all threads: does a loop end with `<=` where it must end with `<`, "
           "is it a size where the last index (size - 1) is meant?";
  }
  return "Check the index against the size at this line: does the guard use `<=` where it must use `<`, are "
         "rows and columns swapped, does the last block reach past the end?";
}

void report_outside(const Mistake& m, const Allocation& nearest) {
  Diagnostic d = m.diagnostic(nearest.freed ? Finding::use_after_free : Finding::out_of_bounds,
                              verb(m.kind) + " " + plural(m.bytes, "byte") + " " +
                                  where_in(nearest, m.address, m.bytes) + nearest.name + " (" +
                                  plural(nearest.bytes(), "byte") + ")",
                              cure_of_index(m));
  d.allocation = DiagnosedAllocation{nearest.name, nearest.bytes(),
                                     static_cast<int64_t>(m.address - nearest.begin), nearest.element_bytes};
  m.report(std::move(d), Fault::illegal_address);
}

// An object of the host whose bytes were copied brings the host's table of virtual functions.
void report_host_object(const Mistake& m) {
  m.report(
      m.diagnostic(Finding::out_of_bounds,
                   "calls a virtual function of an object whose table of virtual functions is not on the "
                   "device",
                   "The object was constructed in host code, and its table of virtual functions lies "
                   "there. Construct it in a kernel, with new or placement new; a copy of its bytes does "
                   "not help."),
      Fault::illegal_address);
}

void report_unallocated(const Mistake& m) {
  const auto nearest = DeviceMemory::instance().nearest(m.address);
  if (nearest) return report_outside(m, *nearest);
  if (loads_function(*m.w.block->program, m.i.index)) return report_host_object(m);
  if (g_host_is_elsewhere && looks_like_host_memory(m.address)) {
    return m.report(
        m.diagnostic(
            Finding::out_of_bounds,
            verb(m.kind) + " " + plural(m.bytes, "byte") +
                " at an address that no allocation holds; it looks like host memory",
            "Was a host pointer passed to the kernel? Copy the data with cudaMalloc and cudaMemcpy, and "
            "pass the device pointer. Otherwise: is the pointer uninitialized, or computed with an index "
            "that "
            "overflowed int?"),
        Fault::illegal_address);
  }
  const bool host = !g_host_is_elsewhere && is_mapped_host_memory(m.address);
  m.report(
      m.diagnostic(
          Finding::out_of_bounds,
          verb(m.kind) + " " + plural(m.bytes, "byte") +
              (host ? " of host memory from the device" : " at an address that no allocation holds"),
          host ? "A host pointer was passed to the kernel: copy the data with cudaMalloc and cudaMemcpy, "
                 "and pass the device pointer."
               : "The pointer did not come from cudaMalloc: is it uninitialized, or computed with an index "
                 "that overflowed int?"),
      Fault::illegal_address);
}

void report_freed(const Mistake& m, const Allocation& a) {
  Diagnostic d = m.diagnostic(Finding::use_after_free,
                              verb(m.kind) + " " + plural(m.bytes, "byte") + " of " + a.name + " (" +
                                  plural(a.bytes(), "byte") + "), which was freed",
                              "Free the memory only after the last kernel that uses it.");
  d.allocation = DiagnosedAllocation{a.name, a.bytes(), static_cast<int64_t>(m.address - a.begin)};
  m.report(std::move(d), Fault::illegal_address);
}

void report_read_only(const Mistake& m, const Allocation& a) {
  Diagnostic d = m.diagnostic(
      Finding::read_only_write,
      verb(m.kind) + " " + plural(m.bytes, "byte") + " of " + a.name + ", which is a read-only input",
      "Inputs must not change: write to your own buffer or to the output.");
  d.allocation = DiagnosedAllocation{a.name, a.bytes(), static_cast<int64_t>(m.address - a.begin)};
  m.report(std::move(d), Fault::illegal_address);
}

void report_misaligned(const Mistake& m) {
  m.report(m.diagnostic(
               Finding::misaligned,
               verb(m.kind) + " " + plural(m.bytes, "byte") + " at an address that is no multiple of " +
                   std::to_string(m.align),
               "A wide access (float4, int2, ...) needs an aligned address: is the row length a multiple of "
               "the vector width?"),
           Fault::misaligned_address);
}

void report_other_device(const Mistake& m, const Allocation& a) {
  const std::string here = std::to_string(m.w.block->launch->device), there = std::to_string(a.device);
  Diagnostic d = m.diagnostic(Finding::other_device,
                              verb(m.kind) + " " + plural(m.bytes, "byte") + " of " + a.name + " (" +
                                  plural(a.bytes(), "byte") + "), which is memory of device " + there +
                                  ", from device " + here + " without peer access",
                              "Call cudaDeviceEnablePeerAccess(" + there + ", 0) while device " + here +
                                  " is current, or copy the data with cudaMemcpyPeer().");
  d.allocation = DiagnosedAllocation{a.name, a.bytes(), static_cast<int64_t>(m.address - a.begin)};
  m.report(std::move(d), Fault::illegal_address);
}

// 0: reported.
uint64_t resolve_heap_lane(const Mistake& m, const Allocation& heap) {
  const auto block = DeviceHeap::instance().find(m.address);
  if (!block) {
    report_unallocated(m);
    return 0;
  }
  if (!block->freed && m.address + m.bytes <= block->end) return m.address + heap.alias;
  Allocation as_allocation;
  as_allocation.begin = block->begin;
  as_allocation.end = block->end;
  as_allocation.name = block->name();
  block->freed ? report_freed(m, as_allocation) : report_outside(m, as_allocation);
  return 0;
}

// 0: reported.
uint64_t resolve_global_lane(const Mistake& m) {
  Worker& worker = *m.w.worker;
  const Allocation* first = worker.allocations;
  const Allocation* last = first + worker.allocation_count;
  const Allocation* after = std::upper_bound(
      first, last, m.address, [](uint64_t address, const Allocation& a) { return address < a.begin; });
  const Allocation* a = after == first ? nullptr : after - 1;
  if (a == nullptr || m.address >= a->end || m.address + m.bytes > a->end) {
    m.address < kNullPageBytes ? report_null(m) : report_unallocated(m);
    return 0;
  }
  if (a->freed) {
    report_freed(m, *a);
    return 0;
  }
  if (a->is_of_one_device() && (m.w.block->launch->reachable >> a->device & 1) == 0) {
    report_other_device(m, *a);
    return 0;
  }
  if (a->read_only && m.kind != AccessKind::load) {
    report_read_only(m, *a);
    return 0;
  }
  // Each block of the heap has bounds of its own, so the heap never becomes the hint of the fast path.
  if (a->kind == MemoryKind::heap) return resolve_heap_lane(m, *a);
  worker.allocation_hint[m.i.index] = static_cast<uint32_t>(a - first);
  return m.address + a->alias;
}

std::string text_of(const Block& block) {
  return "block (" + std::to_string(block.id[0]) + "," + std::to_string(block.id[1]) + "," +
         std::to_string(block.id[2]) + ")";
}

void report_returned(const Mistake& m, const Block& owner) {
  m.report(m.diagnostic(Finding::use_after_free,
                        verb(m.kind) + " " + plural(m.bytes, "byte") + " of shared memory of " +
                            text_of(owner) + ", which has returned",
                        "Let no block of a cluster return while others use its shared memory: end the kernel "
                        "with cluster.sync()."),
           Fault::launch_failure);
}

void report_no_such_block(const Mistake& m, uint32_t rank, size_t blocks) {
  m.report(
      m.diagnostic(Finding::out_of_bounds,
                   verb(m.kind) + " shared memory of block " + std::to_string(rank) + " of a cluster of " +
                       plural(blocks, "block"),
                   "The rank of mapa and map_shared_rank() is less than the number of blocks in a cluster."),
      Fault::illegal_address);
}

void report_system_shared(const Mistake& m) {
  m.report(
      m.diagnostic(Finding::out_of_bounds,
                   verb(m.kind) + " " + plural(m.bytes, "byte") +
                       " of the first 1024 bytes of shared memory, which the system keeps for itself from "
                       "compute capability 9.0 on",
                   "Begin at the address of a __shared__ variable (__cvta_generic_to_shared): variables "
                   "begin at 0 on older devices alone."),
      Fault::illegal_address);
}

// Below the first variable, as with index -1. Addresses of 32 and of 56 bits wrap around.
bool report_before_shared(const Mistake& m, uint64_t offset) {
  const auto place =
      offset >> 32 == 0 ? int64_t{static_cast<int32_t>(offset)} : static_cast<int64_t>(offset << 8) >> 8;
  const std::vector<SharedVariable>& variables = m.w.block->launch->shared;
  const auto first = std::min_element(variables.begin(), variables.end(),
                                      [](const auto& x, const auto& y) { return x.begin < y.begin; });
  if (first == variables.end() || place >= static_cast<int64_t>(first->begin)) return false;
  const auto distance = static_cast<uint64_t>(static_cast<int64_t>(first->begin) - place);
  const bool far = place >= 0 && distance > kNear;  // of what the system keeps
  if (far) return false;
  const uint64_t size = first->end - first->begin;
  Diagnostic d = m.diagnostic(
      Finding::out_of_bounds,
      verb(m.kind) + " " + plural(m.bytes, "byte") + " of shared memory " + plural(distance, "byte") +
          " before the beginning of " + first->name + " (" + plural(size, "byte") + ")",
      "Check the index against 0 at this line: does the first thread have a neighbour before it?");
  d.allocation = DiagnosedAllocation{first->name, size, -static_cast<int64_t>(distance)};
  m.report(std::move(d), Fault::illegal_address);
  return true;
}

void report_shared(const Mistake& m, uint64_t offset) {
  if (report_before_shared(m, offset)) return;
  if (offset < system_shared_bytes()) return report_system_shared(m);
  const Launch& launch = *m.w.block->launch;
  const SharedVariable* best = nullptr;
  for (const SharedVariable& v : launch.shared) {
    if (v.end > v.begin && offset >= v.begin && (best == nullptr || v.begin > best->begin)) best = &v;
  }
  if (best == nullptr) {
    m.report(m.diagnostic(
                 Finding::out_of_bounds, verb(m.kind) + " shared memory outside every __shared__ variable",
                 "Was the size of dynamic shared memory passed at the launch (third <<<>>> argument)?"),
             Fault::illegal_address);
    return;
  }
  const uint64_t size = best->end - best->begin;
  const std::string past = offset >= best->end ? past_the_end(offset - best->end) : "partly past the end of ";
  Diagnostic d = m.diagnostic(Finding::out_of_bounds,
                              verb(m.kind) + " " + plural(m.bytes, "byte") + " of shared memory " + past +
                                  best->name + " (" + plural(size, "byte") + ")",
                              "Check the index against the size of the __shared__ array at this line.");
  d.allocation = DiagnosedAllocation{best->name, size, static_cast<int64_t>(offset - best->begin)};
  m.report(std::move(d), Fault::illegal_address);
}

// In the block of that rank. Racecheck and the fast paths do not know such places.
uint64_t resolve_cluster_lane(const Mistake& m, uint32_t rank, uint32_t offset) {
  const std::vector<Block*>& blocks = m.w.block->cluster->blocks;
  if (rank >= blocks.size()) {
    report_no_such_block(m, rank, blocks.size());
    return 0;
  }
  const Block& owner = *blocks[rank];
  if (owner.has_returned) {
    report_returned(m, owner);
    return 0;
  }
  const std::vector<SharedVariable>& variables = m.w.block->launch->shared;
  const bool inside = std::any_of(variables.begin(), variables.end(), [&](const SharedVariable& v) {
    return offset >= v.begin && offset + m.bytes <= v.end;
  });
  if (!inside) {
    report_shared(m, offset);
    return 0;
  }
  const uint64_t host = reinterpret_cast<uint64_t>(owner.shared) + offset;
  m.w.worker->faulty_lanes |= 1u << m.lane;
  if (m.w.worker->init_check) check_initialized_in(owner, m.w, m.i, m.lane, m.bytes, m.kind, host);
  return host;
}

uint64_t resolve_shared_lane(const Mistake& m, uint64_t offset) {
  const uint64_t named = offset >> kRankShift;
  if (named != 0 && named <= 0xff && m.w.block->cluster->blocks.size() > 1) {
    const auto rank = static_cast<uint32_t>(named - 1);
    if (rank != m.w.block->rank)
      return resolve_cluster_lane(m, rank, static_cast<uint32_t>(offset) & kSharedOffsetMask);
    offset &= kSharedOffsetMask;
  } else if (named == 1) {  // a block that is a cluster of its own names itself
    offset &= kSharedOffsetMask;
  }
  const std::vector<SharedVariable>& variables = m.w.block->launch->shared;
  for (size_t k = 0; k < variables.size(); ++k) {
    if (offset < variables[k].begin || offset + m.bytes > variables[k].end) continue;
    m.w.worker->shared_hint[m.i.index] = static_cast<uint32_t>(k);
    return reinterpret_cast<uint64_t>(m.w.block->shared) + offset;
  }
  report_shared(m, offset);
  return 0;
}

void report_foreign_stack(const Mistake& m, uint64_t generic) {
  const Launch& launch = *m.w.block->launch;
  const auto owner = static_cast<uint32_t>(generic >> 32 & 0x3ff);
  const bool same_block = (generic >> 42) == (local_window(m.w, m.lane) >> 42);
  const uint32_t x = owner % launch.block[0], y = owner / launch.block[0] % launch.block[1],
                 z = owner / launch.block[0] / launch.block[1];
  Diagnostic d = m.diagnostic(
      Finding::foreign_stack,
      verb(m.kind) + " " + plural(m.bytes, "byte") + " through a pointer to a local variable of thread (" +
          std::to_string(x) + "," + std::to_string(y) + "," + std::to_string(z) + ")" +
          (same_block ? "" : " of another block") + "; on a GPU it would reach its own stack instead",
      "Local variables are private to their thread: pass the value itself, through __shared__ memory or a "
      "shuffle.");
  d.address = generic;
  m.report(std::move(d), Fault::illegal_address);
}

// `offset` from the begin of the lane's own stack.
uint64_t resolve_local_lane(const Mistake& m, uint64_t offset) {
  constexpr int64_t kWindowHalf = int64_t{1} << 31;
  const uint64_t stride = m.w.block->stack_bytes;
  if (offset < stride && offset + m.bytes <= stride)
    return reinterpret_cast<uint64_t>(m.w.local) + stride * m.lane + offset;
  const auto distance = static_cast<int64_t>(offset);
  if (distance >= kWindowHalf || distance < -kWindowHalf) {
    const uint64_t generic = offset + local_window(m.w, m.lane);
    if ((generic & kTagMask) == kLocalTag) {
      report_foreign_stack(m, generic);
      return 0;
    }
  }
  m.report(m.diagnostic(Finding::out_of_bounds, verb(m.kind) + " local memory outside the thread's stack",
                        "Check the index of the local array at this line."),
           Fault::illegal_address);
  return 0;
}

uint64_t resolve_lane(const Mistake& m, Space& space) {
  if (m.address & (m.align - 1)) {
    report_misaligned(m);
    return 0;
  }
  const uint64_t tag = m.address & kTagMask;
  if (space == Space::shared || (space != Space::local && tag == kSharedTag)) {
    space = Space::shared;
    return resolve_shared_lane(m, m.address & ~kTagMask);
  }
  if (space == Space::local) return resolve_local_lane(m, m.address);
  if (tag == kLocalTag) {
    space = Space::local;
    return resolve_local_lane(m, m.address - local_window(m.w, m.lane));
  }
  return resolve_global_lane(m);
}

void resolve_lanes(Warp& w, const Inst& i, uint32_t bytes, uint32_t align, AccessKind kind, Access& x) {
  const Space declared = x.space;
  Space common = declared;
  bool mixed = false;
  uint64_t spare = 0;
  w.worker->faulty_lanes = 0;
  for (uint32_t m = w.mask; m != 0; m &= m - 1) {
    const auto l = static_cast<uint32_t>(__builtin_ctz(m));
    Space space = declared;
    const uint64_t host = resolve_lane({w, i, l, x.host[l], bytes, kind, align}, space);
    mixed |= m != w.mask && space != common;
    common = space;
    x.host[l] = host != 0 ? host : scratch_address();
    if (host == 0) w.worker->faulty_lanes |= 1u << l;
    spare = x.host[l];
  }
  if (mixed) common = Space::generic;
  x.space = common;
  for (uint32_t l = 0; l < kLanes; ++l) {
    if (!(w.mask >> l & 1)) x.host[l] = spare;
  }
  x.low = *std::min_element(x.host, x.host + kLanes);
  x.high = *std::max_element(x.host, x.host + kLanes);
  if (w.block->launch->stops(w.block->linear)) w.stop = Stop::aborted;
}

}  // namespace

void resolve_slowly(Warp& w, const Inst& i, uint32_t bytes, AccessKind kind, Access& x) {
  resolve_lanes(w, i, bytes, bytes, kind, x);
}

void resolve_range(Warp& w, const Inst& i, uint32_t bytes, AccessKind kind, Access& x, uint32_t align) {
  resolve_lanes(w, i, bytes, align, kind, x);
}

void resolve_async(Warp& w, const Inst& i, uint32_t bytes, AccessKind kind, Access& x, uint32_t align) {
  for (uint32_t l = 0; l < kLanes; ++l) {
    x.host[l] = i.address_is_32 ? uint32_t(lanes<uint32_t>(w, i.a)[l] + uint32_t(i.imm))
                                : lanes<uint64_t>(w, i.a)[l] + uint64_t(i.imm);
  }
  x.space = i.space;
  resolve_lanes(w, i, bytes, align != 0 ? align : bytes, kind, x);
  if (w.worker->observe) observe_access(w, i, bytes, kind, x);
}

}  // namespace warpgrade::emu

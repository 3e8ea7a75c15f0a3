// The state of a warp, a block and a worker while they execute. Plain data, shared by the instruction handlers (compiled
// once per instruction-set level), the checks and the scheduler (compiled once).
#pragma once
#include <cstdint>
#include <vector>

#include "program/instruction.h"

namespace warpgrade::emu {

struct Allocation;
struct Block;
struct Cluster;
struct Launch;
struct NativeContext;
struct Program;
struct SharedVariable;
class GlobalRaces;
class SharedShadow;
class TouchedMemory;
class UndoLog;
struct Worker;
struct WorkerCounts;
class Hierarchy;

enum class Stop : uint8_t { none, waiting, exited, yielded, aborted };

// A set of lanes parked at a pc. `blocked_at` is the warp-synchronous instruction whose other lanes
// are awaited.
struct Fragment {
  uint32_t pc;
  uint32_t mask;
  const Inst* blocked_at;
};

struct BarrierWait {
  uint32_t pc;
  uint32_t mask;
  uint32_t barrier;
  uint32_t expected;  // threads; 0: the whole block
  const Inst* at;
};

// A cp.async that has been issued and not yet awaited.
struct AsyncCopy {
  uint64_t from;  // host addresses
  uint64_t to;
  uint8_t bytes;         // written at `to`
  uint8_t source_bytes;  // read at `from`; the rest is zero
  uint8_t lane;
  uint32_t group;
};

struct Warp {
  uint8_t* regs = nullptr;
  uint32_t mask = 0;    // lanes for which the current instruction runs
  uint32_t active = 0;  // lanes at pc
  uint32_t pc = 0;
  uint32_t join_pc = ~0u;  // lowest pc above the current one where parked lanes wait
  uint32_t live = 0;       // lanes that have not exited
  uint32_t initial = 0;
  uint32_t carry = 0;  // the condition-code carry flag of each lane
  uint32_t index = 0;  // within the block
  Stop stop = Stop::none;
  bool prefer_others = false;  // a spin was noticed: give parked lanes turns
  bool rotate = false;
  uint32_t back_edges = 0;
  uint32_t spin = 0;
  Block* block = nullptr;
  Worker* worker = nullptr;
  uint8_t* local = nullptr;                      // 32 stacks of Block::stack_bytes
  uint32_t stack_top[kLanes] = {};               // where the next frame or alloca begins
  std::vector<uint8_t> saved_registers[kLanes];  // of outer calls of functions that each lane is in again
  std::vector<Fragment> parked;
  std::vector<BarrierWait> at_barrier;
  uint32_t cluster_arrived = 0;  // lanes that have arrived at the cluster's barrier, which has not opened
  std::vector<AsyncCopy> async_copies;
  uint32_t async_group[kLanes] = {};  // groups that each lane has committed
  uint32_t last_error[kLanes] = {};   // of the device's runtime: cudaGetLastError
  uint64_t instructions = 0;          // executed in this block, when counters are on
  uint64_t lines_touched = 0;  // of global memory in this block, request by request (observe/hierarchy.h)
  uint64_t loads = 0;          // of global memory, likewise
};

struct BarrierReduction {
  uint32_t arrived = 0;
  uint32_t true_count = 0;
};

inline constexpr uint32_t kBarriers = 16;
inline constexpr uint32_t kClusterBarrier = kBarriers;  // of a BarrierWait: barrier.cluster.wait

struct Block {
  const Program* program = nullptr;
  Launch* launch = nullptr;
  uint32_t id[3] = {};
  uint64_t linear = 0;
  uint32_t threads = 0;
  uint32_t stack_bytes = 0;  // of each lane
  uint8_t* shared = nullptr;
  uint32_t shared_bytes = 0;                      // end of the dynamic part
  const SharedVariable* launch_shared = nullptr;  // the program's variables, then the dynamic part
  uint8_t* shared_init = nullptr;                 // a byte for each byte, when initcheck is on
  SharedShadow* races = nullptr;                  // when racecheck is on
  std::vector<Warp> warps;
  uint32_t live = 0;                  // threads that have not exited
  uint32_t waiting[kBarriers] = {};   // threads at each barrier, bar.arrive included
  uint32_t expected[kBarriers] = {};  // threads it waits for; 0: all live ones
  BarrierReduction reductions[kBarriers];
  const Cluster* cluster = nullptr;
  uint32_t rank = 0;                // in the cluster
  bool has_returned = false;        // all its threads have, while its cluster still runs
  uint32_t window_salt = 0;         // keeps addresses of stacks apart between grids that launch each other
  uint32_t turns_ahead = 0;         // that its warp ahead of the others has given up (Schedule::one_ahead)
  bool patient_yield = false;       // a warp gave up its turn in a loop that waits for other threads
  uint32_t passes_left = 0;         // over its warps, before other blocks get turns although this one moves
  uint32_t slices_after_fault = 0;  // that it was given while another block's fault ends the launch
};

// Blocks that run together and reach each other's shared memory. One worker runs them all. A block of a
// launch without clusters is a cluster of one.
struct Cluster {
  uint32_t size[3] = {1, 1, 1};
  std::vector<Block*> blocks;  // by rank
};

// One per thread of the pool while a kernel runs.
struct Worker {
  Launch* launch = nullptr;
  const Allocation* allocations = nullptr;  // sorted by address
  uint32_t allocation_count = 0;
  WorkerCounts* counts = nullptr;    // when counters are on
  Hierarchy* hierarchy = nullptr;    // when an estimate is asked for
  UndoLog* undo = nullptr;           // in a trial
  TouchedMemory* touched = nullptr;  // when the order of streams is looked at
  bool init_check = false;
  bool race_check = false;
  bool sync_check = false;
  bool observe = false;                   // any of them
  std::vector<uint32_t> allocation_hint;  // by instruction: the allocation it touched last; not the heap
  std::vector<uint32_t> shared_hint;      // by instruction: the shared variable it touched last
  // Of the access at hand: lanes that the checks do not follow. The addresses of faulty ones are the scratch
  // area's, others lie in the shared memory of another block.
  uint32_t faulty_lanes = 0;
  uint32_t index = 0;
  NativeContext* native = nullptr;  // nullptr: kernels are not compiled
  uint32_t back_edges = 0;          // interpreted so far in this launch
};

template <class T>
inline T* lanes(Warp& w, uint32_t slot) {
  return reinterpret_cast<T*>(__builtin_assume_aligned(w.regs + slot, 64));
}

inline uint32_t& predicate(Warp& w, uint32_t slot) {
  return *reinterpret_cast<uint32_t*>(w.regs + slot);
}

// The generic address of a lane's stack: below the tag 14 bits of the block, 10 of the thread, 32 of offset.
// On a GPU every thread's stack lies at one address, so that a pointer to a local variable means another
// variable in each thread; here it belongs to the thread that made it.
inline uint64_t local_window(const Warp& w, uint32_t lane) {
  return kLocalTag | ((w.block->linear + w.block->window_salt) & 0x3fff) << 42 |
         uint64_t(w.index * kLanes + lane) << 32;
}

// Sets the active lanes' bits of a predicate register.
inline void write_predicate(Warp& w, uint32_t slot, uint32_t value) {
  uint32_t& p = predicate(w, slot);
  p = (p & ~w.mask) | (value & w.mask);
}

}  // namespace warpgrade::emu

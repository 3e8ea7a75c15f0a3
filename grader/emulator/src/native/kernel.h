// A kernel as native code, and what that code needs while it runs.
//
// The unit is the basic block. Between blocks registers live in the interpreter's register file, so that any
// block can also be interpreted; registers of which one value and a step describe all lanes (flow.h) live as
// scalars in NativeContext::scalars and are written to the register file where the interpreter takes over.
// Whatever the code does not know, and whatever surprises it, goes to the interpreter's handler.
#pragma once
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

#include "check/shared_races.h"
#include "native/code_memory.h"
#include "native/flow.h"
#include "observe/count_access.h"
#include "observe/counts.h"
#include "state/access.h"
#include "state/machine.h"

namespace warpgrade::emu {

struct NativeContext;

// Where an instruction's last access went: `starts` addresses from `begin` on are good ones for it.
struct NativeHint {
  uint64_t begin = 0, starts = 0, alias = 0, bytes = 0;
  // Of loads of global memory: from a host address to its flag of initcheck, 0: not followed; whether nothing can
  // race with them.
  uint64_t flags = 0, unraced = 0;
};

// A register that lives as a scalar, and how to write it out.
struct ScalarRegister {
  uint32_t slot;
  uint8_t bytes;
  bool known;
  int64_t stride;
  uint64_t value;
};

// Atomic updates that need no locked instruction where no one else is at work.
enum class NativeAtomic : uint8_t { none, add_word, add_float };

// A place where native code calls the interpreter.
struct NativeSite {
  uint32_t instruction = 0;
  uint32_t block = 0;
  bool waits = false;   // for lanes of the warp: they may be parked there
  bool leaves = false;  // control goes elsewhere afterwards
  NativeAtomic atomic = NativeAtomic::none;
  std::vector<ScalarRegister> reads, live;
  std::vector<ScalarRegister> results;  // uniform results to be taken back
  AccessKind kind = AccessKind::store;  // of a plain access
  bool row = false;                     // of an access that is observed: side by side; else at one place
  uint32_t bytes = 0;                   // of a lane's access
  uint32_t span = 0;                    // bytes from the first lane's address to the end of the last one's
};

// What a version of a kernel's code depends on.
struct NativeMode {
  bool counts = false;         // counts instructions
  bool observes = false;       // looks at memory accesses
  bool checks = false;         // for mistakes, too
  bool orders_lanes = false;   // racecheck follows what orders the lanes of a warp
  bool follows_lines = false;  // that accesses of global memory touch (observe/hierarchy.h)
  LaunchShapeFacts shape;
  auto key() const {
    return (counts ? 1u : 0u) | (observes ? 2u : 0u) | (shape.tid_x_is_affine ? 4u : 0u) |
           (shape.tid_yz_are_uniform ? 8u : 0u) | (shape.rows_are_whole ? 16u : 0u) | (checks ? 32u : 0u) |
           (follows_lines ? 64u : 0u);
  }
};

struct NativeBlock {
  uint32_t begin = 0, end = 0;
  const uint8_t* address = nullptr;
  std::vector<ScalarRegister> scalars;  // facts to be verified where the code is entered
};

struct NativeCode {
  using Enter = int (*)(Warp*, NativeContext*, const uint8_t*);
  CodeMemory memory;
  size_t instruction_bytes = 0;  // of the memory; constants are behind them
  Enter enter = nullptr;
  std::vector<NativeBlock> blocks;
  std::vector<uint32_t> block_at;  // by instruction; Flow::kNone: no block begins there
  std::vector<NativeSite> sites;
  uint32_t units = 0;
};

// Of one worker during a launch.
struct NativeContext {
  alignas(64) uint8_t spare[16 * kLanes] = {};  // for values on their way between vectors and scalars
  alignas(64) uint8_t saved[256] = {};          // vector registers that a routine of the code uses
  NativeHint* hints = nullptr;                  // by instruction
  uint64_t* scalars = nullptr;                  // by unit
  const uint8_t* shared = nullptr;
  Access access = {};
  uint64_t host = 0;           // an address that outlives a call
  CountedRow* rows = nullptr;  // by site
  uint32_t row_site = 0;       // with host and row_lanes: what native_count is to count
  uint32_t row_lanes = 0;
  uint32_t lanes_mask = 0;                           // of lanes anywhere, for native_count_few
  uint64_t block = 0;                                // linear
  Warp* warp = nullptr;                              // that runs
  const std::atomic<uint64_t>* stop_from = nullptr;  // of the launch
  const uint8_t* params = nullptr;
  uint32_t* clock = nullptr;        // of the block's order, with racecheck (check/order.h)
  uint32_t* lanes_since = nullptr;  // of the warp that runs
  uint32_t* warp_since = nullptr;   // likewise: when all of its lanes met
  SharedStamps stamps;              // of the block, with racecheck
  uint8_t* shared_flags = nullptr;  // of initcheck, a byte for each byte
  ExecutionCounts* block_counts = nullptr;
  uint64_t instructions = 0;  // executed since the code was entered
  const NativeCode* code = nullptr;
  std::vector<NativeHint> hint_storage;
  std::vector<uint64_t> scalar_storage;
  std::vector<ExecutionCounts> block_storage, busy_storage;  // of the busy warp (observe/counts.h)
  std::vector<CountedRow> row_storage;
  std::vector<uint32_t> entry_failures;  // by block
  bool doubts = false;                   // a fact was doubted since the code was made
};

// What generated code calls. 0: go on; else the code returns that value minus one.
int native_run(Warp* w, NativeContext* context, uint32_t site);
int native_control(Warp* w, NativeContext* context, uint32_t site, uint32_t mask);
// Counters and checks of an access of all lanes to neighbouring places, or of lanes to one place, from
// `host` on.
void native_observe(Warp* w, NativeContext* context, uint32_t site, uint64_t host);
// The same of lanes anywhere: host addresses in context->access.
void native_observe_lanes(Warp* w, NativeContext* context, uint32_t site);
// Generated code calls such a function where vector registers and scalars are alive: it uses no vectors and
// restores what it uses.
#if defined(__x86_64__)
#define WARPEMU_KEEPS_REGISTERS [[gnu::target("general-regs-only"), gnu::no_caller_saved_registers]]
#else  // where no code is generated
#define WARPEMU_KEEPS_REGISTERS
#endif

// Counts a row that is like its instruction's last one, and leaves every register but rax as it is. 0: it did
// not; native_observe has to.
WARPEMU_KEEPS_REGISTERS uint64_t native_count(NativeContext* context);
// The same of at most kFewLanes lanes of global memory, anywhere: context->lanes_mask has them,
// context->access their host addresses.
WARPEMU_KEEPS_REGISTERS uint64_t native_count_few(NativeContext* context);
inline constexpr int kFewLanes = 4;
// The same two where lines are followed, for CountedRow::sampled.
WARPEMU_KEEPS_REGISTERS uint64_t native_count_lines(NativeContext* context);
WARPEMU_KEEPS_REGISTERS uint64_t native_count_few_lines(NativeContext* context);
// Control goes to the interpreter before an instruction.
void native_stop_before(Warp* w, NativeContext* context, uint32_t site);
// A branch at which lanes part or that has been taken often; a block at which parked lanes may wait. The code
// to go on with; nullptr: the interpreter's dispatch.
const uint8_t* native_branch(Warp* w, NativeContext* context, uint32_t site, uint32_t mask);
const uint8_t* native_join(Warp* w, NativeContext* context, uint32_t block);

// How native code came back.
enum NativeReturn : int { kDispatch = 0, kInterpretOne = 1 };

// Which instructions native code is made of: those of the handlers (WARPEMU_ISA). `none`: the processor has
// neither, or the assembler was not there when this was built.
enum class NativeLevel : uint8_t { none, avx2, avx512 };
NativeLevel native_level();
inline bool can_compile() {
  return native_level() != NativeLevel::none;
}
// nullptr: this kernel is not for it.
std::unique_ptr<NativeCode> compile_native(const Program& program, const NativeMode& mode,
                                           const std::set<std::pair<uint32_t, uint32_t>>& doubted);

// The versions of one kernel.
class NativeKernel {
 public:
  // Launches of so many warps are worth a compilation: about what interpreting them costs.
  static constexpr uint64_t kHotWarps = 512;
  // The code for `warps` warps more; nullptr while it is not worth it or cannot be had.
  const NativeCode* code_for(const Program& program, const NativeMode& mode, uint64_t warps);
  // Facts that did not hold where a block was entered: the next version does without them.
  void doubt(const NativeBlock& block, const std::vector<uint32_t>& units);

 private:
  std::mutex mutex_;
  uint64_t warps_ = 0;
  std::set<std::pair<uint32_t, uint32_t>> doubted_;
  struct Version {
    uint32_t key = 0;
    size_t doubts = 0;
    std::unique_ptr<NativeCode> code;
  };
  std::vector<Version> versions_;
  uint32_t compiled_ = 0;
};

}  // namespace warpgrade::emu

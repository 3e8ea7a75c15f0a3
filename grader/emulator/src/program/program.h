// A kernel ready to run: decoded instructions of the entry and of every function it calls, the image of its
// register file, and the layout of its shared and local memory.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "program/instruction.h"
#include "program/matrix.h"
#include "program/tensor_copy.h"
#include "program/warp_group.h"
#include "ptx/module.h"

namespace warpgrade::emu {

class NativeKernel;

struct SharedVariable {
  std::string name;
  uint32_t begin = 0;
  uint32_t end = 0;
};

// An array that the code declares as dynamic shared memory. All of a kernel's begin at one address.
struct DynamicArray {
  std::string name;
  uint32_t location = 0;  // of its first use, an index into Module::locations
};

// What fills a register before a warp or a block starts.
enum class Special : uint8_t {
  tid_x,
  tid_y,
  tid_z,
  ntid_x,
  ntid_y,
  ntid_z,
  ctaid_x,
  ctaid_y,
  ctaid_z,
  nctaid_x,
  nctaid_y,
  nctaid_z,
  laneid,
  warpid,
  nwarpid,
  smid,
  nsmid,
  gridid,
  lanemask_eq,
  lanemask_le,
  lanemask_lt,
  lanemask_ge,
  lanemask_gt,
  dynamic_smem_size,
  total_smem_size,
  workspace_low,
  workspace_high,
  cluster_ctaid_x,
  cluster_ctaid_y,
  cluster_ctaid_z,
  cluster_ctarank,
  clusterid_x,
  clusterid_y,
  clusterid_z,
  cluster_nctaid_x,
  cluster_nctaid_y,
  cluster_nctaid_z,
  cluster_nctarank,
  nclusterid_x,
  nclusterid_y,
  nclusterid_z,
  zero,
  local_window,
};

struct SpecialRegister {
  Special what;
  uint32_t slot;
  uint32_t bytes;  // 4 or 8 a lane
};

// Bytes that move between the stack frames of caller and callee around a call.
struct ParamCopy {
  uint32_t from;
  uint32_t to;
  uint32_t bytes;
};

// A register of a function: its slot and the bytes of one lane, 0 for a predicate.
struct SavedRegister {
  uint32_t slot;
  uint32_t bytes;
};

struct FunctionRecord {
  uint32_t entry = 0;              // first instruction
  uint32_t return_slot = 0;        // register that holds each lane's return address
  uint32_t frame_slot = kNoSlot;   // register that holds each lane's frame; kNoSlot: placed once, statically
  uint32_t frame_bytes = 0;        // of a frame on the lane's stack
  std::vector<ParamCopy> params;   // from the mailbox to a frame on the stack
  std::vector<ParamCopy> results;  // and back
  std::vector<SavedRegister> saved;  // of a recursive function: put aside for the outer call's sake
};

// Around a call: from the caller's frame to the callee's or to the mailbox, or back.
struct CallRecord {
  uint32_t function = 0;          // index of the callee
  uint32_t frame_slot = kNoSlot;  // of the caller
  std::vector<ParamCopy> copies;
  std::unordered_map<uint64_t, uint32_t> targets;  // of an indirect call: functions by address
};

// A register that holds one value in every lane and is never written.
struct ConstantRegister {
  uint32_t slot;
  uint32_t bytes;  // of a lane
  uint64_t bits;
};

struct ParamSlot {
  uint32_t offset;
  uint32_t bytes;
};

// Where a kernel's stores may go: through the pointers at these offsets of its arguments, or anywhere.
struct WriteSet {
  bool anything = false;
  std::vector<uint32_t> param_offsets;
};

inline constexpr uint8_t kDeviceFence = 1;  // Inst::variant of a fence of the device or the system

struct Program {
  std::string name;   // as mangled
  std::string title;  // for people: demangled, without parameters
  const Module* module = nullptr;
  std::vector<Inst> code;
  std::vector<std::string> texts;       // opcode of each instruction
  std::vector<const char*> written;     // where it stands in the PTX; null: nowhere
  std::vector<std::string> operations;  // by instruction: the name of its handler (exec/handlers.h)
  uint32_t entry = 0;
  std::vector<uint8_t> register_image;
  std::vector<ConstantRegister> constants;
  std::vector<SpecialRegister> warp_specials;   // constant for a warp during a launch
  std::vector<SpecialRegister> block_specials;  // change with the block
  std::vector<std::vector<uint32_t>> branch_tables;
  std::vector<FunctionRecord> functions;
  std::vector<CallRecord> calls;
  std::vector<MatrixOperands> matrices;
  std::vector<WarpGroupProduct> warp_group_products;
  std::vector<TensorCopy> tensor_copies;
  std::vector<SharedVariable> shared_variables;
  uint32_t static_shared_bytes = 0;  // as the runtime reports them
  uint32_t dynamic_shared_begin = 0;
  std::vector<DynamicArray> dynamic_arrays;
  uint32_t local_bytes = 0;     // frames placed statically
  bool grows_stack = false;     // takes frames or alloca from the lanes' stacks
  uint32_t register_count = 0;  // of PTX
  std::vector<ParamSlot> params;
  uint32_t param_bytes = 0;
  uint32_t param_slot = kNoSlot;    // register with the parameter buffer's address, when the kernel takes one
  uint32_t registers = 0;           // of a thread, as ptxas allocated them; 0: not known
  uint32_t max_threads = 1024;      // that a block may have: declared, or as many as the registers allow
  uint32_t cluster[3] = {0, 0, 0};  // blocks that it asks for (__cluster_dims__); zeros: the launch says it
  WriteSet writes;
  std::vector<uint8_t>
      synchronizes;  // by instruction: orders threads by itself (compare-and-swap, acquire, ...)
  bool compares_and_swaps = false;
  bool orders_blocks =
      false;  // holds fences, acquires or barriers of clusters by which blocks may order their accesses
  static constexpr uint32_t kNeverMeets = ~0u;
  uint32_t blocks_meet_at = kNeverMeets;  // program/block_meetings.h
  std::vector<uint8_t> block_roles;       // by instruction, where blocks meet: bits of BlockRole
  bool waits_for_blocks = false;          // polls memory in a loop
  bool allocates = false;                 // calls malloc
  bool stores_to_surfaces = false;
  bool uses_device_runtime = false;              // launches kernels, asks for attributes, ...
  bool narrow_shared = false;                    // accesses less than a word of shared memory
  mutable std::shared_ptr<NativeKernel> native;  // once it is worth compiling (native/); set between launches

  // The user's line of an instruction: the outermost call site of inlined code.
  struct Place {
    std::string path;
    uint32_t line = 0;
    std::string inlined_from;  // "helper.cuh:12" when the instruction was inlined, else empty
  };
  Place place(const Inst& inst) const;
};

}  // namespace warpgrade::emu

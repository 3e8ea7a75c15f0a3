// The form between parsing and decoding: one list of instructions a function, names resolved, control
// flow explicit.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "program/program.h"
#include "ptx/module.h"

namespace warpgrade::emu {

inline constexpr uint32_t kNoRegister = ~0u;

// A resolved operand.
struct Ref {
  enum class Kind : uint8_t { reg, number, symbol, special, address, vector, sink };
  Kind kind = Kind::sink;
  bool negated = false;
  bool in_frame = false;         // symbol: its value is an offset in the function's frame on the stack
  bool dynamic_shared = false;   // symbol or address base: the dynamic part of shared memory, placed last
  Type type = Type::none;        // of the register, or of a floating-point literal
  Space space = Space::generic;  // of the symbol
  uint32_t reg = kNoRegister;    // also the base of an address
  uint32_t second = kNoRegister;
  uint64_t value = 0;  // number; symbol's address or offset; absolute base of an address
  int64_t offset = 0;
  std::string_view name;  // special register
  std::vector<Ref> elements;
};

struct LinearInst {
  std::string_view opcode;
  const char* written = nullptr;  // its opcode in the PTX; null: it does not stand there
  std::vector<std::string_view> parts;
  std::vector<Ref> operands;
  uint32_t guard = kNoRegister;
  bool guard_negated = false;
  uint32_t location = 0;
  uint32_t frame = kNoRegister;  // register with the base of the frame that holds its operands
  uint32_t target = 0;  // bra: instruction index in the function; call: the callee's place in the program
  std::vector<uint32_t> targets;  // brx
  std::vector<ParamCopy> copies;  // call and call.return
  std::vector<uint32_t> callees;  // call.indirect: places of the functions it may reach

  bool is(std::string_view op) const { return parts[0] == op; }
  bool ends_block() const { return is("bra") || is("brx") || is("exit") || is("ret"); }
  bool falls_through() const { return !ends_block() || guard != kNoRegister; }
};

struct LinearFunction {
  const Function* source = nullptr;
  std::vector<LinearInst> code;
  std::vector<Type> registers;             // of each virtual register
  uint32_t return_register = kNoRegister;  // holds the return address of each lane
  uint32_t frame_register = kNoRegister;   // holds each lane's frame; none: placed statically
  uint32_t frame_bytes = 0;                // on the lane's stack
  bool recursive = false;
  std::vector<ParamCopy> params, results;  // between mailbox and frame
};

// Everything a kernel needs, callees before callers as far as recursion allows.
struct LinearProgram {
  std::vector<LinearFunction> functions;
  std::vector<SharedVariable> shared;
  uint32_t shared_end = 0;
  uint32_t static_shared_bytes = 0;
  uint32_t dynamic_shared_align = 128;
  std::vector<DynamicArray> dynamic_arrays;  // as the PTX names them
  uint32_t local_bytes = 0;
  std::vector<ParamSlot> params;
  uint32_t param_bytes = 0;
};

using SymbolTable = std::unordered_map<std::string_view, uint64_t>;

// Of shared memory, at address 0, on this process's device: ptxas places static variables behind them.
uint32_t system_shared_bytes();

// Throws PtxError for what cannot be resolved.
LinearProgram linearize(Module& module, Function& entry, const SymbolTable& variables);

// The basic blocks of a function's code, in its order.
struct CodeBlocks {
  std::vector<uint32_t> begins;                      // instructions; behind the last block's the code's end
  std::vector<uint32_t> block_of;                    // each instruction's
  std::vector<std::pair<uint32_t, uint32_t>> edges;  // from, to; by from

  uint32_t count() const { return static_cast<uint32_t>(begins.size() - 1); }
};
CodeBlocks find_blocks(const std::vector<LinearInst>& code);

// Puts basic blocks in an order in which lanes that wait for others wait at a higher index: reverse
// post-order with loop bodies contiguous and loop exits after them. Unreachable code is dropped.
void order_blocks(LinearFunction& function);

}  // namespace warpgrade::emu

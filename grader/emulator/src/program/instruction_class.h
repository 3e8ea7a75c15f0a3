// What kind of work an instruction is, for the counters.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace warpgrade::emu {

enum class InstructionClass : uint8_t {
  fp32,
  fp64,
  fp16,
  integer,
  conversion,
  special,  // division, square roots, transcendental functions
  matrix,
  global,
  shared,
  local,
  constant,
  generic,    // the space shows when it runs
  parameter,  // reads of kernel parameters, arguments of calls
  atomic,
  barrier,  // of a block or a warp, fences, waits for asynchronous copies
  warp,     // shuffles, votes
  control,
  other,  // moves, address conversions, hints
};
inline constexpr size_t kInstructionClasses = static_cast<size_t>(InstructionClass::other) + 1;

const char* name_of(InstructionClass c);
bool is_arithmetic(InstructionClass c);
bool is_memory(InstructionClass c);  // whatever waits for memory; parameters and constants do not

// `opcode` with its modifiers, as PTX spells it.
InstructionClass classify(std::string_view opcode);

}  // namespace warpgrade::emu

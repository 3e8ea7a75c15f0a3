// What the compiler knows of an instruction: which operation it is, which registers it reads and writes.
#pragma once
#include <cstdint>
#include <vector>

#include "program/program.h"

namespace warpgrade::emu {

// Operations that are compiled, then those that call the interpreter's handler.
enum class Operation : uint8_t {
  none,  // no effect
  add,
  subtract,
  multiply,
  multiply_add,
  multiply_wide,
  multiply_add_wide,
  bit_and,
  bit_or,
  bit_xor,
  bit_not,
  shift_left,
  shift_right,
  minimum,
  maximum,
  negate,
  absolute,
  divide,
  square_root,
  reciprocal,
  reciprocal_root,
  logic3,
  select,
  move,
  add_immediate,
  pack,
  unpack,
  compare,
  convert,
  predicate_and,
  predicate_or,
  predicate_xor,
  predicate_move,
  predicate_not,
  load,
  store,
  load_parameter,
  shuffle,
  branch,
  handler,  // reads and writes the registers that its fields name
  sync,     // the same, and waits for lanes of its warp
  barrier,  // of the block
  leave,    // exit
  opaque,   // may read and write any register, or go anywhere
};

enum class ElementType : uint8_t { none, u8, s8, u16, s16, u32, s32, u64, s64, f32, f64 };

constexpr uint32_t bytes_of(ElementType e) {
  return e == ElementType::none                                                    ? 0
         : e == ElementType::u8 || e == ElementType::s8                            ? 1
         : e == ElementType::u16 || e == ElementType::s16                          ? 2
         : e == ElementType::u32 || e == ElementType::s32 || e == ElementType::f32 ? 4
                                                                                   : 8;
}
constexpr bool is_signed(ElementType e) {
  return e == ElementType::s8 || e == ElementType::s16 || e == ElementType::s32 || e == ElementType::s64;
}
constexpr bool is_float(ElementType e) {
  return e == ElementType::f32 || e == ElementType::f64;
}

inline constexpr uint8_t kShuffleByIndex = 3;  // Inst::variant of shfl: 0 up, 1 down, 2 by butterfly

// Comparisons of setp; those with `u` are true for NaN.
enum class Comparison : uint8_t { eq, ne, lt, le, gt, ge, equ, neu, ltu, leu, gtu, geu, num, nan };

// A register: its slot and the bytes of a lane, 0 for a predicate.
struct Register {
  uint32_t slot;
  uint32_t bytes;
};

struct Decoded {
  Operation operation = Operation::opaque;
  ElementType type = ElementType::none;
  ElementType from = ElementType::none;  // of a conversion
  Comparison comparison = Comparison::eq;
  std::vector<Register> reads;  // without the guard
  std::vector<Register> writes;
};

Decoded decode_operation(const Program& program, const Inst& i);

}  // namespace warpgrade::emu

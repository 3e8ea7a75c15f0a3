// How the decoder tells the handlers of packed operations what to do: Inst::variant is the operation,
// Inst::flags the kPacked bits.
#pragma once
#include <cstdint>

namespace warpgrade::emu {

enum class PackedOperation : uint8_t {
  add,
  subtract,
  average,
  absolute_difference,
  minimum,
  maximum,
  compare
};

inline constexpr uint8_t kPackedSignedA = 1, kPackedSignedB = 2, kPackedSignedResult = 4, kPackedSaturate = 8,
                         kPackedSum = 16, kPackedRelu = 32;

// Comparisons by number; the first six are all that integers have.
inline constexpr const char* kComparisonNames[] = {"eq",  "ne",  "lt",  "le",  "gt",  "ge",  "equ",
                                                   "neu", "ltu", "leu", "gtu", "geu", "num", "nan"};

}  // namespace warpgrade::emu

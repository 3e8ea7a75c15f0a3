// How cvt rounds; shared by the decoder and the handlers.
#pragma once
#include <cstdint>

namespace warpgrade::emu {

enum class Rounding : uint8_t { nearest, zero, down, up };

// Inst::flags of cvt.
inline constexpr uint8_t kCvtSaturate = 1;
inline constexpr uint8_t kCvtFlush = 2;
inline constexpr uint8_t kCvtRelu = 4;
inline constexpr uint8_t kCvtToIntegral = 8;  // .rni and kin: round to an integral value

}  // namespace warpgrade::emu

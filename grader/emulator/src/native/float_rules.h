// What both levels of native code have of floats.
#pragma once
#include <cstdint>

#include "program/operation.h"

namespace warpgrade::emu {

inline constexpr uint32_t kCanonicalNaN = 0x7fffffff;  // every NaN of a result in single precision

// The immediate of vcmpps and vcmppd.
inline int float_comparison(Comparison c) {
  switch (c) {
    case Comparison::eq:
      return 0;
    case Comparison::ne:
      return 12;
    case Comparison::lt:
      return 17;
    case Comparison::le:
      return 18;
    case Comparison::gt:
      return 30;
    case Comparison::ge:
      return 29;
    case Comparison::equ:
      return 8;
    case Comparison::neu:
      return 4;
    case Comparison::ltu:
      return 25;
    case Comparison::leu:
      return 26;
    case Comparison::gtu:
      return 22;
    case Comparison::geu:
      return 21;
    case Comparison::num:
      return 7;
    case Comparison::nan:
      return 3;
  }
  return 0;
}

}  // namespace warpgrade::emu

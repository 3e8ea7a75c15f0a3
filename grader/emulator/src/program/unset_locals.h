// Stores of values that were never given a beginning: `float sum; ... sum += x; ... c[row] = sum;`.
#pragma once
#include <cstdint>
#include <map>

#include "program/linear.h"

namespace warpgrade::emu {

// Inst::flags of such a store. Its Inst::target is then the instruction that reads the value first.
inline constexpr uint8_t kStoresUnset = 0x80;  // other stores use the low bits

// By index of the store in the function: the index of the first instruction that reads what nobody set.
//
// A register counts as unset when each instruction that writes it computes from another unset one (or nothing
// writes it), by arithmetic alone: then no path gives it a value. A local variable that is set on some paths
// is not told, since compilers leave registers unset where they know that nobody looks.
std::map<uint32_t, uint32_t> stores_of_unset_locals(const LinearFunction& function);

}  // namespace warpgrade::emu

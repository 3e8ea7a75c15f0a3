// Loads whose address depends on more than where a variable lies: an index, or a pointer that moves in
// a loop.
#pragma once
#include <cstdint>
#include <vector>

#include "program/linear.h"

namespace warpgrade::emu {

// Inst::flags of a load with a computed address.
inline constexpr uint8_t kComputedAddress = 1;

// By register of the function: whether it holds a computed address. A compiler may load a variable at a fixed
// place before it knows that it needs it, so that reading there is no sign of a mistake; it does not do so at
// an address that it cannot bound. Pointers out of memory or arguments are not taken for computed.
std::vector<bool> computed_addresses(const LinearFunction& function);

}  // namespace warpgrade::emu

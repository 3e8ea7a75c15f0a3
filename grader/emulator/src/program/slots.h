// Places virtual registers in the register file.
#pragma once
#include <vector>

#include "program/linear.h"
#include "program/register_file.h"

namespace warpgrade::emu {

// The slot of each virtual register of the function.
std::vector<uint32_t> assign_slots(const LinearFunction& function, RegisterFile& file);

}  // namespace warpgrade::emu

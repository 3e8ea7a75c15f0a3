// Which of a kernel's arguments its stores may go through: a conservative reading of the code before
// registers share space. Memory that a kernel only reads needs no following.
#pragma once
#include "program/linear.h"

namespace warpgrade::emu {

WriteSet find_write_set(const LinearProgram& program);

}  // namespace warpgrade::emu

// What ptxas wrote of the kernels in a program's machine code.
#pragma once
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace warpgrade::emu {

// Registers of a thread by the kernel's mangled name, from the machine code that a device of compute
// capability `arch` (80 for 8.0) would run. Empty where the program has none for it: then the driver compiles
// the PTX, and nobody knows the number here.
std::map<std::string, uint32_t> registers_of_containers(
    const std::vector<std::span<const uint8_t>>& containers, unsigned arch);
// The same of one ELF file of machine code (a cubin). Empty when it is damaged or still to be linked.
std::map<std::string, uint32_t> registers_of_cubin(std::span<const uint8_t> elf);

}  // namespace warpgrade::emu

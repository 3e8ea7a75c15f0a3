// Finds PTX in the fat binary that nvcc embeds in a program.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace warpgrade::emu {

// The PTX of a fat binary, or why there is none that can be used. Of relocatable device code the PTX of each
// file, one after the other.
struct FatbinPtx {
  std::string text;
  std::string problem;  // empty when text is usable
};

// `wrapper` is what the program passes to __cudaRegisterFatBinary. Of several PTX versions the newest that is
// not newer than `arch` is taken, else the oldest.
FatbinPtx ptx_of_fatbin(const void* wrapper, unsigned arch);
// The same of containers that were found before (cudart/fat_binary.h).
FatbinPtx ptx_of_containers(const std::vector<std::span<const uint8_t>>& containers, unsigned arch);

}  // namespace warpgrade::emu

// Finds PTX in the fat binary that nvcc embeds in a program.
#pragma once
#include <string>

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

}  // namespace warpgrade::emu

// Where the program called the runtime: file and line, from debug information when the host code has it
// (nvcc -Xcompiler -g1).
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace warpgrade::cudart {

struct HostPlace {
  std::string path;  // empty when it cannot be told
  uint32_t line = 0;
};

// An interpreter's program has no such debug information. So it tells where the calls come from that this thread
// makes from now on; line 0: they come from nowhere that is to be told.
void tell_place(const char* path, uint32_t line);

// Return addresses on the way from here to main, or what stands for the place that was told; cheap.
std::vector<void*> call_stack();

// The innermost of these calls that lies in code with a source file of the user's. Asks addr2line, once
// an address.
// `kernel`: the mangled name of the kernel that is launched, whose stub is not the user's.
HostPlace place_of_call(const std::vector<void*>& stack, const std::string& kernel = {});

}  // namespace warpgrade::cudart

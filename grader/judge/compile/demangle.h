// Names of C++ as their author wrote them, from the names that a linker uses.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace warpgrade {

inline constexpr std::size_t kLongestName = 4000;  // of a demangled name, in bytes

// The demangled form of each name ("_Z3addi": "add(int)"). A name that has none, is unsafe to pass on, or is
// too long demangled is left out.
std::map<std::string, std::string> demangle(std::vector<std::string> names);

}  // namespace warpgrade

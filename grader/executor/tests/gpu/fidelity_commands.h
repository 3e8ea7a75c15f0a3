// What fidelity.cpp asks of a program with a solution.
#pragma once
#include <cstdint>
#include <cstring>
#include <iterator>

namespace warpgrade::executor::fidelity {

inline constexpr uint32_t kPlan = 1, kPrepare = 2, kRun = 3, kCheck = 4, kFree = 5;
inline constexpr const char* kNames[] = {"end", "plan", "prepare", "run", "check", "free"};

inline uint32_t kind_of(const char* name) {
  for (uint32_t k = 1; k < std::size(kNames); ++k) {
    if (std::strcmp(kNames[k], name) == 0) return k;
  }
  return 0;
}

}  // namespace warpgrade::executor::fidelity

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

// What a plan is told: the case, and how many pieces of memory and idle streams are taken before it.
inline int with_pieces(int number, int pieces) {
  return number | pieces << 8;
}
inline int case_of(int asked) {
  return asked & 0xff;
}
inline int pieces_of(int asked) {
  return asked >> 8;
}

}  // namespace warpgrade::executor::fidelity

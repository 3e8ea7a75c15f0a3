// How long something has taken.
#pragma once

#include <chrono>

namespace warpgrade {

// Seconds from then to now, by the clock that nobody sets.
inline double seconds_since(std::chrono::steady_clock::time_point then) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - then).count();
}

}  // namespace warpgrade

// A range of cells handled by several threads of the judge.
#pragma once

#include <algorithm>
#include <cstdint>
#include <thread>
#include <vector>

namespace warpgrade::declared {

// Calls handle(part, begin, end) for up to `threads` parts of [0, count) at once; small ranges are one part.
template <typename Handle>
void for_ranges(std::int64_t count, int threads, const Handle& handle) {
  constexpr std::int64_t kWorthAThread = 1 << 16;
  const std::int64_t parts = std::clamp<std::int64_t>(count / kWorthAThread, 1, std::max(1, threads));
  std::vector<std::jthread> others;
  for (std::int64_t part = 1; part < parts; ++part)
    others.emplace_back([&, part] { handle(part, count * part / parts, count * (part + 1) / parts); });
  handle(std::int64_t{0}, std::int64_t{0}, count / parts);
}

}  // namespace warpgrade::declared

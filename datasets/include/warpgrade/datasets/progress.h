// How long work reports on itself.
//
// A callback is always called on the thread that called the library, about ten times a second at most, and
// may throw: the work then stops, removes what it had begun to write and lets the exception out. That is how
// Ctrl-C is handled.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

namespace warpgrade::datasets {

struct Progress {
  std::string_view stage;   // "reading cora.mtx.gz", "generating arxiv", "waiting for another process"
  std::uint64_t done = 0;   // in any unit, comparable with total only
  std::uint64_t total = 0;  // 0: not known in advance
};

using ProgressFn = std::function<void(const Progress&)>;  // may be empty

}  // namespace warpgrade::datasets

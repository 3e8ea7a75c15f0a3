// Who wrote a case's outputs last, over its checked runs (judge/executor/README.md, "Who wrote the outputs").
#pragma once

#include <algorithm>
#include <nlohmann/json.hpp>

#include "judge/protocol/protocol.h"
#include "record/record.h"

namespace warpgrade {

class WorstWriters {
 public:
  // Of one checked run. The worst counts: the one with most of the host's, then that with the fewest kernels.
  void add(const protocol::Written& run) {
    if (run.bytes == 0) return;
    most_passed_ = std::max(most_passed_, run.passed);
    const bool is_worse = worst_.bytes == 0 || run.host > worst_.host ||
                          (run.host == worst_.host && run.kernels < worst_.kernels);
    if (is_worse) worst_ = run;
  }
  // Of a run in which the host's data was replaced.
  void add_probe(const protocol::Written& run) {
    worst_.host = std::max(worst_.host, std::min(run.bytes, run.host + run.passed));
  }

  bool is_known() const { return worst_.bytes > 0; }
  // Kernels were launched behind copies into outputs, and changed nothing there: did they write it again?
  bool needs_probe() const { return !by_host(worst_.host) && by_host(worst_.host + most_passed_); }

  OutputsBy record() const {
    const char* last = by_host(worst_.host) ? "host" : worst_.kernels > 0 ? "kernel" : "none";
    OutputsBy by;
    by.kernels = static_cast<std::int64_t>(worst_.kernels);
    by.last_writer = last;
    by.host_bytes = static_cast<std::int64_t>(worst_.host);
    by.filled_bytes = static_cast<std::int64_t>(worst_.filled);
    by.bytes = static_cast<std::int64_t>(worst_.bytes);
    return by;
  }

 private:
  // An honest program may copy a sentinel or a few cells.
  static constexpr std::uint64_t kHonestShare = 16;
  bool by_host(std::uint64_t bytes) const { return bytes > worst_.bytes / kHonestShare; }

  protocol::Written worst_;
  std::uint64_t most_passed_ = 0;
};

}  // namespace warpgrade

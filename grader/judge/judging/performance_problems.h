// What makes a kernel slow, told from its counters: divergence, uncoalesced access, redundant traffic, load
// imbalance, bank conflicts, contention of atomics. Each finding names the lines that cost most and says what
// helps. Figures are defined in grader/emulator/src/report/README.md.
#pragma once

#include <nlohmann/json.hpp>

namespace warpgrade {

// `kernels` as records hold them (counters.kernels). Returns an array, the costliest first:
//   {"problem": "uncoalesced", "kernel": "...", "severity": 0.4, "message": "...", "advice": "...",
//    "places": [{"file": "spmm.cu", "line": 31, "text": "23.4 sectors per request where 4.0 would be
//    enough", "share": 0.8}]}
// severity: the part of what the kernel does that is lost, times the kernel's part of all warp instructions.
// share: of the kernel's loss, at that line.
nlohmann::json find_performance_problems(const nlohmann::json& kernels);

}  // namespace warpgrade

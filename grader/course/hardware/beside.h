// The hardware's counters in the words of our profile, beside the emulator's.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "course/hardware/ncu_table.h"

namespace warpgrade::hardware {

// Counters count the same thing on both sides when they are this near
// (grader/emulator/tests/hardware/compare_ncu.py).
inline constexpr double kBar = 0.05;

// A list of kernels in the order of their first launch:
//   {kernel, launches, figures: [{name, hardware, emulator, apart, within}]}
// Figures are of one launch, on average, since the emulator judged several runs and the GPU did one.
// `emulator` and what follows from it are absent where nothing of that name was counted there; `within` also
// where both sides cannot agree: the GPU executes machine code, the emulator PTX. Kernels that the emulator
// alone saw have `hardware` nowhere.
nlohmann::json set_beside(const std::vector<LaunchRow>& launches, const nlohmann::json& emulator);

// For a terminal: a table a kernel, below it by what those figures are known to differ that are apart, and how
// many are within the bar.
std::string beside_text(const nlohmann::json& kernels);

}  // namespace warpgrade::hardware

#pragma once

#include <string>
#include <vector>

namespace warpgrade {

// Measures the rates of this machine's GPUs (`gpus`: of these alone) and keeps them; returns the exit code.
// Throws UsageError where there is none, or where it cannot be measured.
int calibrate_devices(const std::vector<std::string>& gpus);

}  // namespace warpgrade

// The rates of this machine's own GPUs, measured once a device and kept by its UUID. Records of runs on it
// carry them (`device.rates`), and the share of the limit rests on them (course/score/limit.h).
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

namespace warpgrade {

// Where they are kept: in the project's cache.
std::filesystem::path rates_file(const nlohmann::json& device);

// What is kept of a record's `device`, with `measured_at`; null where nothing was measured on it, or on
// another part of the same GPU (MIG).
nlohmann::json measured_rates(const nlohmann::json& device);

struct RatesMeasured {
  nlohmann::json rates;  // the best of all runs: rates per second, launch_us, `measured_at`, `sm_count`
  double spread = 0;     // the widest of any figure between the runs, as a share of the best
  std::string widest;    // and which figure it is
};

// Compiles calibration/limit_rates.cu and runs it on the device (CUDA_VISIBLE_DEVICES is
// `visible`, unless that is empty), `runs` times, in a process each: where the
// driver puts a context decides what a launch costs. Throws UsageError where the compiler or the program
// fails. A minute at most; ten seconds of it are the compiler's.
RatesMeasured measure_rates(const nlohmann::json& device, const std::string& visible, int runs);

// Keeps them for later runs.
void keep_rates(const nlohmann::json& device, const nlohmann::json& rates);

}  // namespace warpgrade

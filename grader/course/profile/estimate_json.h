// An estimate as people and reports read it. Never points, thresholds or tables of ranks: those know times
// that a GPU took.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "course/profile/device_rates.h"

namespace warpgrade {

// Of counters and kernels as records hold them, a JSON object:
//   device, device_name, validated, from_data_sheet; refusal (why there is none), or
//   us, low_us, high_us; bound, bound_share (of the time, by the launches that it binds); bounds (us each);
//   without: [{"problem", "us", "gain"}], what removing one problem would leave, the largest gain first
nlohmann::json estimate_json(const nlohmann::json& counters, const nlohmann::json& kernels,
                             const DeviceRates& device);

// Adds `over_naive` {ratio, low, high} where both are estimates.
void set_beside_naive(nlohmann::json& estimate, const nlohmann::json& naive);

// Puts the findings whose removal would gain most first, and adds each one's `gain`.
void order_by_gain(nlohmann::json& counters, const nlohmann::json& estimate);

// A few lines for a terminal.
std::string estimate_text(const nlohmann::json& estimate);

}  // namespace warpgrade

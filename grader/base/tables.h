// Tables for a terminal.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace warpgrade {

// Columns as wide as their widest cell; numbers stand right.
std::string format_table(const std::vector<std::vector<std::string>>& rows);

// Why perfect work has less than the lab is worth, by these notes of scores: a sentence without its dot.
std::string why_points_are_open(const std::string& open_note, const std::string& limits_note);

// The class at a glance: a line a submission.
std::string class_table(const nlohmann::json& scores);

// Shares of the least time that the device allows: a line a case, a column a submission. Empty where the
// device's rates are not known.
std::string limit_table(const nlohmann::json& scores);

// Speed-ups against thresholds: a line a case, a column a submission.
std::string speed_table(const nlohmann::json& scores);

}  // namespace warpgrade

// Numbers out of counter objects. They come from the untrusted side: what is missing or no number counts
// as zero.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace warpgrade {

inline double figure(const nlohmann::json& counters, const char* name) {
  const auto found = counters.find(name);
  return found != counters.end() && found->is_number() ? found->get<double>() : 0.0;
}

// Zero over nothing.
inline double quotient(const nlohmann::json& counters, const char* over, const char* under) {
  const double divisor = figure(counters, under);
  return divisor > 0 ? figure(counters, over) / divisor : 0.0;
}

inline std::string word(const nlohmann::json& counters, const char* name) {
  const auto found = counters.find(name);
  return found != counters.end() && found->is_string() ? found->get<std::string>() : std::string();
}

// Of a finding: which performance problem it is. Older records call it `disease`.
inline std::string problem_of(const nlohmann::json& finding) {
  return word(finding, finding.contains("problem") ? "problem" : "disease");
}

inline nlohmann::json list(const nlohmann::json& counters, const char* name) {
  const auto found = counters.find(name);
  return found != counters.end() && found->is_array() ? *found : nlohmann::json::array();
}

}  // namespace warpgrade

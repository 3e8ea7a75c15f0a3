// How a class did in each case, for a student's page.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace warpgrade {

// The class's times of each case, without names, as a student may see them beside the own one.
class ClassTimes {
 public:
  // One accepted time in microseconds, and how many times as long the graded baseline took beside it.
  void add(const std::string& case_id, double time_us, std::optional<double> baseline_ratio);
  void sort();  // once, after the last one

  // {"count", "us": fastest first, "median_us", "place": of `own_us` if it is known; equal times share
  // one, "baseline_us": the median}; of a large class `us` holds the times at evenly spaced places, the first
  // and the last among them. null: too few times, which would tell whose they are.
  nlohmann::json of(const std::string& case_id, std::optional<double> own_us) const;

 private:
  std::map<std::string, std::vector<double>> times_, baselines_;  // by case; four digits
  std::map<std::string, double> medians_, baseline_medians_;
};

}  // namespace warpgrade

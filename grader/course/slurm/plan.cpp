#include "course/slurm/plan.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace warpgrade {
namespace {

using nlohmann::json;

constexpr std::size_t kOtherJobs = 4;  // the aggregator, its guard, and those of a resumed call

std::vector<std::vector<std::string>> chunks(const std::vector<std::string>& ids, std::size_t size) {
  std::vector<std::vector<std::string>> tasks;
  for (std::size_t i = 0; i < ids.size(); i += size)
    tasks.emplace_back(ids.begin() + static_cast<std::ptrdiff_t>(i),
                       ids.begin() + static_cast<std::ptrdiff_t>(std::min(i + size, ids.size())));
  return tasks;
}

std::vector<ArrayPart> split(std::size_t tasks, std::size_t max_array) {
  std::vector<ArrayPart> parts;
  for (std::size_t offset = 0; offset < tasks; offset += max_array)
    parts.push_back({offset, std::min(max_array, tasks - offset)});
  return parts;
}

json parts_json(const std::vector<ArrayPart>& parts) {
  json list = json::array();
  for (const ArrayPart& part : parts) list.push_back({{"offset", part.offset}, {"count", part.count}});
  return list;
}

std::vector<ArrayPart> parts_from(const json& list) {
  std::vector<ArrayPart> parts;
  for (const json& part : list) parts.push_back({part.at("offset"), part.at("count")});
  return parts;
}

}  // namespace

json RoundPlan::to_json() const {
  return {{"compile", compile},
          {"judge", judge},
          {"compile_arrays", parts_json(compile_arrays)},
          {"judge_arrays", parts_json(judge_arrays)}};
}

RoundPlan RoundPlan::from_json(const json& kept) {
  RoundPlan plan;
  plan.compile = kept.at("compile").get<std::vector<std::vector<std::string>>>();
  plan.judge = kept.at("judge").get<std::vector<std::vector<std::string>>>();
  plan.compile_arrays = parts_from(kept.at("compile_arrays"));
  plan.judge_arrays = parts_from(kept.at("judge_arrays"));
  return plan;
}

RoundPlan plan_round(const std::vector<std::string>& to_compile, const std::vector<std::string>& to_judge,
                     double seconds, const Site& site, const ClusterLimits& limits) {
  if (limits.max_submit < kOtherJobs + 2 || limits.max_array < 1)
    throw UsageError("the cluster accepts {} jobs at once and arrays of {}: too few for a class",
                     limits.max_submit, limits.max_array);
  // Compiling and judging tasks are in the queue together.
  const std::size_t most_tasks = (limits.max_submit - kOtherJobs) / 2;
  const auto at_least = [&](std::size_t count) { return (count + most_tasks - 1) / most_tasks; };
  const double wanted = std::floor(60 * site.task_minutes / std::max(seconds, 1e-3));
  const auto by_time = static_cast<std::size_t>(std::clamp(wanted, 1.0, 1e6));
  RoundPlan plan;
  plan.compile = chunks(to_compile, std::max<std::size_t>({1, static_cast<std::size_t>(site.compile_per_task),
                                                           at_least(to_compile.size())}));
  plan.judge = chunks(to_judge, std::max<std::size_t>({1, by_time, at_least(to_judge.size())}));
  plan.compile_arrays = split(plan.compile.size(), limits.max_array);
  plan.judge_arrays = split(plan.judge.size(), limits.max_array);
  return plan;
}

}  // namespace warpgrade

#include "course/slurm/remaining.h"

#include <algorithm>

namespace warpgrade {
namespace {

double seconds_a_submission(const std::vector<ReportedTask>& tasks, double usual_s) {
  double sum_s = 0;
  std::size_t submissions = 0;
  for (const ReportedTask& task : tasks) {
    if (task.kind != "judge" || task.state != "COMPLETED") continue;
    sum_s += task.elapsed_s;
    submissions += task.submissions.size();
  }
  return submissions == 0 ? usual_s : sum_s / static_cast<double>(submissions);
}

}  // namespace

std::optional<Remaining> remaining_of(const std::vector<ReportedTask>& tasks, double usual_s) {
  const double each_s = seconds_a_submission(tasks, usual_s);
  Remaining left;
  double sum_s = 0, longest_s = 0;
  bool any = false;
  for (const ReportedTask& task : tasks) {
    const bool runs = task.state == "RUNNING", waits = task.state == "PENDING";
    if (task.kind != "judge" || !(runs || waits)) continue;
    const double whole_s = each_s * static_cast<double>(task.submissions.size());
    const double task_s = std::max(0.0, whole_s - task.elapsed_s);
    left.at_once += runs ? 1 : 0;
    sum_s += task_s;
    longest_s = std::max(longest_s, task_s);
    any = true;
  }
  if (!any) return std::nullopt;
  left.s = std::max(longest_s, sum_s / std::max(1, left.at_once));
  return left;
}

}  // namespace warpgrade

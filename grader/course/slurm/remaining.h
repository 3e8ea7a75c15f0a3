// How long a round still takes: pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace warpgrade {

struct ReportedTask {
  std::string task, kind, state, node, reason, starts, log;
  std::vector<std::string> submissions;
  double elapsed_s = 0;
};

struct Remaining {
  double s = 0;     // of judging, with as many tasks at a time as run now
  int at_once = 0;  // tasks that judge now; with 0 `s` is for one after another
};

// Of the judging tasks that wait or run. A submission takes what it took in the tasks that have ended
// well, else
// `usual_s`. None: no task is left.
std::optional<Remaining> remaining_of(const std::vector<ReportedTask>& tasks, double usual_s);

}  // namespace warpgrade

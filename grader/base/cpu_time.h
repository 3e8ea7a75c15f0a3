// How much of the processor processes have had, and how many wanted it: what tells a slow program from a busy
// machine. All from /proc (proc(5)).
#pragma once

#include <chrono>

namespace warpgrade {

// The CPU time of the process, of all that it has started, and of their descendants that have ended and were
// waited for. A process that was left by its parent is missing where no ancestor of it inherits it (in a pid
// namespace its first process does): a control group knows better.
std::chrono::microseconds cpu_time_of_tree(int pid);

// How many threads ran or wanted to run on this machine, this one left out: the mean of what /proc/loadavg
// says at each moment. (Its averages look a minute back and more, to what went on before.)
class MeanLoad {
 public:
  void look();
  void add(const MeanLoad& other);
  double value() const { return looks_ == 0 ? 0 : sum_ / looks_; }

 private:
  double sum_ = 0;
  int looks_ = 0;
};

}  // namespace warpgrade

// The desk's workers on a cluster: an array of Slurm tasks that take runs while these come, and end
// when they have been idle for a while.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "course/desk/config.h"
#include "course/desk/queue.h"
#include "course/slurm/cluster.h"

namespace warpgrade::desk {

// How many tasks to ask Slurm for: `wanted` is what waits and is judged now, `there` are tasks that wait for
// a node or run, idle ones among them.
int tasks_to_submit(int most, int wanted, int there);

class WorkerArray {
 public:
  WorkerArray(Queue& queue, const Config& config, const Log& log);

  // Gives runs back into the queue whose task has ended without a word, or has given no sign of life for a
  // minute, and submits tasks where runs wait for which there is none. A controller that does not answer is
  // logged and asked again at the next call.
  void keep();
  void cancel();

 private:
  std::string name() const;
  void submit(int count);
  void give_back_lost(const std::optional<std::vector<std::string>>& tasks);

  Queue& queue_;
  const Config& config_;
  const Log& log_;
  Site site_;
  Cluster cluster_;
};

}  // namespace warpgrade::desk

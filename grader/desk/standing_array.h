// The desk's workers on a cluster: a standing array of Slurm tasks that take runs while these come, and end
// when they have been idle for a while.
#pragma once

#include <filesystem>
#include <string>

#include "desk/config.h"
#include "desk/queue.h"
#include "slurm/cluster.h"

namespace warpgrade::desk {

// How many tasks to ask Slurm for: `wanted` is what waits and is judged now, `alive` are workers that gave a
// sign of life, `pending` says whether tasks that were asked for earlier still wait for a node.
int tasks_to_submit(int most, int wanted, int alive, bool pending);

class StandingArray {
 public:
  StandingArray(Queue& queue, const Config& config, const Log& log);

  // Submits tasks where runs wait for which there is no worker. A controller that does not answer is logged
  // and asked again at the next call.
  void keep();
  // Runs whose worker has given no sign of life for a minute go back into the queue.
  void give_back_lost();
  void cancel();

 private:
  std::string name(const std::string& generation) const;

  Queue& queue_;
  const Config& config_;
  const Log& log_;
  Site site_;
  Cluster cluster_;
};

}  // namespace warpgrade::desk

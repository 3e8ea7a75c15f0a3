#include "course/slurm/reasons.h"

#include <utility>
#include <vector>

namespace warpgrade {

std::string cure_of(const std::string& reason) {
  static const std::vector<std::pair<std::string, std::string>> cures{
      {"PartitionDown", "the partition is down: ask the cluster's staff, or give another `partition:`"},
      {"PartitionInactive", "the partition takes no jobs now: give another `partition:`"},
      {"PartitionTimeLimit",
       "`time:` is longer than the partition allows: give less, or another `partition:`"},
      {"PartitionNodeLimit", "the partition has too few nodes for this: look at `options:`"},
      {"JobHeldUser", "somebody held it: scontrol release JOB"},
      {"JobHeldAdmin", "the cluster's staff held it: ask them"},
      {"JobHoldMaxRequeue", "Slurm started it too often: look at its log, then scontrol release JOB"},
      {"launch failed requeued held",
       "it could not be started: look at the node's log, then scontrol release JOB"},
      {"ReqNodeNotAvail",
       "the nodes that it asks for are down or reserved: look at `nodelist:` and sinfo -R"},
      {"NodeDown", "its node is down: sinfo -R says why"},
      {"BadConstraints", "no node has what it asks for: look at `constraint:`, `gres:` and `memory:`"},
      {"DependencyNeverSatisfied", "what it waits for never ended well: warpgrade cancel, then resume"},
      {"Dependency", "nothing to do: it begins when the tasks before it have ended"},
      {"InvalidAccount", "Slurm does not know the account: look at `account:`"},
      {"InvalidQOS", "Slurm does not know the QOS: look at `qos:`"},
      {"Reservation", "the reservation has not begun: look at `reservation:`"},
      {"BeginTime", "it was started again, and waits for a minute or two"},
      {"QOS", "a limit of the QOS is reached: wait, or give another `qos:`"},
      {"Assoc", "a limit of the account is reached: wait, or give another `account:`"},
      {"JobLaunchFailure", "it could not be started: look at the node's log"},
      {"Licenses", "it waits for a license: look at `options:`"},
  };
  for (const auto& [sign, cure] : cures)
    if (reason.find(sign) != std::string::npos) return cure;
  return {};
}

}  // namespace warpgrade

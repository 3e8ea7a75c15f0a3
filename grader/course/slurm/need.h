// What the tasks of a round need of a node, by the policy's limits: pure.
//
// A submission may use all that the policy allows. A task that has less makes the cluster's limit the
// student's fault; so less is refused, and more is asked for when a task met its limit all the same.
#pragma once

#include <cstddef>
#include <string>

#include "course/score/policy.h"
#include "course/slurm/site.h"

namespace warpgrade {

// What is judged, and how.
struct RoundWork {
  Policy::Limits limits;
  std::string backend;          // "cuda" or "emulator"
  std::size_t cases = 0;        // of a submission
  std::size_t submissions = 0;  // of the fullest task
};

struct Need {
  std::size_t memory_mb = 0;
  double least_s = 0;      // one case of one submission
  double usual_s = 0;      // all submissions of the fullest task, with everything that they may take
  std::string memory_sum;  // "4096 MiB of host memory + ... = 22528 MiB"
  std::string time_sum;
};

Need need_of_judge(const RoundWork& work);
Need need_of_compile(const RoundWork& work);
// Of who reads all records, scores them and makes everybody's pages: `scripts/measure thousands`. It has no
// time of its own.
Need need_of_aggregate(std::size_t records);

// The site's task with the memory filled in where it says none, else refused where it is too little.
SiteTask with_memory(SiteTask task, const Need& need, const std::string& kind, const std::string& file);

// The site's task with memory and time filled in where it says none. `most_s` is the partition's limit, 0: it
// has none; `memory_times` more memory is asked for because a task of the round before met its limit. Throws
// UsageError, with the sum, where the site or the partition gives less than is needed.
SiteTask with_need(SiteTask task, const Need& need, const std::string& kind, const std::string& file,
                   double most_s, int memory_times);

}  // namespace warpgrade

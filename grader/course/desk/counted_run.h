// One run with the hardware's counters: the student's program on the GPU under ncu, on a public case with
// inputs of its own. Nothing of it is a record, a verdict or points: the summary and ncu's report go to the
// student, and the summary stays for `warpgrade journey`.
#pragma once

#include <string>

#include "course/desk/config.h"
#include "course/desk/judged_run.h"
#include "course/desk/queue.h"

namespace warpgrade::desk {

class CountedRun {
 public:
  CountedRun(Queue& queue, const Config& config, const Request& request, std::string gpu);

  // What is wrong with the student's program or with this machine is in the ending. Where the GPU does not
  // answer any more, the queue's class of such runs has ended then. Throws what keeps this worker from
  // going on.
  Ending execute();

 private:
  std::filesystem::path unpacked() const;
  Ending count();

  Queue& queue_;
  const Config& config_;
  const Request& request_;
  std::string gpu_;
  Log log_;
};

// The public case of the lab that has this id, also where its policy opens it alone; nothing: there is none.
std::vector<std::string> public_cases(const std::string& lab, const Policy& policy, const std::string& id);

}  // namespace warpgrade::desk

// The CLI's end of a judge process: hands it a job, takes results as they come, and notices its death.
#pragma once

#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "judge/job.h"

namespace warpgrade {

// Called for each finished case: with a record's measured part, or with the judge's own fault.
struct JudgeEvents {
  std::function<void(const std::string& case_id, const nlohmann::json& record)> on_record;
  std::function<void(const std::string& case_id, const std::string& message)> on_fault;
};

// Runs the job to its end. A case at which the judge faults or dies is tried once more in a fresh judge, then
// reported as a fault; the other cases go on. Throws Interrupted after Ctrl-C.
void run_judge(JudgeJob job, const JudgeEvents& events);

// The GPU of this machine as the judge sees it, {} without one.
nlohmann::json probe_gpu();

}  // namespace warpgrade

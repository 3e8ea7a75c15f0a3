// The CLI's end of a judge process: hands it a job, takes results as they come, and notices its death.
#pragma once

#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "judge/judging/job.h"

namespace warpgrade {

// Called for each finished case: with a record's measured part, or with the judge's own fault.
struct JudgeEvents {
  // Before the first case: seconds by phase that belong to no case.
  std::function<void(const nlohmann::json& phases)> on_opened;
  std::function<void(const std::string& case_id)> on_started;
  std::function<void(const std::string& case_id, const nlohmann::json& record)> on_record;
  std::function<bool()> wants_to_stop;  // asked after each record; the job's other cases are dropped then
  // Twice, in two fresh judges: what each of them said or how it ended.
  std::function<void(const std::string& case_id, const std::vector<std::string>& causes)> on_fault;
  // The task or the machine had no memory left at this case, which is not tried again here.
  std::function<void(const std::string& case_id, const std::string& why)> on_memory_short;
  // The judge died or faulted at this case, which is tried once more.
  std::function<void(const std::string& case_id, const std::string& message)> on_death;
};

// A judge process that is kept for submission after submission, and replaced when it dies. Belongs to the
// thread that uses it: the process ends with that.
class JudgeClient {
 public:
  // Its device, as CUDA_VISIBLE_DEVICES names it; empty: the first that this process sees.
  explicit JudgeClient(std::string visible_device = "");
  ~JudgeClient();
  JudgeClient(const JudgeClient&) = delete;
  JudgeClient& operator=(const JudgeClient&) = delete;

  // Starts the process unless it runs; the seconds until it answered.
  double start();
  // The same, for a judge whose first job is not there yet: it brings up meanwhile what every job needs,
  // its own context, an executor and the baselines, and makes what its cases need. `outline` is a job
  // without a submission.
  void start_early(const JudgeJob& outline);

  // Runs the job to its end. A case at which the judge faults or dies is tried once more in a fresh judge,
  // then reported as a fault; the other cases go on. Throws Interrupted after Ctrl-C, and what a callback
  // throws: the process is given up then.
  void run(JudgeJob job, const JudgeEvents& events);

  // Whether the device still works, asked of a fresh process; why not when it does not.
  std::optional<std::string> device_fault() const;

  // Where this judge's case waits for another one: told once, through `tell` (waiting.h).
  void report_waits(std::string device_name, std::function<void(const std::string&)> on_wait);

 private:
  struct Attempt;
  void run_cases(JudgeJob& job, const JudgeEvents& events);
  Attempt run_once(JudgeJob& job, const JudgeEvents& events);
  std::optional<std::string> next_line(const std::string& lease);
  std::string waiting_text(const std::string& lease) const;
  class Process;
  std::string visible_device_, device_name_;
  std::function<void(const std::string&)> on_wait_;
  bool has_reported_wait_ = false;
  std::unique_ptr<Process> process_;
};

// The GPU of this machine that is named so, {} without one; "": the first.
nlohmann::json probe_gpu(const std::string& visible_device = "");

}  // namespace warpgrade

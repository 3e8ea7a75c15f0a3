// Compiles and judges the submissions of an opened run and records what was found. Safe to call from several
// threads, each with a judge of its own.
#pragma once

#include <atomic>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "batch/class_run.h"
#include "batch/judge_process.h"
#include "record/events.h"

namespace warpgrade {

class Judging {
 public:
  Judging(const ClassRun& run, Progress& progress);

  // Compiles what the submissions are timed against; only on a GPU, before anything is judged.
  void compile_baselines();
  // Compiles submission i and records that.
  void compile(size_t i);
  // Cases of submission i without a verdict.
  std::vector<CaseInput> missing(size_t i) const;

  struct Share {
    int emulator_threads = 1;  // of each runner, on the emulator
    int judge_threads = 1;     // of the judge's own host work
    bool alone = true;         // nobody else's submission is on the GPU
  };
  // Judges what is missing of submission i, which was compiled. Returns the ids of cases that others on the
  // GPU may have spoilt: they are to be judged again alone, and are not recorded yet.
  std::vector<std::string> judge(size_t i, JudgeServer& judge, const Share& share);

  std::string summary_line(size_t i) const;
  size_t recorded() const { return recorded_; }
  size_t faults() const { return faults_; }
  EventLog& events() { return events_; }

 private:
  CompileOptions compile_options() const;
  std::vector<Baseline> chosen_baselines() const;
  RunnerSpec runner_spec(const std::string& label, const std::filesystem::path& executable,
                         const Share& share) const;
  JudgeJob job_for(size_t i, std::vector<CaseInput> cases, const Share& share) const;
  nlohmann::json complete(size_t i, nlohmann::json part) const;
  std::string next_step(const std::string& verdict, const std::string& case_id) const;
  nlohmann::json bare_case(const std::string& id) const;
  void record_case(size_t i, const std::string& id, nlohmann::json part, const Share& share);
  void record_fault(size_t i, const std::string& id, const std::string& why);
  void leave_out_cases(size_t i);
  void record_not_compiled(size_t i, const CaseInput& input);
  void add(const nlohmann::json& record);
  void write_session(size_t i, nlohmann::json session) const;

  const ClassRun& run_;
  Progress& progress_;
  Compiler compiler_;
  EventLog events_;
  std::vector<CompileResult> compiled_;
  std::vector<double> compile_s_;
  std::vector<JudgeContext::BaselineRunner> baselines_;
  std::atomic<size_t> recorded_{0}, faults_{0};
};

}  // namespace warpgrade

// Compiles and judges the submissions of an opened run and records what was found. Safe to call from several
// threads, each with a judge of its own.
//
// What goes wrong here while one submission is handled is noted at that submission (error_of.h), whose cases
// without a verdict become judge faults; the next call judges them again. A fault that two fresh judges meet
// at a case is looked into with a program of our own on the same case: when that one is judged, the fault
// follows the submission and costs it the case (reason judge_fault_twice, to be looked at by a person); else
// the machine is at fault, and nobody pays.
#pragma once

#include <atomic>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "course/batch/class_run.h"
#include "course/batch/judge_process.h"
#include "course/record/events.h"
#include "record/record.h"

namespace warpgrade {

class CaseDispatcher {
 public:
  CaseDispatcher(const ClassRun& run, Progress& progress);

  // Compiles what the submissions are timed against; only on a GPU, before anything is judged.
  void compile_baselines();
  // Compiles submission i and records that. Where that cannot be done, judge() says so of its cases.
  void compile(size_t i);
  // The same anew where it ran out of time while others had the cores.
  void compile_again(size_t i);
  // How often a call died while it handled submission i: such ones are handled last, one at a time.
  int deaths(size_t i) const;
  const CompileResult& compiled(size_t i) const { return compiled_[i]; }
  // Cases of submission i without a verdict.
  std::vector<Case> missing(size_t i) const;

  struct Share {
    int emulator_threads = 1;             // of each runner, on the emulator
    int judge_threads = 1;                // of the judge's own host work
    bool alone = true;                    // nobody else's submission is on the GPU
    bool another_follows = true;          // this judge may get another submission
    bool last = false;                    // nothing else is left to do: what is found now is recorded
    const JudgeDevice* device = nullptr;  // the judge's; null: the first, or none on the emulator
  };
  // A job without a submission: what a judge can prepare before the first one is compiled.
  JudgeJob outline(const Share& share) const;
  JudgeJob outline_without_baselines(const Share& share) const;  // before those are compiled, too
  // What judge() asks a judge about these cases of submission i.
  JudgeJob job_for(size_t i, std::vector<Case> cases, const Share& share) const;
  // The staff's naive solution of a lab, any lab, on one case; on a GPU timed beside itself (baseline
  // "self"), behind the baseline of the same source, as --self does it. Throws JudgeFault where it does
  // not compile.
  JudgeJob job_against_itself(const Lab& lab, const Case& input, const Share& share);
  // Judges what is missing of submission i, which was compiled. Returns the ids of cases that others on the
  // GPU may have disturbed, or that ran out of time while the machine was busy: they are to be judged again
  // alone, behind all others, and are not recorded yet.
  std::vector<std::string> judge(size_t i, JudgeClient& judge, const Share& share);

  // "Ada Lovelace (s123)": whom a person knows the submission by.
  std::string label(size_t i) const;
  std::string summary_line(size_t i) const;
  // Called after each record of submission i, from the judging threads.
  void on_record(std::function<void(size_t i, const std::string& case_id)> callback) {
    on_record_ = std::move(callback);
  }
  size_t recorded() const { return recorded_; }
  size_t faults() const { return faults_; }
  size_t for_staff() const { return for_staff_; }  // cases recorded with judge_fault_twice
  EventLog& events() { return events_; }

 private:
  CompileOptions compile_options() const;
  std::vector<Baseline> chosen_baselines() const;
  JudgeContext::BaselineRunner baseline_runner(const Lab& lab, const Baseline& baseline);
  std::vector<std::string> vendor_libraries_of(const Submission& submission) const;
  static void add_vendor_libraries(const Submission& baseline, const std::vector<std::string>& libraries,
                                   CompileOptions& options);
  const JudgeDevice* device_of(const Share& share) const;
  RunnerSpec runner_spec(const std::string& label, const std::filesystem::path& executable,
                         const Share& share) const;
  std::filesystem::path folder_of(size_t i) const;
  void compile_now(size_t i);
  std::vector<std::string> judge_compiled(size_t i, JudgeClient& judge, const Share& share,
                                          std::set<std::string>& faulted);
  void settle_device(JudgeContext& context, const Share& share) const;
  std::optional<RunnerSpec> trusted_program(const std::string& lab, const Share& share);
  bool follows_submission(size_t i, const std::string& case_id, const Share& share);
  void settle_fault(size_t i, const std::string& case_id, const std::vector<std::string>& causes,
                    const Share& share);
  void record_blamed(size_t i, const std::string& case_id, const std::vector<std::string>& causes);
  Record complete(size_t i, Record record) const;
  void add_estimate(Record& record) const;
  std::string next_step(Verdict verdict, const std::string& case_id) const;
  Record bare_case(const std::string& id, const Outcome& outcome) const;
  void record_case(size_t i, const std::string& id, Record record, const Share& share);
  void record_fault(size_t i, const std::string& id, const std::string& why);
  std::string note_memory_short(size_t i, const std::string& case_id, const std::string& why);
  void leave_out_cases(size_t i);
  void record_not_compiled(size_t i, const Case& input);
  void add(const Record& record);
  void write_session(size_t i, nlohmann::json session, const Share& share) const;

  const ClassRun& run_;
  Progress& progress_;
  Compiler compiler_;
  EventLog events_;
  std::vector<CompileResult> compiled_;
  std::vector<std::string> not_compiled_why_;  // of the judge's own failure; empty: none
  std::vector<double> compile_s_;
  std::vector<JudgeContext::BaselineRunner> baselines_;
  std::function<void(size_t, const std::string&)> on_record_;
  std::atomic<size_t> recorded_{0}, faults_{0}, for_staff_{0};
};

}  // namespace warpgrade

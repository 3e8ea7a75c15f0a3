// One case judged, whatever the lab: the runner's life, commands with the caches and the context in a known
// state, paired timing with every repetition verified, the record. A lab derives from it and says how inputs
// are drawn and outputs checked.
#pragma once

#include <algorithm>
#include <chrono>
#include <future>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "judge/judging/case_budget.h"
#include "judge/judging/case_buffers.h"
#include "judge/judging/checked_runs.h"
#include "judge/judging/device_memory_limit.h"
#include "judge/judging/judge_context.h"
#include "judge/judging/output_writers.h"
#include "judge/judging/phases.h"
#include "judge/judging/run_order.h"
#include "judge/judging/services.h"
#include "judge/measure/paired_timing.h"
#include "record/case.h"
#include "record/record.h"

namespace warpgrade {

class CaseJudge {
 public:
  // `prefix` of the contract's functions: "spmm" for spmm_plan, spmm_run, spmm_free.
  CaseJudge(const JudgeContext& context, Case spec, std::string prefix);
  virtual ~CaseJudge();
  CaseJudge(const CaseJudge&) = delete;
  CaseJudge& operator=(const CaseJudge&) = delete;

  Record judge();

  // Whether a case is timed there.
  static bool is_timed(const JudgeContext& context, const Case& spec) {
    return context.backend == "cuda" && context.measure_speed && spec.kind == "speed";
  }

 protected:
  using Arguments = std::vector<std::int64_t>;

  // ---- what a lab says ----

  // The case's memory, with every buffer allocated, filled once and guarded.
  virtual std::unique_ptr<CaseBuffers> open_buffers() = 0;
  virtual Arguments plan_arguments() const = 0;
  // Draws fresh inputs for a timed pair; the arguments of its runs.
  virtual Arguments refresh_for_timing() = 0;
  // The private output of a timed run, the submission's or a baseline's. nullopt: right. Where closely() is
  // set, whatever the lab's closest check is.
  virtual std::optional<Outcome> verify_output() = 0;
  // What a run works on, as its throughput counts it: ids, samples, relaxations. 0: the lab says it itself.
  virtual double items() const { return 0; }
  // Time that no honest program can beat, for a device of this bandwidth.
  virtual double impossible_us(double peak_bytes_per_s) const = 0;
  // The bytes of the record's floor.
  virtual double compulsory_bytes() const = 0;
  // Warp instructions that the staff's naive solution takes for a run, roughly; what a launch on the emulator
  // may take follows from it. 0: the emulator's time limit alone.
  virtual double naive_steps() const { return 0; }
  // Adds the record's "case" and what else the lab has found.
  virtual void describe_case(Record& record) const = 0;

  // ---- what a lab may do in another way ----

  // Starts the submission and judges it in order.
  virtual Outcome judge_submission();
  // Checked runs: one, one that catches what was kept from it, and one behind another plan.
  virtual int least_runs() const { return 3; }
  virtual int least_pairs() const { return context_.least_pairs; }
  // Of the order of plans, checked runs and the timed phase.
  virtual std::uint64_t order_seed() const { return seed("order"); }
  // Comes before each plan: 0, 1, ...; the timed phase is its own.
  virtual void prepare_plan(int /*number*/, bool /*is_timed*/) {}
  // A run on inputs that the submission has not seen, checked: drawn and verified as the timed ones are.
  virtual std::optional<Outcome> checked_run();
  virtual Arguments refresh_for_check() { return refresh_for_timing(); }
  // Which kind of inputs the checked run at hand has; 0 where all runs have one kind.
  virtual int inputs_of_run() const { return 0; }
  virtual std::optional<Outcome> verify_checked_run() { return verify_output(); }

  // ---- timed repetitions, of a lab that does not verify them as its checked runs ----

  // The baselines have planned and nothing is timed yet.
  virtual std::optional<Outcome> before_timing() { return std::nullopt; }
  // The program's private output is at hand: of the submission (0) or of a baseline (1: the main one, 2,
  // ...). nullopt: right, or looked at later.
  virtual std::optional<Outcome> verify_timed_output(int /*program*/) { return verify_output(); }
  // Whether the main baseline's output is looked at in every pair, and not only in the first of each process.
  virtual bool wants_main_baseline() const { return false; }
  // All programs of the pair have run; of the last pair.
  virtual std::optional<Outcome> verify_pair() { return std::nullopt; }
  virtual std::optional<Outcome> verify_last_pair() { return std::nullopt; }
  // Adds to the record's "verification".
  virtual void describe_verification(Verification& /*verification*/) const {}

  // ---- what it uses ----

  const Case& spec() const { return spec_; }
  const JudgeContext& context() const { return context_; }
  bool timed() const { return timed_; }
  // Each use of randomness has a name; without the hidden seed no value can be foretold.
  std::uint64_t seed(const std::string& purpose) const;
  std::uint64_t next_seed() { return seed("repetition " + std::to_string(++seeds_)); }

  // Starts the submission's runner and attaches every buffer.
  std::optional<Outcome> start_submission();
  std::optional<Outcome> plan();
  std::optional<Outcome> free_plan();
  // Plans, checked runs and, where timed(), the timed phase in an order that the hidden seed decides:
  // least_runs() checked runs or one more.
  std::optional<Outcome> judge_in_order();
  // The pair at hand is one of those, chosen by the seed, that are checked more closely.
  bool closely() const { return closely_; }
  // Poison, run, snapshot, integrity; the lab checks the private output.
  std::optional<Outcome> run_once(const Arguments& arguments = {});
  void keep_first_calls(const Arguments& arguments);
  // On a GPU, for speed cases.
  std::optional<Outcome> timed_phase();
  int pairs_to_come() const;
  // The first baseline runs in the pairs that come: it is there, and has not used up its time.
  bool main_baseline_runs() const;
  // Once more and outside what is timed, on inputs that were published: the main baseline, whose output is
  // then the private one.
  std::optional<Outcome> run_main_baseline(const Arguments& arguments);
  // Outside of the timed phase and in a process of its own: the main baseline, which is ours, on inputs that
  // were published. True: its output is the private one. The submission is stopped meanwhile.
  bool run_baseline_aside(const Arguments& arguments);

  // What the record's "verification" sums up.
  void count_check(const std::string& method, std::int64_t cells, double max_error_over_bound = 0);
  void count_rms(double max_rms_over_limit) { checks_.count_rms(max_rms_over_limit); }
  // What the author of the submission calls a function of the contract: in Python the lab's name is the module's.
  std::string called(const std::string& function) const;
  // The function that a run calls, for messages.
  virtual std::string run_name() const { return prefix_ + "_run"; }
  // What every record says of its case.
  Case described_case() const;
  const std::optional<Timing>& timing() const { return timing_; }
  // The graph or the pattern behind the numbers is of this kind: "real", "stand-in", "synthetic".
  std::string dataset_kind() const;

  nlohmann::json mismatches_;  // of the lab, for the record
  std::string pattern_;        // what wrong cells have in common

 private:
  struct Attached;
  struct TimedBaseline;
  struct TimedPair;
  struct TimedPhase;
  static constexpr int kPreparedAhead = 2;  // processes of a submission's next cases

  std::optional<Outcome> limit_steps();
  std::optional<Outcome> attach(RunnerProcess& runner);
  std::string plan_name() const { return prefix_ + "_plan"; }
  Answer timed_turn(RunnerProcess& runner, protocol::Op op, const Arguments& arguments = {});
  std::optional<Outcome> integrity_fault(const std::string& doing);
  std::optional<Outcome> time_baselines_and_submission();
  std::optional<Outcome> start_baselines();
  std::optional<Outcome> plan_baselines();
  std::future<std::optional<Outcome>> attach_aside(RunnerProcess& runner);
  void start_runner(TimedBaseline& baseline);
  std::optional<Outcome> take_next(TimedBaseline& baseline);
  std::optional<Outcome> put_aside(TimedBaseline& baseline);
  void retire(TimedBaseline& baseline);
  bool works_alone(const TimedBaseline& baseline);
  Outcome explain_baseline(const TimedBaseline& baseline, const std::string& words);
  bool spreads_timing() const;
  void start_partners();
  void start_partner();
  std::optional<Outcome> take_partner();
  void pause_waiting();
  std::optional<Outcome> begin_partner();
  std::optional<Outcome> end_partner(bool is_last);
  void retire_partner(std::unique_ptr<RunnerProcess> partner);
  bool plans_are_large() const;
  std::optional<Outcome> next_process_pair();
  std::optional<Outcome> measure();
  std::optional<Outcome> measure_process_pair(const std::string& gpu);
  void give_back();
  void prepare_next(int most);
  int executors_ahead(bool behind_runs) const;
  void settle();
  enum class Inputs { kFresh, kAsBefore };
  std::optional<Outcome> timed_pair(TimedPair& timed, Inputs inputs);
  std::optional<Outcome> timed_submission(const Arguments& arguments, TimedPair& timed);
  std::optional<Outcome> timed_baselines(const Arguments& arguments, TimedPair& timed);
  Answer baseline_turn(TimedBaseline& baseline, const Arguments& arguments);
  void note_baseline_time(TimedBaseline& baseline, const Answer& answer, TimedPair& timed);
  Outcome too_many_voids() const;
  std::optional<Outcome> finish_timing(const PairedTiming& timing, const std::string& main_baseline);
  std::optional<Outcome> plan_again();
  Outcome left_work() const;
  void probe_writers();
  void describe_calls(Record& record, Outcome& outcome) const;
  void count_behind_timing();
  bool leaves_time(int processes, int runs_each) const;
  bool is_short_of_time() const;
  void describe_plan(Record& record) const;
  void describe_speed(Record& record) const;
  void collect_reports(Record& record, Outcome& outcome);
  void add_notes(Record& record, Outcome& outcome);
  void note_outputs();
  void add_output(Outcome& outcome);
  void add_help(Outcome& outcome);
  void take_turn();
  void let_others_go_first();

  const JudgeContext& context_;
  // A lab's own constructor opens or draws the input, which is part of the case.
  const std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
  Phases phases_, timed_phases_;  // where the time went; within the timed phase
  Case spec_;
  std::string prefix_;
  bool timed_ = false, closely_ = false;
  RunOrder order_;
  std::shared_ptr<CaseBudget> budget_;  // of the submission's calls
  CaseBudget::Calls behind_timing_;     // that the order has behind the timed phase
  std::unique_ptr<CaseBuffers> buffers_;
  DeviceMemoryLimit device_memory_;
  // What an empty run takes on this device, as a baseline of ours measured it: it is taken off both
  // sides' times.
  std::optional<double> trusted_constant_us_;
  std::unique_ptr<TimedPhase> phase_;          // while there is one
  Arguments timed_arguments_;                  // of the last timed pair
  bool first_gave_plan_back_ = false;          // while partners are timed
  std::unique_ptr<RunnerProcess> submission_;  // ends before the buffers' memory goes
  nlohmann::json device_;
  std::optional<Timing> timing_;
  std::map<std::string, Ratio> ratios_, ratios_with_host_;
  WorstWriters writers_;
  CheckedRuns checks_;
  std::optional<double> plan_ms_;                   // of the last plan; of none that failed
  std::optional<std::uint64_t> plan_device_bytes_;  // that it holds; an executor counts them
  int seeds_ = 0;
  std::vector<std::string> outputs_noted_;  // hashes, of checked runs
};

}  // namespace warpgrade

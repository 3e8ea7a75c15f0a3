// One case of lab spmm, judged: correctness rounds with fresh values, then, on a GPU, paired timing with
// every repetition verified.
#include <chrono>
#include <cmath>
#include <optional>
#include <set>

#include "base/error.h"
#include "base/hash.h"
#include "base/process.h"
#include "judge/diagnosis.h"
#include "labs/spmm/pattern.h"
#include "labs/spmm/spmm_lab.h"
#include "labs/spmm/workbench.h"
#include "measure/nvml.h"
#include "measure/paired_timing.h"
#include "warpgrade/datasets/csr_file.h"

namespace warpgrade::spmm {
namespace {

using protocol::Op;
using Clock = std::chrono::steady_clock;

constexpr int kUniformRuns = 2;          // the second one catches what was kept from the first
constexpr int kSlowBaselinePairs = 7;    // of a baseline that is not in every pair,
constexpr double kSlowBaselineUs = 2e6;  // or until it has taken this long
constexpr double kThrottledShare = 0.2;  // of the pairs may be redone

double elapsed_s(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

class SpmmJudge {
 public:
  SpmmJudge(const JudgeContext& context, const CaseInput& input)
      : context_(context), spec_(input.spec), file_(datasets::CsrFile::open(input.file)) {
    a_.rows = file_.rows();
    a_.cols = file_.cols();
    a_.row_offsets = file_.row_offsets();
    a_.columns = file_.columns();
    timed_ = context_.backend == "cuda" && context_.measure_speed && spec_.kind == "speed";
  }

  nlohmann::json judge() {
    const auto start = Clock::now();
    bench_ = context_.backend == "cuda" ? make_cuda_workbench(context_.threads)
                                        : make_host_workbench(context_.threads);
    bench_->load(a_, spec_.k, timed_);
    device_ = bench_->describe();
    Outcome outcome = judge_submission();
    nlohmann::json record = describe_case();
    collect_reports(record, outcome);
    if (!outcome.accepted()) add_help(outcome);
    record["outcome"] = outcome.to_json();
    record["verification"] = {{"repetitions", repetitions_},
                              {"methods", methods_},
                              {"cells_checked", cells_checked_},
                              {"max_error_over_bound", max_error_over_bound_}};
    if (!mismatches_.is_null()) {
      record["mismatches"] = mismatches_;
      if (!pattern_.empty()) record["pattern"] = pattern_;
    }
    record["device"] = device_;
    record["wall_s"] = elapsed_s(start);
    return record;
  }

 private:
  // Each use of randomness has a name; without the hidden seed no value can be foretold.
  std::uint64_t seed(const std::string& purpose) {
    const std::string digits = Sha256().part(context_.seed).part(spec_.id).part(purpose).hex();
    return std::stoull(digits.substr(0, 16), nullptr, 16);
  }
  std::uint64_t next_seed() { return seed("repetition " + std::to_string(++seeds_)); }

  Outcome judge_submission() {
    submission_ = std::make_unique<RunnerProcess>(context_.submission);
    if (auto fault = attach(*submission_, Output::kSubmission)) return *fault;
    bench_->refresh_a({Distribution::kUniform, next_seed()});
    if (auto fault = plan()) return *fault;
    for (int i = 0; i < kUniformRuns; ++i) {
      if (auto fault = checked_run(Distribution::kUniform)) return *fault;
    }
    if (timed_) {
      if (auto fault = timed_phase()) return *fault;
    }
    if (auto fault = step(submission_->call(Op::kFree), "spmm_free")) return *fault;
    // A of +-1 and B of odd integers: every partial sum is exact in fp32 and in nothing shorter.
    bench_->refresh_a({Distribution::kUnit, next_seed()});
    if (auto fault = plan()) return *fault;
    if (auto fault = checked_run(Distribution::kOddInteger)) return *fault;
    return {};
  }

  std::optional<Outcome> step(const Answer& answer, const std::string& doing) {
    if (answer.ok()) return std::nullopt;
    return submission_->explain(answer, doing);
  }

  std::optional<Outcome> attach(RunnerProcess& runner, Output output) {
    const bool protect = context_.backend == "emulator";  // a GPU's write is found by comparison instead
    for (const SharedBuffer& buffer : bench_->input_buffers()) {
      const Answer answer = runner.attach(buffer, protect);
      if (!answer.ok()) return runner.explain(answer, "the start of the program");
    }
    const Answer answer = runner.attach(bench_->output_buffer(output), false);
    if (!answer.ok()) return runner.explain(answer, "the start of the program");
    return std::nullopt;
  }

  std::vector<std::int64_t> plan_arguments() const { return {a_.rows, a_.cols, a_.nnz(), spec_.k}; }

  // The judge's own kernels leave the device in the judge's context: a command sent then pays for the change,
  // 150 us or 300 us by chance. A null command first brings the runner's context in, so that what follows
  // costs 15 us more than its work, and always the same. It touches no data: caches stay cold. How long it
  // took tells whether the device was idle.
  Answer timed_call(RunnerProcess& runner, Op op, const std::vector<std::int64_t>& arguments = {},
                    double* enter_us = nullptr) {
    bench_->flush_caches();
    runner.resume();
    if (context_.backend == "cuda") {
      const Answer answer = runner.call(Op::kNull);
      if (!answer.ok()) return answer;
      if (enter_us != nullptr) *enter_us = answer.wall_us;
    }
    return runner.call(op, arguments);
  }

  // In the timed phase a runner is stopped except while it is asked: it can't see fresh inputs before its
  // turn, nor disturb another's.
  Answer timed_turn(RunnerProcess& runner, Op op, const std::vector<std::int64_t>& arguments = {},
                    double* enter_us = nullptr) {
    const Answer answer = timed_call(runner, op, arguments, enter_us);
    runner.pause();
    return answer;
  }

  std::optional<Outcome> plan() {
    const Answer answer = timed_call(*submission_, Op::kPlan, plan_arguments());
    if (!answer.ok()) return submission_->explain(answer, "spmm_plan");
    plan_ms_ = 1e-3 * answer.wall_us;
    return integrity_fault("spmm_plan");
  }

  std::optional<Outcome> integrity_fault(const std::string& doing) {
    const Integrity integrity = bench_->check_integrity();
    if (integrity.ok()) return std::nullopt;
    Outcome outcome;
    if (!integrity.damaged_guard.empty()) {
      outcome.verdict = verdicts::kRuntimeError;
      outcome.reason = "out_of_bounds";
      outcome.message =
          fmt::format("{} wrote {} {}", doing, integrity.guard_behind ? "past the end of" : "in front of",
                      integrity.damaged_guard);
    } else {
      outcome.verdict = verdicts::kWrongAnswer;
      outcome.reason = "input_modified";
      outcome.message =
          fmt::format("{} changed its input {}: inputs are read-only", doing, integrity.modified_input);
    }
    return outcome;
  }

  // A run on values that the submission has not seen, every cell of whose result is checked.
  std::optional<Outcome> checked_run(Distribution distribution) {
    bench_->refresh_b({distribution, next_seed()});
    bench_->poison(Output::kSubmission);
    const Answer answer = timed_call(*submission_, Op::kRun);
    bench_->snapshot(Output::kSubmission);
    ++repetitions_;
    if (!answer.ok()) return submission_->explain(answer, "spmm_run");
    if (auto fault = integrity_fault("spmm_run")) return fault;
    const bool exact = distribution == Distribution::kOddInteger;
    return accept(bench_->check_every_cell(exact));
  }

  std::optional<Outcome> accept(const Check& check) {
    methods_.insert(check.method);
    cells_checked_ += check.cells_checked;
    max_error_over_bound_ = std::max(max_error_over_bound_, check.max_error_over_bound);
    if (check.ok()) return std::nullopt;
    pattern_ = describe_pattern(check, a_, spec_.k);
    mismatches_ = nlohmann::json::array();
    for (const Mismatch& cell : check.first) {
      nlohmann::json item{{"row", cell.row},
                          {"col", cell.col},
                          {"row_nnz", a_.row_offsets[cell.row + 1] - a_.row_offsets[cell.row]},
                          {"want", cell.want}};
      // JSON has no NaN: a cell that is none says so in words.
      if (std::isfinite(cell.got))
        item["got"] = cell.got;
      else
        item["got"] = std::isnan(cell.got) ? "nan" : "inf";
      mismatches_.push_back(std::move(item));
    }
    Outcome outcome;
    outcome.verdict = verdicts::kWrongAnswer;
    const bool exact = check.method.starts_with("exact");
    outcome.reason = check.never_written == check.bad_cells ? "not_written"
                     : exact                                ? "not_exact"
                                                            : "mismatch";
    if (!check.first.empty()) {
      const Mismatch& cell = check.first.front();
      const std::string got = std::isnan(cell.got) ? "nan" : fmt::format("{:.7g}", cell.got);
      outcome.message = fmt::format("c[{},{}] want {:.7g} got {}", cell.row, cell.col, cell.want, got);
    } else {
      outcome.message = "C * x is not A * (B * x)";
    }
    if (!pattern_.empty()) outcome.message += "; " + pattern_;
    if (exact && check.never_written == 0) {
      outcome.message += " (integer values: fp32 sums are exact here, TF32, FP16 and BF16 are not)";
    }
    return outcome;
  }

  // ---- timing ----

  struct Baseline {
    std::string name;
    std::unique_ptr<RunnerProcess> runner;
    bool every_pair = true;
    int measured = 0;
    double spent_us = 0;
    bool done() const {
      return !every_pair && (measured >= kSlowBaselinePairs || spent_us > kSlowBaselineUs);
    }
  };

  std::optional<Outcome> timed_phase() {
    std::vector<Baseline> baselines = start_baselines();
    PairedTiming timing(baselines.empty() ? "" : baselines.front().name);
    for (Baseline& baseline : baselines) baseline.runner->pause();
    submission_->pause();
    const std::string uuid = device_.value("uuid", "");
    nlohmann::json clocks{{"start", gpu_state_json(uuid)}};
    const auto start = Clock::now();
    std::string stopped_by = "max_pairs";
    int redone = 0;
    while (timing.pairs() < context_.max_pairs) {
      throw_if_interrupted();
      PairSample sample;
      if (auto fault = timed_pair(baselines, timing.pairs(), sample)) return fault;
      const auto state = read_gpu_state(uuid);
      if (state && state->throttled() && redone < kThrottledShare * context_.max_pairs) {
        ++redone;
        continue;
      }
      timing.add(std::move(sample));
      if (timing.narrow_enough()) {
        stopped_by = "narrow";
        break;
      }
      if (timing.pairs() >= kLooks[0] && elapsed_s(start) > context_.speed_budget_s) {
        stopped_by = "budget";
        break;
      }
    }
    submission_->resume();
    clocks["end"] = gpu_state_json(uuid);
    timing_ = timing.timing_json(stopped_by);
    timing_["samples"]["clocks"] = std::move(clocks);
    timing_["throttled_redone"] = redone;
    ratios_ = timing.ratios_json();
    return finish_timing(timing);
  }

  static nlohmann::json gpu_state_json(const std::string& uuid) {
    const auto state = read_gpu_state(uuid);
    return state ? state->to_json() : nlohmann::json();
  }

  std::vector<Baseline> start_baselines() {
    std::vector<Baseline> baselines;
    for (const auto& entry : context_.baselines) {
      Baseline baseline{entry.name, std::make_unique<RunnerProcess>(entry.spec), entry.every_pair};
      const auto need = [&](const std::optional<Outcome>& fault) {
        if (fault) throw JudgeFault("baseline {}: {}", entry.name, fault->message);
      };
      need(attach(*baseline.runner, Output::kBaseline));
      const Answer answer = baseline.runner->call(Op::kPlan, plan_arguments());
      if (!answer.ok()) need(baseline.runner->explain(answer, "plan"));
      baselines.push_back(std::move(baseline));
    }
    return baselines;
  }

  // Everything once on the same fresh B; the order turns with every pair.
  std::optional<Outcome> timed_pair(std::vector<Baseline>& baselines, int pair, PairSample& sample) {
    bench_->refresh_b({Distribution::kUniform, next_seed()});
    if (pair % 2 == 1) {
      if (auto fault = timed_baselines(baselines, sample)) return fault;
    }
    bench_->poison(Output::kSubmission);
    const Answer answer = timed_turn(*submission_, Op::kRun, {}, &sample.submission_enter_us);
    bench_->snapshot(Output::kSubmission);
    ++repetitions_;
    if (!answer.ok()) return submission_->explain(answer, "spmm_run");
    sample.submission_event_us = answer.reply.event_us;
    sample.submission_wall_us = answer.wall_us;
    if (auto fault = integrity_fault("spmm_run")) return fault;
    if (auto fault = accept(bench_->check_product(next_seed()))) return fault;
    if (pair % 2 == 0) {
      if (auto fault = timed_baselines(baselines, sample)) return fault;
    }
    return time_null(baselines, sample);
  }

  std::optional<Outcome> timed_baselines(std::vector<Baseline>& baselines, PairSample& sample) {
    for (Baseline& baseline : baselines) {
      if (baseline.done()) continue;
      bench_->poison(Output::kBaseline);
      const Answer answer = timed_turn(*baseline.runner, Op::kRun);
      if (!answer.ok()) {
        throw JudgeFault("baseline {}: {}", baseline.name, baseline.runner->explain(answer, "run").message);
      }
      sample.baseline_event_us[baseline.name] = answer.reply.event_us;
      baseline.spent_us += answer.reply.event_us;
      if (baseline.measured++ > 0) continue;
      bench_->snapshot(Output::kBaseline);
      // The submission's process still has B mapped: a change of it is the submission's doing.
      if (auto fault = integrity_fault("the program, while another ran,")) return fault;
      if (!bench_->check_product(next_seed()).ok())
        throw JudgeFault("baseline {} is wrong on {}", baseline.name, spec_.id);
    }
    return std::nullopt;
  }

  // The same command path to a trusted runner, which keeps the GPU waiting for as long as the submission says
  // that it worked.
  std::optional<Outcome> time_null(std::vector<Baseline>& baselines, PairSample& sample) {
    if (baselines.empty()) throw JudgeFault("timing needs a baseline's runner");
    const double limit_us = 1e3 * static_cast<double>(context_.submission.limits.run.count());
    const double claimed_us = std::min(sample.submission_event_us, limit_us);
    const Answer answer = timed_turn(*baselines.front().runner, Op::kNull,
                                     {static_cast<std::int64_t>(1e3 * claimed_us)}, &sample.null_enter_us);
    if (!answer.ok()) throw JudgeFault("the null command failed");
    sample.null_wall_us = answer.wall_us;
    return std::nullopt;
  }

  std::optional<Outcome> finish_timing(const PairedTiming& timing) {
    const auto time = timing.graded();
    timing_["plan_ms"] = plan_ms_;
    const auto ratio = ratios_.find("cusparse_default");
    if (ratio != ratios_.end() && (*ratio)["median"] > 1.0) {
      const double gain_us = time.median_us * (ratio->at("median").get<double>() - 1);
      timing_["break_even_runs"] = std::ceil(1e3 * plan_ms_ / gain_us);
    }
    const double peak = device_.value("peak_bytes_per_s", 0.0);
    const double impossible_us = peak > 0 ? 1e6 * 4.0 * spec_.k * used_columns() / peak : 0;
    Outcome outcome;
    outcome.verdict = verdicts::kTimingRejected;
    if (time.rejected) {
      outcome.reason = "clocks_disagree";
      outcome.message = fmt::format("the events say {:.1f} us, the judge's clock at least {:.1f} us more",
                                    time.event_median_us, time.excess_low_us);
      return outcome;
    }
    if (time.device_busy) {
      outcome.reason = "device_busy";
      outcome.message = fmt::format("the device was at work before spmm_run began, for {:.1f} us or more",
                                    time.enter_excess_low_us);
      return outcome;
    }
    if (time.median_us < impossible_us) {
      outcome.reason = "below_floor";
      outcome.message =
          fmt::format("{:.2f} us, but reading B alone takes {:.2f} us", time.median_us, impossible_us);
      return outcome;
    }
    return std::nullopt;
  }

  std::int64_t used_columns() const {
    std::vector<bool> used(a_.cols);
    for (int column : a_.columns) used[column] = true;
    return std::count(used.begin(), used.end(), true);
  }

  // ---- the record ----

  std::string dataset_kind() const {
    return spec_.set.starts_with("real") ? "real" : spec_.set == "stand-in" ? "stand-in" : "synthetic";
  }

  nlohmann::json describe_case() const {
    int longest = 0;
    std::int64_t empty = 0;
    for (int row = 0; row < a_.rows; ++row) {
      const int nnz = a_.row_offsets[row + 1] - a_.row_offsets[row];
      longest = std::max(longest, nnz);
      empty += nnz == 0 ? 1 : 0;
    }
    nlohmann::json record;
    record["case"] = {{"id", spec_.id},
                      {"dataset", spec_.dataset},
                      {"k", spec_.k},
                      {"kind", spec_.kind},
                      {"dataset_kind", dataset_kind()},
                      {"rows", a_.rows},
                      {"cols", a_.cols},
                      {"nnz", a_.nnz()},
                      {"dataset_hash", file_.content_hash()},
                      {"shape",
                       {{"max_row", longest},
                        {"mean_row", a_.rows > 0 ? double(a_.nnz()) / a_.rows : 0.0},
                        {"empty_rows", empty}}}};
    if (!timing_.is_null()) {
      record["timing"] = timing_;
      record["ratios"] = ratios_;
      const double median_us = timing_.at("median_us");
      record["throughput_nnz_per_s"] = 1e6 * static_cast<double>(a_.nnz()) / median_us;
      const double bytes = 8.0 * a_.nnz() + 4.0 * (a_.rows + 1) + 4.0 * spec_.k * (double(a_.cols) + a_.rows);
      const double peak = device_.value("peak_bytes_per_s", 0.0);
      if (peak > 0) {
        record["floor"] = {{"compulsory_bytes", bytes},
                           {"peak_bytes_per_s", peak},
                           {"floor_us", 1e6 * bytes / peak},
                           {"fraction", 1e6 * bytes / peak / median_us}};
      }
    }
    return record;
  }

  // The emulator's findings: feedback, and reason enough to lower a verdict.
  void collect_reports(nlohmann::json& record, Outcome& outcome) {
    if (context_.backend != "emulator") return;
    const nlohmann::json diagnostics = submission_->drain_diagnostics();
    const nlohmann::json counters = submission_->drain_counters();
    if (!diagnostics.empty()) record["diagnostics"] = diagnostics;
    if (!counters.empty()) record["counters"] = summarize_counters(counters);
    apply_diagnostics(diagnostics, outcome);
  }

  void add_help(Outcome& outcome) {
    const std::string output = submission_->output();
    if (!output.empty())
      outcome.details["output"] = output.substr(output.size() > 4000 ? output.size() - 4000 : 0);
    if (!pattern_.empty()) outcome.details["pattern"] = pattern_;
    outcome.details["repetition"] = repetitions_;
  }

  const JudgeContext& context_;
  CaseSpec spec_;
  datasets::CsrFile file_;
  Structure a_;
  bool timed_ = false;
  std::unique_ptr<Workbench> bench_;
  std::unique_ptr<RunnerProcess> submission_;  // ends before the bench's memory goes
  nlohmann::json device_, timing_, ratios_, mismatches_;
  std::string pattern_;
  std::set<std::string> methods_;
  std::int64_t cells_checked_ = 0;
  double max_error_over_bound_ = 0, plan_ms_ = 0;
  int repetitions_ = 0, seeds_ = 0;
};

}  // namespace

nlohmann::json judge_spmm(const JudgeContext& context, const CaseInput& input) {
  return SpmmJudge(context, input).judge();
}

}  // namespace warpgrade::spmm

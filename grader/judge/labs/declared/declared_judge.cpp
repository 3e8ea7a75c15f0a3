// One case of a declared lab, judged: runs on fresh inputs, every output checked against the oracle; on a GPU, paired
// timing with every repetition checked the same way. The oracles answer before the clock starts.
#include "judge/labs/declared/declared_judge.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "base/error.h"
#include "base/text.h"
#include "judge/judging/arrays_judge.h"
#include "judge/labs/declared/answers_ahead.h"
#include "judge/labs/declared/case_arrays.h"
#include "judge/labs/declared/draw.h"
#include "judge/labs/declared/pair_outputs.h"
#include "judge/labs/declared/prepared_runs.h"
#include "judge/labs/declared/repetition_truth.h"
#include "judge/labs/declared/run_seeds.h"
#include "judge/measure/random.h"
#include "record/outcome.h"

namespace warpgrade::declared {
namespace {

using declaration::ArrayDeclaration;
using declaration::Field;
using declaration::LabDeclaration;
using declaration::NumberDeclaration;
using declaration::Role;
using nlohmann::json;

constexpr std::size_t kLongestMessage = 600;

class DeclaredJudge : public ArraysJudge {
 public:
  DeclaredJudge(const LabDeclaration& lab, const Case& input, OracleKeeper& keeper,
                const JudgeContext& judge_context)
      : ArraysJudge(judge_context, input, lab.name),
        lab_(lab),
        case_(spec()),
        work_(keeper.cell_work(judge_context)),
        seeds_(judge_context.run_seed, input.id, static_cast<int>(lab.hard.size())),
        answers_(keeper.answers(lab, input, judge_context)),
        runs_(keeper.runs(lab, spec(), judge_context, input.file, true)) {}

 private:
  void fill_buffers() override {
    for (const ArrayDeclaration* input : lab_.inputs())
      buffers().add_input(input->name, runs_->current().bytes_of(*input));
    for (const ArrayDeclaration* output : lab_.outputs())
      buffers().add_output(output->name, runs_->current().bytes_of(*output), output->role == Role::kInPlace);
    draw_for_plan();
    if (may_trust_baseline()) make_room_for_pairs();
    show_inputs();
    buffers().poison();
  }
  // What a plan may look at, and no run has; and what is the same in every run.
  void show_inputs() {
    if (work_ == nullptr) {
      runs_->draw_for_show(seeds_.show());
      return publish(false);
    }
    const auto copy = [&](const ArrayDeclaration& array, void* cells) {
      const std::span<const std::byte> fixed = runs_->plan_arrays().fixed(array);
      buffers().copy_in(cells, fixed.data(), fixed.size());
    };
    const auto inputs = lab_.inputs(), outputs = lab_.outputs();
    for (std::size_t i = 0; i < inputs.size(); ++i)
      if (!inputs[i]->seen_by_plan) copy(*inputs[i], buffers().input(static_cast<int>(i)));
    for (std::size_t i = 0; i < outputs.size(); ++i)
      if (outputs[i]->role == Role::kInPlace) copy(*outputs[i], buffers().initial(static_cast<int>(i)));
    draw_there(seeds_.show());
  }

  // The drawn contents to the buffers' private copies, and the shared ones.
  void publish(bool of_plan) {
    CaseArrays& arrays = of_plan ? runs_->plan_arrays() : runs_->current();
    const auto inputs = lab_.inputs();
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (inputs[i]->seen_by_plan != of_plan) continue;
      const std::span<std::byte> cells = arrays.contents(*inputs[i]);
      buffers().copy_in(buffers().input(static_cast<int>(i)), cells.data(), cells.size());
      buffers().publish(static_cast<int>(i));
    }
    if (of_plan) return;
    const auto outputs = lab_.outputs();
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      if (outputs[i]->role != Role::kInPlace) continue;
      const std::span<std::byte> cells = arrays.contents(*outputs[i]);
      buffers().copy_in(buffers().initial(static_cast<int>(i)), cells.data(), cells.size());
    }
  }
  void draw_for_plan() {
    plan_seed_ = seeds_.plan(++plans_);
    runs_->draw_for_plan(plan_seed_);
    publish(true);
  }
  std::uint64_t order_seed() const override { return seeds_.order(); }

  // The run of this seed, answered by the oracle; others that will want that may be prepared with it.
  CaseArrays& answered_run(std::uint64_t wanted) {
    PreparedRuns::Seeds seeds{wanted};
    const auto add = [&](std::uint64_t more) {
      if (more != wanted && find_answer(more) == nullptr) seeds.push_back(more);
    };
    for (int check = checks_ + 1; check <= std::max(checks_, least_runs()); ++check) add(seeds_.check(check));
    for (const int repetition : repetitions_to_come()) add(seeds_.repetition(repetition));
    return runs_->take(seeds);
  }
  // Publishes the run of this seed, whose answer is at hand then. `is_kept`: for other submissions as well.
  Arguments take_run(std::uint64_t wanted, bool is_kept) {
    run_seed_ = wanted;
    answer_.reset();
    if (is_kept && lab_.check_script.empty()) {
      answer_ = find_answer(wanted);
      if (answer_ == nullptr)
        answer_ = answers_.add(plan_of_answers(lab_, plan_seed_), wanted, answered_run(wanted).copy_answer());
      else if (work_ == nullptr)
        runs_->restore(wanted, *answer_);
    } else {
      answered_run(wanted);
    }
    if (work_ != nullptr) return draw_there(wanted);
    publish(false);
    return runs_->current().scalars();
  }
  std::shared_ptr<const Answer> find_answer(std::uint64_t run) const {
    return answers_.find(plan_of_answers(lab_, plan_seed_), run);
  }

  // Those that the oracle will be asked for, as far as it is known.
  std::vector<int> repetitions_to_come() const {
    std::vector<int> numbers;
    if (!timed() || timing_is_over_) return numbers;
    if (pairs_ == nullptr || (truth_ && truth_->gave_up())) {
      const int pairs = pairs_to_come();
      for (int i = 0; i < pairs; ++i) numbers.push_back(repetition_ + i + (repetition_ == 0 ? 1 : 0));
      return numbers;
    }
    const bool other_plan_may_come = repetition_ == 0 && CaseArrays::plan_sees_arrays(lab_);
    if (other_plan_may_come) return numbers;
    if (chosen_repetition() > repetition_) numbers.push_back(chosen_repetition());
    return numbers;
  }

  int least_runs() const override { return least_runs_of(lab_, context()); }
  int least_pairs() const override { return least_pairs_of(lab_, context()); }

  void prepare_plan(int number, bool) override {
    if (number > 0) draw_for_plan();
  }

  Arguments plan_arguments() const override {
    Arguments arguments;
    for (const NumberDeclaration& parameter : lab_.parameters)
      arguments.push_back(argument_of(parameter, case_.parameters.at(parameter.name)));
    return arguments;
  }

  Arguments refresh_for_timing() override {
    ++repetition_;
    if (pairs_ != nullptr) pairs_->clear();
    by_baseline_ = truth_ && main_baseline_runs() && is_trusted_in(repetition_);
    const std::uint64_t run_seed = seeds_.repetition(repetition_);
    hard_ = hard_inputs(lab_, run_seed);
    if (by_baseline_) return draw_there(run_seed);
    return take_run(run_seed, truth_ && !truth_->gave_up());
  }
  int inputs_of_run() const override {
    return hard_ == nullptr ? 0 : static_cast<int>(hard_ - lab_.hard.data()) + 1;
  }
  Arguments refresh_for_check() override {
    const std::uint64_t run_seed = seeds_.check(checks_ + 1);
    hard_ = hard_inputs(lab_, run_seed);
    run_arguments_ = take_run(run_seed, true);  // looks at checks_
    ++checks_;
    return run_arguments_;
  }

  // ---- timed repetitions that the main baseline answers ----

  // Ours, in every pair, and an output that can be compared cell by cell.
  bool may_trust_baseline() const {
    return timed() && work_ != nullptr && lab_.check_script.empty() && is_baseline_ours() &&
           context().baselines.front().every_pair;
  }
  bool is_baseline_ours() const {
    return !context().baselines.empty() && context().baselines.front().spec.vendor_libraries;
  }
  // Where there is no room, the oracle answers.
  void make_room_for_pairs() {
    try {
      pairs_ = std::make_unique<PairOutputs>(lab_, case_, buffers(), *work_, context().baselines.size());
    } catch (const JudgeFault&) {
      pairs_.reset();
    }
  }
  int chosen_repetition() const { return oracles_repetition(seeds_, context(), least_pairs()); }
  int kinds() const { return static_cast<int>(lab_.hard.size()) + 1; }
  bool is_trusted_in(int repetition) const {
    const int kind = inputs_of(seeds_.repetition(repetition));
    return truth_->source(repetition, kind) == RepetitionTruth::Source::kBaseline;
  }
  // The baseline has been held against the oracle by this judge: in this case, for inputs of this kind, and
  // for what the plan sees.
  std::string held_name(int kind) const {
    return fmt::format("held: {} {} kind {} {} plan {}", lab_.name, case_.id, kind,
                       context().baselines.front().spec.executable.string(),
                       plan_of_answers(lab_, plan_seed_));
  }
  std::shared_ptr<const Held> find_held(int kind) const {
    return context().services->kept_data().find<Held>(held_name(kind));
  }
  // The baseline answers nothing before the oracle has accepted it. It runs on the inputs of checked runs, one of
  // each kind, whose answers are at hand.
  std::optional<Outcome> before_timing() override {
    if (pairs_ == nullptr) return std::nullopt;
    truth_.emplace(chosen_repetition(), RepetitionTruth::HeldByKind());
    for (int number = 1; number <= kinds(); ++number) {
      const std::uint64_t run_seed = seeds_.check(number);
      hard_ = hard_inputs(lab_, run_seed);
      if (const auto known = find_held(inputs_of_run())) {
        truth_->hold(inputs_of_run(), *known);
        continue;
      }
      if (auto fault = run_main_baseline(take_run(run_seed, true))) return fault;
      if (const auto wrong = verify_output()) blame_baseline(PairOutputs::kBaseline, wrong->message);
      hold_baseline(last_errors_);
    }
    return std::nullopt;
  }
  void hold_baseline(const Held& errors) {
    truth_->hold(inputs_of_run(), errors);
    keep_held(truth_->held(inputs_of_run()));
  }
  void keep_held(const Held& held) const {
    context().services->kept_data().add(held_name(inputs_of_run()), std::make_shared<Held>(held),
                                        sizeof(Held), std::numeric_limits<std::size_t>::max());
  }

  // A run's inputs with the same bits, drawn where they are used.
  Arguments draw_there(std::uint64_t run_seed) {
    const CaseArrays& arrays = runs_->plan_arrays();
    const auto draw = [&](const ArrayDeclaration& array, void* cells) {
      const std::vector<FieldDraw> fields = arrays.drawn_fields(array, run_seed);
      if (!fields.empty()) work_->draw(fields, cells, arrays.bytes_of(array));
    };
    const auto inputs = lab_.inputs();
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (inputs[i]->seen_by_plan) continue;
      draw(*inputs[i], buffers().input(static_cast<int>(i)));
      buffers().publish(static_cast<int>(i));
    }
    const auto outputs = lab_.outputs();
    for (std::size_t i = 0; i < outputs.size(); ++i)
      if (outputs[i]->role == Role::kInPlace) draw(*outputs[i], buffers().initial(static_cast<int>(i)));
    return arrays.drawn_scalars(run_seed);
  }

  bool wants_main_baseline() const override {
    return truth_ && (by_baseline_ || is_trusted_in(repetition_ + 1) || truth_->owes_oracle());
  }

  std::optional<Outcome> verify_timed_output(int program) override {
    if (by_baseline_) {
      pairs_->keep(program);
      return std::nullopt;
    }
    auto fault = verify_output();
    if (!truth_) return fault;
    if (program == PairOutputs::kSubmission) {
      // An oracle that refuses the baseline's output as well is not believed.
      refused_ = std::move(fault);
      return std::nullopt;
    }
    if (program != PairOutputs::kBaseline) return fault;
    if (fault && refused_) blame_oracle(refused_->message, fault->message);
    if (fault) return fault;
    hold_baseline(last_errors_);
    both_checked_ = true;
    return std::nullopt;
  }

  std::optional<Outcome> verify_pair() override {
    if (!truth_) return std::nullopt;
    if (refused_) return std::exchange(refused_, std::nullopt);
    if (!by_baseline_) {
      truth_->count_oracle(repetition_, std::exchange(both_checked_, false));
      return std::nullopt;
    }
    if (!pairs_->has(PairOutputs::kBaseline)) return last_word_on_submission();
    OutputsCompared compared = compare(PairOutputs::kSubmission);
    if (!compared.same && pairs_->wants_magnitudes()) {
      if (auto fault = find_magnitudes()) return fault;
      compared = compare(PairOutputs::kSubmission);
    }
    for (const ArrayDeclaration* output : lab_.outputs())
      count_check(method_name(lab_.checks.at(output->name).kind), runs_->plan_arrays().cells_of(*output));
    const auto finding = truth_->settle(
        inputs_of_run(), compared,
        [this](RepetitionTruth::Program program) { return ask_oracle(place_of(program)); },
        [this](const CaseArrays::Finding& wrong) { blame_baseline(PairOutputs::kBaseline, wrong.message); });
    if (finding) return outcome_of(*finding);
    verify_other_baselines();
    return std::nullopt;
  }
  OutputsCompared compare(int program) { return pairs_->compare(program, truth_->held(inputs_of_run())); }
  static int place_of(RepetitionTruth::Program program) {
    return program == RepetitionTruth::Program::kBaseline ? PairOutputs::kBaseline : PairOutputs::kSubmission;
  }
  void verify_other_baselines() {
    const auto baselines = static_cast<int>(context().baselines.size());
    for (int other = PairOutputs::kBaseline + 1; other <= baselines; ++other) {
      if (!pairs_->has(other) || compare(other).same) continue;
      if (const auto wrong = ask_oracle(other)) blame_baseline(other, wrong->message);
    }
  }
  // Of the repetition at hand, by the main baseline.
  std::optional<Outcome> find_magnitudes() {
    const auto inputs = lab_.inputs();
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const Field& number = inputs[i]->type.fields.front();
      if (inputs[i]->seen_by_plan || !is_floating(number.type)) continue;
      work_->make_absolute(number.type, buffers().input(static_cast<int>(i)),
                           runs_->plan_arrays().cells_of(*inputs[i]));
      buffers().publish(static_cast<int>(i));
    }
    const std::uint64_t seed = seeds_.repetition(repetition_);
    if (auto fault = run_main_baseline(absolute_scalars(lab_, runs_->plan_arrays().drawn_scalars(seed))))
      return fault;
    pairs_->keep_magnitudes();
    draw_there(seed);
    return std::nullopt;
  }
  // The chosen repetition did not come: the last one takes its place.
  std::optional<Outcome> verify_last_pair() override {
    timing_is_over_ = true;
    if (!by_baseline_ || !truth_->owes_oracle() || !pairs_->has(PairOutputs::kBaseline)) return std::nullopt;
    if (const auto wrong = ask_oracle(PairOutputs::kBaseline))
      blame_baseline(PairOutputs::kBaseline, wrong->message);
    truth_->count_oracle(truth_->chosen(), true);
    return last_word_on_submission();
  }
  std::optional<Outcome> last_word_on_submission() {
    const auto finding = ask_oracle(PairOutputs::kSubmission);
    return finding ? std::optional(outcome_of(*finding)) : std::nullopt;
  }
  // About what was kept of a repetition.
  std::optional<CaseArrays::Finding> ask_oracle(int program) {
    CaseArrays& arrays = answered_run(seeds_.repetition(repetition_));
    pairs_->copy_out(program, arrays);
    const auto finding = check(arrays);
    if (program == PairOutputs::kBaseline && !finding) hold_baseline(last_errors_);
    return finding;
  }
  [[noreturn]] void blame_baseline(int program, const std::string& wrong) const {
    const auto& one = context().baselines[static_cast<std::size_t>(program - PairOutputs::kBaseline)];
    throw JudgeFault("baseline {} is wrong on {}: {}", one.name, spec().id, wrong);
  }
  void describe_verification(Verification& verification) const override {
    if (truth_) verification.timed = truth_->to_json();
  }

  // ---- checks by the oracle ----

  // The oracle refuses the output of a checked run. Before it is believed, it is held against the main
  // baseline on the same inputs, once for this case.
  std::optional<Outcome> verify_checked_run() override {
    auto fault = verify_output();
    if (!fault || !is_baseline_ours() || !lab_.check_script.empty() || find_held(inputs_of_run()) != nullptr)
      return fault;
    if (!run_baseline_aside(run_arguments_)) return fault;
    if (const auto of_baseline = verify_output()) blame_oracle(fault->message, of_baseline->message);
    keep_held(last_errors_);
    return fault;
  }
  [[noreturn]] void blame_oracle(const std::string& of_program, const std::string& of_baseline) const {
    throw JudgeFault(
        "on {} the oracle refuses the outputs of the program and of baseline {}: the oracle or the baseline "
        "is wrong. The program's output: {}. The baseline's: {}",
        spec().id, context().baselines.front().name, of_program, of_baseline);
  }

  // Where the outputs lie, if that can be; what is not right there is looked at on the host.
  std::optional<Outcome> verify_output() override {
    if (work_ != nullptr && answer_ != nullptr && is_right_there()) return std::nullopt;
    CaseArrays& arrays = answer_ != nullptr ? runs_->restore(run_seed_, *answer_) : runs_->current();
    const auto outputs = lab_.outputs();
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      const std::span<std::byte> cells = arrays.result(*outputs[i]);
      buffers().copy_out(cells.data(), buffers().output(static_cast<int>(i)), cells.size());
    }
    const auto finding = check(arrays);
    return finding ? std::optional(outcome_of(*finding)) : std::nullopt;
  }
  bool is_right_there() {
    std::vector<const void*> cells;
    for (std::size_t i = 0; i < lab_.outputs().size(); ++i)
      cells.push_back(buffers().output(static_cast<int>(i)));
    const OutputsCompared compared = compare_with_answer(lab_, case_, *work_, cells, *answer_);
    if (!compared.same || compared.rms_over_limit > 1) return false;
    for (const ArrayDeclaration* output : lab_.outputs())
      count_check(method_name(lab_.checks.at(output->name).kind), runs_->plan_arrays().cells_of(*output),
                  compared.error_over_bound);
    last_errors_ = {compared.error_over_bound, compared.rms_over_limit};
    return true;
  }
  // By the host, with an answer that is the oracle's.
  std::optional<CaseArrays::Finding> check(CaseArrays& arrays) {
    auto finding = arrays.check();
    count_check(arrays.method(), arrays.cells_checked(), arrays.max_error_over_bound());
    last_errors_ = {arrays.max_error_over_bound(), arrays.max_rms_over_limit()};
    return finding;
  }
  Outcome outcome_of(const CaseArrays::Finding& finding) {
    pattern_ = finding.pattern;
    if (!finding.mismatches.empty()) mismatches_ = finding.mismatches;
    Outcome outcome;
    outcome.verdict = Verdict::kWrongAnswer;
    outcome.reason = finding.unwritten ? Reason::kNotWritten : Reason::kMismatch;
    outcome.message = plain_line(finding.message, kLongestMessage);
    if (!pattern_.empty()) outcome.message += "; " + pattern_;
    if (hard_ != nullptr) {
      outcome.message += fmt::format("; this run has the lab's inputs '{}' ({})", hard_->id, hard_->why);
      outcome.details["inputs"] = hard_->id;
    }
    return outcome;
  }

  double value(const std::optional<declaration::Expression>& expression) const {
    return expression ? expression->real(case_.parameters) : 0;
  }
  double compulsory_bytes() const override { return value(lab_.work.bytes); }

  // What is drawn for a run must be read from memory, unless the lab says that less will do; outputs may
  // still sit in L2.
  double impossible_us(double peak_bytes_per_s) const override {
    double read = 0;
    for (const ArrayDeclaration& array : lab_.arrays) {
      if (array.role != Role::kOutput && !array.seen_by_plan)
        read += static_cast<double>(runs_->plan_arrays().bytes_of(array));
    }
    return 1e6 * std::min(read, compulsory_bytes()) / peak_bytes_per_s;
  }
  double naive_steps() const override { return value(lab_.work.naive_steps); }

  void describe_case(Record& record) const override {
    record.test_case = described_case();
    record.test_case.parameters = case_.parameters;
    const double flop = value(lab_.work.flop);
    if (flop > 0) record.flop = flop;
  }

  double items() const override {
    return value(lab_.work.items ? lab_.work.items : lab_.work.flop ? lab_.work.flop : lab_.work.bytes);
  }

  const LabDeclaration& lab_;
  const Case& case_;
  CellWork* work_;  // on a GPU
  RunSeeds seeds_;
  KeptAnswers answers_;
  std::unique_ptr<PreparedRuns> runs_;
  std::shared_ptr<const Answer> answer_;           // of the run at hand; none: runs_->current() has it
  const declaration::HardInputs* hard_ = nullptr;  // of the run at hand; null: the case's own inputs
  std::uint64_t run_seed_ = 0;                     // of the run at hand
  Held last_errors_;                               // of the output that was checked last
  Arguments run_arguments_;                        // of the checked run at hand
  std::optional<Outcome> refused_;  // the submission's output, in a repetition that the oracle answers
  int plans_ = 0, checks_ = 0, repetition_ = 0;
  std::uint64_t plan_seed_ = 0;
  bool timing_is_over_ = false;
  std::unique_ptr<PairOutputs> pairs_;  // where the main baseline may be trusted
  std::optional<RepetitionTruth> truth_;
  bool by_baseline_ = false;   // the repetition at hand
  bool both_checked_ = false;  // in it the oracle accepted the main baseline's output
};

}  // namespace

json judge_declared(const LabDeclaration& lab, const Case& c, OracleKeeper& keeper,
                    const JudgeContext& context) {
  return DeclaredJudge(lab, c, keeper, context).judge();
}

}  // namespace warpgrade::declared

// One case of a declared lab, judged: runs on fresh inputs, every output checked against the oracle; on a
// GPU, paired timing with every repetition checked the same way. The oracle answers before the clock starts.
#include "labs/declared/declared_judge.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/text.h"
#include "judge/arrays_judge.h"
#include "labs/declared/built_oracle.h"
#include "labs/declared/case_arrays.h"
#include "labs/declared/draw.h"

namespace warpgrade::declared {
namespace {

using declaration::ArrayDeclaration;
using declaration::CaseDeclaration;
using declaration::LabDeclaration;
using declaration::NumberDeclaration;
using declaration::Role;
using nlohmann::json;

constexpr std::size_t kLongestMessage = 600;

class DeclaredJudge : public ArraysJudge {
 public:
  DeclaredJudge(const LabDeclaration& lab, const CaseDeclaration& declared, OracleProcess& oracle,
                const JudgeContext& judge_context, const CaseInput& input)
      : ArraysJudge(judge_context, input.spec, lab.name),
        lab_(lab),
        case_(declared),
        arrays_(lab, case_, input.file, oracle, judge_context.threads) {}

 private:
  void fill_bench() override {
    for (const ArrayDeclaration* input : lab_.inputs())
      bench().add_input(input->name, arrays_.bytes_of(*input));
    for (const ArrayDeclaration* output : lab_.outputs())
      bench().add_output(output->name, arrays_.bytes_of(*output), timed(), output->role == Role::kInPlace);
    draw_for_plan();
    draw_for_run();
    bench().poison(Output::kSubmission);
  }

  // The drawn contents to the bench's private copies, and the shared ones.
  void publish(bool of_plan) {
    const auto inputs = lab_.inputs();
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (inputs[i]->seen_by_plan != of_plan) continue;
      const std::span<std::byte> cells = arrays_.contents(*inputs[i]);
      bench().copy_in(bench().input(static_cast<int>(i)), cells.data(), cells.size());
      bench().publish(static_cast<int>(i));
    }
    if (of_plan) return;
    const auto outputs = lab_.outputs();
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      if (outputs[i]->role != Role::kInPlace) continue;
      const std::span<std::byte> cells = arrays_.contents(*outputs[i]);
      bench().copy_in(bench().initial(static_cast<int>(i)), cells.data(), cells.size());
    }
  }
  void draw_for_plan() {
    arrays_.draw_for_plan(next_seed());
    publish(true);
  }
  void draw_for_run() {
    arrays_.draw_for_run(next_seed());
    publish(false);
  }

  int least_runs() const override { return std::max(lab_.runs, context().least_runs); }

  void prepare_plan(int number, bool) override {
    if (number > 0) draw_for_plan();
  }

  Arguments plan_arguments() const override {
    Arguments arguments;
    for (const NumberDeclaration& parameter : lab_.parameters)
      arguments.push_back(argument_of(parameter, case_.values.at(parameter.name)));
    return arguments;
  }

  Arguments refresh_for_timing() override {
    draw_for_run();
    arrays_.find_truth();
    return arrays_.scalars();
  }

  std::optional<Outcome> verify_timed_run() override {
    const auto outputs = lab_.outputs();
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      const std::span<std::byte> cells = arrays_.result(*outputs[i]);
      bench().copy_out(cells.data(), bench().output(static_cast<int>(i)), cells.size());
    }
    const auto finding = arrays_.check();
    count_check(arrays_.method(), arrays_.cells_checked(), arrays_.max_error_over_bound());
    if (!finding) return std::nullopt;
    pattern_ = finding->pattern;
    if (!finding->mismatches.empty()) mismatches_ = finding->mismatches;
    Outcome outcome;
    outcome.verdict = verdicts::kWrongAnswer;
    outcome.reason = finding->unwritten ? "not_written" : "mismatch";
    outcome.message = plain_line(finding->message, kLongestMessage);
    if (!pattern_.empty()) outcome.message += "; " + pattern_;
    return outcome;
  }

  double value(const std::optional<declaration::Expression>& expression) const {
    return expression ? expression->real(case_.values) : 0;
  }
  double compulsory_bytes() const override { return value(lab_.work.bytes); }

  // What is drawn for a run must be read from memory, unless the lab says that less will do; outputs may
  // still sit in L2.
  double impossible_us(double peak_bytes_per_s) const override {
    double read = 0;
    for (const ArrayDeclaration& array : lab_.arrays) {
      if (array.role != Role::kOutput && !array.seen_by_plan)
        read += static_cast<double>(arrays_.bytes_of(array));
    }
    return 1e6 * std::min(read, compulsory_bytes()) / peak_bytes_per_s;
  }
  double naive_steps() const override { return value(lab_.work.naive_steps); }

  void describe_case(json& record) const override {
    json described = case_json();
    for (const NumberDeclaration& parameter : lab_.parameters) {
      const declaration::Value& number = case_.values.at(parameter.name);
      described["parameters"][parameter.name] = number.is_whole ? json(number.whole) : json(number.real);
    }
    record["case"] = std::move(described);
    const double flop = value(lab_.work.flop);
    if (flop > 0) record["flop"] = flop;
  }

  double items() const override {
    return value(lab_.work.items ? lab_.work.items : lab_.work.flop ? lab_.work.flop : lab_.work.bytes);
  }

  const LabDeclaration& lab_;
  const CaseDeclaration& case_;
  CaseArrays arrays_;
};

}  // namespace

OracleProcess& OracleKeeper::get(const LabDeclaration& lab, const JudgeContext& context) {
  if (process_ != nullptr && process_->alive()) return *process_;
  process_ = std::make_unique<OracleProcess>(
      oracle_spec(lab, lab.truth, context.submission.sandbox, context.threads));
  return *process_;
}

OracleSpec oracle_spec(const LabDeclaration& lab, const std::string& file, SandboxMode sandbox, int threads) {
  OracleSpec spec;
  spec.folder = lab.folder;
  spec.function = lab.name;
  spec.oracle = file;
  if (file.ends_with(".cpp")) spec.program = built_oracle(lab, file);
  spec.check = lab.check_script;
  spec.limit = std::chrono::milliseconds(static_cast<long>(1e3 * lab.oracle_s));
  spec.memory_bytes = lab.oracle_memory_mb << 20;
  spec.sandbox = sandbox;
  spec.threads = threads;
  return spec;
}

json judge_declared(const LabDeclaration& lab, const CaseDeclaration& declared, OracleKeeper& keeper,
                    const JudgeContext& context, const CaseInput& input) {
  return DeclaredJudge(lab, declared, keeper.get(lab, context), context, input).judge();
}

}  // namespace warpgrade::declared

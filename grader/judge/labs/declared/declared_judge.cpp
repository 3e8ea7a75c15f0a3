// One case of a declared lab, judged: runs on fresh inputs, every output checked against the oracle; on a
// GPU, paired timing with every repetition checked the same way. The oracles answer before the clock starts.
#include "judge/labs/declared/declared_judge.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/text.h"
#include "judge/judging/arrays_judge.h"
#include "judge/judging/verdict.h"
#include "judge/labs/declared/built_oracle.h"
#include "judge/labs/declared/case_arrays.h"
#include "judge/labs/declared/draw.h"
#include "judge/labs/declared/prepared_runs.h"

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
  DeclaredJudge(const LabDeclaration& lab, const CaseDeclaration& declared, OracleKeeper& keeper,
                const JudgeContext& judge_context, const CaseInput& input)
      : ArraysJudge(judge_context, input.spec, lab.name),
        lab_(lab),
        case_(declared),
        runs_(lab, case_, input.file,
              [&](int number) -> OracleProcess& { return keeper.get(lab, judge_context, number); },
              {judge_context.threads, memory_for_runs()}) {}

 private:
  // On the emulator judges of several submissions share cores and memory, and nothing is timed.
  std::size_t memory_for_runs() const { return on_gpu() ? memory_for_prepared_runs() : 0; }

  void fill_buffers() override {
    for (const ArrayDeclaration* input : lab_.inputs())
      buffers().add_input(input->name, runs_.current().bytes_of(*input));
    for (const ArrayDeclaration* output : lab_.outputs())
      buffers().add_output(output->name, runs_.current().bytes_of(*output), output->role == Role::kInPlace);
    draw_for_plan();
    runs_.draw_for_show(next_seed());
    publish(false);
    buffers().poison();
  }

  // The drawn contents to the buffers' private copies, and the shared ones.
  void publish(bool of_plan) {
    CaseArrays& arrays = of_plan ? runs_.plan_arrays() : runs_.current();
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
  // A plan's seed and a run's are counted apart: what is prepared ahead changes neither.
  void draw_for_plan() {
    runs_.draw_for_plan(seed("plan " + std::to_string(++plans_)));
    publish(true);
  }
  Arguments next_run() {
    runs_.next([this] { return next_seed(); }, checks_to_come() + pairs_to_come());
    publish(false);
    return runs_.current().scalars();
  }

  int checks_to_come() const { return std::max(0, least_runs() - checks_); }
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

  Arguments refresh_for_timing() override { return next_run(); }
  Arguments refresh_for_check() override {
    const Arguments arguments = next_run();
    ++checks_;
    return arguments;
  }

  std::optional<Outcome> verify_output() override {
    CaseArrays& arrays = runs_.current();
    const auto outputs = lab_.outputs();
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      const std::span<std::byte> cells = arrays.result(*outputs[i]);
      buffers().copy_out(cells.data(), buffers().output(static_cast<int>(i)), cells.size());
    }
    const auto finding = arrays.check();
    count_check(arrays.method(), arrays.cells_checked(), arrays.max_error_over_bound());
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
        read += static_cast<double>(runs_.plan_arrays().bytes_of(array));
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
  PreparedRuns runs_;
  int plans_ = 0, checks_ = 0;
};

}  // namespace

OracleProcess& OracleKeeper::get(const LabDeclaration& lab, const JudgeContext& context, int number) {
  const auto place = static_cast<std::size_t>(number);
  if (processes_.size() <= place) processes_.resize(place + 1);
  std::unique_ptr<OracleProcess>& process = processes_[place];
  if (process != nullptr && process->alive()) return *process;
  const int threads = number == 0 ? context.threads : 1;
  process = std::make_unique<OracleProcess>(oracle_spec(lab, lab.truth, context.submission.sandbox, threads));
  return *process;
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
  return DeclaredJudge(lab, declared, keeper, context, input).judge();
}

}  // namespace warpgrade::declared

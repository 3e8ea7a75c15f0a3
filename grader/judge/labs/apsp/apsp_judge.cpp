// One case of lab apsp, judged: runs on fresh graphs, every cell compared; on a GPU, paired timing with every
// repetition verified the same way.
#include <fmt/format.h>

#include <optional>
#include <stdexcept>

#include "apsp/oracle.h"
#include "base/error.h"
#include "judge/judging/arrays_judge.h"
#include "judge/labs/apsp/real_graph.h"
#include "judge/labs/apsp/solver.h"
#include "record/outcome.h"

namespace warpgrade::apsp {
namespace {

class ApspJudge : public ArraysJudge {
 public:
  ApspJudge(const JudgeContext& judge_context, const Case& input)
      : ArraysJudge(judge_context, input, "apsp"), graph_(make_graph(judge_context, input)) {
    try {
      require_range(graph_.n, kMaxWeight);
    } catch (const std::invalid_argument& error) {
      throw JudgeFault("case {}: {}", input.id, error.what());
    }
  }

 private:
  static Graph make_graph(const JudgeContext& judge_context, const Case& input) {
    const Shape shape = shape_of_case(input);
    if (shape.pattern == Pattern::kComplete && judge_context.older_interface)
      return {shape.n, Pattern::kOlder, {}};
    if (shape.pattern) return {shape.n, shape.pattern, {}};
    return read_real_graph(input.file, shape.n);
  }

  void fill_buffers() override {
    buffers().set_in_place("graph", graph_.cells() * sizeof(int));
    solver_ = on_gpu() ? make_cuda_solver(buffers(), graph_, context().threads)
                       : make_host_solver(buffers(), graph_, context().threads);
    buffers().poison();
  }

  // One of the first least_runs() checked runs, which the seed chooses, has a node so far away that 16 bits
  // do not hold the way there: what fits the numbers of the timed runs alone does not pass. The older
  // interface was promised weights that 16 bits hold.
  Arguments refresh_for_check() override {
    const bool is_far_run = runs_++ == static_cast<int>(seed("far run") % least_runs());
    const bool has_far_node = is_far_run && !context().older_interface;
    solver_->draw(next_seed(), has_far_node ? static_cast<int>(seed("far node") % graph_.n) : kNoFarNode);
    return {};
  }

  Arguments plan_arguments() const override { return {graph_.n}; }

  Arguments refresh_for_timing() override {
    solver_->draw(next_seed(), kNoFarNode);
    return {};
  }

  // Every cell, exactly.
  std::optional<Outcome> verify_output() override {
    const Comparison comparison = solver_->compare();
    count_check("exact_every_cell", static_cast<std::int64_t>(graph_.cells()));
    if (comparison.wrong == 0) return std::nullopt;
    return explain(comparison);
  }

  Outcome explain(const Comparison& c) {
    pattern_ = describe(c);
    const std::int64_t n = graph_.n, row = c.first / n, col = c.first % n;
    mismatches_ = {{{"row", row}, {"col", col}, {"want", c.want}, {"got", c.got}}};
    Outcome outcome;
    outcome.verdict = Verdict::kWrongAnswer;
    outcome.reason = c.unchanged == c.wrong ? Reason::kNotWritten : Reason::kMismatch;
    outcome.message = fmt::format("graph[{},{}] want {} got {}; {} of {} cells are wrong", row, col,
                                  length(c.want), length(c.got), c.wrong, n * n);
    if (!pattern_.empty()) outcome.message += "; " + pattern_;
    return outcome;
  }

  static std::string length(int cells) {
    return cells == kInfinity ? fmt::format("{} (no path)", cells) : std::to_string(cells);
  }

  std::string describe(const Comparison& c) const {
    if (c.unchanged == c.wrong) return "the wrong cells still hold the input's edges";
    if (c.unreachable == c.wrong)
      return "the wrong cells have no path: the sum of two infinities must not become a path, and must not "
             "overflow";
    if (c.too_short == c.wrong)
      return "the wrong cells are shorter than any path: does the program use edges of another row or of an "
             "earlier graph?";
    if (c.too_short == 0 && c.first_row > 0 && c.last_row == graph_.n - 1 && c.first_row % 16 == 0)
      return fmt::format(
          "the wrong cells lie in the rows from {}: does the program process a tile that is not full?",
          c.first_row);
    if (c.too_short == 0)
      return "the wrong cells are longer than the shortest path: some paths were never tried";
    return "";
  }

  // The matrix must be read once; its end may still sit in L2.
  double impossible_us(double peak_bytes_per_s) const override {
    return 1e6 * 4.0 * static_cast<double>(graph_.cells()) / peak_bytes_per_s;
  }
  double items() const override {
    const double n = graph_.n;
    return n * n * n;
  }
  double compulsory_bytes() const override { return 8.0 * static_cast<double>(graph_.cells()); }

  // A thread a cell, some 20 instructions a relaxation; rows are no multiple of a warp.
  double naive_steps() const override {
    const double n = graph_.n;
    return 20.0 * n * n * std::ceil(n / 32.0);
  }

  void describe_case(Record& record) const override {
    Case described = described_case();
    described.rows = graph_.n;
    described.cols = graph_.n;
    described.nnz = graph_.cells();
    if (!graph_.pattern) described.other["edges"] = graph_.edges.size();
    if (graph_.pattern == Pattern::kOlder) described.other["greatest_weight"] = kMaxOlderWeight;
    described.shape = {{"max_row", graph_.n}, {"mean_row", graph_.n}, {"empty_rows", 0}};
    record.test_case = std::move(described);
  }

  Graph graph_;
  int runs_ = 0;  // checked ones
  std::unique_ptr<Solver> solver_;
};

}  // namespace

nlohmann::json judge_apsp(const JudgeContext& context, const Case& input) {
  return ApspJudge(context, input).judge();
}

}  // namespace warpgrade::apsp

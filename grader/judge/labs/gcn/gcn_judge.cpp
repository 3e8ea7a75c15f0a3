// One case of lab gcn, judged: runs on fresh numbers, every cell compared with its own bound; another graph
// of the same size, planned anew; on a GPU, paired timing with every repetition verified the same way.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/error.h"
#include "base/hash.h"
#include "judge/judging/arrays_judge.h"
#include "judge/labs/gcn/checks.h"
#include "judge/labs/gcn/gcn_lab.h"
#include "record/outcome.h"
#include "warpgrade/datasets/raw_layer.h"

namespace warpgrade::gcn {
namespace {

// Checked runs: the second one catches what was kept from the first, the third has another graph.
constexpr int kLeastRuns = 2, kLeastRunsOnGraphs = 3;
// Errors this far beyond their bounds are what fp32 makes of fp64 data: 2^-24 instead of 2^-53.
constexpr double kSingleOverBound = 0x1p33;

// Graphs follow from the run's seed and not from the submission: a judge makes each of them once. Making one
// takes as long as judging it.
constexpr std::size_t kMostGraphBytes = std::size_t{1} << 30;

std::string name_of_graph(const Shape& shape, const Case& input) {
  return shape.pattern
             ? fmt::format("gcn: pattern {}, {} vertices", static_cast<int>(*shape.pattern), shape.vertices)
             : "gcn: " + input.file.string();
}

template <typename Make>
std::shared_ptr<const HostGraph> kept_graph(const JudgeContext& context, const std::string& name,
                                            const Make& make) {
  KeptData& kept = context.services->kept_data();
  if (auto graph = kept.find<HostGraph>(name)) return graph;
  const std::uint64_t seed = Sha256().part(context.run_seed).part(name).number();
  auto graph = std::make_shared<const HostGraph>(make(seed));
  kept.add(name, graph, sizeof(int) * (graph->row_offsets.size() + graph->columns.size()), kMostGraphBytes);
  return graph;
}

std::shared_ptr<const HostGraph> graph_of_case(const JudgeContext& context, const Shape& shape,
                                               const Case& input) {
  return kept_graph(context, name_of_graph(shape, input), [&](std::uint64_t seed) {
    return shape.pattern ? make_graph(*shape.pattern, shape.vertices, seed) : read_graph(input.file);
  });
}

// For plan `plan`.
std::shared_ptr<const HostGraph> graph_under_other_names(const JudgeContext& context, const Shape& shape,
                                                         const Case& input, int plan) {
  const std::string name = fmt::format("{}, plan {}", name_of_graph(shape, input), plan);
  return kept_graph(context, name,
                    [&](std::uint64_t seed) { return relabel(*graph_of_case(context, shape, input), seed); });
}

bool uses_graph(const Shape& shape) {
  return shape.op == Operator::kAggregate || shape.op == Operator::kWhole;
}

void publish_graph(ArrayBuffers& buffers, const HostGraph& graph, Checks& checks) {
  const auto publish = [&](int number, const std::vector<int>& values) {
    buffers.copy_in(buffers.input(number), values.data(), values.size() * sizeof(int));
    buffers.publish(number);
  };
  publish(kRowOffsets, graph.row_offsets);
  publish(kColumns, graph.columns);
  checks.use_graph(graph);
}

// The case's arrays and its graph in them.
std::unique_ptr<Checks> open_checks(ArrayBuffers& buffers, const Shape& shape, const HostGraph& graph) {
  buffers.add_input("row_offsets", graph.row_offsets.size() * sizeof(int));
  buffers.add_input("columns", graph.columns.size() * sizeof(int));
  const char* first = shape.op == Operator::kAggregate ? "y" : shape.op == Operator::kLogSoftmax ? "z" : "x";
  buffers.add_input(first, first_numbers(shape.op, graph.vertices()) * sizeof(double));
  if (weight_numbers(shape.op) > 0) buffers.add_input("w", weight_numbers(shape.op) * sizeof(double));
  buffers.set_output("out", sizeof(double) * kClasses * static_cast<std::size_t>(graph.vertices()));
  auto checks = buffers.on_gpu() ? make_cuda_checks(buffers, shape, graph.vertices())
                                 : make_host_checks(buffers, shape, graph.vertices());
  publish_graph(buffers, graph, *checks);
  return checks;
}

// The first numbers of a case. The judge's kernels are held against the oracle once for each case and graph
// in this judge's life.
void draw_agreed(const JudgeContext& context, const Shape& shape, const Case& input, std::uint64_t seed,
                 Checks& checks) {
  const std::string name = fmt::format("gcn: agreed on {}, {}", input.id, name_of_graph(shape, input));
  KeptData& kept = context.services->kept_data();
  const bool agreed = !shape.raw && kept.find<bool>(name) != nullptr;
  if (agreed) checks.trust();
  checks.draw(seed);
  if (!agreed && !shape.raw) kept.add(name, std::make_shared<bool>(true), sizeof(bool), kMostGraphBytes);
}

class GcnJudge : public ArraysJudge {
 public:
  GcnJudge(const JudgeContext& judge_context, const Case& input)
      : ArraysJudge(judge_context, input, "gcn"), input_(input), shape_(shape_of_case(input)) {
    if (shape_.raw) {
      take_raw_layer(datasets::read_raw_layer(input.file, kFeatures, kClasses));
    } else {
      graph_ = graph_of_case(judge_context, shape_, input);
    }
    read_vertices_ = count_read_vertices();
  }

 private:
  std::string run_name() const override { return function_of(shape_.op); }
  std::int64_t vertices() const { return graph_->vertices(); }
  std::int64_t nnz() const { return static_cast<std::int64_t>(graph_->columns.size()); }

  // The operators behind the first one get what the oracle makes of the file's numbers.
  void take_raw_layer(datasets::RawLayer layer) {
    graph_ =
        std::make_shared<const HostGraph>(HostGraph{std::move(layer.row_offsets), std::move(layer.columns)});
    raw_first_ = std::move(layer.x);
    raw_weights_ = std::move(layer.w);
    if (weight_numbers(shape_.op) > 0) return;
    raw_first_ = transform(raw_first_, raw_weights_).values;
    if (shape_.op == Operator::kLogSoftmax) raw_first_ = aggregate(graph_->view(), raw_first_).values;
    raw_weights_.clear();
  }

  void fill_buffers() override {
    checks_ = open_checks(buffers(), shape_, *graph_);
    draw_agreed(context(), shape_, input_, next_seed(), *checks_);
  }

  int least_runs() const override { return uses_graph(shape_) ? kLeastRunsOnGraphs : kLeastRuns; }

  // Later plans get the graph under other names, by which what a submission keeps beyond its plan is wrong;
  // but for the timed one: other names would change how far apart neighbours lie.
  void prepare_plan(int number, bool is_timed) override {
    if (!uses_graph(shape_) || number == 0 || (is_timed && is_original_)) return;
    if (is_original_) original_ = graph_;
    if (is_timed)
      graph_ = original_;
    else if (shape_.raw)
      graph_ = std::make_shared<const HostGraph>(relabel(*original_, next_seed()));
    else
      graph_ = graph_under_other_names(context(), shape_, input_, number);
    is_original_ = is_timed;
    publish_graph(buffers(), *graph_, *checks_);
  }

  Arguments refresh_for_check() override {
    if (!shape_.raw || raw_taken_) return refresh_for_timing();
    checks_->take(raw_first_, raw_weights_);
    raw_taken_ = true;
    return run_arguments();
  }

  Arguments plan_arguments() const override { return {vertices(), nnz()}; }
  Arguments run_arguments() const { return {static_cast<std::int64_t>(shape_.op)}; }

  Arguments refresh_for_timing() override {
    checks_->draw(next_seed());
    return run_arguments();
  }

  // Every cell, in every repetition.
  std::optional<Outcome> verify_output() override {
    const Comparison comparison = checks_->compare_output();
    count_check("fp64_bound_every_cell", cells(), comparison.max_error_over_bound);
    if (comparison.wrong == 0) return std::nullopt;
    return explain(comparison);
  }

  Outcome explain(const Comparison& c) {
    pattern_ = describe(c);
    mismatches_ = nlohmann::json::array();
    const auto show = [](double value) {
      return std::isnan(value) ? std::string("nan") : fmt::format("{:.17g}", value);
    };
    for (const WrongCell& cell : c.first) {
      nlohmann::json item{{"row", cell.row},
                          {"col", cell.column},
                          {"row_nnz", graph_->row_offsets[cell.row + 1] - graph_->row_offsets[cell.row]},
                          {"want", cell.want}};
      if (std::isfinite(cell.got)) {
        item["got"] = cell.got;
      } else {
        item["got"] = std::isnan(cell.got) ? "nan" : cell.got > 0 ? "inf" : "-inf";
      }
      mismatches_.push_back(std::move(item));
    }
    const WrongCell& first = c.first.front();
    Outcome outcome;
    outcome.verdict = Verdict::kWrongAnswer;
    outcome.reason = c.never_written == c.wrong ? Reason::kNotWritten : Reason::kMismatch;
    outcome.message = fmt::format("out[{},{}] want {} (give or take {:.2g}) got {}; {} of {} cells are wrong",
                                  first.row, first.column, show(first.want), first.bound,
                                  first.never_written ? "nothing" : show(first.got), c.wrong, cells());
    if (!pattern_.empty()) outcome.message += "; " + pattern_;
    return outcome;
  }

  std::string describe(const Comparison& c) const {
    const bool exponentials = shape_.op == Operator::kLogSoftmax || shape_.op == Operator::kWhole;
    if (c.never_written == c.wrong) return "the wrong cells were never written";
    if (c.not_finite > 0 && exponentials)
      return fmt::format(
          "{} cells are not finite numbers: does the program subtract the row's maximum before exp?",
          c.not_finite);
    const bool infinite = std::any_of(c.first.begin(), c.first.end(),
                                      [](const WrongCell& cell) { return std::isinf(cell.got); });
    if (infinite && shape_.op == Operator::kAggregate && has_vertex_without_entries())
      return fmt::format(
          "{} cells are not finite numbers: does the program take 1 / sqrt(degree) as 0 for a vertex without "
          "entries?",
          c.not_finite);
    // Infinities of both signs add up to NaN: then the first wrong cells show none.
    if (c.not_finite > 0 && shape_.op == Operator::kAggregate && has_vertex_without_entries())
      return fmt::format(
          "{} cells are not finite numbers: does the program take 1 / sqrt(degree) as 0 for a vertex without "
          "entries? And out is full of NaN before each run: does the program set it before it adds to it?",
          c.not_finite);
    if (c.not_finite > 0)
      return fmt::format(
          "{} cells are not finite numbers; out is full of NaN before each run: does the program set it "
          "before it adds to it?",
          c.not_finite);
    if (uses_graph(shape_) && c.without_entries == c.wrong)
      return "the wrong cells belong to vertices without entries: their row of Z is 0";
    const int last = graph_->vertices() - 1;
    if (c.first_row > 0 && c.last_row == last && c.first_row % 8 == 0 &&
        c.wrong == (last + 1 - c.first_row) * kClasses)
      return fmt::format(
          "the wrong cells are the rows from {}: does the program process a tile that is not full?",
          c.first_row);
    if (c.never_written == 0 && c.largest_error_over_bound < kSingleOverBound)
      return "the errors are of fp32's size: compute in fp64 throughout";
    if (uses_graph(shape_) && c.shortest_row > c.longest_right_row && c.longest_right_row > 1)
      return fmt::format("rows of more than {} entries are wrong", c.longest_right_row);
    return "";
  }

  bool has_vertex_without_entries() const {
    return std::ranges::adjacent_find(graph_->row_offsets) != graph_->row_offsets.end();
  }

  // Vertices whose numbers an honest program must read: those that are somebody's neighbour with a factor.
  std::int64_t count_read_vertices() const {
    if (!uses_graph(shape_)) return vertices();
    std::vector<bool> read(static_cast<std::size_t>(vertices()));
    for (const int neighbour : graph_->columns) {
      if (graph_->row_offsets[neighbour + 1] > graph_->row_offsets[neighbour]) read[neighbour] = true;
    }
    return std::count(read.begin(), read.end(), true);
  }

  double items() const override { return static_cast<double>(vertices()); }
  std::int64_t cells() const { return vertices() * kClasses; }

  // The numbers read; what is written may still sit in L2, and the graph lie in the plan as it likes.
  double impossible_us(double peak_bytes_per_s) const override {
    return 1e6 * 8.0 * first_columns(shape_.op) * static_cast<double>(read_vertices_) / peak_bytes_per_s;
  }

  double compulsory_bytes() const override {
    const double numbers = 8.0 * (first_columns(shape_.op) * static_cast<double>(read_vertices_) +
                                  kClasses * static_cast<double>(vertices()));
    const double graph = uses_graph(shape_) ? 4.0 * static_cast<double>(nnz() + vertices() + 1) : 0;
    return numbers + graph + 8.0 * static_cast<double>(weight_numbers(shape_.op));
  }

  // A thread a cell of X * W, 16 cells a vertex, some 2,000 instructions each (128 multiply-adds with their
  // loads, exp and log of the softmax); 16 instructions an entry and half a warp in the sum over neighbours.
  double naive_steps() const override {
    return 1000.0 * static_cast<double>(vertices()) + 16.0 * static_cast<double>(nnz());
  }

  void describe_case(Record& record) const override {
    Case described = described_case();
    int longest = 0, empty = 0;
    for (int v = 0; v < graph_->vertices(); ++v) {
      const int entries = graph_->row_offsets[v + 1] - graph_->row_offsets[v];
      longest = std::max(longest, entries);
      empty += entries == 0 ? 1 : 0;
    }
    described.other["operator"] = function_of(shape_.op);
    described.rows = vertices();
    described.cols = first_columns(shape_.op);
    described.nnz = nnz();
    described.shape = {{"max_row", longest},
                       {"mean_row", static_cast<double>(nnz()) / static_cast<double>(vertices())},
                       {"empty_rows", empty}};
    record.test_case = std::move(described);
  }

  const Case& input_;
  Shape shape_;
  std::shared_ptr<const HostGraph> graph_;
  std::int64_t read_vertices_ = 0;
  std::shared_ptr<const HostGraph> original_;  // while graph_ is the same under other names
  bool is_original_ = true, raw_taken_ = false;
  std::vector<double> raw_first_, raw_weights_;  // of the user's files: the first run's numbers
  std::unique_ptr<Checks> checks_;
};

}  // namespace

nlohmann::json judge_gcn(const JudgeContext& context, const Case& input) {
  return GcnJudge(context, input).judge();
}

void make_case_ahead(const JudgeContext& context, const Case& input) {
  const Shape shape = shape_of_case(input);
  if (shape.raw) return;
  const auto graph = graph_of_case(context, shape, input);
  if (context.backend == "cuda") {
    const auto buffers = make_cuda_array_buffers();
    const auto checks = open_checks(*buffers, shape, *graph);
    draw_agreed(context, shape, input, Sha256().part(context.run_seed).part(input.id).number(), *checks);
  }
  // Of three runs a submission has two plans.
  if (uses_graph(shape)) graph_under_other_names(context, shape, input, 1);
}

}  // namespace warpgrade::gcn

// One case of lab sampling, judged: runs under seeds that differ in single bits, each checked in full,
// in an order that the hidden seed decides; on a GPU paired timing stands among them, with every
// repetition verified.
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/error.h"
#include "judge/judging/arrays_judge.h"
#include "judge/labs/sampling/checks.h"
#include "judge/labs/sampling/sampling_lab.h"
#include "judge/measure/random.h"
#include "record/outcome.h"
#include "sampling/tasks.h"
#include "warpgrade/datasets/csr_file.h"

namespace warpgrade::sampling {
namespace {

// Writes that may still sit in the largest L2 when the run ends.
constexpr double kCachedBytes = 128.0 * (1 << 20);

constexpr int kLeastRuns = 6;  // one alone, and one for each relation of its seed to the seed before

class SamplingJudge : public ArraysJudge {
 public:
  SamplingJudge(const JudgeContext& judge_context, const Case& input)
      : ArraysJudge(judge_context, input, "sampling"), file_(datasets::CsrFile::open_verified(input.file)) {
    graph_ = {file_.row_offsets(), file_.columns()};
    every_node_ = nodes_of_case(spec()) == 0;
    nodes_.resize(every_node_ ? graph_.nodes() : nodes_of_case(spec()));
    for (std::size_t i = 0; i < nodes_.size(); ++i) nodes_[i] = static_cast<int>(i);
  }

 private:
  void fill_buffers() override {
    const auto add = [&](const char* name, std::span<const int> values) {
      const int number = buffers().add_input(name, values.size_bytes());
      buffers().copy_in(buffers().input(number), values.data(), values.size_bytes());
      buffers().publish(number);
    };
    add("row_offsets", graph_.row_offsets);
    add("columns", graph_.columns);
    add("nodes", nodes_);
    buffers().set_output("samples", cells() * sizeof(int));
    checks_ = on_gpu() ? make_cuda_checks(buffers(), count(), fanout())
                       : make_host_checks(buffers(), graph_, count(), fanout(), context().threads);
  }

  int least_runs() const override { return kLeastRuns; }

  Outcome judge_submission() override {
    if (auto fault = start_submission()) return *fault;
    draw_nodes();
    draw_relations();
    if (auto fault = judge_in_order()) return *fault;
    if (auto fault = accept(judge_levels(all_levels_))) return *fault;
    return {};
  }

  // What a checked run's seed has to do with that of the run before it. A sampler that leaves a bit out,
  // folds the halves into one, or adds the seed to a counter shows in one of them.
  enum class Relation { kSame, kLowBit, kHighBit, kSameBitInBoth, kNext };

  // Behind the first checked run each relation comes once, in an order that the hidden seed decides; where
  // the order has more runs, they begin again.
  void draw_relations() {
    relations_ = {Relation::kSame, Relation::kLowBit, Relation::kHighBit, Relation::kSameBitInBoth,
                  Relation::kNext};
    const std::uint64_t seed = next_seed();
    for (std::size_t left = relations_.size(); left > 1; --left)
      std::swap(relations_[left - 1], relations_[random_bits(seed, left) % left]);
  }

  std::uint64_t related(std::uint64_t seed, Relation relation) {
    const std::uint64_t bits = next_seed();
    const std::uint64_t low = std::uint64_t{1} << (bits % 32),
                        high = std::uint64_t{1} << (32 + (bits >> 8) % 32);
    switch (relation) {
      case Relation::kSame:
        return seed;
      case Relation::kLowBit:
        return seed ^ low;
      case Relation::kHighBit:
        return seed ^ high;
      case Relation::kSameBitInBoth:  // halves folded into one would cancel
        return seed ^ low ^ (low << 32);
      case Relation::kNext:
        break;
    }
    return seed + 1;
  }

  std::optional<Outcome> checked_run() override {
    if (!any_run_) return run_with_seed(next_seed());
    const Relation relation = relations_[related_runs_++ % relations_.size()];
    if (relation != Relation::kSame) return run_with_seed(related(kept_seed_, relation));
    // A timed run leaves no fingerprint, so one that can be repeated comes first.
    if (!fingerprint_) {
      if (auto fault = run_with_seed(next_seed())) return fault;
    }
    return repeated_run();
  }

  // Every node once, or nodes at random, of which every fourth is its neighbour in the list.
  void draw_nodes() {
    if (every_node_) return;
    const std::uint64_t seed = next_seed();
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      nodes_[i] = i % 4 == 1
                      ? nodes_[i - 1]
                      : static_cast<int>(draw_below(static_cast<std::uint32_t>(random_bits(seed, i) >> 32),
                                                    static_cast<std::uint32_t>(graph_.nodes())));
    }
    buffers().copy_in(buffers().input(kNodes), nodes_.data(), nodes_.size() * sizeof(int));
    buffers().publish(kNodes);
  }

  static Arguments run_arguments(std::uint64_t seed) { return {static_cast<std::int64_t>(seed)}; }

  // A run under a seed that the submission has not seen, checked in full and against the run before it, which
  // may be a timed one.
  std::optional<Outcome> run_with_seed(std::uint64_t seed) {
    if (auto fault = run_once(run_arguments(seed))) return fault;
    LevelCounts levels;
    if (auto fault = check_samples(levels)) return fault;
    all_levels_.add(levels);
    std::vector<Pairing> pairings = pairings_of_a_run(count(), fanout());
    if (any_run_) {
      for (const Pairing& pairing : pairings_of_two_runs()) pairings.push_back(pairing);
    }
    if (auto fault = check_randomness(levels, pairings)) return fault;
    if (auto fault = check_far(any_run_ ? FarDepth::kSecond : FarDepth::kFirst, any_run_)) return fault;
    fingerprint_ = checks_->fingerprint(fingerprint_seed_ = next_seed());
    keep(seed);
    return std::nullopt;
  }

  // The located run is what the next one is compared with.
  void keep(std::uint64_t seed) {
    checks_->keep();
    kept_seed_ = seed;
    any_run_ = true;
  }

  std::optional<Outcome> repeated_run() {
    if (auto fault = run_once(run_arguments(kept_seed_))) return fault;
    count_check("same_seed_same_samples", cells());
    if (checks_->fingerprint(fingerprint_seed_) == fingerprint_) return std::nullopt;
    return wrong(Reason::kNotRepeatable, "the same graph, nodes and seed gave other samples in a second run");
  }

  Arguments refresh_for_timing() override {
    draw_nodes();
    return run_arguments(generator_seed_ = next_seed());
  }

  // In every timed repetition: all samples, their levels, four pairings, one of them at random, and a few
  // far tests.
  std::optional<Outcome> verify_output() override {
    LevelCounts levels;
    if (auto fault = check_samples(levels)) return fault;
    std::vector<Pairing> pairings;
    const std::vector<Pairing> all = pairings_of_a_run(count(), fanout());
    if (!all.empty()) pairings.push_back(all[next_seed() % all.size()]);
    if (fanout() > 1) pairings.push_back({.draw_mask = 1});
    if (count() > 1) pairings.push_back({.row_mask = 1});
    // A baseline's run of the same pair has the same seed, and may rightly have the same samples.
    const bool other_seed = generator_seed_ != kept_seed_;
    if (other_seed) pairings.push_back({.earlier_run = true});
    if (auto fault = check_randomness(levels, pairings)) return fault;
    if (auto fault = check_far(FarDepth::kTimed, other_seed)) return fault;
    if (other_seed) {
      keep(generator_seed_);
      fingerprint_.reset();
    }
    return std::nullopt;
  }

  // What is certain; `levels` gets the counts for what is not.
  std::optional<Outcome> check_samples(LevelCounts& levels) {
    const Found found = checks_->locate_output(next_seed());
    count_check("membership", cells());
    levels = found.levels;
    if (found.bad_cells == 0) return std::nullopt;
    const Mismatch& m = found.first.front();
    const std::string place =
        fmt::format("samples[{},{}] of node {} ({} neighbours)", m.row, m.draw, m.node, m.degree);
    if (found.never_written == found.bad_cells)
      return wrong(
          Reason::kNotWritten,
          fmt::format("{} was never written; {} cells in all were never written", place, found.bad_cells));
    const std::string want = m.degree == 0 ? "kNoNeighbour (-1)" : "one of its neighbours";
    pattern_ = describe(found);
    return wrong(m.degree == 0 ? Reason::kZeroDegree : Reason::kNotANeighbour,
                 fmt::format("{} want {} got {}; {} cells are wrong{}{}", place, want, m.got, found.bad_cells,
                             pattern_.empty() ? "" : "; ", pattern_));
  }

  // What the first wrong samples have in common, where it tells the mistake.
  std::string describe(const Found& found) const {
    const auto all = [&](auto holds) { return std::all_of(found.first.begin(), found.first.end(), holds); };
    const auto row = [&](std::int64_t node) {
      return graph_.columns.subspan(graph_.row_offsets[node], graph_.degree(static_cast<int>(node)));
    };
    if (all([](const Mismatch& m) { return m.degree == 0; }))
      return "they belong to nodes without neighbours: a remainder by 0 is undefined";
    if (all([&](const Mismatch& m) {
          const auto end = static_cast<std::size_t>(graph_.row_offsets[m.node + 1]);
          return end < graph_.columns.size() && m.got == graph_.columns[end];
        }))
      return "they are the entry after the row's last entry: a draw must lie in [0, degree)";
    if (all([&](const Mismatch& m) {
          return m.row < graph_.nodes() && std::ranges::binary_search(row(m.row), m.got);
        }))
      return "samples[i] holds neighbours of node i: it must hold neighbours of nodes[i]";
    if (all([&](const Mismatch& m) {
          return std::ranges::find(graph_.columns.first(m.degree), m.got) !=
                 graph_.columns.first(m.degree).end();
        }))
      return "they come from the beginning of columns: a row begins at row_offsets[node]";
    return "";
  }

  std::optional<Outcome> check_randomness(const LevelCounts& levels, const std::vector<Pairing>& pairings) {
    count_check("independence", cells());
    std::vector<std::optional<Rejection>> found(pairings.size());
    for_each_task(found.size(), checks_->threads(),
                  [&](std::size_t i) { found[i] = judge_pairs(pairings[i], checks_->pairs(pairings[i])); });
    std::vector<Rejection> rejected;
    for (const std::optional<Rejection>& rejection : found) {
      if (rejection) rejected.push_back(*rejection);
    }
    return accept(explain(judge_levels(levels), rejected));
  }

  // Far draws, lattices and stretches that occur twice: which ones, a hidden seed says.
  std::optional<Outcome> check_far(FarDepth depth, bool earlier_run) {
    const FarTests tests = far_tests(count(), fanout(), next_seed(), depth, earlier_run);
    return accept(explain(std::nullopt, run_far_tests(*checks_, tests, fanout(), next_seed())));
  }

  std::optional<Outcome> accept(const std::optional<Rejection>& rejection) {
    count_check("uniformity", 0);
    if (!rejection) return std::nullopt;
    return wrong(rejection->test == "uniformity" ? Reason::kNotUniform
                                                 : reason_named("not_independent_" + rejection->test),
                 rejection->what);
  }

  static Outcome wrong(Reason reason, const std::string& message) {
    return {Verdict::kWrongAnswer, reason, message};
  }

  std::int64_t count() const { return static_cast<std::int64_t>(nodes_.size()); }
  unsigned fanout() const { return static_cast<unsigned>(spec().width); }
  double items() const override { return static_cast<double>(cells()); }
  std::int64_t cells() const { return count() * fanout(); }

  Arguments plan_arguments() const override {
    return {graph_.nodes(), static_cast<std::int64_t>(graph_.columns.size()), count(), fanout()};
  }

  // Every sample must be written; what L2 holds need not have left it.
  double impossible_us(double peak_bytes_per_s) const override {
    return 1e6 * std::max(0.0, 4.0 * static_cast<double>(cells()) - kCachedBytes) / peak_bytes_per_s;
  }

  // Samples written, nodes and offsets read, and of each row all of it or the sectors of its draws.
  double compulsory_bytes() const override {
    double bytes = 4.0 * static_cast<double>(cells()) + 12.0 * static_cast<double>(count());
    for (const int node : nodes_) bytes += 4.0 * std::min<double>(graph_.degree(node), 8.0 * fanout());
    return bytes;
  }

  // A thread a sample, some 150 instructions of a counter-based generator each.
  double naive_steps() const override { return 150.0 * static_cast<double>(cells()) / 32 + 1e4; }

  void describe_case(Record& record) const override {
    Case described = described_case();
    unsigned longest = 0;
    int empty = 0;
    for (int node = 0; node < graph_.nodes(); ++node) {
      longest = std::max(longest, graph_.degree(node));
      empty += graph_.degree(node) == 0 ? 1 : 0;
    }
    described.rows = graph_.nodes();
    described.cols = file_.cols();
    described.nnz = static_cast<std::int64_t>(graph_.columns.size());
    described.other["count"] = count();
    described.other["fanout"] = fanout();
    described.dataset_hash = file_.content_hash();
    described.shape = {
        {"max_row", longest},
        {"mean_row", graph_.nodes() > 0 ? double(graph_.columns.size()) / graph_.nodes() : 0.0},
        {"empty_rows", empty}};
    record.test_case = std::move(described);
  }

  datasets::CsrFile file_;
  GraphView graph_;
  std::vector<int> nodes_;
  bool every_node_ = false;
  std::unique_ptr<SamplingChecks> checks_;
  LevelCounts all_levels_;
  std::vector<Relation> relations_;
  std::size_t related_runs_ = 0;
  bool any_run_ = false;  // one is kept
  std::uint64_t fingerprint_seed_ = 0, generator_seed_ = 0, kept_seed_ = 0;
  std::optional<std::uint64_t> fingerprint_;  // of the kept run
};

}  // namespace

nlohmann::json judge_sampling(const JudgeContext& context, const Case& input) {
  return SamplingJudge(context, input).judge();
}

}  // namespace warpgrade::sampling

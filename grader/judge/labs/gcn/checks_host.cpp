#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/error.h"
#include "judge/labs/gcn/checks.h"

namespace warpgrade::gcn {
namespace {

constexpr std::size_t kMostShown = 16;
constexpr double kLeast = 256 * 0x1p-1074;  // what sums of numbers below the normal range may differ by

bool is_poison(double value) {
  std::uint32_t words[2];
  std::memcpy(words, &value, sizeof words);
  return words[0] == kPoison && words[1] == kPoison;
}

void note_wrong(Comparison& comparison, const WrongCell& cell, int row_entries) {
  if (comparison.wrong++ == 0) {
    comparison.first_row = cell.row;
    comparison.shortest_row = row_entries;
  }
  comparison.last_row = cell.row;
  comparison.shortest_row = std::min(comparison.shortest_row, row_entries);
  if (comparison.first.size() < kMostShown) comparison.first.push_back(cell);
  if (cell.never_written) {
    ++comparison.never_written;
  } else if (!std::isfinite(cell.got)) {
    ++comparison.not_finite;
  } else {
    const double error = std::fabs(cell.got - cell.want);
    const double over = cell.bound > 0 ? error / cell.bound : HUGE_VAL;
    comparison.largest_error_over_bound = std::max(comparison.largest_error_over_bound, over);
  }
  comparison.without_entries += row_entries == 0 ? 1 : 0;
}

class HostChecks : public Checks {
 public:
  HostChecks(ArrayBuffers& buffers, const Shape& shape, int vertices)
      : buffers_(buffers), shape_(shape), vertices_(vertices) {}

  void use_graph(const HostGraph& graph) override { graph_ = graph.view(); }

  void draw(std::uint64_t seed) override {
    const auto fill = [&](int input, std::size_t count, Numbers kind, std::uint64_t seed_of, int columns) {
      const std::span numbers(static_cast<double*>(buffers_.input(input)), count);
      for (std::size_t i = 0; i < count; ++i)
        numbers[i] = number_at(kind, seed_of, i, static_cast<std::uint64_t>(columns));
      buffers_.publish(input);
      return std::span<const double>(numbers);
    };
    const auto first =
        fill(kFirst, first_numbers(shape_.op, vertices_), shape_.numbers, seed, first_columns(shape_.op));
    std::span<const double> weights;
    if (const std::size_t count = weight_numbers(shape_.op); count > 0)
      weights = fill(kWeights, count, weights_beside(shape_.numbers), seed + 1, kClasses);
    expected_ = expect(shape_.op, graph_, first, weights);
  }

  void take(std::span<const double> first, std::span<const double> weights) override {
    const auto put = [&](int input, std::span<const double> numbers) {
      buffers_.copy_in(buffers_.input(input), numbers.data(), numbers.size_bytes());
      buffers_.publish(input);
    };
    put(kFirst, first);
    if (!weights.empty()) put(kWeights, weights);
    expected_ = expect(shape_.op, graph_, first, weights);
  }

  Comparison compare_output() override {
    const auto* cells = static_cast<const double*>(buffers_.output());
    return compare(graph_, expected_, {cells, expected_.values.size()});
  }

 private:
  ArrayBuffers& buffers_;
  Shape shape_;
  int vertices_;
  Graph graph_;
  Expected expected_;
};

}  // namespace

std::size_t first_numbers(Operator op, int vertices) {
  return static_cast<std::size_t>(vertices) * static_cast<std::size_t>(first_columns(op));
}

std::size_t weight_numbers(Operator op) {
  const bool multiplies = op == Operator::kTransform || op == Operator::kWhole;
  return multiplies ? static_cast<std::size_t>(kFeatures) * kClasses : 0;
}

int first_columns(Operator op) {
  return weight_numbers(op) > 0 ? kFeatures : kClasses;
}

Numbers weights_beside(Numbers numbers) {
  return numbers == Numbers::kSmall || numbers == Numbers::kLarge ? numbers : Numbers::kUniform;
}

namespace {

Expected ask_oracle(Operator op, const Graph& graph, std::span<const double> first,
                    std::span<const double> weights) {
  switch (op) {
    case Operator::kTransform:
      return transform(first, weights);
    case Operator::kAggregate:
      return aggregate(graph, first);
    case Operator::kLogSoftmax:
      return log_softmax(first);
    case Operator::kWhole:
      break;
  }
  return run(graph, first, weights);
}

}  // namespace

Expected expect(Operator op, const Graph& graph, std::span<const double> first,
                std::span<const double> weights) {
  Expected expected = ask_oracle(op, graph, first, weights);
  for (std::size_t cell = 0; cell < expected.values.size(); ++cell) {
    if (std::isfinite(expected.values[cell]) && std::isfinite(expected.bounds[cell])) continue;
    throw JudgeFault("cell [{},{}] is {} within {}: the case leaves the range of fp64", cell / kClasses,
                     cell % kClasses, expected.values[cell], expected.bounds[cell]);
  }
  return expected;
}

Comparison compare(const Graph& graph, const Expected& expected, std::span<const double> got) {
  Comparison comparison;
  int last_wrong_row = -1;
  for (int row = 0; row < graph.vertices(); ++row) {
    const int entries = graph.row_offsets[row + 1] - graph.row_offsets[row];
    for (int column = 0; column < kClasses; ++column) {
      const std::size_t cell = static_cast<std::size_t>(row) * kClasses + static_cast<std::size_t>(column);
      const double want = expected.values[cell], bound = expected.bounds[cell];
      if (within(got[cell], want, bound)) {
        if (bound > 0)
          comparison.max_error_over_bound =
              std::max(comparison.max_error_over_bound, std::fabs(got[cell] - want) / bound);
      } else {
        note_wrong(comparison, {row, column, want, got[cell], bound, is_poison(got[cell])}, entries);
        last_wrong_row = row;
      }
    }
    if (last_wrong_row != row) comparison.longest_right_row = std::max(comparison.longest_right_row, entries);
  }
  return comparison;
}

void require_agreement(const Expected& oracle, const Expected& computed) {
  constexpr double kShare = 1.0 / 16, kRelative = 1e-9;
  for (std::size_t cell = 0; cell < oracle.values.size(); ++cell) {
    const double bound = oracle.bounds[cell];
    // Both end in an fp64 number: a unit in the last place apart is agreement, however narrow the bound.
    const double rounding = std::numeric_limits<double>::epsilon() * std::fabs(oracle.values[cell]);
    if (within(computed.values[cell], oracle.values[cell], kShare * bound + rounding + kLeast) &&
        within(computed.bounds[cell], bound, kRelative * bound + kLeast))
      continue;
    throw JudgeFault("cell [{},{}]: the GPU computes {} (give or take {}), the oracle {} (give or take {})",
                     cell / kClasses, cell % kClasses, computed.values[cell], computed.bounds[cell],
                     oracle.values[cell], bound);
  }
}

std::unique_ptr<Checks> make_host_checks(ArrayBuffers& buffers, const Shape& shape, int vertices) {
  return std::make_unique<HostChecks>(buffers, shape, vertices);
}

// Programs without CUDA in them have this one; the judge's own stands in checks_cuda.cu.
[[gnu::weak]] std::unique_ptr<Checks> make_cuda_checks(ArrayBuffers&, const Shape&, int) {
  throw JudgeFault("this program has no GPU buffers; warpgrade-judge has");
}

}  // namespace warpgrade::gcn

#include <algorithm>
#include <numeric>

#include "counter_random.h"
#include "warpgrade/datasets/statistics.h"

namespace warpgrade::datasets {
namespace {

constexpr int kPasses = 6;

// Both directions of every entry but the diagonal: a node's neighbours, whoever names whom.
struct Neighbours {
  std::vector<std::int64_t> offsets;
  std::vector<int> nodes;
};

Neighbours both_directions(std::span<const int> row_offsets, std::span<const int> columns) {
  const std::size_t n = row_offsets.size() - 1;
  Neighbours all;
  all.offsets.assign(n + 1, 0);
  const auto each = [&](auto&& visit) {
    for (std::size_t row = 0; row < n; ++row) {
      for (int i = row_offsets[row]; i < row_offsets[row + 1]; ++i) {
        if (columns[i] != static_cast<int>(row)) visit(static_cast<int>(row), columns[i]);
      }
    }
  };
  each([&](int row, int column) {
    ++all.offsets[row + 1];
    ++all.offsets[column + 1];
  });
  std::partial_sum(all.offsets.begin(), all.offsets.end(), all.offsets.begin());
  all.nodes.resize(static_cast<std::size_t>(all.offsets.back()));
  std::vector<std::int64_t> next(all.offsets.begin(), all.offsets.end() - 1);
  each([&](int row, int column) {
    all.nodes[next[row]++] = column;
    all.nodes[next[column]++] = row;
  });
  return all;
}

}  // namespace

std::vector<int> labels_of(std::span<const int> row_offsets, std::span<const int> columns) {
  const int n = static_cast<int>(row_offsets.size()) - 1;
  const Neighbours all = both_directions(row_offsets, columns);
  const int most =
      std::clamp(n / 32, 32, 16384);  // nodes of a community: else one takes the whole of a hub graph
  std::vector<int> label(static_cast<std::size_t>(n)), nodes(static_cast<std::size_t>(n), 1),
      order(label.size());
  std::iota(label.begin(), label.end(), 0);
  std::iota(order.begin(), order.end(), 0);
  for (int i = n - 1; i > 0; --i)
    std::swap(order[i], order[below(draw(1, 8, static_cast<u64>(i)), static_cast<u64>(i) + 1)]);
  std::vector<int> votes(static_cast<std::size_t>(n), 0), seen;
  for (int pass = 0; pass < kPasses; ++pass) {
    int moved = 0;
    for (const int node : order) {
      seen.clear();
      for (std::int64_t i = all.offsets[node]; i < all.offsets[node + 1]; ++i) {
        const int other = label[all.nodes[i]];
        if (votes[other]++ == 0) seen.push_back(other);
      }
      int best = label[node];
      u64 best_tie = mix_bits(static_cast<u64>(best) + 1);
      for (const int other : seen) {
        if (other != label[node] && nodes[other] >= most) continue;
        const u64 tie = mix_bits(static_cast<u64>(other) + 1);
        if (votes[other] > votes[best] || (votes[other] == votes[best] && tie > best_tie)) {
          best = other;
          best_tie = tie;
        }
      }
      for (const int other : seen) votes[other] = 0;
      if (best == label[node]) continue;
      --nodes[label[node]];
      ++nodes[best];
      label[node] = best;
      ++moved;
    }
    if (moved < n / 1000) break;
  }
  return label;
}

}  // namespace warpgrade::datasets

#include "judge/labs/gcn/graphs.h"

#include <algorithm>
#include <numeric>

#include "base/error.h"
#include "judge/measure/random.h"
#include "warpgrade/datasets/csr_file.h"
#include "warpgrade/datasets/generate.h"

namespace warpgrade::gcn {
namespace {

constexpr std::int64_t kWebEntries = 2312497;
constexpr int kWebVertices = 281903;
constexpr int kHeavyHub = 66000;  // entries; squared it is beyond 2^32

// Numbers one after another from a hidden seed.
class Draws {
 public:
  explicit Draws(std::uint64_t seed) : seed_(seed) {}
  int below(int bound) {
    return static_cast<int>((random_bits(seed_, count_++) >> 32) * static_cast<std::uint64_t>(bound) >> 32);
  }

 private:
  std::uint64_t seed_, count_ = 0;
};

std::vector<int> permutation(int count, Draws& draws) {
  std::vector<int> order(count);
  std::iota(order.begin(), order.end(), 0);
  for (int i = count - 1; i > 0; --i) std::swap(order[i], order[draws.below(i + 1)]);
  return order;
}

HostGraph from_rows(std::vector<std::vector<int>> rows) {
  HostGraph graph;
  for (std::vector<int>& row : rows) {
    std::sort(row.begin(), row.end());
    graph.columns.insert(graph.columns.end(), row.begin(), row.end());
    graph.row_offsets.push_back(static_cast<int>(graph.columns.size()));
  }
  return graph;
}

// With a self-loop for every vertex that has none.
HostGraph with_loops(std::span<const int> offsets, std::span<const int> columns) {
  HostGraph graph;
  const int vertices = static_cast<int>(offsets.size()) - 1;
  graph.columns.reserve(columns.size() + static_cast<std::size_t>(vertices));
  for (int v = 0; v < vertices; ++v) {
    const auto row = columns.subspan(offsets[v], offsets[v + 1] - offsets[v]);
    const auto place = std::lower_bound(row.begin(), row.end(), v);
    graph.columns.insert(graph.columns.end(), row.begin(), place);
    if (place == row.end() || *place != v) graph.columns.push_back(v);
    graph.columns.insert(graph.columns.end(), place, row.end());
    graph.row_offsets.push_back(static_cast<int>(graph.columns.size()));
  }
  return graph;
}

HostGraph make_web(int vertices, std::uint64_t seed) {
  const std::int64_t entries = kWebEntries * vertices / kWebVertices;
  const datasets::Csr csr =
      datasets::generate_powerlaw({.n = vertices, .nnz = entries, .skew = 0.6, .seed = seed});
  return with_loops(csr.row_offsets, csr.columns);
}

// The entries of row v, of all patterns but the web's.
std::vector<int> make_row(GraphPattern pattern, int v, int vertices, int rank, Draws& draws) {
  std::vector<int> row;
  int others = 0;
  switch (pattern) {
    case GraphPattern::kEven:
      others = draws.below(13);
      row.push_back(v);
      break;
    case GraphPattern::kPowerLaw:
      others = vertices / (rank + 1);
      if (v % 2 == 0) row.push_back(v);
      break;
    case GraphPattern::kIsolated:
      if (v % 3 == 1) others = 1 + draws.below(6);
      break;
    case GraphPattern::kRepeated:
      for (int i = draws.below(4); i >= 0; --i)
        row.insert(row.end(), 1 + draws.below(5), draws.below(vertices));
      break;
    case GraphPattern::kHeavyHubs:
      others = rank < 2 ? kHeavyHub : draws.below(6);
      break;
    case GraphPattern::kLoopsOnly:
      row.push_back(v);
      break;
    case GraphPattern::kNoEntries:
    case GraphPattern::kWeb:
      break;
  }
  for (; others > 0; --others) row.push_back(draws.below(vertices));
  return row;
}

}  // namespace

HostGraph make_graph(GraphPattern pattern, int vertices, std::uint64_t seed) {
  if (pattern == GraphPattern::kWeb) return make_web(vertices, seed);
  Draws draws(seed);
  const std::vector<int> ranks = permutation(vertices, draws);
  std::vector<std::vector<int>> rows;
  for (int v = 0; v < vertices; ++v) rows.push_back(make_row(pattern, v, vertices, ranks[v], draws));
  return from_rows(std::move(rows));
}

HostGraph read_graph(const std::filesystem::path& file) {
  const auto matrix = datasets::CsrFile::open(file);
  if (matrix.rows() != matrix.cols() || matrix.rows() == 0)
    throw JudgeFault("{} is {} x {}: expected the square matrix of a graph", file.string(), matrix.rows(),
                     matrix.cols());
  return with_loops(matrix.row_offsets(), matrix.columns());
}

HostGraph relabel(const HostGraph& graph, std::uint64_t seed) {
  Draws draws(seed);
  const std::vector<int> name = permutation(graph.vertices(), draws);
  std::vector<std::vector<int>> rows(graph.vertices());
  for (int v = 0; v < graph.vertices(); ++v) {
    for (int e = graph.row_offsets[v]; e < graph.row_offsets[v + 1]; ++e)
      rows[name[v]].push_back(name[graph.columns[e]]);
  }
  return from_rows(std::move(rows));
}

}  // namespace warpgrade::gcn

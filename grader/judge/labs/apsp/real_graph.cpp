#include "judge/labs/apsp/real_graph.h"

#include <vector>

#include "base/error.h"
#include "warpgrade/datasets/csr_file.h"

namespace warpgrade::apsp {

Graph read_real_graph(const std::filesystem::path& file, int most_nodes) {
  const auto matrix = datasets::CsrFile::open_verified(file);
  if (matrix.rows() != matrix.cols() || matrix.rows() == 0)
    throw JudgeFault("{} is {} x {}: expected the square matrix of a graph", file.string(), matrix.rows(),
                     matrix.cols());
  const auto offsets = matrix.row_offsets();
  const auto columns = matrix.columns();
  const auto most = static_cast<std::size_t>(most_nodes);
  std::vector<int> number(matrix.rows(), -1), order;
  const auto find = [&](int node) {
    if (number[node] >= 0 || order.size() == most) return;
    number[node] = static_cast<int>(order.size());
    order.push_back(node);
  };
  std::size_t seen = 0;
  for (int start = 0; start < matrix.rows() && order.size() < most; ++start) {
    if (offsets[start] == offsets[start + 1]) continue;
    for (find(start); seen < order.size(); ++seen) {
      const int node = order[seen];
      for (int e = offsets[node]; e < offsets[node + 1]; ++e) find(columns[e]);
    }
  }
  Graph graph;
  graph.n = static_cast<int>(order.size());
  for (const int node : order) {
    for (int e = offsets[node]; e < offsets[node + 1]; ++e) {
      const int to = number[columns[e]];
      if (to >= 0 && to != number[node]) graph.edges.push_back({number[node], to});
    }
  }
  if (graph.n == 0) throw JudgeFault("{} has no edge: nothing to search", file.string());
  return graph;
}

}  // namespace warpgrade::apsp

#include <algorithm>
#include <span>

#include "apsp/oracle.h"
#include "base/error.h"
#include "judge/labs/apsp/solver.h"

namespace warpgrade::apsp {
namespace {

class HostSolver : public Solver {
 public:
  HostSolver(ArrayBuffers& buffers, const Graph& graph, int threads)
      : buffers_(buffers), graph_(graph), threads_(threads), solution_(graph.cells()) {}

  void draw(std::uint64_t seed, int far) override {
    const std::span cells(static_cast<int*>(buffers_.initial()), graph_.cells());
    const int n = graph_.n;
    const auto drawn = drawn_graph(graph_.pattern.value_or(Pattern::kComplete), seed, n);
    for (int i = 0; i < n; ++i) {
      for (int j = 0; j < n; ++j) {
        cells[static_cast<std::size_t>(i) * n + j] =
            graph_.pattern ? edge_at(drawn, i, j) : (i == j ? 0 : kInfinity);
      }
    }
    for (const Edge& edge : graph_.edges) {
      cells[static_cast<std::size_t>(edge.from) * n + edge.to] =
          real_edge_weight(seed, edge.from, edge.to, n);
    }
    for (int i = 0; i < n && far != kNoFarNode; ++i) {
      int& cell = cells[static_cast<std::size_t>(i) * n + far];
      if (i != far && cell != kInfinity) cell = far_weight(cell);
    }
    std::copy(cells.begin(), cells.end(), solution_.begin());
    solve(solution_, n, threads_);
  }

  Comparison compare() override {
    const int* got = static_cast<const int*>(buffers_.output());
    const int* edges = static_cast<const int*>(buffers_.initial());
    Comparison comparison;
    for (std::size_t cell = 0; cell < solution_.size(); ++cell) {
      if (got[cell] == solution_[cell]) continue;
      note_wrong(comparison, static_cast<std::int64_t>(cell), graph_.n, solution_[cell], got[cell],
                 edges[cell]);
    }
    return comparison;
  }

 private:
  ArrayBuffers& buffers_;
  const Graph& graph_;
  int threads_;
  std::vector<int> solution_;
};

}  // namespace

void note_wrong(Comparison& comparison, std::int64_t cell, int n, int want, int got, int edge) {
  const int row = static_cast<int>(cell / n), col = static_cast<int>(cell % n);
  if (comparison.wrong++ == 0) {
    comparison.first = cell;
    comparison.want = want;
    comparison.got = got;
    comparison.first_row = comparison.last_row = row;
    comparison.first_col = comparison.last_col = col;
  }
  comparison.unreachable += want == kInfinity ? 1 : 0;
  comparison.too_short += got < want ? 1 : 0;
  comparison.unchanged += got == edge ? 1 : 0;
  comparison.first_row = std::min(comparison.first_row, row);
  comparison.last_row = std::max(comparison.last_row, row);
  comparison.first_col = std::min(comparison.first_col, col);
  comparison.last_col = std::max(comparison.last_col, col);
}

void require_oracle_agrees(std::vector<int> edges, const std::vector<int>& solution, int n, int threads) {
  solve(edges, n, threads);
  if (edges != solution) throw JudgeFault("the judge's solver disagrees with the oracle for n = {}", n);
}

std::unique_ptr<Solver> make_host_solver(ArrayBuffers& buffers, const Graph& graph, int threads) {
  return std::make_unique<HostSolver>(buffers, graph, threads);
}

// Programs without CUDA in them have this one; the judge's own stands in solver_cuda.cu.
[[gnu::weak]] std::unique_ptr<Solver> make_cuda_solver(ArrayBuffers&, const Graph&, int) {
  throw JudgeFault("this program has no GPU buffers; warpgrade-judge has");
}

}  // namespace warpgrade::apsp

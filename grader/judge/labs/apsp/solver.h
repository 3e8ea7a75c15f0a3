// Draws the graphs of lab apsp into the buffers' private memory, solves them by the judge's own means and
// compares: on the host by the oracle, on a GPU by kernels of the judge's own.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "judge/judging/array_buffers.h"
#include "judge/labs/apsp/apsp_lab.h"

namespace warpgrade::apsp {

struct Edge {
  int from = 0, to = 0;
};

// What is drawn: a pattern, or real edges under drawn weights.
struct Graph {
  int n = 0;
  std::optional<Pattern> pattern;
  std::vector<Edge> edges;  // of a real graph
  std::size_t cells() const { return static_cast<std::size_t>(n) * n; }
};

struct Comparison {
  std::int64_t wrong = 0;
  std::int64_t first = -1;  // the first wrong cell, row-major
  int want = 0, got = 0;
  // Of the wrong cells:
  std::int64_t unreachable = 0;                                  // there is no path
  std::int64_t too_short = 0;                                    // shorter than the shortest path
  std::int64_t unchanged = 0;                                    // the edge as it was
  int first_row = 0, last_row = 0, first_col = 0, last_col = 0;  // where they lie
};

constexpr int kNoFarNode = -1;

// An edge of this weight into a far node: beyond 65,535, and no more than kMaxWeight.
WARPGRADE_PHILOX_FUNCTION int far_weight(int weight) {
  return 65536 + weight % (kMaxWeight - 65536 + 1);
}

class Solver {
 public:
  virtual ~Solver() = default;
  // Into the buffers' initial(), and solves it. `far`: a node all of whose edges into it weigh more than 16
  // bits hold, or kNoFarNode.
  virtual void draw(std::uint64_t seed, int far) = 0;
  virtual Comparison compare() = 0;  // the buffers' output() with the solution
};

std::unique_ptr<Solver> make_host_solver(ArrayBuffers& buffers, const Graph& graph, int threads);
std::unique_ptr<Solver> make_cuda_solver(ArrayBuffers& buffers, const Graph& graph, int threads);

// One wrong cell of the comparison, in row-major order.
void note_wrong(Comparison& comparison, std::int64_t cell, int n, int want, int got, int edge);

// Throws JudgeFault when the oracle finds another solution for the edges.
void require_oracle_agrees(std::vector<int> edges, const std::vector<int>& solution, int n, int threads);

}  // namespace warpgrade::apsp

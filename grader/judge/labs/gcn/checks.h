// Draws the numbers of lab gcn into the buffers' private arrays, computes what is to come out with the error
// that an honest fp64 program may have, and compares: on the host by the oracle, on a GPU by kernels of the
// judge's own in double-double arithmetic.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "judge/judging/array_buffers.h"
#include "judge/labs/gcn/gcn_lab.h"

namespace warpgrade::gcn {

// The buffers' inputs, by number: the graph, then the operator's own.
enum GcnInput { kRowOffsets = 0, kColumns = 1, kFirst = 2, kWeights = 3 };

struct WrongCell {
  int row = 0, column = 0;
  double want = 0, got = 0, bound = 0;
  bool never_written = false;
};

struct Comparison {
  std::int64_t wrong = 0;
  double max_error_over_bound = 0;  // of cells within bounds, or the first wrong ones
  std::vector<WrongCell> first;     // at most 16, row-major
  // Of the wrong cells:
  std::int64_t never_written = 0, not_finite = 0;
  double largest_error_over_bound = 0;  // of finite ones
  std::int64_t without_entries = 0;     // in rows of vertices that have no entry
  int first_row = 0, last_row = 0, shortest_row = 0;
  int longest_right_row = 0;  // entries of the longest row without a wrong cell
};

// Every cell, phrased as acceptance: NaN is within no bound.
Comparison compare(const Graph& graph, const Expected& expected, std::span<const double> got);

class Checks {
 public:
  virtual ~Checks() = default;
  // Another graph of the same size; it outlives the checks or the next call.
  virtual void use_graph(const HostGraph& graph) = 0;
  // The oracle has agreed before about numbers like these on this graph: it is not asked about the first.
  virtual void trust() {}
  // Fresh numbers, published, and what is to come of them.
  virtual void draw(std::uint64_t seed) = 0;
  // The same with given numbers: the operator's first input, and W or nothing.
  virtual void take(std::span<const double> first, std::span<const double> weights) = 0;
  // Compares the buffers' private output.
  virtual Comparison compare_output() = 0;
};

// How many numbers an operator's first input and W have. W: 0 where there is none.
std::size_t first_numbers(Operator op, int vertices);
std::size_t weight_numbers(Operator op);
// What W is drawn like beside a first input.
Numbers weights_beside(Numbers numbers);
// Columns of the first input.
int first_columns(Operator op);

// The oracle's answer. Throws JudgeFault where a value or a bound is not finite: anything would be within it.
Expected expect(Operator op, const Graph& graph, std::span<const double> first,
                std::span<const double> weights);

// Throws JudgeFault, naming the first cell, where values computed another way than the oracle's lie farther
// from them than a small part of the bound, or where the bounds differ.
void require_agreement(const Expected& oracle, const Expected& computed);

std::unique_ptr<Checks> make_host_checks(ArrayBuffers& buffers, const Shape& shape, int vertices);
std::unique_ptr<Checks> make_cuda_checks(ArrayBuffers& buffers, const Shape& shape, int vertices);

}  // namespace warpgrade::gcn

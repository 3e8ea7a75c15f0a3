// Stand-ins: matrices with the sizes, the degrees and the locality of a graph that is not here. In integers
// alone, every entry a function of (seed, row, draw): the same bytes on every machine, for every number of
// threads, on CPU and GPU (standin_core.h is the definition that both share).
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "warpgrade/datasets/csr.h"

namespace warpgrade::datasets {

// Part of a stand-in's hash: changes whenever its bytes would.
inline constexpr const char* kStandInVersion = "standin-2";

// Degrees by rank, the largest first: points in ascending rank from 0 to n - 1, straight lines between them.
struct DegreeCurve {
  struct Point {
    std::int64_t rank = 0, degree = 0;
    bool operator==(const Point&) const = default;
  };
  std::vector<Point> points;
  bool operator==(const DegreeCurve&) const = default;
};

// Shares are out of 65536; what near and communities leave is drawn from all columns. A column is always
// drawn in proportion to its weight within its window.
inline constexpr int kWholeShare = 65536;
struct StandInSpec {
  int n = 0;
  std::int64_t nnz = 0;
  std::uint64_t seed = 1;
  DegreeCurve row_degrees;
  DegreeCurve column_degrees;  // empty: a node's column weighs what its row is long (undirected graphs)
  // near[0]: the diagonal itself; near[b]: at a distance of 2^(b-1) to 2^b - 1.
  std::vector<int> near;
  struct Community {
    int log2_nodes = 0, share = 0;
    bool operator==(const Community&) const = default;
  };
  std::vector<Community> communities;  // blocks of so many nodes
  bool scattered = true;               // a community's nodes lie anywhere among the ids; false: side by side
  int copied = 0;                      // share of entries that rows of one group of 2^log2_group rows draw
  int log2_group = 0, log2_pool = 0;   // from one pool of 2^log2_pool columns
  // Rows beside each other are alike in length: a node's rank follows its run of 2^log2_run ids by this
  // share, and its own number by the rest.
  int alike = 0, log2_run = 5;
  bool operator==(const StandInSpec&) const = default;
};

// Throws DatasetError naming what can't be.
void check(const StandInSpec& spec);

// n rows, exactly nnz entries, columns sorted and distinct in a row, row lengths those of the curve
// (scaled to add up to nnz; the longest as it stands), values multiples of 2^-10 in [-1, 1). Threads: 0
// for all cores.
Csr generate_standin(const StandInSpec& spec, int threads = 0);

// Zipf-Mandelbrot's curve d(r) = most * ((r + q) / q)^-tail whose q is such that n degrees add up to nnz,
// none below `least`. Throws DatasetError when no q does.
DegreeCurve power_curve(int n, std::int64_t nnz, std::int64_t most, std::int64_t least, double tail);

// What the catalogue says of a graph that is not here, and the parameters that follow for n nodes and nnz
// entries of its kind: the longest row in proportion, column weights as row lengths unless columns have a
// longest and a tail of their own, communities scattered over the ids.
struct StandInOutline {
  int n = 0;
  std::int64_t nnz = 0, max_degree = 0;
  double tail = 0.7;  // degrees fall as rank^-tail
  std::vector<StandInSpec::Community> communities;
  std::uint64_t seed = 1;
  std::int64_t max_column_degree = 0;  // of a directed graph; 0: as rows
  double column_tail = 0.7;
};
StandInSpec spec_of(const StandInOutline& outline, int n, std::int64_t nnz);

// The curve through sorted-down degrees: exact at ranks 0 to 15 and for degrees below 16, else at eight
// ranks an octave.
DegreeCurve curve_of(const std::vector<int>& degrees);

// JSON, one object; `read_spec` throws DatasetError naming file and field.
std::string to_json(const StandInSpec& spec);
StandInSpec spec_from_json(const std::string& text, const std::string& file);
StandInSpec read_spec(const std::filesystem::path& file);

}  // namespace warpgrade::datasets

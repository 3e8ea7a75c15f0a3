// Matrices made from integers alone: the same bytes on every machine, whatever the number of threads.
#pragma once

#include <cstdint>
#include <string>

#include "warpgrade/datasets/csr.h"

namespace warpgrade::datasets {

// Part of every generated dataset's identity: changes whenever its bytes would.
inline constexpr const char* kGeneratorVersion = "powerlaw-1";

// A stand-in for a graph of which only sizes are known: exactly n rows and nnz entries, row lengths and
// column popularity following rank^-skew over a hidden permutation of the nodes, at most n entries a row,
// columns sorted and distinct in a row.
struct PowerlawSpec {
  int n = 0;
  std::int64_t nnz = 0;
  double skew = 0.5;
  std::uint64_t seed = 1;
};
Csr generate_powerlaw(const PowerlawSpec& spec, int threads = 0);

// Small matrices, each with one trap: uniform, ragged, empty-rows, hub, single-row, single-column, identity,
// all-empty, duplicates, tall, band. Throws DatasetError for another shape.
struct ShapeSpec {
  std::string shape;
  int rows = 0, cols = 0;
  double mean = 8;  // entries a row
  int longest = 0;  // hub, band: entries of the long row
  std::uint64_t seed = 1;
};
Csr generate_shape(const ShapeSpec& spec);

}  // namespace warpgrade::datasets

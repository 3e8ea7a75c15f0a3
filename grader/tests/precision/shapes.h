// Row lengths of the cases that lab spmm times: of each, a matrix that a CPU multiplies in a moment.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "judge/labs/spmm/spmm_buffers.h"

namespace warpgrade::spmm {

struct Shape {
  std::string name;                   // "arxiv", "cora"
  std::vector<std::int64_t> lengths;  // of rows, sampled or all of them
};

// The stand-ins that lab spmm times, from the catalogue's figures, and the real graphs that lie in
// its folder.
std::vector<Shape> timed_shapes(const std::filesystem::path& catalogue, bool with_graphs);

// Rows drawn from the shape until they have `entries` entries; every `longest_of`th matrix has the shape's
// longest row as well, cut at `most` entries. Columns are drawn from 64 more than the longest row has.
struct Matrix {
  std::vector<int> row_offsets{0}, columns;
  int cols = 0;
  Structure structure() const {
    return {static_cast<int>(row_offsets.size()) - 1, cols, row_offsets, columns};
  }
};
Matrix draw_matrix(const Shape& shape, std::uint64_t seed, std::int64_t entries, int longest_of,
                   std::int64_t most);

// `rows` rows of `length` entries.
Matrix even_matrix(int rows, int length, std::uint64_t seed);

}  // namespace warpgrade::spmm

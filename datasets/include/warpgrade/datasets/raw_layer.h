// The raw layout in which contests hand out a graph convolution's input: three files in a folder.
//
//   graph.txt  text: "V E", then E lines "row column", vertices from 0; an entry of N(row, column) each
//   x.bin      V * features numbers, fp64, little-endian, row by row
//   w.bin      features * classes numbers, the same
//
// Entries may come in any order and repeat; nothing is added: a self-loop is a line like any other.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "warpgrade/datasets/csr_file.h"

namespace warpgrade::datasets {

struct RawLayer {
  std::vector<int> row_offsets;  // [V + 1]
  std::vector<int> columns;      // [E], sorted within a row
  std::vector<double> x;         // [V, features]
  std::vector<double> w;         // [features, classes]
  std::string hash;              // SHA-256 over all of it
  int vertices() const { return static_cast<int>(row_offsets.size()) - 1; }
};

// Throws DatasetError naming file and line or byte: a file that is not there, a size that does not fit the
// graph's, an entry outside of it, a number that is not finite.
RawLayer read_raw_layer(const std::filesystem::path& folder, int features, int classes,
                        const Progress& progress = {});

}  // namespace warpgrade::datasets

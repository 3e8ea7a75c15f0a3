// Writes BVGraphs, for tests of the reader: references, blocks, intervals and residuals all occur.
#pragma once

#include <filesystem>

#include "warpgrade/datasets/csr.h"

namespace warpgrade::datasets {

struct BvSettings {
  int window = 7, shortest_interval = 4, zeta_k = 3;
  bool delta_residuals = false;  // instead of zeta
};

// STEM.graph and STEM.properties. Rows must be sorted and distinct.
void write_bv_graph(const std::filesystem::path& stem, const Csr& matrix, const BvSettings& settings = {});

}  // namespace warpgrade::datasets

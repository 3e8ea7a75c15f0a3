// A stand-in's parameters from a real graph.
#pragma once

#include <functional>
#include <span>
#include <string>

#include "warpgrade/datasets/standin.h"
#include "warpgrade/datasets/statistics.h"

namespace warpgrade::datasets {

struct Fit {
  StandInSpec spec;
  Statistics real, standin;
  double reuse_distance = 0;  // between both reuse histograms, in octaves (earth mover's distance)
};

// Degrees as they stand; distances to the diagonal beyond what degrees alone make; communities beyond what
// distances make; rows that share columns, chosen among a few by the reuse that they make. From there, and
// from stronger communities, these parameters are moved one at a time while reuse, communities, diagonal and
// columns come nearer together: some hundred stand-ins, so minutes for millions of entries. `say` hears what
// is tried. A square matrix; throws DatasetError.
Fit fit_standin(std::span<const int> row_offsets, std::span<const int> columns, std::uint64_t seed = 1,
                const std::function<void(const std::string&)>& say = {});

// Octaves by which accesses of one histogram would have to move to make the other; first accesses count as
// one octave beyond the last.
double reuse_distance(const Reuse& a, const Reuse& b);

}  // namespace warpgrade::datasets

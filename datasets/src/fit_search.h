// The last part of a fit: parameters moved one at a time while the stand-in comes nearer to the real graph.
#pragma once

#include <functional>
#include <string>

#include "warpgrade/datasets/fit.h"

namespace warpgrade::datasets {

// How far a stand-in is from the real graph: octaves of reuse and of the longest column, and shares by what
// they weigh beside them.
double difference(const Statistics& made, const Statistics& real);

struct Candidate {
  StandInSpec spec;
  Statistics made;
  double away = 0;  // difference() of what it makes
};

Candidate evaluate(const StandInSpec& spec, const Statistics& real);

// What searches may generate together, in entries: so a graph of millions is fitted in a minute or two as
// well, less finely, and one beyond it gets no search. Counted, not timed: the fit stays the same on
// every machine.
struct SearchEffort {
  std::int64_t entries_left = 400'000'000;
};

// Coordinate descent from `start`, at most `passes` times over sizes and shares of communities, distances and
// copies, some twenty stand-ins each. Degrees are not touched. Never worse than `start`.
Candidate search(const Candidate& start, const Statistics& real, int passes, SearchEffort& effort,
                 const std::function<void(const std::string&)>& say);

}  // namespace warpgrade::datasets

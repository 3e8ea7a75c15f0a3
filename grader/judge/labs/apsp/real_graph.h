// A real graph small enough to be a full matrix: the first nodes of a breadth-first search.
#pragma once

#include <filesystem>

#include "judge/labs/apsp/solver.h"

namespace warpgrade::apsp {

// At most `most_nodes` nodes, numbered as a breadth-first search from the file's first node with an edge
// finds them (further parts follow when one ends), and all edges between them; loops are left out. Throws
// JudgeFault for a matrix that is not square or has no row.
Graph read_real_graph(const std::filesystem::path& file, int most_nodes);

}  // namespace warpgrade::apsp

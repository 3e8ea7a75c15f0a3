// The trusted shortest paths, on the CPU: exact, blocked for the cache, over several threads.
#pragma once

#include <span>

namespace warpgrade::apsp {

// Throws std::invalid_argument when a path of n - 1 edges of this weight could be as long as "no path", or n
// or the weight is out of range.
void require_range(int n, int max_weight);

// Throws std::invalid_argument at the first cell that no input may hold: a negative weight, a diagonal that
// is not 0, a weight beyond kInfinity; and at a graph that require_range refuses.
void require_valid(std::span<const int> graph, int n);

// Edges to distances, in place; graph is [n, n] row-major and valid.
void solve(std::span<int> graph, int n, int threads = 1);

}  // namespace warpgrade::apsp

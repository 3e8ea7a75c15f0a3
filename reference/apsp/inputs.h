// The graphs of the lab `apsp` that are drawn: cell (i, j) is a function of (pattern, seed, i, j), so that
// host and GPU draw the same ones. A complete graph has light edges at places of its own (light_edges.h).
#pragma once

#include "apsp/light_edges.h"
#include "warpgrade/philox.h"

namespace warpgrade::apsp {

constexpr int kInfinity = (1 << 30) - 1;  // the contract's kApspInfinity, for files without CUDA
constexpr int kMaxWeight = 100000;
constexpr int kMaxLightWeight = 32766;  // two such lengths add up to less than 2^16
constexpr int kMaxOlderWeight = 10000;  // what the older interface was promised
constexpr int kFarSpread = 2000;        // of the weights of kFar below kMaxWeight

enum class Pattern {
  kComplete,     // every edge, weights 1 .. kMaxWeight, with light edges
  kSparse,       // about eight edges a node
  kIslands,      // three parts without a path between them
  kZeroWeights,  // half of the edges weigh nothing
  kOneWay,       // edges from lower to higher nodes only
  kRing,         // node i to the next, scattered over the matrix: every path is long
  kHeavy,        // a ring of edges of the greatest weight: the longest path that the range allows
  kLight,        // every edge, weights 1 .. kMaxLightWeight, with light edges
  kFar,          // a ring of nearly the greatest weights, no two alike: few nodes reach beyond 2^24
  kOlder,        // every edge, weights 0 .. kMaxOlderWeight: kComplete for submissions to the older interface
};

// How far apart two neighbours of a ring are numbered: coprime to every n that it exceeds.
constexpr std::uint64_t kRingStride = 2147483647;

WARPGRADE_PHILOX_FUNCTION bool follows_on_ring(int i, int j, int n) {
  return (static_cast<std::uint64_t>(i) + kRingStride) % n == static_cast<std::uint64_t>(j);
}

// One graph of a pattern.
struct DrawnGraph {
  Pattern pattern;
  std::uint64_t seed;
  int n;
  LightEdges light;  // of a complete graph
};

inline DrawnGraph drawn_graph(Pattern pattern, std::uint64_t seed, int n) {
  return {pattern, seed, n, place_light_edges(seed, n)};
}

WARPGRADE_PHILOX_FUNCTION int edge_at(const DrawnGraph& graph, int i, int j) {
  if (i == j) return 0;
  const int n = graph.n;
  const PhiloxWords random = philox(static_cast<std::uint64_t>(i) * n + j, graph.seed);
  const int weight = 1 + static_cast<int>(draw_below(random.x, kMaxWeight));
  const std::uint32_t few = n <= 8 ? 0xFFFFFFFFu : static_cast<std::uint32_t>(8ull * 0xFFFFFFFFull / n);
  switch (graph.pattern) {
    case Pattern::kSparse:
      return random.y <= few ? weight : kInfinity;
    case Pattern::kIslands:
      return i % 3 == j % 3 && random.y <= 0x7FFFFFFFu ? weight : kInfinity;
    case Pattern::kZeroWeights:
      return random.y <= few ? (random.z % 2 == 0 ? 0 : weight) : kInfinity;
    case Pattern::kOneWay:
      return i < j && random.y <= 0x3FFFFFFFu ? weight : kInfinity;
    case Pattern::kRing:
      return follows_on_ring(i, j, n) ? weight : kInfinity;
    case Pattern::kHeavy:
      return follows_on_ring(i, j, n) ? kMaxWeight : kInfinity;
    case Pattern::kFar:
      return follows_on_ring(i, j, n) ? kMaxWeight - static_cast<int>(draw_below(random.x, kFarSpread))
                                      : kInfinity;
    case Pattern::kLight:
      return weight_of(graph.light.edge(i, j), 1, kMaxLightWeight, random.x);
    case Pattern::kOlder:
      return weight_of(graph.light.edge(i, j), 0, kMaxOlderWeight, random.x);
    case Pattern::kComplete:
      break;
  }
  return weight_of(graph.light.edge(i, j), 1, kMaxWeight, random.x);
}

// The weight of an edge of a real graph, which has none of its own.
WARPGRADE_PHILOX_FUNCTION int real_edge_weight(std::uint64_t seed, int i, int j, int n) {
  const PhiloxWords random = philox(static_cast<std::uint64_t>(i) * n + j, seed);
  return 1 + static_cast<int>(draw_below(random.x, kMaxWeight));
}

}  // namespace warpgrade::apsp

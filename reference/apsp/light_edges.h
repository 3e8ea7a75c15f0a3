// Light edges among heavy ones, at places that a complete graph's seed chooses.
//
// Between nodes of a complete graph whose weights are drawn evenly, hardly a shortest path has three
// edges inside one tile. So a program that takes one step where a tile needs one for each of its nodes is
// right there by luck. Three parts of the nodes, about two thirds of all, therefore have light edges, and
// heavy ones otherwise:
//
//   chain  a quarter, numbered in a row: all the edges of a path lie in a few tiles
//   ring   a quarter, scattered over the matrix: a path returns to each tile many times
//   star   an eighth, scattered: every shortest path goes through one node
//
// A light path of all nodes of a part is shorter than a heavy edge. Edges between the other nodes keep
// the whole range.
#pragma once

#include <numeric>

#include "warpgrade/philox.h"

namespace warpgrade::apsp {

enum class EdgeKind { kUsual, kLight, kHeavy };

constexpr unsigned kShuffled = 8;       // neighbours of the chain whose order is drawn, a power of 2
constexpr unsigned kLightShare = 5000;  // light weights are the lowest of so many parts of the range,
constexpr unsigned kHeavyShare = 5, kHeavyParts = 2;  // heavy ones its highest two fifths

// Each node has a place in [0, n): first come the chain's, then the ring's, then the star's.
struct LightEdges {
  unsigned n = 0, chain = 0, ring = 0, star = 0;  // nodes: all, and of each part
  unsigned start = 0;                             // the chain's nodes are numbered from here on
  unsigned order = 1, turn = 0;                   // of the neighbours that are shuffled
  bool backwards = false;                         // the chain
  unsigned factor = 1, shift = 0;                 // scatter all others

  WARPGRADE_PHILOX_FUNCTION unsigned place_on_chain(unsigned at) const {
    const unsigned group = at - at % kShuffled;
    if (group + kShuffled <= chain) at = group + (at * order + turn) % kShuffled;
    return backwards ? chain - 1 - at : at;
  }

  WARPGRADE_PHILOX_FUNCTION unsigned place(int node) const {
    const unsigned at = (static_cast<unsigned>(node) + n - start) % n;
    return at < chain ? place_on_chain(at) : chain + ((at - chain) * factor + shift) % (n - chain);
  }

  WARPGRADE_PHILOX_FUNCTION EdgeKind edge(int i, int j) const {
    const unsigned from = place(i), to = place(j);
    const unsigned hub = chain + ring, usual = hub + star;
    if (from >= usual && to >= usual) return EdgeKind::kUsual;
    return is_light(from, to, hub, usual) ? EdgeKind::kLight : EdgeKind::kHeavy;
  }

 private:
  WARPGRADE_PHILOX_FUNCTION bool is_light(unsigned from, unsigned to, unsigned hub, unsigned usual) const {
    if (from < chain) return to == from + 1 && to < chain;
    if (from < hub) return to == chain + (from - chain + 1) % ring;
    return from < usual && to >= hub && to < usual && (from == hub || to == hub);
  }
};

inline LightEdges place_light_edges(std::uint64_t seed, int nodes) {
  LightEdges light;
  light.n = static_cast<unsigned>(nodes);
  light.chain = light.ring = light.n / 4;
  light.star = light.n / 8;
  const PhiloxWords near = philox({0, 0, 1, 0}, seed),
                    far = philox({1, 0, 1, 0}, seed);  // no cell has these counters
  light.start = draw_below(near.x, light.n);
  light.order = 2 * draw_below(near.y, kShuffled / 2) + 1;
  light.turn = draw_below(near.z, kShuffled);
  light.backwards = near.w % 2 == 1;
  const unsigned others = light.n - light.chain;
  light.factor = 1 + draw_below(far.x, others);
  while (std::gcd(light.factor, others) != 1) ++light.factor;
  light.shift = draw_below(far.y, others);
  return light;
}

// Of the range least .. most.
WARPGRADE_PHILOX_FUNCTION int weight_of(EdgeKind kind, unsigned least, unsigned most, std::uint32_t random) {
  if (kind == EdgeKind::kLight) return static_cast<int>(least + draw_below(random, most / kLightShare));
  if (kind == EdgeKind::kHeavy)
    return static_cast<int>(most - draw_below(random, most / kHeavyShare * kHeavyParts));
  return static_cast<int>(least + draw_below(random, most - least + 1));
}

}  // namespace warpgrade::apsp

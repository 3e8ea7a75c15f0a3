// When 16 bits are exact. A packed length is min(length, kPackedInfinity): edges, too, so that a longer edge
// and a missing one look alike.
//
// 1. Two packed lengths add up to at most 2 * 32,767 < 2^16, so unsigned 16-bit sums do not wrap. Cutting at
//    32,767 commutes with minimum and, cut again, with addition: t(min(a, b)) = min(t(a), t(b)) and t(a + b)
//    = t(t(a) + t(b)). Relaxing never raises a cell above 32,767. So the packed result is t(distance) for
//    every pair, whatever the input, and a cell below 32,767 is the exact distance.
// 2. No cell is 32,767 at the end: all are exact. A complete graph of weights up to 32,766 is always
// so, since
//    no distance is longer than its edge.
// 3. Some are. They are exactly the pairs without a path if the set R of pairs below 32,767 contains
// every edge
//    and may be continued by any edge: then it contains every path. It contains the edges if none is longer
//    than 32,766; and where (i, k) is in R and (k, j) an edge, (i, j) is in R if longest + heaviest < 32,767,
//    with the longest length in R and the heaviest edge.
#pragma once

namespace apsp {

constexpr unsigned kPackedInfinity = 32'767;
constexpr unsigned kLongestPacked = kPackedInfinity - 1;

struct Lengths {
  unsigned longest;   // of the finite ones
  unsigned infinite;  // 1: there are infinite ones
};

// Before: is it exact for certain, or worth a try? Where edges are missing, paths may get long; a try that
// fails costs half as much again as none, and one of eight of the heaviest edges in a row mostly fits.
enum class Outlook { kExact, kWorthATry, kHopeless };

inline Outlook outlook(const Lengths& edges) {
  constexpr unsigned kEdgesOfAPath = 8;
  if (edges.longest > kLongestPacked) return Outlook::kHopeless;
  if (edges.infinite == 0) return Outlook::kExact;
  return edges.longest * kEdgesOfAPath <= kLongestPacked ? Outlook::kWorthATry : Outlook::kHopeless;
}

// After: are the packed distances exact, and the pairs at kPackedInfinity those without a path? Cases 2
// and 3.
inline bool is_exact(const Lengths& edges, const Lengths& distances) {
  if (edges.longest > kLongestPacked) return false;
  return distances.infinite == 0 || distances.longest + edges.longest <= kLongestPacked;
}

}  // namespace apsp

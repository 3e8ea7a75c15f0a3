// The graphs that lab gcn is judged on: drawn, or real ones with a self-loop a vertex.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "gcn/oracle.h"

namespace warpgrade::gcn {

// CSR without values; columns sorted within a row.
struct HostGraph {
  std::vector<int> row_offsets{0}, columns;
  int vertices() const { return static_cast<int>(row_offsets.size()) - 1; }
  Graph view() const { return {row_offsets, columns}; }
};

enum class GraphPattern {
  kEven,       // rows of up to 12 entries and the self-loop; not symmetric
  kPowerLaw,   // row r of hidden ranks has v / r entries: the first one has v
  kIsolated,   // two of three vertices have no entry, but are others' neighbours
  kRepeated,   // few neighbours, each several times
  kHeavyHubs,  // two rows so long, of repeated entries, that the product of their degrees exceeds 32 bits
  kLoopsOnly,  // N is the identity
  kNoEntries,
  kWeb,  // a stand-in for a graph of the web: 2,312,497 power-law entries for 281,903 vertices,
         // and self-loops
};

HostGraph make_graph(GraphPattern pattern, int vertices, std::uint64_t seed);

// A dataset of the catalogue, with a self-loop for every vertex that has none. Throws JudgeFault for a matrix
// that is not square.
HostGraph read_graph(const std::filesystem::path& file);

// The same graph under other names of its vertices: a plan of the old one is of no use.
HostGraph relabel(const HostGraph& graph, std::uint64_t seed);

}  // namespace warpgrade::gcn

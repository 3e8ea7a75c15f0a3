// The trusted check of sampled neighbours, on the CPU: exact for what is certain (every cell written, every
// sample a neighbour, kNoNeighbour where there is none), statistical for what is random (statistics.h).
//
// Tests   levels, by classes of degree: is every neighbour of a row equally likely?
//         pairs of draws, 8 x 8 levels and equal places: are draws of one row, of two rows, of two seeds, and
//         draws far apart in the array, independent?
// The GPU's judge counts with kernels of its own and shares everything from the counts on.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sampling/places.h"

namespace warpgrade::sampling {

struct GraphView {
  std::span<const int> row_offsets;  // [nodes + 1]
  std::span<const int> columns;      // [edges], sorted in each row
  int nodes() const { return static_cast<int>(row_offsets.size()) - 1; }
  unsigned degree(int node) const { return row_offsets[node + 1] - row_offsets[node]; }
};

struct Mismatch {
  std::int64_t row = 0;
  int draw = 0;
  int node = 0;
  int got = 0;
  unsigned degree = 0;
};

// One run's samples, located.
constexpr std::size_t kListedMismatches = 16;

struct Located {
  std::int64_t rows = 0;
  unsigned fanout = 0;
  std::vector<unsigned> degrees;      // [rows]
  std::vector<int> places;            // [rows, fanout]
  std::vector<unsigned char> levels;  // [rows, fanout]
  std::int64_t bad_cells = 0, never_written = 0;
  std::vector<Mismatch> first;  // the bad ones, up to kListedMismatches
};

// `poison`: what a cell held before the run. `seed`: of the checker's own bits,
// unknown to the sampler and another one in each run.
Located locate(const GraphView& graph, std::span<const int> nodes, unsigned fanout,
               std::span<const int> samples, int poison, std::uint64_t seed, int threads = 1);

struct LevelCounts {
  std::uint64_t counts[kDegreeClasses][kLevels] = {};
  void add(const LevelCounts& other);  // runs counted together show smaller biases
};

// Adds to `counts`, so that runs can be counted together.
void count_levels(const Located& run, LevelCounts& counts);
// `earlier` as `run`, unless the pairing is of two runs.
void count_pairs(const Located& run, const Located& earlier, const Pairing& pairing, PairCounts& counts);

// The pairings of a full check, of one run or of a run and an earlier one.
std::vector<Pairing> pairings_of_a_run(std::int64_t rows, unsigned fanout);
std::vector<Pairing> pairings_of_two_runs();

struct Rejection {
  std::string test;  // a stable word: "uniformity", "same_row", "rows", "seeds", "period"
  std::string what;  // a sentence for people
  double log_tail = 0;
  double beyond_uneven = 0;  // of pairs: the log tail of what two independent uneven draws would not show
};

std::optional<Rejection> judge_levels(const LevelCounts& counts);
std::optional<Rejection> judge_pairs(const Pairing& pairing, const PairCounts& counts);

// The strongest evidence. Uneven draws also make uneven pairs: of these only what is left once the draws'
// own unevenness is taken off counts against it.
std::optional<Rejection> explain(const std::optional<Rejection>& levels, const std::vector<Rejection>& pairs);

}  // namespace warpgrade::sampling

// What a matrix's structure means for a kernel: degrees, imbalance, locality, reuse. Integers and ratios; the
// same for equal input.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace warpgrade::datasets {

struct Degrees {
  std::int64_t max = 0, median = 0, p90 = 0, p99 = 0, empty = 0;
  double mean = 0;
  double gini = 0;                      // 0: all alike; towards 1: few have all
  std::vector<std::int64_t> histogram;  // [0]: degree 0; [b]: degrees 2^(b-1) to 2^b - 1
};

struct Reuse {
  double sampled = 1;         // share of columns that were followed; 1: exact
  std::int64_t accesses = 0;  // entries, in row order
  double cold = 0;            // share of accesses that are the first to their column
  std::int64_t median = 0;  // distinct columns between two accesses to one (of those that are not the first)
  std::vector<double>
      histogram;  // share of accesses at distance 0, then 2^(b-1) to 2^b - 1; first ones in none
};

struct Statistics {
  int rows = 0, cols = 0;
  std::int64_t nnz = 0;
  Degrees row_degrees, column_degrees;
  // Mean over groups of 32 rows of mean / longest: the share of lanes at work when a thread takes a row.
  double warp_efficiency = 0;
  double diagonal_band = 0;          // share of entries within 1 % of n of the diagonal (by chance: 2 %)
  std::vector<double> distances;     // share of entries at |column - row| = 0, then 2^(b-1) to 2^b - 1
  bool symmetric = false;            // the pattern
  double community = 0;              // share of entries whose row and column are of one community
  std::int64_t community_nodes = 0;  // nodes of the community of the median entry among those
  Reuse reuse;
};

struct StatisticsOptions {
  bool communities = true;
  bool reuse = true;
  std::int64_t exact_reuse = std::int64_t{1} << 25;  // accesses; longer ones are sampled by columns
};

// Communities by label propagation with bounded sizes (Raghavan, Albert, Kumara 2007; the bound: Meyerhenke,
// Sanders, Schulz 2014) over rows and columns of a square matrix: `labels_of` gives each node's.
std::vector<int> labels_of(std::span<const int> row_offsets, std::span<const int> columns);

// LRU stack distances (Mattson et al. 1970) of the columns in row order, by a Fenwick tree over the time of
// last accesses (Bennett, Kruskal 1975; Olken 1981); long inputs follow a hashed share of the columns and
// scale distances (SHARDS: Waldspurger et al., FAST 2015).
Reuse reuse_of(int cols, std::span<const int> columns, std::int64_t exact_up_to);

double warp_efficiency_of(std::span<const int> row_offsets);

Statistics statistics_of(int cols, std::span<const int> row_offsets, std::span<const int> columns,
                         const StatisticsOptions& options = {});

std::string to_json(const Statistics& statistics, const std::string& name);

}  // namespace warpgrade::datasets

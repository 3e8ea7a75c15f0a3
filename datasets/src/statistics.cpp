#include "warpgrade/datasets/statistics.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <numeric>

namespace warpgrade::datasets {
namespace {

std::size_t statistics_bucket(std::int64_t value) {
  return static_cast<std::size_t>(std::bit_width(static_cast<std::uint64_t>(value)));
}

template <typename Count>
void count_into(std::vector<Count>& histogram, std::int64_t value, Count by) {
  const std::size_t bucket = statistics_bucket(value);
  if (histogram.size() <= bucket) histogram.resize(bucket + 1, 0);
  histogram[bucket] += by;
}

Degrees degrees_of(std::vector<int> degrees) {
  Degrees result;
  if (degrees.empty()) return result;
  std::sort(degrees.begin(), degrees.end());
  const std::size_t count = degrees.size();
  double sum = 0, weighted = 0;
  for (std::size_t i = 0; i < count; ++i) {
    sum += degrees[i];
    weighted += static_cast<double>(i + 1) * degrees[i];
    result.empty += degrees[i] == 0 ? 1 : 0;
    count_into<std::int64_t>(result.histogram, degrees[i], 1);
  }
  const auto at = [&](double share) {
    return degrees[std::min(count - 1, static_cast<std::size_t>(share * static_cast<double>(count)))];
  };
  result.max = degrees.back();
  result.median = at(0.5);
  result.p90 = at(0.9);
  result.p99 = at(0.99);
  result.mean = sum / static_cast<double>(count);
  const auto n = static_cast<double>(count);
  result.gini = sum > 0 ? 2 * weighted / (n * sum) - (n + 1) / n : 0;
  return result;
}

void measure_distances(std::span<const int> row_offsets, std::span<const int> columns, Statistics& s) {
  const std::int64_t band = std::max(1, s.rows / 100);
  std::vector<std::int64_t> counts;
  std::int64_t near = 0;
  for (int row = 0; row < s.rows; ++row) {
    for (int i = row_offsets[row]; i < row_offsets[row + 1]; ++i) {
      const std::int64_t distance = std::abs(std::int64_t{columns[i]} - row);
      near += distance <= band ? 1 : 0;
      count_into<std::int64_t>(counts, distance, 1);
    }
  }
  for (const std::int64_t count : counts)
    s.distances.push_back(static_cast<double>(count) / static_cast<double>(s.nnz));
  if (s.nnz > 0) s.diagonal_band = static_cast<double>(near) / static_cast<double>(s.nnz);
}

// Rows are sorted: the pattern equals its transpose when each column, read in row order, has its own
// row's ids.
bool is_symmetric(int cols, std::span<const int> row_offsets, std::span<const int> columns) {
  const int rows = static_cast<int>(row_offsets.size()) - 1;
  if (rows != cols) return false;
  std::vector<int> next(row_offsets.begin(), row_offsets.end() - 1);
  for (int row = 0; row < rows; ++row) {
    for (int i = row_offsets[row]; i < row_offsets[row + 1]; ++i) {
      const int column = columns[i];
      if (next[column] >= row_offsets[column + 1] || columns[next[column]] != row) return false;
      ++next[column];
    }
  }
  return true;
}

void measure_communities(std::span<const int> row_offsets, std::span<const int> columns, Statistics& s) {
  const std::vector<int> labels = labels_of(row_offsets, columns);
  std::vector<std::int64_t> nodes(labels.size(), 0), entries(labels.size(), 0);
  for (const int label : labels) ++nodes[label];
  std::int64_t inside = 0, all = 0;
  for (int row = 0; row < s.rows; ++row) {
    for (int i = row_offsets[row]; i < row_offsets[row + 1]; ++i) {
      if (columns[i] == row) continue;
      ++all;
      if (labels[columns[i]] != labels[row]) continue;
      ++inside;
      ++entries[labels[row]];
    }
  }
  if (inside == 0) return;
  s.community = static_cast<double>(inside) / static_cast<double>(all);
  std::vector<std::size_t> by_nodes(labels.size());
  std::iota(by_nodes.begin(), by_nodes.end(), std::size_t{0});
  std::sort(by_nodes.begin(), by_nodes.end(), [&](auto a, auto b) { return nodes[a] < nodes[b]; });
  std::int64_t seen = 0;
  for (const std::size_t label : by_nodes) {
    seen += entries[label];
    if (2 * seen < inside) continue;
    s.community_nodes = nodes[label];
    return;
  }
}

nlohmann::json degrees_to_json(const Degrees& d) {
  return {{"max", d.max}, {"mean", d.mean},   {"median", d.median}, {"p90", d.p90},
          {"p99", d.p99}, {"empty", d.empty}, {"gini", d.gini},     {"histogram", d.histogram}};
}

}  // namespace

double warp_efficiency_of(std::span<const int> row_offsets) {
  double sum = 0;
  int groups = 0;
  for (std::size_t first = 0; first + 1 < row_offsets.size(); first += 32) {
    const std::size_t end = std::min(first + 32, row_offsets.size() - 1);
    int longest = 0;
    for (std::size_t row = first; row < end; ++row)
      longest = std::max(longest, row_offsets[row + 1] - row_offsets[row]);
    if (longest == 0) continue;
    sum += static_cast<double>(row_offsets[end] - row_offsets[first]) / (32.0 * longest);
    ++groups;
  }
  return groups > 0 ? sum / groups : 1;
}

Statistics statistics_of(int cols, std::span<const int> row_offsets, std::span<const int> columns,
                         const StatisticsOptions& options) {
  Statistics s;
  s.rows = static_cast<int>(row_offsets.size()) - 1;
  s.cols = cols;
  s.nnz = static_cast<std::int64_t>(columns.size());
  std::vector<int> lengths(static_cast<std::size_t>(s.rows)), counts(static_cast<std::size_t>(cols), 0);
  for (int row = 0; row < s.rows; ++row) lengths[row] = row_offsets[row + 1] - row_offsets[row];
  for (const int column : columns) ++counts[column];
  s.row_degrees = degrees_of(std::move(lengths));
  s.column_degrees = degrees_of(std::move(counts));
  s.warp_efficiency = warp_efficiency_of(row_offsets);
  measure_distances(row_offsets, columns, s);
  s.symmetric = is_symmetric(cols, row_offsets, columns);
  if (options.communities && s.rows == cols) measure_communities(row_offsets, columns, s);
  if (options.reuse) s.reuse = reuse_of(cols, columns, options.exact_reuse);
  return s;
}

std::string to_json(const Statistics& s, const std::string& name) {
  const nlohmann::json object = {{"name", name},
                                 {"rows", s.rows},
                                 {"cols", s.cols},
                                 {"nnz", s.nnz},
                                 {"row_degrees", degrees_to_json(s.row_degrees)},
                                 {"column_degrees", degrees_to_json(s.column_degrees)},
                                 {"warp_efficiency", s.warp_efficiency},
                                 {"diagonal_band", s.diagonal_band},
                                 {"distances", s.distances},
                                 {"symmetric", s.symmetric},
                                 {"community", s.community},
                                 {"community_nodes", s.community_nodes},
                                 {"reuse",
                                  {{"sampled", s.reuse.sampled},
                                   {"accesses", s.reuse.accesses},
                                   {"cold", s.reuse.cold},
                                   {"median", s.reuse.median},
                                   {"histogram", s.reuse.histogram}}}};
  return object.dump();
}

}  // namespace warpgrade::datasets

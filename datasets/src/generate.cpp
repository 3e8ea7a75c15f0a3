// Integer arithmetic only, and every random number a function of (seed, row, draw): equal bytes on every
// machine and for every number of threads.
#include "warpgrade/datasets/generate.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>

#include "counter_random.h"
#include "fixed_point.h"
#include "parallel_rows.h"
#include "warpgrade/datasets/error.h"

namespace warpgrade::datasets {
namespace {

// Node weights rank^-skew, ranks by a hidden permutation; sums fit into 64 bits.
std::vector<u64> node_weights(const PowerlawSpec& spec) {
  std::vector<int> node_of_rank(static_cast<std::size_t>(spec.n));
  std::iota(node_of_rank.begin(), node_of_rank.end(), 0);
  for (int i = spec.n - 1; i > 0; --i) {
    std::swap(node_of_rank[i],
              node_of_rank[below(draw(spec.seed, 1, static_cast<u64>(i)), static_cast<u64>(i) + 1)]);
  }
  const auto skew = static_cast<u64>(std::llround(spec.skew * 65536));
  const NegativeExp2 exp2;
  std::vector<u64> weights(static_cast<std::size_t>(spec.n));
  for (int rank = 0; rank < spec.n; ++rank) {
    const u64 exponent = (log2_fixed(static_cast<u64>(rank) + 1) * skew) >> 16;
    weights[node_of_rank[rank]] =
        (exp2(exponent) >> 24) + 1;  // 38 bits: sums over 2^25 nodes stay below 2^63
  }
  return weights;
}

// Row lengths in proportion to the weights, at most n, adding up to nnz exactly.
std::vector<int> row_lengths(const PowerlawSpec& spec, const std::vector<u64>& weights) {
  const u64 total = std::accumulate(weights.begin(), weights.end(), u64{0});
  std::vector<int> lengths(weights.size());
  std::int64_t left = spec.nnz;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const auto share = static_cast<u64>(u128(static_cast<u64>(spec.nnz)) * weights[i] / total);
    lengths[i] = static_cast<int>(std::min<u64>(share, static_cast<u64>(spec.n)));
    left -= lengths[i];
  }
  for (u64 i = 0; left > 0; ++i) {
    const auto row = below(draw(spec.seed, 2, i), static_cast<u64>(spec.n));
    if (lengths[row] < spec.n) {
      ++lengths[row];
      --left;
    }
  }
  return lengths;
}

// Columns by inverse of the cumulative weights; a guide table makes each draw a short scan.
class ColumnSampler {
 public:
  explicit ColumnSampler(const std::vector<u64>& weights) : cumulative_(weights.size()) {
    std::partial_sum(weights.begin(), weights.end(), cumulative_.begin());
    const u64 total = cumulative_.back();
    guide_.resize(kGuide + 1);
    std::size_t at = 0;
    for (u64 slot = 0; slot <= kGuide; ++slot) {
      const auto reach = static_cast<u64>((u128(total) * slot) / kGuide);
      while (at + 1 < cumulative_.size() && cumulative_[at] <= reach) ++at;
      guide_[slot] = static_cast<int>(at);
    }
  }
  int operator()(u64 bits) const {
    const u64 target = below(bits, cumulative_.back());
    auto at = static_cast<std::size_t>(guide_[bits >> (64 - kGuideBits)]);
    while (cumulative_[at] <= target) ++at;
    return static_cast<int>(at);
  }

 private:
  static constexpr int kGuideBits = 21;
  static constexpr u64 kGuide = u64{1} << kGuideBits;
  std::vector<u64> cumulative_;
  std::vector<int> guide_;
};

// Fills `row` with distinct columns, sorted: rounds of draws for what is missing, then the unused ones
// in turn.
void draw_row(u64 seed, u64 stream, const ColumnSampler& sampler, int n, std::span<int> row) {
  std::size_t have = 0;
  u64 counter = 0;
  for (int round = 0; round < 24 && have < row.size(); ++round) {
    for (std::size_t i = have; i < row.size(); ++i) row[i] = sampler(draw(seed, stream, counter++));
    std::sort(row.begin(), row.end());
    have = static_cast<std::size_t>(std::unique(row.begin(), row.end()) - row.begin());
  }
  if (have == row.size()) return;
  std::vector<bool> used(static_cast<std::size_t>(n), false);
  for (std::size_t i = 0; i < have; ++i) used[row[i]] = true;
  int column = static_cast<int>(below(draw(seed, stream, counter), static_cast<u64>(n)));
  while (have < row.size()) {
    if (!used[column]) row[have++] = column;
    column = column + 1 == n ? 0 : column + 1;
  }
  std::sort(row.begin(), row.end());
}

}  // namespace

Csr generate_powerlaw(const PowerlawSpec& spec, int threads) {
  if (spec.n < 1 || spec.nnz < 0 || spec.nnz > static_cast<std::int64_t>(spec.n) * spec.n ||
      spec.nnz > INT32_MAX) {
    throw DatasetError("a stand-in of {} rows and {} entries is not possible", spec.n, spec.nnz);
  }
  threads = thread_count(threads);
  const std::vector<u64> weights = node_weights(spec);
  const std::vector<int> lengths = row_lengths(spec, weights);
  const ColumnSampler sampler(weights);
  Csr matrix;
  matrix.rows = matrix.cols = spec.n;
  matrix.row_offsets.assign(static_cast<std::size_t>(spec.n) + 1, 0);
  std::partial_sum(lengths.begin(), lengths.end(), matrix.row_offsets.begin() + 1);
  matrix.columns.resize(static_cast<std::size_t>(spec.nnz));
  matrix.values.resize(static_cast<std::size_t>(spec.nnz));
  parallel_rows(spec.n, threads, [&](int begin, int end) {
    for (int row = begin; row < end; ++row) {
      const auto offset = static_cast<std::size_t>(matrix.row_offsets[row]);
      const auto length = static_cast<std::size_t>(lengths[row]);
      draw_row(spec.seed, 16 + static_cast<u64>(row), sampler, spec.n,
               {matrix.columns.data() + offset, length});
      for (std::size_t i = offset; i < offset + length; ++i) matrix.values[i] = draw_value(spec.seed, i);
    }
  });
  return matrix;
}

namespace {

// How many entries row `row` has.
int shape_length(const ShapeSpec& spec, int row) {
  const u64 bits = draw(spec.seed, 4, static_cast<u64>(row));
  const int mean = static_cast<int>(spec.mean);
  if (spec.shape == "uniform") return mean;
  if (spec.shape == "band") return row == spec.rows / 3 ? spec.longest : mean;
  if (spec.shape == "ragged" || spec.shape == "duplicates")
    return static_cast<int>(below(bits, 2 * static_cast<u64>(mean) + 1));
  if (spec.shape == "empty-rows")
    return bits % 5 != 0 ? 0 : static_cast<int>(1 + below(mix_bits(bits), 2 * static_cast<u64>(mean)));
  if (spec.shape == "hub")
    return row == spec.rows / 3 ? spec.longest
                                : static_cast<int>(below(bits, 2 * static_cast<u64>(mean) + 1));
  if (spec.shape == "single-row") return spec.longest;
  if (spec.shape == "single-column") return static_cast<int>(bits & 1);
  if (spec.shape == "identity") return row < spec.cols ? 1 : 0;
  if (spec.shape == "all-empty") return 0;
  // tall: few entries, the last rows among them
  if (spec.shape == "tall") return bits % 40 == 0 || row >= spec.rows - 64 ? 1 : 0;
  throw DatasetError("no shape '{}' of matrix", spec.shape);
}

int drawn_column(const ShapeSpec& spec, int row, u64 counter) {
  const u64 bits = draw(spec.seed, 5, counter);
  if (spec.shape == "duplicates") return static_cast<int>(below(bits, static_cast<u64>(spec.cols / 50)));
  if (spec.shape != "band") return static_cast<int>(below(bits, static_cast<u64>(spec.cols)));
  // As wide as twice the longest row, where rows are stretched over the columns.
  const int width = std::min(2 * spec.longest, spec.cols);
  const auto middle = static_cast<int>(static_cast<std::int64_t>(row) * spec.cols / spec.rows);
  const int begin = std::clamp(middle - spec.longest, 0, spec.cols - width);
  return begin + static_cast<int>(below(bits, static_cast<u64>(width)));
}

}  // namespace

Csr generate_shape(const ShapeSpec& spec) {
  std::vector<Entry> entries;
  u64 counter = 0;
  for (int row = 0; row < spec.rows; ++row) {
    const int length = std::min(shape_length(spec, row), spec.cols);
    std::vector<int> columns;
    while (static_cast<int>(columns.size()) < length) {
      const bool narrow = spec.shape == "duplicates";  // a few columns, hit again and again
      const int column = spec.shape == "identity" ? row : drawn_column(spec, row, counter);
      ++counter;
      if (narrow || std::find(columns.begin(), columns.end(), column) == columns.end())
        columns.push_back(column);
    }
    for (int column : columns) entries.push_back({row, column, 0});
  }
  Csr matrix = build_csr(spec.rows, spec.cols, std::move(entries), Duplicates::kKeepAll);
  for (std::size_t i = 0; i < matrix.values.size(); ++i) matrix.values[i] = draw_value(spec.seed, i);
  return matrix;
}

}  // namespace warpgrade::datasets

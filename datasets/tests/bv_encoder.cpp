#include "bv_encoder.h"

#include <algorithm>
#include <set>

#include "test_support.h"

namespace warpgrade::datasets {
namespace {

class BitWriter {
 public:
  void bits(std::uint64_t value, int count) {
    while (count-- > 0) bit(value >> count & 1);
  }
  void unary(std::uint64_t value) {
    while (value-- > 0) bit(0);
    bit(1);
  }
  void gamma(std::uint64_t value) {
    const int length = 63 - __builtin_clzll(value + 1);
    unary(static_cast<std::uint64_t>(length));
    bits(value + 1, length);  // without the leading one
  }
  void delta(std::uint64_t value) {
    const int length = 63 - __builtin_clzll(value + 1);
    gamma(static_cast<std::uint64_t>(length));
    bits(value + 1, length);
  }
  void zeta(std::uint64_t value, int k) {
    const int h = (63 - __builtin_clzll(value + 1)) / k;
    unary(static_cast<std::uint64_t>(h));
    const std::uint64_t left = std::uint64_t{1} << (h * k), offset = value + 1 - left;
    // Minimal binary over [0, 2^(hk+k) - 2^(hk)).
    const std::uint64_t short_ones = left;
    if (offset < short_ones) {
      bits(offset, h * k + k - 1);
    } else {
      bits(offset + short_ones, h * k + k);
    }
  }
  std::string finish() {
    while (used_ % 8 != 0) bit(0);
    return text_;
  }

 private:
  void bit(std::uint64_t one) {
    if (used_ % 8 == 0) text_ += '\0';
    if (one) text_.back() = static_cast<char>(text_.back() | 1 << (7 - used_ % 8));
    ++used_;
  }
  std::string text_;
  std::size_t used_ = 0;
};

std::uint64_t unsigned_of(std::int64_t value) {
  return value >= 0 ? 2 * static_cast<std::uint64_t>(value) : 2 * static_cast<std::uint64_t>(-value) - 1;
}

class Encoder {
 public:
  Encoder(const Csr& matrix, const BvSettings& settings) : matrix_(matrix), settings_(settings) {}

  std::string encode() {
    for (int node = 0; node < matrix_.rows; ++node) write_node(node);
    return bits_.finish();
  }

 private:
  std::vector<int> successors(int node) const {
    return {matrix_.columns.begin() + matrix_.row_offsets[node],
            matrix_.columns.begin() + matrix_.row_offsets[node + 1]};
  }

  void write_node(int node) {
    const std::vector<int> list = successors(node);
    bits_.gamma(list.size());
    if (list.empty()) return;
    std::vector<int> rest = list;
    if (settings_.window > 0) rest = write_reference(node, list);
    if (rest.empty()) return;
    if (settings_.shortest_interval > 0) rest = write_intervals(node, rest);
    for (std::size_t i = 0; i < rest.size(); ++i) {
      const std::uint64_t gap = i == 0 ? unsigned_of(std::int64_t{rest[0]} - node)
                                       : static_cast<std::uint64_t>(rest[i] - rest[i - 1] - 1);
      settings_.delta_residuals ? bits_.delta(gap) : bits_.zeta(gap, settings_.zeta_k);
    }
  }

  // The earlier list with most in common; what is not copied comes back.
  std::vector<int> write_reference(int node, const std::vector<int>& list) {
    int best = 0;
    std::size_t most = 0;
    for (int back = 1; back <= std::min(node, settings_.window); ++back) {
      const auto other = successors(node - back);
      std::vector<int> common;
      std::set_intersection(list.begin(), list.end(), other.begin(), other.end(), std::back_inserter(common));
      if (common.size() > most) {
        most = common.size();
        best = back;
      }
    }
    bits_.unary(static_cast<std::uint64_t>(best));
    if (best == 0) return list;
    const auto other = successors(node - best);
    const std::set<int> wanted(list.begin(), list.end());
    std::vector<std::uint64_t> blocks;
    bool copying = true;
    std::uint64_t run = 0;
    for (const int successor : other) {
      if (wanted.contains(successor) != copying) {
        blocks.push_back(run);
        run = 0;
        copying = !copying;
      }
      ++run;
    }
    // The last run is not written: copied to the list's end when the number of blocks is even, skipped
    // when odd.
    bits_.gamma(blocks.size());
    for (std::size_t i = 0; i < blocks.size(); ++i) bits_.gamma(i == 0 ? blocks[0] : blocks[i] - 1);
    std::vector<int> rest;
    std::set_difference(list.begin(), list.end(), other.begin(), other.end(), std::back_inserter(rest));
    return rest;
  }

  std::vector<int> write_intervals(int node, const std::vector<int>& list) {
    const auto shortest = static_cast<std::size_t>(settings_.shortest_interval);
    std::vector<std::pair<int, std::size_t>> intervals;
    std::vector<int> rest;
    for (std::size_t i = 0; i < list.size();) {
      std::size_t length = 1;
      while (i + length < list.size() && list[i + length] == list[i] + static_cast<int>(length)) ++length;
      if (length >= shortest) {
        intervals.emplace_back(list[i], length);
      } else {
        rest.insert(rest.end(), list.begin() + static_cast<std::ptrdiff_t>(i),
                    list.begin() + static_cast<std::ptrdiff_t>(i + length));
      }
      i += length;
    }
    bits_.gamma(intervals.size());
    std::int64_t next = 0;
    for (std::size_t i = 0; i < intervals.size(); ++i) {
      const auto [left, length] = intervals[i];
      bits_.gamma(i == 0 ? unsigned_of(std::int64_t{left} - node)
                         : static_cast<std::uint64_t>(left - next - 1));
      bits_.gamma(length - shortest);
      next = left + static_cast<std::int64_t>(length);
    }
    return rest;
  }

  const Csr& matrix_;
  BvSettings settings_;
  BitWriter bits_;
};

}  // namespace

void write_bv_graph(const std::filesystem::path& stem, const Csr& matrix, const BvSettings& settings) {
  write_file(stem.string() + ".graph", Encoder(matrix, settings).encode());
  write_file(
      stem.string() + ".properties",
      fmt::format(
          "#BVGraph properties\nversion=0\ngraphclass=it.unimi.dsi.webgraph.BVGraph\nnodes={}\narcs={}\n"
          "windowsize={}\nmaxrefcount=3\nminintervallength={}\nzetak={}\ncompressionflags={}\n",
          matrix.rows, matrix.nnz(), settings.window, settings.shortest_interval, settings.zeta_k,
          settings.delta_residuals ? "RESIDUALS_DELTA" : ""));
}

}  // namespace warpgrade::datasets

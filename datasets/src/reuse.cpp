#include <algorithm>
#include <bit>
#include <numeric>

#include "counter_random.h"
#include "warpgrade/datasets/statistics.h"

namespace warpgrade::datasets {
namespace {

// Counts of marks at times: add one, count up to.
class Fenwick {
 public:
  explicit Fenwick(std::size_t size) : tree_(size + 1, 0) {}
  void add(std::size_t at, int delta) {
    for (std::size_t i = at + 1; i < tree_.size(); i += i & (~i + 1)) tree_[i] += delta;
  }
  std::int64_t up_to(std::size_t at) const {  // marks at times 0 .. at
    std::int64_t sum = 0;
    for (std::size_t i = at + 1; i > 0; i -= i & (~i + 1)) sum += tree_[i];
    return sum;
  }

 private:
  std::vector<int> tree_;
};

// Times are renumbered when they run out: only the last access of each column is marked, so twice as many
// times as columns are enough.
class LastAccesses {
 public:
  explicit LastAccesses(int cols)
      : last_(static_cast<std::size_t>(cols), -1),
        times_(2 * static_cast<std::size_t>(cols) + 64),
        tree_(times_) {}

  // Distinct columns accessed since the last access to this one; -1 for the first.
  std::int64_t operator()(int column) {
    if (now_ == times_) renumber();
    std::int64_t distance = -1;
    if (last_[column] >= 0) {
      distance = marked_ - tree_.up_to(static_cast<std::size_t>(last_[column]));
      tree_.add(static_cast<std::size_t>(last_[column]), -1);
    } else {
      ++marked_;
    }
    tree_.add(now_, 1);
    last_[column] = static_cast<std::int64_t>(now_++);
    return distance;
  }

 private:
  void renumber() {
    std::vector<int> order;
    for (std::size_t column = 0; column < last_.size(); ++column) {
      if (last_[column] >= 0) order.push_back(static_cast<int>(column));
    }
    std::sort(order.begin(), order.end(), [&](int a, int b) { return last_[a] < last_[b]; });
    tree_ = Fenwick(times_);
    now_ = 0;
    for (const int column : order) {
      tree_.add(now_, 1);
      last_[column] = static_cast<std::int64_t>(now_++);
    }
  }

  std::vector<std::int64_t> last_;
  std::size_t times_, now_ = 0;
  std::int64_t marked_ = 0;
  Fenwick tree_;
};

}  // namespace

Reuse reuse_of(int cols, std::span<const int> columns, std::int64_t exact_up_to) {
  Reuse reuse;
  reuse.accesses = static_cast<std::int64_t>(columns.size());
  int shift = 0;  // a column in 2^shift is followed
  while ((reuse.accesses >> shift) > exact_up_to) ++shift;
  reuse.sampled = 1.0 / static_cast<double>(std::int64_t{1} << shift);
  LastAccesses last(cols);
  std::vector<std::int64_t> exact(static_cast<std::size_t>(cols) + 1, 0);  // accesses at each distance
  std::int64_t followed = 0, first = 0;
  for (const int column : columns) {
    if (shift > 0 && (mix_bits(static_cast<u64>(column) + 1) >> (64 - shift)) != 0) continue;
    ++followed;
    const std::int64_t distance = last(column);
    distance < 0 ? ++first : ++exact[distance];
  }
  if (followed == 0) return reuse;
  reuse.cold = static_cast<double>(first) / static_cast<double>(followed);
  const std::int64_t again = followed - first;
  std::int64_t seen = 0;
  for (std::size_t distance = 0; distance < exact.size(); ++distance) {
    if (exact[distance] == 0) continue;
    if (2 * seen < again && 2 * (seen + exact[distance]) >= again)
      reuse.median = static_cast<std::int64_t>(distance) << shift;
    seen += exact[distance];
    const auto bucket = static_cast<std::size_t>(std::bit_width(distance << shift));
    if (reuse.histogram.size() <= bucket) reuse.histogram.resize(bucket + 1, 0);
    reuse.histogram[bucket] += static_cast<double>(exact[distance]) / static_cast<double>(followed);
  }
  return reuse;
}

}  // namespace warpgrade::datasets

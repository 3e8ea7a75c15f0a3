#include "order/byte_ranges.h"

#include <algorithm>

namespace warpgrade::emu {

void ByteRanges::add(uint64_t begin, uint64_t end) {
  if (begin >= end) return;
  if (ranges_.empty() || begin > ranges_.back().end) {
    if (ranges_.size() < kMost) ranges_.push_back({begin, end});
    return;
  }
  // The ranges from `first` on that the new one overlaps or touches become one with it.
  const auto first = std::lower_bound(ranges_.begin(), ranges_.end(), begin,
                                      [](const Range& r, uint64_t at) { return r.end < at; });
  auto last = first;
  for (; last != ranges_.end() && last->begin <= end; ++last) {
    begin = std::min(begin, last->begin);
    end = std::max(end, last->end);
  }
  if (first == last) {
    if (ranges_.size() < kMost) ranges_.insert(first, {begin, end});
    return;
  }
  *first = {begin, end};
  ranges_.erase(first + 1, last);
}

void ByteRanges::add(const ByteRanges& others) {
  for (const Range& r : others.ranges_) add(r.begin, r.end);
}

std::optional<uint64_t> ByteRanges::first_common(const ByteRanges& others) const {
  auto a = ranges_.begin(), b = others.ranges_.begin();
  while (a != ranges_.end() && b != others.ranges_.end()) {
    if (a->end <= b->begin) {
      ++a;
    } else if (b->end <= a->begin) {
      ++b;
    } else {
      return std::max(a->begin, b->begin);
    }
  }
  return std::nullopt;
}

}  // namespace warpgrade::emu

// A set of addresses, as ranges that neither overlap nor touch.
#pragma once
#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <vector>

namespace warpgrade::executor {

struct Range {
  uint64_t begin = 0, end = 0;
  uint64_t bytes() const { return end - begin; }
};

class RangeSet {
 public:
  void add(Range range) {
    if (range.begin >= range.end) return;
    auto at = ends_.upper_bound(range.begin);
    if (at != ends_.begin() && std::prev(at)->second >= range.begin) --at;
    while (at != ends_.end() && at->first <= range.end) {
      range.begin = std::min(range.begin, at->first);
      range.end = std::max(range.end, at->second);
      at = ends_.erase(at);
    }
    ends_[range.begin] = range.end;
  }

  void remove(Range range) {
    for (const Range& part : within(range)) {
      auto at = std::prev(ends_.upper_bound(part.begin));
      const Range whole{at->first, at->second};
      ends_.erase(at);
      if (whole.begin < part.begin) ends_[whole.begin] = part.begin;
      if (whole.end > part.end) ends_[part.end] = whole.end;
    }
  }

  // The parts of it that lie in the range.
  std::vector<Range> within(Range range) const {
    std::vector<Range> parts;
    auto at = ends_.upper_bound(range.begin);
    if (at != ends_.begin()) --at;
    for (; at != ends_.end() && at->first < range.end; ++at) {
      const Range part{std::max(range.begin, at->first), std::min(range.end, at->second)};
      if (part.begin < part.end) parts.push_back(part);
    }
    return parts;
  }

  uint64_t bytes_within(Range range) const {
    uint64_t bytes = 0;
    for (const Range& part : within(range)) bytes += part.bytes();
    return bytes;
  }

  bool is_empty() const { return ends_.empty(); }

 private:
  std::map<uint64_t, uint64_t> ends_;  // by beginning
};

}  // namespace warpgrade::executor

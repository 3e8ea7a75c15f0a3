// Bytes of device addresses, as ranges.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace warpgrade::emu {

// Sorted ranges that neither overlap nor touch each other.
class ByteRanges {
 public:
  // What is behind the last of so many ranges is forgotten: fewer bytes are looked at, none that were
  // not touched.
  static constexpr size_t kMost = size_t{1} << 16;

  struct Range {
    uint64_t begin = 0, end = 0;
  };

  // In any order; ascending ranges are added fastest.
  void add(uint64_t begin, uint64_t end);
  void add(const ByteRanges& others);
  bool empty() const { return ranges_.empty(); }
  // The first address that both hold.
  std::optional<uint64_t> first_common(const ByteRanges& others) const;
  const std::vector<Range>& ranges() const { return ranges_; }

 private:
  std::vector<Range> ranges_;
};

}  // namespace warpgrade::emu

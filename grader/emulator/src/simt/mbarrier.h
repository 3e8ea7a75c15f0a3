// The 64-bit barrier objects that programs keep in shared memory. PTX leaves their contents open; here: bits
// 0-19 arrivals still expected in this phase, 20-39 arrivals of the next phase, 40-60 bytes still expected
// (signed), 63 the phase's parity. A state that arrive returns is the object's value before the arrival.
#pragma once
#include <cstdint>

namespace warpgrade::emu {

class Mbarrier {
 public:
  Mbarrier() = default;
  explicit Mbarrier(uint64_t bits) : bits_(bits) {}
  static Mbarrier expecting(uint32_t arrivals) {
    Mbarrier b;
    b.set_pending(arrivals);
    b.set_expected(arrivals);
    return b;
  }

  uint64_t bits() const { return bits_; }
  uint32_t pending() const { return static_cast<uint32_t>(bits_ & kCountMask); }
  uint32_t parity() const { return static_cast<uint32_t>(bits_ >> 63); }

  void arrive(uint32_t count) {
    set_pending(count < pending() ? pending() - count : 0);
    complete_if_due();
  }
  void add_pending(uint32_t count) { set_pending(pending() + count); }
  // Later phases expect fewer arrivals.
  void drop(uint32_t count) { set_expected(count < expected() ? expected() - count : 0); }
  void expect_bytes(int64_t bytes) { set_bytes(bytes_due() + bytes); }
  void complete_bytes(int64_t bytes) {
    set_bytes(bytes_due() - bytes);
    complete_if_due();
  }

 private:
  static constexpr uint64_t kCountMask = (1u << 20) - 1, kBytesMask = (1u << 21) - 1;

  uint32_t expected() const { return static_cast<uint32_t>(bits_ >> 20 & kCountMask); }
  int64_t bytes_due() const { return static_cast<int64_t>(bits_ << 3) >> 43; }
  void set_pending(uint32_t n) { bits_ = (bits_ & ~kCountMask) | (n & kCountMask); }
  void set_expected(uint32_t n) { bits_ = (bits_ & ~(kCountMask << 20)) | (n & kCountMask) << 20; }
  void set_bytes(int64_t n) {
    bits_ = (bits_ & ~(kBytesMask << 40)) | (static_cast<uint64_t>(n) & kBytesMask) << 40;
  }
  void complete_if_due() {
    if (pending() != 0 || bytes_due() != 0) return;
    bits_ ^= 1ull << 63;
    set_pending(expected());
  }

  uint64_t bits_ = 0;
};

}  // namespace warpgrade::emu

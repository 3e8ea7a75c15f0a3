// What holds of a kernel's registers at each place: which are wanted later, and which hold one value, or
// values with a constant step from lane to lane, in all lanes that are there.
#pragma once
#include <algorithm>
#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include "program/operation.h"

namespace warpgrade::emu {

// Registers are numbered by their place in the register file, in units of the smallest one.
inline constexpr uint32_t kSlotUnit = 64;
constexpr uint32_t unit_of(uint32_t slot) {
  return slot / kSlotUnit;
}

// A register's lanes: unknown before the analysis has come by; base + lane * stride; or anything.
struct Fact {
  enum class Kind : uint8_t { unknown, scalar, vector };
  Kind kind = Kind::unknown;
  bool known = false;  // scalar, stride 0: the value is `value`
  uint8_t bytes = 0;
  uint8_t align = 0;  // scalar: the base is a multiple of 2^align
  int64_t stride = 0;
  uint64_t value = 0;
  uint8_t bits = 0;  // scalar: each lane's value is below 2^bits; 0: not known

  bool operator==(const Fact&) const = default;
  bool is_scalar() const { return kind == Kind::scalar; }
  bool is_uniform() const { return is_scalar() && stride == 0; }
  static Fact vector() { return {Kind::vector, false, 0, 0, 0, 0}; }
  static Fact scalar(uint8_t bytes, int64_t stride, uint8_t align = 0) {
    return {Kind::scalar, false, bytes, align, stride, 0};
  }
  static Fact constant(uint8_t bytes, uint64_t value) {
    const int zeros = value == 0 ? kMostAlign : std::min(__builtin_ctzll(value), int(kMostAlign));
    return {Kind::scalar, true, bytes, static_cast<uint8_t>(zeros), 0, value};
  }
  static constexpr uint8_t kMostAlign = 31;
};
using Facts = std::vector<Fact>;  // by unit

class BitSet {
 public:
  explicit BitSet(size_t bits = 0) : words_((bits + 63) / 64) {}
  bool test(size_t k) const { return words_[k / 64] >> k % 64 & 1; }
  void set(size_t k) { words_[k / 64] |= uint64_t(1) << k % 64; }
  void reset(size_t k) { words_[k / 64] &= ~(uint64_t(1) << k % 64); }
  void fill() { words_.assign(words_.size(), ~uint64_t(0)); }
  // True when something was added.
  bool add(const BitSet& other) {
    bool grew = false;
    for (size_t k = 0; k < words_.size(); ++k) {
      const uint64_t sum = words_[k] | other.words_[k];
      grew |= sum != words_[k];
      words_[k] = sum;
    }
    return grew;
  }

 private:
  std::vector<uint64_t> words_;
};

struct FlowBlock {
  uint32_t begin = 0, end = 0;  // instructions
  std::vector<uint32_t> successors;
  BitSet live_in, live_out;
  Facts in;
};

inline constexpr int kLaneBits = 5;  // of a lane's number

// How the launch's shape shows in the special registers.
struct LaunchShapeFacts {
  bool tid_x_is_affine = false;  // tid.x is base + lane in each warp
  bool tid_yz_are_uniform = false;
  bool rows_are_whole = false;  // ntid.x is a multiple of the lanes of a warp
};

class Flow {
 public:
  // Facts of `doubted` (block's first instruction, unit) were found not to hold where fragments met.
  Flow(const Program& program, LaunchShapeFacts shape,
       const std::set<std::pair<uint32_t, uint32_t>>& doubted);

  const std::vector<FlowBlock>& blocks() const { return blocks_; }
  const Decoded& decoded(uint32_t instruction) const { return decoded_[instruction]; }
  // The block that begins there; kNone: none does.
  uint32_t block_at(uint32_t instruction) const { return block_at_[instruction]; }
  static constexpr uint32_t kNone = ~0u;

  // A register that is filled before the kernel starts and is not written.
  bool is_fixed(uint32_t slot) const { return fixed_[unit_of(slot)]; }
  const Fact& fixed_fact(uint32_t slot) const { return fixed_facts_[unit_of(slot)]; }
  Fact fact(const Facts& facts, uint32_t slot) const {
    return is_fixed(slot) ? fixed_fact(slot) : facts[unit_of(slot)];
  }

  // What an instruction makes of the facts before it.
  void apply(const Inst& i, Facts& facts) const;
  // The result's fact of a compiled operation with one result.
  Fact result(const Inst& i, const Decoded& d, const Facts& facts) const;
  // Registers that are wanted after each instruction of a block.
  std::vector<BitSet> live_after(const FlowBlock& block) const;
  uint32_t units() const { return units_; }

 private:
  void find_fixed(LaunchShapeFacts shape);
  void find_blocks();
  void find_liveness();
  void find_facts(const std::set<std::pair<uint32_t, uint32_t>>& doubted);
  void step_back(const Inst& i, BitSet& live) const;

  const Program& program_;
  uint32_t units_;
  std::vector<Decoded> decoded_;
  std::vector<bool> fixed_;
  Facts fixed_facts_;
  std::vector<uint32_t> block_at_;
  std::vector<FlowBlock> blocks_;
};

}  // namespace warpgrade::emu

// What the results of instructions are, of operands of which a base and a step tell all lanes.
#include <algorithm>

#include "native/flow.h"

namespace warpgrade::emu {
namespace {

// The operands of an instruction, all of them scalars, and the bytes of its result.
struct Operands {
  Fact a, b, c;
  uint32_t bytes = 0;
  bool uniform = false;  // all of them
};

uint64_t narrow(uint64_t value, uint32_t bytes) {
  return bytes == 4 ? uint32_t(value) : value;
}

// Steps that are worth keeping: larger ones are no row in memory, and products of them could overflow.
constexpr int64_t kMostStride = int64_t{1} << 24;

Fact affine(uint32_t bytes, int64_t stride, int align = 0) {
  if (stride > kMostStride || stride < -kMostStride) return Fact::vector();
  return Fact::scalar(static_cast<uint8_t>(bytes), stride,
                      static_cast<uint8_t>(std::clamp(align, 0, int(Fact::kMostAlign))));
}

// Whether the lanes differ in the lowest bits alone, which hold the lane's number.
bool counts_lanes(const Fact& f) {
  return f.is_scalar() && f.stride == 1 && f.align >= kLaneBits;
}

// A product with a constant keeps a step; one with an unknown uniform factor has a step that is not known.
Fact product_of(const Operands& o) {
  const int align = o.a.align + o.b.align;
  if (o.a.is_uniform() && o.b.is_uniform()) {
    const bool known = o.a.known && o.b.known && o.bytes == 4;
    return known ? Fact::constant(4, uint32_t(o.a.value * o.b.value)) : affine(o.bytes, 0, align);
  }
  constexpr uint64_t kMostFactor = uint64_t{1} << 20;
  const Fact& factor = o.a.known ? o.a : o.b;
  const Fact& other = o.a.known ? o.b : o.a;
  if (!factor.known || factor.value > kMostFactor) return Fact::vector();
  return affine(o.bytes, other.stride * static_cast<int64_t>(factor.value), align);
}

Fact product_and_sum_of(const Operands& o) {
  const Fact p = product_of(o);
  return p.is_scalar() ? affine(o.bytes, p.stride + o.c.stride, std::min(p.align, o.c.align)) : p;
}

// Widening commutes with the step as long as no lane wraps around: the code checks that for steps upwards.
bool may_widen(const Operands& o) {
  return o.a.stride >= 0 && o.b.stride >= 0 && !(o.a.stride != 0 && o.b.stride != 0);
}

Fact sum_of(const Operands& o) {
  if (o.a.known && o.b.known)
    return Fact::constant(static_cast<uint8_t>(o.bytes), narrow(o.a.value + o.b.value, o.bytes));
  return affine(o.bytes, o.a.stride + o.b.stride, std::min(o.a.align, o.b.align));
}

Fact shifted_left(const Operands& o) {
  constexpr uint64_t kMostBits = 20;
  if (!o.b.known || o.b.value > kMostBits)
    return o.uniform && o.b.known ? affine(o.bytes, 0) : Fact::vector();
  return affine(o.bytes, o.a.stride * (int64_t{1} << o.b.value), o.a.align + static_cast<int>(o.b.value));
}

Fact shifted_right(const Operands& o) {
  if (!o.b.known) return Fact::vector();
  // The sign of a thread's number: what a signed division by a power of two begins with.
  if (o.a.bits != 0 && o.b.value >= o.a.bits) return Fact::constant(static_cast<uint8_t>(o.bytes), 0);
  if (o.uniform)
    return affine(o.bytes, 0, o.a.align - static_cast<int>(std::min<uint64_t>(o.b.value, Fact::kMostAlign)));
  return counts_lanes(o.a) && o.b.value >= kLaneBits ? affine(o.bytes, 0) : Fact::vector();
}

Fact masked(const Operands& o) {
  if (o.uniform) return affine(o.bytes, 0, std::max(o.a.align, o.b.align));
  const Fact& mask = o.a.known ? o.a : o.b;
  const Fact& other = o.a.known ? o.b : o.a;
  if (!mask.known || !counts_lanes(other)) return Fact::vector();
  if ((mask.value & (kLanes - 1)) == kLanes - 1) return affine(o.bytes, 1, kLaneBits);
  return (mask.value & (kLanes - 1)) == 0 ? affine(o.bytes, 0, mask.align) : Fact::vector();
}

Fact converted(const Operands& o) {
  const bool keeps_step = o.bytes == 4 || o.a.bytes == 8 || o.a.stride >= 0;
  return keeps_step ? affine(o.bytes, o.a.stride, o.a.align) : Fact::vector();
}

// Of an operation that computes its result from its operands alone.
Fact computed(const Inst& i, Operation operation, const Operands& o) {
  switch (operation) {
    case Operation::move:
      return o.a;
    case Operation::add_immediate:
      return affine(o.bytes, o.a.stride,
                    std::min<int>(o.a.align, Fact::constant(8, static_cast<uint64_t>(i.imm)).align));
    case Operation::add:
      return sum_of(o);
    case Operation::subtract:
      return affine(o.bytes, o.a.stride - o.b.stride, std::min(o.a.align, o.b.align));
    case Operation::multiply:
      return product_of(o);
    case Operation::multiply_add:
      return product_and_sum_of(o);
    case Operation::multiply_wide:
      return may_widen(o) ? product_of(o) : Fact::vector();
    case Operation::multiply_add_wide:
      return may_widen(o) ? product_and_sum_of(o) : Fact::vector();
    case Operation::shift_left:
      return shifted_left(o);
    case Operation::shift_right:
      return shifted_right(o);
    case Operation::bit_and:
      return masked(o);
    case Operation::bit_or:
    case Operation::bit_xor:
    case Operation::bit_not:
    case Operation::minimum:
    case Operation::maximum:
      return o.uniform ? affine(o.bytes, 0) : Fact::vector();
    case Operation::negate:
      return affine(o.bytes, -o.a.stride, o.a.align);
    case Operation::convert:
      return converted(o);
    default:
      return Fact::vector();
  }
}

}  // namespace

Fact Flow::result(const Inst& i, const Decoded& d, const Facts& facts) const {
  if (i.guard != kAlwaysSlot || d.writes.empty()) return Fact::vector();
  const uint32_t bytes = d.writes[0].bytes;
  if (bytes != 4 && bytes != 8) return Fact::vector();
  const auto source = [&](size_t k) { return fact(facts, d.reads[k].slot); };
  const auto one_value = [bytes](bool one) {
    return one ? Fact::scalar(static_cast<uint8_t>(bytes), 0) : Fact::vector();
  };
  if (d.operation == Operation::load_parameter) return one_value(true);
  // All lanes take the value of one.
  if (d.operation == Operation::shuffle)
    return one_value(i.variant == kShuffleByIndex && source(1).is_uniform() && source(2).known &&
                     (source(2).value >> 8 & 31) == 0);
  if (d.operation == Operation::load) return one_value(i.space != Space::local && source(0).is_uniform());
  if ((is_float(d.type) && d.operation != Operation::move) || d.reads.empty()) return Fact::vector();
  Operands operands;
  operands.bytes = bytes;
  operands.uniform = true;
  for (size_t k = 0; k < d.reads.size(); ++k) {
    const Fact f = source(k);
    if (d.reads[k].bytes == 0 || !f.is_scalar()) return Fact::vector();
    operands.uniform &= f.is_uniform();
    if (k < 3) (k == 0 ? operands.a : k == 1 ? operands.b : operands.c) = f;
  }
  return computed(i, d.operation, operands);
}

}  // namespace warpgrade::emu

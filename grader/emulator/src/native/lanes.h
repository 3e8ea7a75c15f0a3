// What the helpers of native code do with the lanes of registers, at each level that there is code for.
#pragma once
#include "native/float_rules.h"
#include "native/kernel.h"

namespace warpgrade::emu {

// Memory that no other thread of this process touches, by the bounds that an instruction touched last; bytes
// 0: not known.
struct OwnMemory {
  uint64_t begin = 0, bytes = 0;
  uint8_t* host = nullptr;
};

struct LaneOperations {
  // Whether the lanes of `mask` hold what base and step say.
  bool (*holds)(const Warp& w, const ScalarRegister& r, uint64_t base, uint32_t mask);
  // To the register file, for the lanes of `mask`.
  void (*write_out)(const Warp& w, const NativeContext& context, const std::vector<ScalarRegister>& registers,
                    uint32_t mask);
  // Addresses and their bounds as the interpreter has them: lanes that are not there follow the first
  // that is.
  void (*complete)(Access& x, uint32_t mask);
  // Where the lanes of w.mask update words: x.host of these; false: not all of it lies in `own`.
  bool (*locate)(const Warp& w, const Inst& i, const OwnMemory& own, Access& x);
  // Lanes one after the other, as the handler has them, but plainly: no one else is at work. False: the
  // handler has to. `own` is at least one element.
  bool (*update)(Warp& w, const Inst& i, NativeAtomic atomic, const OwnMemory& own);
};

extern const LaneOperations kLanesAvx512, kLanesAvx2;

inline const LaneOperations& lane_operations() {
  static const LaneOperations& operations = native_level() == NativeLevel::avx512 ? kLanesAvx512 : kLanesAvx2;
  return operations;
}

inline uint64_t base_of(const NativeContext& context, const ScalarRegister& r) {
  return r.known ? r.value : context.scalars[unit_of(r.slot)];
}

// As the handler has it: of bits, and a NaN is always the same one.
inline uint32_t sum_of_floats(uint32_t a, uint32_t b) {
  const float sum = __builtin_bit_cast(float, a) + __builtin_bit_cast(float, b);
  return sum != sum ? kCanonicalNaN : __builtin_bit_cast(uint32_t, sum);
}

// The lanes of w.mask, of which the addresses are `offset` from where `own` begins.
inline void update_by_lanes(Warp& w, const Inst& i, NativeAtomic atomic, const OwnMemory& own,
                            const uint64_t* offset) {
  const uint32_t* more = lanes<uint32_t>(w, i.b);
  uint32_t* result = i.d == kNoSlot ? nullptr : lanes<uint32_t>(w, i.d);
  for (uint32_t m = w.mask; m != 0; m &= m - 1) {
    const auto l = static_cast<uint32_t>(__builtin_ctz(m));
    auto* place = reinterpret_cast<uint32_t*>(own.host + offset[l]);
    const uint32_t old = *place, with = more[l];
    *place = atomic == NativeAtomic::add_word ? old + with : sum_of_floats(old, with);
    if (result != nullptr) result[l] = old;
  }
}

}  // namespace warpgrade::emu

// Loops over the 32 lanes that the compiler vectorizes. For exec_*.cpp only (see handlers.h).
#pragma once
#include <cstdint>
#include <cstring>

#include "exec/handlers.h"
#include "state/machine.h"

#define WARPEMU_VECTORIZE _Pragma("GCC ivdep")

namespace warpgrade::emu::WARPEMU_ISA {
namespace {

// d[lane] = compute(lane) for the active lanes. Sources may be the destination itself, but nothing
// that overlaps it.
template <class D, class Compute>
[[gnu::always_inline]] inline void assign(Warp& w, uint32_t slot, Compute compute) {
  D* d = lanes<D>(w, slot);
  const uint32_t mask = w.mask;
  if (mask == kAllLanes) [[likely]] {
    WARPEMU_VECTORIZE for (uint32_t l = 0; l < kLanes; ++l) d[l] = compute(l);
  } else {
    alignas(64) D t[kLanes];
    WARPEMU_VECTORIZE for (uint32_t l = 0; l < kLanes; ++l) t[l] = compute(l);
    WARPEMU_VECTORIZE for (uint32_t l = 0; l < kLanes; ++l) d[l] = (mask >> l & 1) ? t[l] : d[l];
  }
}

// The predicate mask of test(lane) over all lanes.
template <class Test>
[[gnu::always_inline]] inline uint32_t lane_mask(Test test) {
  alignas(64) uint32_t bits[kLanes];
  WARPEMU_VECTORIZE for (uint32_t l = 0; l < kLanes; ++l) bits[l] = test(l) ? 1u << l : 0u;
  uint32_t mask = 0;
  for (uint32_t l = 0; l < kLanes; ++l) mask |= bits[l];
  return mask;
}

template <class T, class Op>
void unary(Warp& w, const Inst& i) {
  const T* a = lanes<T>(w, i.a);
  assign<T>(w, i.d, [=](uint32_t l) { return Op::apply(a[l]); });
}

template <class T, class Op>
void binary(Warp& w, const Inst& i) {
  const T* a = lanes<T>(w, i.a);
  const T* b = lanes<T>(w, i.b);
  assign<T>(w, i.d, [=](uint32_t l) { return Op::apply(a[l], b[l]); });
}

template <class T, class Op>
void ternary(Warp& w, const Inst& i) {
  const T* a = lanes<T>(w, i.a);
  const T* b = lanes<T>(w, i.b);
  const T* c = lanes<T>(w, i.c);
  assign<T>(w, i.d, [=](uint32_t l) { return Op::apply(a[l], b[l], c[l]); });
}

// Template traits written out, so that no library template is instantiated here.
template <class T>
struct Traits {
  static constexpr bool is_signed = T(-1) < T(0);
};
template <class T>
struct Unsigned {
  using type = T;
};
template <>
struct Unsigned<int8_t> {
  using type = uint8_t;
};
template <>
struct Unsigned<int16_t> {
  using type = uint16_t;
};
template <>
struct Unsigned<int32_t> {
  using type = uint32_t;
};
template <>
struct Unsigned<int64_t> {
  using type = uint64_t;
};
template <class T>
struct Wide;
template <>
struct Wide<uint16_t> {
  using type = uint32_t;
};
template <>
struct Wide<int16_t> {
  using type = int32_t;
};
template <>
struct Wide<uint32_t> {
  using type = uint64_t;
};
template <>
struct Wide<int32_t> {
  using type = int64_t;
};
template <>
struct Wide<uint64_t> {
  using type = unsigned __int128;
};
template <>
struct Wide<int64_t> {
  using type = __int128;
};

template <class To, class From>
[[gnu::always_inline]] inline To bits_as(From from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  __builtin_memcpy(&to, &from, sizeof to);
  return to;
}

template <class T>
[[gnu::always_inline]] inline T smaller(T a, T b) {
  return a < b ? a : b;
}
template <class T>
[[gnu::always_inline]] inline T larger(T a, T b) {
  return a < b ? b : a;
}

}  // namespace
}  // namespace warpgrade::emu::WARPEMU_ISA

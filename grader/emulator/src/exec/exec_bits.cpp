// Shifts and bit manipulation.
#include "exec/lane_loops.h"

namespace warpgrade::emu::WARPEMU_ISA {
namespace {

struct Brev {
  static uint32_t apply(uint32_t a) {
    a = (a >> 1 & 0x55555555u) | (a & 0x55555555u) << 1;
    a = (a >> 2 & 0x33333333u) | (a & 0x33333333u) << 2;
    a = (a >> 4 & 0x0f0f0f0fu) | (a & 0x0f0f0f0fu) << 4;
    return __builtin_bswap32(a);
  }
  static uint64_t apply(uint64_t a) { return uint64_t(apply(uint32_t(a))) << 32 | apply(uint32_t(a >> 32)); }
};

// Shift counts are 32-bit and clamp at the width.
template <class T>
void shift_left(Warp& w, const Inst& i) {
  constexpr uint32_t kBits = 8 * sizeof(T);
  const T* a = lanes<T>(w, i.a);
  const uint32_t* b = lanes<uint32_t>(w, i.b);
  assign<T>(w, i.d, [=](uint32_t l) { return b[l] >= kBits ? T(0) : T(a[l] << (b[l] & (kBits - 1))); });
}
template <class T>
void shift_right(Warp& w, const Inst& i) {
  constexpr uint32_t kBits = 8 * sizeof(T);
  const T* a = lanes<T>(w, i.a);
  const uint32_t* b = lanes<uint32_t>(w, i.b);
  assign<T>(w, i.d, [=](uint32_t l) {
    if (Traits<T>::is_signed) return T(a[l] >> smaller(b[l], kBits - 1));
    return b[l] >= kBits ? T(0) : T(a[l] >> (b[l] & (kBits - 1)));
  });
}

template <class T>
void population_count(Warp& w, const Inst& i) {
  const T* a = lanes<T>(w, i.a);
  assign<uint32_t>(w, i.d, [=](uint32_t l) { return uint32_t(__builtin_popcountll(a[l])); });
}
template <class T>
void count_leading_zeros(Warp& w, const Inst& i) {
  constexpr uint32_t kBits = 8 * sizeof(T);
  const T* a = lanes<T>(w, i.a);
  assign<uint32_t>(w, i.d,
                   [=](uint32_t l) { return a[l] ? uint32_t(__builtin_clzll(a[l])) - (64 - kBits) : kBits; });
}
// The highest bit that differs from the sign; variant 1 (.shiftamt): the left shift that brings it to
// the top.
template <class T>
void find_highest_bit(Warp& w, const Inst& i) {
  using U = typename Unsigned<T>::type;
  const T* a = lanes<T>(w, i.a);
  const bool as_shift = i.variant != 0;
  assign<uint32_t>(w, i.d, [=](uint32_t l) {
    const uint64_t v = Traits<T>::is_signed && a[l] < 0 ? U(~a[l]) : U(a[l]);
    if (v == 0) return ~0u;
    const uint32_t bit = 63 - uint32_t(__builtin_clzll(v));
    return as_shift ? uint32_t(8 * sizeof(T)) - 1 - bit : bit;
  });
}

// Of positions and lengths PTX defines 0 to 255. A GPU looks at eight bits of them for fields of 32 bits and
// at all for fields of 64.
template <class T>
int field_bound(uint32_t value) {
  return int(sizeof(T) == 8 ? smaller(value, 255u) : value & 255);
}

// Bits [b, b + c) of a; bits past the top repeat the sign (signed) or are zero.
template <class T>
void extract_field(Warp& w, const Inst& i) {
  constexpr int kBits = 8 * sizeof(T);
  const T* a = lanes<T>(w, i.a);
  const uint32_t* b = lanes<uint32_t>(w, i.b);
  const uint32_t* c = lanes<uint32_t>(w, i.c);
  assign<T>(w, i.d, [=](uint32_t l) {
    const int position = field_bound<T>(b[l]), length = field_bound<T>(c[l]);
    if (length == 0) return T(0);
    __int128 v = Traits<T>::is_signed ? __int128(a[l]) : __int128((unsigned __int128)(a[l]));
    v >>= smaller(position, 127);
    if (length >= kBits) return T(v);
    v = __int128((unsigned __int128)(v) << (128 - length));
    return Traits<T>::is_signed ? T(v >> (128 - length)) : T((unsigned __int128)(v) >> (128 - length));
  });
}
template <class T>
void insert_field(Warp& w, const Inst& i) {
  constexpr uint32_t kBits = 8 * sizeof(T);
  const T* a = lanes<T>(w, i.a);
  const T* b = lanes<T>(w, i.b);
  const uint32_t* c = lanes<uint32_t>(w, i.c);
  const uint32_t* e = lanes<uint32_t>(w, i.e);
  assign<T>(w, i.d, [=](uint32_t l) {
    const auto position = uint32_t(field_bound<T>(c[l])), length = uint32_t(field_bound<T>(e[l]));
    if (position >= kBits || length == 0) return b[l];
    const T field = length >= kBits ? T(~T(0)) : T((T(1) << length) - 1);
    return T((b[l] & ~T(field << position)) | T((a[l] & field) << position));
  });
}

// imm holds the truth table over (a, b, c).
void logic3(Warp& w, const Inst& i) {
  const uint32_t* a = lanes<uint32_t>(w, i.a);
  const uint32_t* b = lanes<uint32_t>(w, i.b);
  const uint32_t* c = lanes<uint32_t>(w, i.c);
  const auto table = uint32_t(i.imm);
  uint32_t term[8];
  for (uint32_t k = 0; k < 8; ++k) term[k] = (table >> k & 1) ? ~0u : 0u;
  assign<uint32_t>(w, i.d, [&](uint32_t l) {
    const uint32_t x = a[l], y = b[l], z = c[l];
    const uint32_t low = (~y & ((~z & term[0]) | (z & term[1]))) | (y & ((~z & term[2]) | (z & term[3])));
    const uint32_t high = (~y & ((~z & term[4]) | (z & term[5]))) | (y & ((~z & term[6]) | (z & term[7])));
    return (~x & low) | (x & high);
  });
}

enum PermuteMode : uint8_t { kIndex, kF4e, kB4e, kRc8, kEcl, kEcr, kRc16 };

uint32_t permute_selector(PermuteMode mode, uint32_t c) {
  const uint32_t n = c & 3;
  switch (mode) {
    case kF4e:
      return n | (n + 1) << 4 | (n + 2) << 8 | (n + 3) << 12;
    case kB4e:
      return n | ((n - 1) & 7) << 4 | ((n - 2) & 7) << 8 | ((n - 3) & 7) << 12;
    case kRc8:
      return n * 0x1111u;
    case kEcl:
      return larger(n, 0u) | larger(n, 1u) << 4 | larger(n, 2u) << 8 | 3u << 12;
    case kEcr:
      return 0u | smaller(n, 1u) << 4 | smaller(n, 2u) << 8 | smaller(n, 3u) << 12;
    case kRc16:
      return (n & 1) ? 0x3232u : 0x1010u;
    case kIndex:
      break;
  }
  return c;
}

// One selector for all lanes, which is the rule: a byte of the result comes from one place.
void permute_alike(Warp& w, const Inst& i, uint32_t selector) {
  const uint32_t *from[4], *a = lanes<uint32_t>(w, i.a), *b = lanes<uint32_t>(w, i.b);
  uint32_t shift[4], signs[4];
  for (uint32_t k = 0; k < 4; ++k) {
    const uint32_t s = selector >> 4 * k & 15;
    from[k] = (s & 4) != 0 ? b : a;
    shift[k] = 8 * (s & 3);
    signs[k] = (s & 8) != 0 ? ~0u : 0;  // replicate the sign
  }
  const auto byte = [&](uint32_t l, uint32_t k) {
    const uint32_t plain = from[k][l] >> shift[k], sign = uint32_t(int32_t(plain << 24) >> 31);
    return (((plain & ~signs[k]) | (sign & signs[k])) & 255) << 8 * k;
  };
  assign<uint32_t>(w, i.d, [&](uint32_t l) { return byte(l, 0) | byte(l, 1) | byte(l, 2) | byte(l, 3); });
}

void permute_bytes(Warp& w, const Inst& i) {
  const uint32_t* a = lanes<uint32_t>(w, i.a);
  const uint32_t* b = lanes<uint32_t>(w, i.b);
  const uint32_t* c = lanes<uint32_t>(w, i.c);
  const auto mode = PermuteMode(i.variant);
  uint32_t other = 0;
  for (uint32_t l = 0; l < kLanes; ++l) other |= c[l] ^ c[0];
  if (other == 0) return permute_alike(w, i, permute_selector(mode, c[0]));
  assign<uint32_t>(w, i.d, [=](uint32_t l) {
    const uint64_t bytes = a[l] | uint64_t(b[l]) << 32;
    const uint32_t selector = permute_selector(mode, c[l]);
    uint32_t result = 0;
    for (uint32_t k = 0; k < 4; ++k) {
      const uint32_t s = selector >> (4 * k) & 15;
      uint32_t byte = uint32_t(bytes >> (8 * (s & 7))) & 255;
      if (s & 8) byte = (byte & 128) ? 255 : 0;  // replicate the sign
      result |= byte << (8 * k);
    }
    return result;
  });
}

// variant: 1 right, 0 left; flags: 1 wrap, 0 clamp.
void funnel_shift(Warp& w, const Inst& i) {
  const uint32_t* a = lanes<uint32_t>(w, i.a);
  const uint32_t* b = lanes<uint32_t>(w, i.b);
  const uint32_t* c = lanes<uint32_t>(w, i.c);
  const bool right = i.variant != 0, wrap = i.flags != 0;
  assign<uint32_t>(w, i.d, [=](uint32_t l) {
    const uint32_t n = wrap ? c[l] & 31 : smaller(c[l], 32u);
    const uint64_t v = a[l] | uint64_t(b[l]) << 32;
    return right ? uint32_t(v >> n) : uint32_t((v << n) >> 32) | (n == 32 ? a[l] : 0);
  });
}

// variant: 1 wrap, 0 clamp.
void bit_mask(Warp& w, const Inst& i) {
  const uint32_t* a = lanes<uint32_t>(w, i.a);
  const uint32_t* b = lanes<uint32_t>(w, i.b);
  const bool wrap = i.variant != 0;
  assign<uint32_t>(w, i.d, [=](uint32_t l) {
    const uint32_t position = wrap ? a[l] & 31 : smaller(a[l], 32u);
    const uint32_t length = wrap ? b[l] & 31 : smaller(b[l], 32u);
    return uint32_t(((1ull << length) - 1) << position);
  });
}

template <class T>
void add_bit_operations(HandlerTable& t, const char* type) {
  t.add(population_count<T>, "popc", type);
  t.add(count_leading_zeros<T>, "clz", type);
  t.add(unary<T, Brev>, "brev", type);
  t.add(insert_field<T>, "bfi", type);
}

}  // namespace

void add_bit_handlers(HandlerTable& t) {
  t.add(shift_right<uint16_t>, "shr", "u16");
  t.add(shift_right<int16_t>, "shr", "s16");
  t.add(shift_right<uint32_t>, "shr", "u32");
  t.add(shift_right<int32_t>, "shr", "s32");
  t.add(shift_right<uint64_t>, "shr", "u64");
  t.add(shift_right<int64_t>, "shr", "s64");
  t.add(shift_left<uint16_t>, "shl", "u16");
  t.add(shift_left<uint32_t>, "shl", "u32");
  t.add(shift_left<uint64_t>, "shl", "u64");
  add_bit_operations<uint32_t>(t, "u32");
  add_bit_operations<uint64_t>(t, "u64");
  t.add(find_highest_bit<uint32_t>, "bfind", "u32");
  t.add(find_highest_bit<int32_t>, "bfind", "s32");
  t.add(find_highest_bit<uint64_t>, "bfind", "u64");
  t.add(find_highest_bit<int64_t>, "bfind", "s64");
  t.add(extract_field<uint32_t>, "bfe", "u32");
  t.add(extract_field<int32_t>, "bfe", "s32");
  t.add(extract_field<uint64_t>, "bfe", "u64");
  t.add(extract_field<int64_t>, "bfe", "s64");
  t.add(logic3, "lop3");
  t.add(permute_bytes, "prmt");
  t.add(funnel_shift, "shf");
  t.add(bit_mask, "bmsk");
}

}  // namespace warpgrade::emu::WARPEMU_ISA

#include "native/count_lanes.h"

#include <immintrin.h>

#define WARPEMU_AVX512 [[gnu::target("avx512f,avx512bw,avx512dq,avx512vl,avx512cd")]]

namespace warpgrade::emu {
namespace {

// Up to 32 numbers: `low` has the first ones, `high` those that follow.
struct Numbers {
  __m512i low, high;
  __mmask16 in_low, in_high;  // which places hold one: the first of each

  uint32_t count() const {
    return static_cast<uint32_t>(__builtin_popcount(in_low) + __builtin_popcount(in_high));
  }
};

// A bit for each number: of `low`, then of `high`.
struct Marks {
  __mmask16 low, high;

  uint32_t count() const { return static_cast<uint32_t>(__builtin_popcount(low) + __builtin_popcount(high)); }
};

constexpr uint64_t kMostExtent = uint64_t{1} << 32;  // of an allocation: distances have 32 bits

// Distances of the lanes' addresses from `begin`, in the order of the lanes; false when one is `bytes`
// or more.
WARPEMU_AVX512 inline bool distances(const Access& x, uint32_t mask, uint64_t begin, uint64_t bytes,
                                     Numbers& of) {
  const __m512i from = _mm512_set1_epi64(static_cast<long long>(begin)),
                end = _mm512_set1_epi64(static_cast<long long>(bytes));
  __m256i quarter[4];
  uint32_t outside = 0;
  for (uint32_t p = 0; p < 4; ++p) {
    const __m512i distance = _mm512_sub_epi64(_mm512_load_si512(x.host + 8 * p), from);
    outside |= _mm512_mask_cmpge_epu64_mask(static_cast<__mmask8>(mask >> 8 * p), distance, end);
    quarter[p] = _mm512_maskz_cvtepi64_epi32(0xff, distance);
  }
  if (outside != 0) return false;
  of.low = _mm512_maskz_inserti64x4(0xff, _mm512_castsi256_si512(quarter[0]), quarter[1], 1);
  of.high = _mm512_maskz_inserti64x4(0xff, _mm512_castsi256_si512(quarter[2]), quarter[3], 1);
  of.in_low = of.in_high = 0xffff;
  if (mask == kAllLanes) return true;
  const auto first = static_cast<__mmask16>(mask), second = static_cast<__mmask16>(mask >> 16);
  of.low = _mm512_maskz_compress_epi32(first, of.low);
  of.high = _mm512_maskz_compress_epi32(second, of.high);
  of.in_low = static_cast<__mmask16>((1u << __builtin_popcount(first)) - 1);
  of.in_high = static_cast<__mmask16>((1u << __builtin_popcount(second)) - 1);
  if (first == 0) {
    of.low = of.high;
    of.in_low = of.in_high;
    of.in_high = 0;
  }
  return true;
}

// The number before each one; of the first one that number itself.
WARPEMU_AVX512 inline Numbers predecessors(const Numbers& n) {
  const __m512i last =
      _mm512_maskz_permutexvar_epi32(0xffff, _mm512_set1_epi32(__builtin_popcount(n.in_low) - 1), n.low);
  const __m512i first = _mm512_maskz_permutexvar_epi32(0xffff, _mm512_setzero_si512(), n.low);
  return {_mm512_maskz_alignr_epi32(0xffff, n.low, first, 15),
          _mm512_maskz_alignr_epi32(0xffff, n.high, last, 15), n.in_low, n.in_high};
}

WARPEMU_AVX512 inline bool ordered(const Numbers& n, const Numbers& before) {
  return (_mm512_mask_cmplt_epu32_mask(n.in_low, n.low, before.low) |
          _mm512_mask_cmplt_epu32_mask(n.in_high, n.high, before.high)) == 0;
}

// Numbers in order: those that differ from the one before.
WARPEMU_AVX512 inline Marks new_in_order(const Numbers& n, const Numbers& before) {
  return {static_cast<__mmask16>(_mm512_mask_cmpneq_epu32_mask(n.in_low, n.low, before.low) | 1),
          _mm512_mask_cmpneq_epu32_mask(n.in_high, n.high, before.high)};
}

// The same of numbers in any order: those that none before is equal to.
WARPEMU_AVX512 inline Marks new_anywhere(const Numbers& n) {
  const __m512i conflicts_low = _mm512_conflict_epi32(n.low), conflicts_high = _mm512_conflict_epi32(n.high);
  const __mmask16 low = _mm512_mask_testn_epi32_mask(n.in_low, conflicts_low, conflicts_low);
  __mmask16 high = _mm512_mask_testn_epi32_mask(n.in_high, conflicts_high, conflicts_high);
  if (n.in_high == 0) return {low, 0};
  // Each of the others with each of the first ones, which are turned by a place each time.
  const __m512i first = _mm512_maskz_permutexvar_epi32(0xffff, _mm512_setzero_si512(), n.low);
  __m512i turned = _mm512_mask_mov_epi32(first, n.in_low, n.low);
  __mmask16 equal = 0;
#pragma GCC unroll 16
  for (int turn = 0; turn < 16; ++turn) {
    equal = _kor_mask16(equal, _mm512_cmpeq_epi32_mask(n.high, turned));
    turned = _mm512_maskz_alignr_epi32(0xffff, turned, turned, 1);
  }
  high &= static_cast<__mmask16>(~equal);
  return {low, high};
}

WARPEMU_AVX512 inline Numbers shifted(const Numbers& n, uint32_t bits) {
  return {_mm512_maskz_srli_epi32(0xffff, n.low, bits), _mm512_maskz_srli_epi32(0xffff, n.high, bits),
          n.in_low, n.in_high};
}

// Bits of the marked sectors that are not set yet; all must lie within the plane.
WARPEMU_AVX512 inline void touch_sectors(uint64_t* bits, __m512i sectors, __mmask16 marked) {
  const __m512i none = _mm512_setzero_si512(), one = _mm512_set1_epi32(1);
  const __m512i words =
      _mm512_mask_i32gather_epi32(none, marked, _mm512_maskz_srli_epi32(0xffff, sectors, 5), bits, 4);
  const __m512i bit = _mm512_maskz_sllv_epi32(0xffff, one, _mm512_and_si512(sectors, _mm512_set1_epi32(31)));
  uint32_t missing = _mm512_mask_testn_epi32_mask(marked, words, bit);
  if (missing == 0) return;
  alignas(64) uint32_t at[16];
  _mm512_store_si512(at, sectors);
  for (; missing != 0; missing &= missing - 1) BufferTraffic::touch(bits, at[__builtin_ctz(missing)]);
}

WARPEMU_AVX512 inline bool within(const BufferTraffic::Plane& plane, const Numbers& sectors) {
  const __m512i end = _mm512_set1_epi32(static_cast<int>(plane.words * 64));
  return (_mm512_mask_cmpge_epu32_mask(sectors.in_low, sectors.low, end) |
          _mm512_mask_cmpge_epu32_mask(sectors.in_high, sectors.high, end)) == 0;
}

}  // namespace

WARPEMU_AVX512 bool count_lanes_avx512(const CountedRow& known, const Access& x, uint32_t mask,
                                       uint32_t bytes) {
  if (known.counts == nullptr || known.plane == nullptr) return false;
  const uint64_t extent = known.sectors * kSectorBytes;
  Numbers places;
  if (extent >= kMostExtent || !distances(x, mask, known.first_sector * kSectorBytes, extent, places))
    return false;
  const Numbers sectors = shifted(places, 5);
  if (!within(*known.plane, sectors)) return false;
  const Numbers before = predecessors(places);
  const uint32_t lanes = places.count();
  Marks first;
  uint32_t distinct;
  if (ordered(places, before)) {
    first = new_in_order(sectors, shifted(before, 5));
    distinct = new_in_order(places, before).count();
  } else {
    first = new_anywhere(sectors);
    distinct = first.count() == lanes ? lanes : new_anywhere(places).count();
  }
  const uint32_t n = first.count();
  ++known.counts[0];
  known.counts[1] += lanes;
  known.counts[2] += n;
  known.counts[3] += n == 1 ? 1 : (uint64_t(distinct) * bytes + kSectorBytes - 1) / kSectorBytes;
  known.plane->moved += n;
  touch_sectors(known.plane->bits, sectors.low, first.low);
  if (first.high != 0) touch_sectors(known.plane->bits, sectors.high, first.high);
  return true;
}

}  // namespace warpgrade::emu

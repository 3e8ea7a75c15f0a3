#include "native/count_lanes.h"

#include <immintrin.h>

#include <algorithm>

#define WARPEMU_COUNTS_AVX512 [[gnu::target("avx512f,avx512bw,avx512dq,avx512vl,avx512cd")]]

namespace warpgrade::emu {
// The name tells tests/no_avx512.sh what this is, wherever the compiler does not inline it.
namespace avx512_counting {
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

constexpr uint32_t kSectorBits = 5, kBankWords = 32;
static_assert(kSectorBytes == 1u << kSectorBits);
constexpr uint64_t kMostExtent = uint64_t{1} << 32;  // of an allocation: distances have 32 bits

// The lanes of `mask` one behind the other.
WARPEMU_COUNTS_AVX512 inline Numbers packed(__m512i low, __m512i high, uint32_t mask) {
  if (mask == kAllLanes) return {low, high, 0xffff, 0xffff};
  const auto first = static_cast<__mmask16>(mask), second = static_cast<__mmask16>(mask >> 16);
  const auto in_low = static_cast<__mmask16>((1u << __builtin_popcount(first)) - 1),
             in_high = static_cast<__mmask16>((1u << __builtin_popcount(second)) - 1);
  low = _mm512_maskz_compress_epi32(first, low);
  high = _mm512_maskz_compress_epi32(second, high);
  if (first == 0) return {high, low, in_high, in_low};
  return {low, high, in_low, in_high};
}

// Distances of the lanes' addresses from `begin`, in the order of the lanes. A distance of 32 bits or more
// becomes the greatest number of 32 bits.
WARPEMU_COUNTS_AVX512 inline Numbers distances(const uint64_t* host, uint32_t mask, uint64_t begin) {
  const __m512i from = _mm512_set1_epi64(static_cast<long long>(begin));
  __m256i quarter[4];
#pragma GCC unroll 4
  for (uint32_t p = 0; p < 4; ++p)
    quarter[p] = _mm512_maskz_cvtusepi64_epi32(0xff, _mm512_sub_epi64(_mm512_load_si512(host + 8 * p), from));
  const __m512i low = _mm512_maskz_inserti64x4(0xff, _mm512_castsi256_si512(quarter[0]), quarter[1], 1),
                high = _mm512_maskz_inserti64x4(0xff, _mm512_castsi256_si512(quarter[2]), quarter[3], 1);
  return packed(low, high, mask);
}

// The number before each one; of the first one that number itself.
WARPEMU_COUNTS_AVX512 inline Numbers predecessors(const Numbers& n) {
  __m512i last = n.low;
  if (n.in_low != 0xffff && n.in_high != 0) {
    const __m512i end = _mm512_set1_epi32(__builtin_popcount(n.in_low) - 1);
    last = _mm512_maskz_permutexvar_epi32(0xffff, end, n.low);
  }
  const __m512i first = _mm512_maskz_permutexvar_epi32(0xffff, _mm512_setzero_si512(), n.low);
  return {_mm512_maskz_alignr_epi32(0xffff, n.low, first, 15),
          _mm512_maskz_alignr_epi32(0xffff, n.high, last, 15), n.in_low, n.in_high};
}

WARPEMU_COUNTS_AVX512 inline bool ordered(const Numbers& n, const Numbers& before) {
  return (_mm512_mask_cmplt_epu32_mask(n.in_low, n.low, before.low) |
          _mm512_mask_cmplt_epu32_mask(n.in_high, n.high, before.high)) == 0;
}

// Numbers in order: those that differ from the one before.
WARPEMU_COUNTS_AVX512 inline Marks new_in_order(const Numbers& n, const Numbers& before) {
  return {static_cast<__mmask16>(_mm512_mask_cmpneq_epu32_mask(n.in_low, n.low, before.low) | 1),
          _mm512_mask_cmpneq_epu32_mask(n.in_high, n.high, before.high)};
}

// The first numbers in memory, from where one at a time is compared with all others.
struct InMemory {
  alignas(64) uint32_t at[16];
};

WARPEMU_COUNTS_AVX512 inline __m512i broadcast(const InMemory& numbers, int k) {
  return _mm512_set1_epi32(static_cast<int>(numbers.at[k]));
}

// The same of numbers in any order: those that none before is equal to.
WARPEMU_COUNTS_AVX512 inline Marks new_anywhere(const Numbers& n) {
  const __m512i conflicts_low = _mm512_conflict_epi32(n.low), conflicts_high = _mm512_conflict_epi32(n.high);
  const __mmask16 low = _mm512_mask_testn_epi32_mask(n.in_low, conflicts_low, conflicts_low);
  const __mmask16 high = _mm512_mask_testn_epi32_mask(n.in_high, conflicts_high, conflicts_high);
  if (n.in_high == 0) return {low, 0};
  // Each of the others with each of the first ones; places without a number hold the first number.
  const __m512i first = _mm512_maskz_permutexvar_epi32(0xffff, _mm512_setzero_si512(), n.low);
  InMemory numbers;
  _mm512_store_si512(numbers.at, _mm512_mask_mov_epi32(first, n.in_low, n.low));
  __mmask16 equal = 0;
#pragma GCC unroll 16
  for (int k = 0; k < 16; ++k)
    equal = _kor_mask16(equal, _mm512_cmpeq_epi32_mask(n.high, broadcast(numbers, k)));
  return {low, static_cast<__mmask16>(high & ~equal)};
}

// How many are equal to the number that occurs most often.
WARPEMU_COUNTS_AVX512 inline uint32_t most_equal(const Numbers& n) {
  // A bit for each number before that is equal: the last of equal ones has the most.
  __m512i low = _mm512_maskz_mov_epi32(n.in_low, _mm512_conflict_epi32(n.low)), high = _mm512_setzero_si512();
  if (n.in_high != 0) {
    InMemory numbers;
    _mm512_store_si512(numbers.at, n.low);
#pragma GCC unroll 16
    for (int k = 0; k < 16; ++k) {
      const __mmask16 equal = _mm512_cmpeq_epi32_mask(n.high, broadcast(numbers, k));
      high = _mm512_mask_or_epi32(high, equal, high, _mm512_set1_epi32(1 << k));
    }
    high = _mm512_and_si512(high, _mm512_set1_epi32(n.in_low));
    const __m512i later = _mm512_maskz_slli_epi32(0xffff, _mm512_conflict_epi32(n.high), 16);
    high = _mm512_maskz_or_epi32(n.in_high, high, later);
  }
  // Where few are equal, as a rule, no branch depends on how many.
  const __m512i one = _mm512_set1_epi32(1);
  uint32_t most = 1;
  for (bool more = true; more;) {
    more = false;
#pragma GCC unroll 2
    for (int k = 0; k < 2; ++k) {
      more = (_mm512_test_epi32_mask(low, low) | _mm512_test_epi32_mask(high, high)) != 0;
      most += more ? 1 : 0;
      low = _mm512_and_si512(low, _mm512_sub_epi32(low, one));
      high = _mm512_and_si512(high, _mm512_sub_epi32(high, one));
    }
  }
  return most;
}

WARPEMU_COUNTS_AVX512 inline Numbers shifted(const Numbers& n, uint32_t bits) {
  return {_mm512_maskz_srli_epi32(0xffff, n.low, bits), _mm512_maskz_srli_epi32(0xffff, n.high, bits),
          n.in_low, n.in_high};
}

// The sectors of `marked` that have no bit yet; all must lie within the plane.
WARPEMU_COUNTS_AVX512 inline __mmask16 untouched(const uint64_t* bits, __m512i sectors, __mmask16 marked) {
  const __m512i none = _mm512_setzero_si512(), one = _mm512_set1_epi32(1);
  const __m512i words =
      _mm512_mask_i32gather_epi32(none, marked, _mm512_maskz_srli_epi32(0xffff, sectors, 5), bits, 4);
  const __m512i bit = _mm512_maskz_sllv_epi32(0xffff, one, _mm512_and_si512(sectors, _mm512_set1_epi32(31)));
  return _mm512_mask_testn_epi32_mask(marked, words, bit);
}

WARPEMU_COUNTS_AVX512 inline void touch_all(uint64_t* bits, const Numbers& sectors, Marks marked) {
  alignas(64) uint32_t at[32];
  _mm512_store_si512(at, sectors.low);
  _mm512_store_si512(at + 16, sectors.high);
  for (uint32_t m = marked.low | uint32_t(marked.high) << 16; m != 0; m &= m - 1)
    BufferTraffic::touch(bits, at[__builtin_ctz(m)]);
}

WARPEMU_COUNTS_AVX512 inline bool all_below(const Numbers& n, uint64_t limit) {
  const __m512i end = _mm512_set1_epi32(static_cast<int>(limit));
  return (_mm512_mask_cmpge_epu32_mask(n.in_low, n.low, end) |
          _mm512_mask_cmpge_epu32_mask(n.in_high, n.high, end)) == 0;
}

// Of lines, counted from the allocation's first one, those that are followed.
WARPEMU_COUNTS_AVX512 inline uint32_t sampled_lines(const Numbers& lines, uint64_t first_line) {
  const __m512i from = _mm512_set1_epi64(static_cast<long long>(first_line)),
                mix = _mm512_set1_epi64(static_cast<long long>(kSampleMix)),
                below = _mm512_set1_epi64(static_cast<long long>(kSampledBelow));
  const __m256i quarter[4] = {_mm512_maskz_extracti64x4_epi64(0xff, lines.low, 0),
                              _mm512_maskz_extracti64x4_epi64(0xff, lines.low, 1),
                              _mm512_maskz_extracti64x4_epi64(0xff, lines.high, 0),
                              _mm512_maskz_extracti64x4_epi64(0xff, lines.high, 1)};
  uint32_t sampled = 0;
#pragma GCC unroll 4
  for (uint32_t p = 0; p < 4; ++p) {
    const __m512i number = _mm512_add_epi64(_mm512_maskz_cvtepu32_epi64(0xff, quarter[p]), from);
    const __mmask8 here = _mm512_cmplt_epu64_mask(_mm512_mullo_epi64(number, mix), below);
    sampled |= uint32_t(here) << 8 * p;
  }
  return sampled;
}

// Lanes behind each other that have one line touch it once (LineRun of observe/count_access.cpp).
WARPEMU_COUNTS_AVX512 inline void touch_lines(const CountedRow& known, Warp& w, const Numbers& sectors,
                                              const Numbers& before) {
  constexpr uint32_t kLineBits = 2;
  static_assert(kLineSectors == 1u << kLineBits);
  const Numbers lines = shifted(sectors, kLineBits);
  const Marks first = new_in_order(lines, shifted(before, kLineBits));
  const uint32_t begins = first.low | uint32_t(first.high) << 16,
                 there = sectors.in_low | uint32_t(sectors.in_high) << 16;
  uint32_t followed = begins & sampled_lines(lines, known.first_line);
  w.loads += known.kind == AccessKind::load ? 1 : 0;
  if (followed != 0) {
    alignas(64) uint32_t at[kLanes];
    _mm512_store_si512(at, sectors.low);
    _mm512_store_si512(at + 16, sectors.high);
    for (; followed != 0; followed &= followed - 1) {
      const uint32_t begin = followed & -followed, place = static_cast<uint32_t>(__builtin_ctz(begin));
      const uint32_t until_here = begin | (begin - 1), next = begins & ~until_here;
      uint32_t touched = 0;
      for (uint32_t m = there & ~(begin - 1) & (next == 0 ? ~0u : (next & -next) - 1); m != 0; m &= m - 1)
        touched |= 1u << at[__builtin_ctz(m)] % kLineSectors;
      const auto now = w.lines_touched + static_cast<uint32_t>(__builtin_popcount(begins & until_here));
      known.sampled->of[known.sampled->count++] = {known.first_line + at[place] / kLineSectors,
                                                   w.block->linear, static_cast<uint32_t>(now),
                                                   static_cast<uint8_t>(touched), known.kind};
    }
  }
  w.lines_touched += static_cast<uint32_t>(__builtin_popcount(begins));
}

// How many sectors of the allocation have a bit.
uint64_t known_sectors(const CountedRow& known) {
  return std::min(known.sectors, known.plane->words * 64);
}

}  // namespace
}  // namespace avx512_counting

using namespace avx512_counting;

WARPEMU_COUNTS_AVX512 bool count_lanes_avx512(const CountedRow& known, Warp& w, const Access& x,
                                              uint32_t mask) {
  if (known.counts == nullptr || known.plane == nullptr || known.sectors * kSectorBytes >= kMostExtent)
    return false;
  if (known.sampled != nullptr && !known.sampled->has_room()) return false;
  const Numbers places = distances(x.host, mask, known.first_sector * kSectorBytes);
  const Numbers sectors = shifted(places, kSectorBits);
  if (!all_below(sectors, known_sectors(known))) return false;
  // Looked for before it is needed: memory takes its time.
  uint64_t* const bits = known.plane->bits;
  const Marks missing = {
      untouched(bits, sectors.low, sectors.in_low),
      sectors.in_high == 0 ? __mmask16{0} : untouched(bits, sectors.high, sectors.in_high)};
  const Numbers before = predecessors(places);
  const uint32_t lanes = places.count();
  Marks first;
  uint32_t distinct;
  if (ordered(places, before)) {
    first = new_in_order(sectors, shifted(before, kSectorBits));
    distinct = new_in_order(places, before).count();
  } else {
    first = new_anywhere(sectors);
    distinct = first.count() == lanes ? lanes : new_anywhere(places).count();
  }
  const uint32_t n = first.count();
  ++known.counts[0];
  known.counts[1] += lanes;
  known.counts[2] += n;
  known.counts[3] += n == 1 ? 1 : (uint64_t(distinct) * known.bytes + kSectorBytes - 1) / kSectorBytes;
  known.plane->moved += n;
  if ((missing.low | missing.high) != 0) touch_all(bits, sectors, missing);
  if (known.sampled != nullptr) touch_lines(known, w, sectors, shifted(before, kSectorBits));
  return true;
}

namespace avx512_counting {
namespace {

// A vector for each bank, which counts one access of it: a byte a bank.
struct OneOfBanks {
  alignas(32) uint8_t of[kBankWords][kBankWords] = {};
  constexpr OneOfBanks() {
    for (uint32_t b = 0; b < kBankWords; ++b) of[b][b] = 1;
  }
};
constexpr OneOfBanks kOneOfBanks;

// How many of the words lie in the bank that most of them lie in.
WARPEMU_COUNTS_AVX512 inline uint32_t most_in_a_bank(const Numbers& words) {
  alignas(64) uint32_t at[kLanes];
  _mm512_store_si512(at, words.low);
  _mm512_store_si512(at + 16, words.high);
  __m256i held = _mm256_setzero_si256();
  for (uint32_t m = words.in_low | uint32_t(words.in_high) << 16; m != 0; m &= m - 1) {
    const uint8_t* one = kOneOfBanks.of[at[__builtin_ctz(m)] % kBankWords];
    held = _mm256_add_epi8(held, _mm256_load_si256(reinterpret_cast<const __m256i*>(one)));
  }
  __m128i most = _mm_max_epu8(_mm256_castsi256_si128(held), _mm256_extracti128_si256(held, 1));
  most = _mm_max_epu8(most, _mm_srli_si128(most, 8));
  most = _mm_max_epu8(most, _mm_srli_si128(most, 4));
  most = _mm_max_epu8(most, _mm_srli_si128(most, 2));
  most = _mm_max_epu8(most, _mm_srli_si128(most, 1));
  return static_cast<uint32_t>(_mm_cvtsi128_si32(most)) & 0xff;
}

}  // namespace
}  // namespace avx512_counting

WARPEMU_COUNTS_AVX512 Turns turns_avx512(const Access& x, uint32_t mask, uint64_t base) {
  const Numbers words = shifted(distances(x.host, mask, base), 2);
  const Numbers before = predecessors(words);
  const bool rising = ordered(words, before) && new_in_order(words, before).count() == words.count();
  // Words in order that lie within the banks' width have banks of their own.
  if (rising && x.high - x.low < kBankWords * 4) return {1, 1};
  return {rising ? 1 : most_equal(words), most_in_a_bank(words)};
}

}  // namespace warpgrade::emu

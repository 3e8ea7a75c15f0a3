#include "check/vector_checks.h"

#include <string_view>

#include "check/order.h"
#include "program/handlers.h"

#if defined(__x86_64__)
#include <immintrin.h>

#define WARPEMU_AVX512 [[gnu::target("avx512f,avx512bw,avx512dq,avx512vl")]]

namespace warpgrade::emu {
namespace {

constexpr uint32_t kUnitsAtOnce = 16, kStampsAtOnce = 4;

WARPEMU_AVX512 inline __m512i all_of(uint32_t value) {
  return _mm512_set1_epi32(static_cast<int>(value));
}

// The lanes that access the units from `first` on.
WARPEMU_AVX512 inline __m512i lanes_of_units(uint32_t first, uint32_t units_a_lane) {
  const __m512i counting = _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
  const __m512i units = _mm512_add_epi32(all_of(first), counting);
  return _mm512_maskz_srli_epi32(0xffff, units, static_cast<uint32_t>(__builtin_ctz(units_a_lane)));
}

WARPEMU_AVX512 inline __mmask16 unordered(const StampedRow& stamps, uint32_t first, const RowAccess& row) {
  const __m512i when = _mm512_loadu_si512(stamps.when + first);
  const __mmask16 recent = _mm512_cmpge_epu32_mask(when, all_of(row.all_since));
  if (recent == 0) return 0;
  const __m512i lanes = lanes_of_units(first, row.units_a_lane);
  const __m512i differs =
      _mm512_xor_si512(_mm512_loadu_si512(stamps.whom + first), _mm512_add_epi32(all_of(row.whom), lanes));
  const __m512i since = _mm512_permutex2var_epi32(_mm512_loadu_si512(row.lanes_since), lanes,
                                                  _mm512_loadu_si512(row.lanes_since + 16));
  const __mmask16 others = _mm512_mask_test_epi32_mask(recent, differs, all_of(kThreadMask));
  return others & (_mm512_test_epi32_mask(differs, all_of(kWarpMask)) | _mm512_cmpge_epu32_mask(when, since));
}

// Four stamps of a row from `first` on.
WARPEMU_AVX512 inline __m512i stamps_of(const GlobalRow& row, uint32_t first) {
  const __m512i counting = _mm512_set_epi32(3, 3, 3, 3, 2, 2, 2, 2, 1, 1, 1, 1, 0, 0, 0, 0);
  const __m512i index = _mm512_add_epi32(all_of(first), counting);
  const auto words = static_cast<uint32_t>(__builtin_ctz(row.words_a_lane)),
             group = static_cast<uint32_t>(__builtin_ctz(Stamps::kGroup));
  const __m512i lanes = row.by_groups ? _mm512_maskz_slli_epi32(0xffff, index, group - words)
                                      : _mm512_maskz_srli_epi32(0xffff, index, words);
  const __m512i one =
      _mm512_maskz_broadcast_i32x4(0xffff, _mm_loadu_si128(reinterpret_cast<const __m128i*>(&row.mine)));
  return _mm512_mask_add_epi32(one, 0x2222, one, lanes);
}

uint32_t stamps_in(const GlobalRow& row) {
  return kLanes * row.words_a_lane / (row.by_groups ? Stamps::kGroup : 1);
}

// Of each stamp one bit, at its first word: whether it is of another launch, and of another block; by groups also
// whether the group is open, and whether its lanes had another width.
struct Apart {
  uint32_t launch, block, open, width;
};

WARPEMU_AVX512 inline Apart apart(__m512i theirs, __m512i differs, bool by_groups) {
  const uint32_t launch = _mm512_test_epi32_mask(differs, all_of(~15u)),
                 any = _mm512_test_epi32_mask(differs, differs);
  Apart a = {launch >> 3 & 0x1111, any >> 2 & 0x1111, 0, 0};
  if (!by_groups) return a;
  const uint32_t open = _mm512_testn_epi32_mask(theirs, all_of(15)),
                 width = _mm512_test_epi32_mask(differs, all_of(15));
  a.open = open >> 3 & 0x1111;
  a.width = width >> 3 & 0x1111;
  return a;
}

}  // namespace

bool vector_checks() {
  static const bool able = isa_name() == std::string_view("v4");
  return able;
}

WARPEMU_AVX512 bool has_unordered(const StampedRow& stamps, const RowAccess& row) {
  uint32_t found = 0;
  for (uint32_t first = 0; first < kLanes * row.units_a_lane; first += kUnitsAtOnce)
    found |= unordered(stamps, first, row);
  return found != 0;
}

WARPEMU_AVX512 void stamp_row(const StampedRow& stamps, const RowAccess& row, bool stale) {
  const __m512i now = all_of(row.now), all_since = all_of(row.all_since);
  for (uint32_t first = 0; first < kLanes * row.units_a_lane; first += kUnitsAtOnce) {
    const __m512i whom = _mm512_add_epi32(all_of(row.whom), lanes_of_units(first, row.units_a_lane));
    __mmask16 here = 0xffff;
    if (stale) here = _mm512_cmplt_epu32_mask(_mm512_loadu_si512(stamps.when + first), all_since);
    _mm512_mask_storeu_epi32(stamps.when + first, here, now);
    _mm512_mask_storeu_epi32(stamps.whom + first, here, whom);
  }
}

WARPEMU_AVX512 bool no_doubt(const GlobalStamp* stamps, const GlobalRow& row) {
  const __m512i all_since = all_of(row.all_since);
  uint32_t doubt = 0;
  for (uint32_t first = 0; first < stamps_in(row); first += kStampsAtOnce) {
    const __m512i theirs = _mm512_loadu_si512(stamps + first);
    const __m512i differs = _mm512_xor_si512(theirs, stamps_of(row, first));
    const Apart a = apart(theirs, differs, row.by_groups);
    const uint32_t recent = _mm512_cmpge_epu32_mask(theirs, all_since),
                   others = _mm512_test_epi32_mask(differs, all_of(kThreadMask)) >> 1 | a.width;
    doubt |= ~a.launch &
             (a.open | (a.block & (row.between_blocks ? ~0u : 0u)) | (~a.block & recent & others)) & 0x1111;
  }
  return doubt == 0;
}

WARPEMU_AVX512 bool stamp_global(GlobalStamp* stamps, const GlobalRow& row, bool reads) {
  uint32_t open = 0;
  for (uint32_t first = 0; first < stamps_in(row); first += kStampsAtOnce) {
    const __m512i all = stamps_of(row, first);
    __mmask16 here = 0xffff;
    if (reads) {
      const __m512i theirs = _mm512_loadu_si512(stamps + first);
      const Apart a = apart(theirs, _mm512_xor_si512(theirs, all), row.by_groups);
      here = static_cast<__mmask16>((a.launch | (~a.block & ~a.open & 0x1111)) * 15);
      open |= ~a.launch & a.open;
    }
    _mm512_mask_storeu_epi32(stamps + first, here, all);
  }
  return open != 0;
}

WARPEMU_AVX512 bool all_words_set(const uint8_t* flags, const uint64_t* host, uint64_t begin) {
  const __m512i from = _mm512_set1_epi64(static_cast<long long>(begin));
  __m256i all = _mm256_set1_epi8(1);
  for (uint32_t l = 0; l < kLanes; l += 8) {
    const __m512i at = _mm512_sub_epi64(_mm512_loadu_si512(host + l), from);
    all = _mm256_and_si256(all, _mm512_mask_i64gather_epi32(all, 0xff, at, flags, 1));
  }
  return _mm256_testc_si256(all, _mm256_set1_epi8(1)) != 0;
}

}  // namespace warpgrade::emu

#else

namespace warpgrade::emu {

bool vector_checks() {
  return false;
}
bool has_unordered(const StampedRow&, const RowAccess&) {
  return true;
}
void stamp_row(const StampedRow&, const RowAccess&, bool) {}
bool no_doubt(const GlobalStamp*, const GlobalRow&) {
  return false;
}
bool stamp_global(GlobalStamp*, const GlobalRow&, bool) {
  return true;
}
bool all_words_set(const uint8_t*, const uint64_t*, uint64_t) {
  return false;
}

}  // namespace warpgrade::emu

#endif

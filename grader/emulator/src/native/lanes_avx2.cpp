// Lanes with AVX2.
#include <immintrin.h>

#include <algorithm>
#include <limits>

#include "native/lanes.h"
#include "program/program.h"

#define WARPEMU_AVX2 [[gnu::target("avx2,bmi,bmi2,lzcnt")]]

namespace warpgrade::emu {
namespace {

// The lanes of a register of which base and step are known, one vector after the other.
struct Avx2Row {
  __m256i lanes, step;
};

WARPEMU_AVX2 inline Avx2Row avx2_row_32(uint32_t base, uint32_t stride) {
  const __m256i lane = _mm256_set_epi32(7, 6, 5, 4, 3, 2, 1, 0);
  const __m256i from = _mm256_set1_epi32(static_cast<int>(base));
  return {_mm256_add_epi32(from, _mm256_mullo_epi32(lane, _mm256_set1_epi32(static_cast<int>(stride)))),
          _mm256_set1_epi32(static_cast<int>(8 * stride))};
}

WARPEMU_AVX2 inline Avx2Row avx2_row_64(uint64_t base, uint64_t stride) {
  const __m256i by = _mm256_set1_epi64x(static_cast<long long>(stride));
  const __m256i twice = _mm256_add_epi64(by, by), zero = _mm256_setzero_si256();
  const __m256i odd = _mm256_blend_epi32(zero, by, 0xCC), upper = _mm256_blend_epi32(zero, twice, 0xF0);
  const __m256i from = _mm256_set1_epi64x(static_cast<long long>(base));
  return {_mm256_add_epi64(from, _mm256_add_epi64(odd, upper)), _mm256_add_epi64(twice, twice)};
}

// All bits of the lanes of `mask`, from `first` on.
WARPEMU_AVX2 inline __m256i avx2_mask_32(uint32_t mask, uint32_t first) {
  const __m256i bits = _mm256_set_epi32(128, 64, 32, 16, 8, 4, 2, 1);
  const __m256i here = _mm256_and_si256(_mm256_set1_epi32(static_cast<int>(mask >> first)), bits);
  return _mm256_cmpeq_epi32(here, bits);
}

WARPEMU_AVX2 inline __m256i avx2_mask_64(uint32_t mask, uint32_t first) {
  const __m256i bits = _mm256_set_epi64x(8, 4, 2, 1);
  const __m256i here = _mm256_and_si256(_mm256_set1_epi64x(mask >> first), bits);
  return _mm256_cmpeq_epi64(here, bits);
}

WARPEMU_AVX2 inline __m256i avx2_load(const void* from) {
  return _mm256_load_si256(static_cast<const __m256i*>(from));
}

WARPEMU_AVX2 inline void avx2_store(void* to, __m256i v) {
  _mm256_store_si256(static_cast<__m256i*>(to), v);
}

WARPEMU_AVX2 bool avx2_holds(const Warp& w, const ScalarRegister& r, uint64_t base, uint32_t mask) {
  const uint8_t* at = w.regs + r.slot;
  __m256i other = _mm256_setzero_si256();
  if (r.bytes == 4) {
    Avx2Row row = avx2_row_32(uint32_t(base), uint32_t(r.stride));
    for (uint32_t first = 0; first < kLanes; first += 8) {
      const __m256i differs = _mm256_xor_si256(avx2_load(at + 4 * first), row.lanes);
      other = _mm256_or_si256(other, _mm256_and_si256(differs, avx2_mask_32(mask, first)));
      row.lanes = _mm256_add_epi32(row.lanes, row.step);
    }
  } else {
    Avx2Row row = avx2_row_64(base, uint64_t(r.stride));
    for (uint32_t first = 0; first < kLanes; first += 4) {
      const __m256i differs = _mm256_xor_si256(avx2_load(at + 8 * first), row.lanes);
      other = _mm256_or_si256(other, _mm256_and_si256(differs, avx2_mask_64(mask, first)));
      row.lanes = _mm256_add_epi64(row.lanes, row.step);
    }
  }
  return _mm256_testz_si256(other, other) != 0;
}

// All lanes take theirs: what was there need not be read.
WARPEMU_AVX2 inline void avx2_write_whole(uint8_t* at, const ScalarRegister& r, uint64_t base) {
  if (r.bytes == 4) {
    Avx2Row row = avx2_row_32(uint32_t(base), uint32_t(r.stride));
    for (uint32_t first = 0; first < kLanes; first += 8) {
      avx2_store(at + 4 * first, row.lanes);
      row.lanes = _mm256_add_epi32(row.lanes, row.step);
    }
  } else {
    Avx2Row row = avx2_row_64(base, uint64_t(r.stride));
    for (uint32_t first = 0; first < kLanes; first += 4) {
      avx2_store(at + 8 * first, row.lanes);
      row.lanes = _mm256_add_epi64(row.lanes, row.step);
    }
  }
}

WARPEMU_AVX2 inline void avx2_write_partly(uint8_t* at, const ScalarRegister& r, uint64_t base,
                                           uint32_t mask) {
  if (r.bytes == 4) {
    Avx2Row row = avx2_row_32(uint32_t(base), uint32_t(r.stride));
    for (uint32_t first = 0; first < kLanes; first += 8) {
      uint8_t* to = at + 4 * first;
      avx2_store(to, _mm256_blendv_epi8(avx2_load(to), row.lanes, avx2_mask_32(mask, first)));
      row.lanes = _mm256_add_epi32(row.lanes, row.step);
    }
  } else {
    Avx2Row row = avx2_row_64(base, uint64_t(r.stride));
    for (uint32_t first = 0; first < kLanes; first += 4) {
      uint8_t* to = at + 8 * first;
      avx2_store(to, _mm256_blendv_epi8(avx2_load(to), row.lanes, avx2_mask_64(mask, first)));
      row.lanes = _mm256_add_epi64(row.lanes, row.step);
    }
  }
}

WARPEMU_AVX2 void avx2_write_out(const Warp& w, const NativeContext& context,
                                 const std::vector<ScalarRegister>& registers, uint32_t mask) {
  if (mask == 0) return;
  for (const ScalarRegister& r : registers) {
    uint8_t* at = w.regs + r.slot;
    const uint64_t base = base_of(context, r);
    mask == kAllLanes ? avx2_write_whole(at, r, base) : avx2_write_partly(at, r, base, mask);
  }
}

WARPEMU_AVX2 void avx2_complete(Access& x, uint32_t mask) {
  const uint64_t first = x.host[__builtin_ctz(mask)];
  uint64_t low = first, high = first;
  for (uint32_t lane = 0; lane < kLanes; ++lane) {
    const uint64_t host = (mask >> lane & 1) != 0 ? x.host[lane] : first;
    x.host[lane] = host;
    low = std::min(low, host);
    high = std::max(high, host);
  }
  x.low = low;
  x.high = high;
}

WARPEMU_AVX2 __m256i avx2_addresses(const Warp& w, const Inst& i, uint32_t first) {
  const uint8_t* at = w.regs + i.a;
  if (!i.address_is_32)
    return _mm256_add_epi64(avx2_load(at + 8 * first), _mm256_set1_epi64x(static_cast<long long>(i.imm)));
  const __m128i low = _mm_load_si128(reinterpret_cast<const __m128i*>(at + 4 * first));
  return _mm256_cvtepu32_epi64(_mm_add_epi32(low, _mm_set1_epi32(static_cast<int>(i.imm))));
}

WARPEMU_AVX2 __m256i avx2_sum(NativeAtomic atomic, __m256i old, __m256i more) {
  if (atomic == NativeAtomic::add_word) return _mm256_add_epi32(old, more);
  const __m256 sum = _mm256_add_ps(_mm256_castsi256_ps(old), _mm256_castsi256_ps(more));
  const __m256 none = _mm256_cmp_ps(sum, sum, _CMP_UNORD_Q);
  const __m256 one = _mm256_castsi256_ps(_mm256_set1_epi32(kCanonicalNaN));
  return _mm256_castps_si256(_mm256_blendv_ps(sum, one, none));
}

// Where the lanes of w.mask update words, as distances from where `own` begins; false: not all lie within.
WARPEMU_AVX2 bool avx2_offsets(const Warp& w, const Inst& i, const OwnMemory& own, uint64_t* offset) {
  const __m256i begin = _mm256_set1_epi64x(static_cast<long long>(own.begin));
  // Greater as numbers without a sign: both with the highest bit changed.
  const __m256i highest = _mm256_set1_epi64x(std::numeric_limits<long long>::min());
  const __m256i most =
      _mm256_xor_si256(_mm256_set1_epi64x(static_cast<long long>(own.bytes - sizeof(uint32_t))), highest);
  __m256i outside = _mm256_setzero_si256();
  for (uint32_t l = 0; l < kLanes; l += 4) {
    const __m256i address = avx2_addresses(w, i, l), at = _mm256_sub_epi64(address, begin);
    avx2_store(offset + l, at);
    const __m256i beyond = _mm256_cmpgt_epi64(_mm256_xor_si256(at, highest), most);
    const __m256i wrong = _mm256_or_si256(beyond, _mm256_and_si256(address, _mm256_set1_epi64x(3)));
    outside = _mm256_or_si256(outside, _mm256_and_si256(wrong, avx2_mask_64(w.mask, l)));
  }
  return _mm256_testz_si256(outside, outside) != 0;
}

WARPEMU_AVX2 bool avx2_locate(const Warp& w, const Inst& i, const OwnMemory& own, Access& x) {
  if (!avx2_offsets(w, i, own, x.host)) return false;
  const auto host = reinterpret_cast<uint64_t>(own.host);
  for (uint64_t& at : x.host) at += host;
  return true;
}

WARPEMU_AVX2 bool avx2_update(Warp& w, const Inst& i, NativeAtomic atomic, const OwnMemory& own) {
  alignas(32) uint64_t offset[kLanes];
  if (!avx2_offsets(w, i, own, offset)) return false;
  __m256i elsewhere = _mm256_setzero_si256();
  Avx2Row row = avx2_row_64(offset[0], sizeof(uint32_t));
  for (uint32_t l = 0; l < kLanes; l += 4) {
    elsewhere = _mm256_or_si256(elsewhere, _mm256_xor_si256(avx2_load(offset + l), row.lanes));
    row.lanes = _mm256_add_epi64(row.lanes, row.step);
  }
  if (_mm256_testz_si256(elsewhere, elsewhere) == 0 || w.mask != kAllLanes) {
    update_by_lanes(w, i, atomic, own, offset);
    return true;
  }
  const uint32_t* more = lanes<uint32_t>(w, i.b);
  uint32_t* result = i.d == kNoSlot ? nullptr : lanes<uint32_t>(w, i.d);
  for (uint32_t l = 0; l < kLanes; l += 8) {
    auto* place = reinterpret_cast<__m256i*>(own.host + offset[0] + sizeof(uint32_t) * l);
    const __m256i old = _mm256_loadu_si256(place), with = avx2_load(more + l);
    _mm256_storeu_si256(place, avx2_sum(atomic, old, with));
    if (result != nullptr) avx2_store(result + l, old);
  }
  return true;
}

}  // namespace

const LaneOperations kLanesAvx2 = {avx2_holds, avx2_write_out, avx2_complete, avx2_locate, avx2_update};

}  // namespace warpgrade::emu

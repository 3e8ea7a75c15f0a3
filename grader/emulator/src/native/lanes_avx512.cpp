// Lanes with AVX-512.
#include <immintrin.h>

#include <algorithm>

#include "native/lanes.h"
#include "program/program.h"

#define WARPEMU_AVX512 [[gnu::target("avx512f,avx512bw,avx512dq,avx512vl")]]

namespace warpgrade::emu {
namespace {

// base + lane * stride, of the lanes from `first` on.
WARPEMU_AVX512 inline __m512i avx512_row_32(uint32_t base, uint32_t stride, uint32_t first) {
  const __m512i lane = _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
  const __m512i from = _mm512_set1_epi32(static_cast<int>(base + stride * first));
  return _mm512_add_epi32(from, _mm512_mullo_epi32(lane, _mm512_set1_epi32(static_cast<int>(stride))));
}

WARPEMU_AVX512 inline __m512i avx512_row_64(uint64_t base, uint64_t stride, uint32_t first) {
  const __m512i lane = _mm512_set_epi64(7, 6, 5, 4, 3, 2, 1, 0);
  const uint64_t begin = base + stride * first;
  const __m512i from = _mm512_set1_epi64(static_cast<long long>(begin));
  // Steps have 32 bits (flow.cpp), of which a product takes one instruction instead of three.
  const __m512i by = _mm512_set1_epi64(static_cast<long long>(stride));
  return _mm512_add_epi64(from, _mm512_maskz_mul_epi32(0xff, lane, by));
}

// Whether the lanes of `mask` hold what base and step say.
WARPEMU_AVX512 bool avx512_holds(const Warp& w, const ScalarRegister& r, uint64_t base, uint32_t mask) {
  const uint8_t* at = w.regs + r.slot;
  uint32_t other = 0;
  if (r.bytes == 4) {
    for (uint32_t first = 0; first < kLanes; first += 16) {
      const __m512i row = avx512_row_32(uint32_t(base), uint32_t(r.stride), first);
      const auto here = static_cast<__mmask16>(mask >> first);
      other |= _mm512_mask_cmpneq_epi32_mask(here, _mm512_load_si512(at + 4 * first), row);
    }
  } else {
    for (uint32_t first = 0; first < kLanes; first += 8) {
      const __m512i row = avx512_row_64(base, uint64_t(r.stride), first);
      const auto here = static_cast<__mmask8>(mask >> first);
      other |= _mm512_mask_cmpneq_epi64_mask(here, _mm512_load_si512(at + 8 * first), row);
    }
  }
  return other == 0;
}

// To the register file, for the lanes of `mask`.
WARPEMU_AVX512 void avx512_write_out(const Warp& w, const NativeContext& context,
                                     const std::vector<ScalarRegister>& registers, uint32_t mask) {
  for (const ScalarRegister& r : registers) {
    const uint64_t base = base_of(context, r);
    uint8_t* at = w.regs + r.slot;
    if (r.bytes == 4) {
      for (uint32_t first = 0; first < kLanes; first += 16)
        _mm512_mask_store_epi32(at + 4 * first, static_cast<__mmask16>(mask >> first),
                                avx512_row_32(uint32_t(base), uint32_t(r.stride), first));
    } else {
      for (uint32_t first = 0; first < kLanes; first += 8)
        _mm512_mask_store_epi64(at + 8 * first, static_cast<__mmask8>(mask >> first),
                                avx512_row_64(base, uint64_t(r.stride), first));
    }
  }
}

// As the interpreter has them: lanes that are not there follow the first that is.
WARPEMU_AVX512 void avx512_complete(Access& x, uint32_t mask) {
  const uint64_t first = x.host[__builtin_ctz(mask)];
  __m512i low = _mm512_set1_epi64(static_cast<long long>(first)), high = low;
  const __m512i rest = low;
  for (uint32_t lane = 0; lane < kLanes; lane += 8) {
    const auto here = static_cast<__mmask8>(mask >> lane);
    const __m512i host = _mm512_mask_mov_epi64(rest, here, _mm512_load_si512(x.host + lane));
    _mm512_store_si512(x.host + lane, host);
    low = _mm512_maskz_min_epu64(0xff, low, host);
    high = _mm512_maskz_max_epu64(0xff, high, host);
  }
  low = _mm512_maskz_min_epu64(0xff, low, _mm512_maskz_alignr_epi64(0xff, low, low, 4));
  high = _mm512_maskz_max_epu64(0xff, high, _mm512_maskz_alignr_epi64(0xff, high, high, 4));
  low = _mm512_maskz_min_epu64(0xff, low, _mm512_maskz_alignr_epi64(0xff, low, low, 2));
  high = _mm512_maskz_max_epu64(0xff, high, _mm512_maskz_alignr_epi64(0xff, high, high, 2));
  low = _mm512_maskz_min_epu64(0xff, low, _mm512_maskz_alignr_epi64(0xff, low, low, 1));
  high = _mm512_maskz_max_epu64(0xff, high, _mm512_maskz_alignr_epi64(0xff, high, high, 1));
  x.low = static_cast<uint64_t>(_mm_cvtsi128_si64(_mm512_maskz_extracti64x2_epi64(3, low, 0)));
  x.high = static_cast<uint64_t>(_mm_cvtsi128_si64(_mm512_maskz_extracti64x2_epi64(3, high, 0)));
}

WARPEMU_AVX512 __m512i avx512_sum(NativeAtomic atomic, __m512i old, __m512i more) {
  if (atomic == NativeAtomic::add_word) return _mm512_add_epi32(old, more);
  const __m512 sum = _mm512_add_ps(_mm512_castsi512_ps(old), _mm512_castsi512_ps(more));
  const __mmask16 none = _mm512_cmp_ps_mask(sum, sum, _CMP_UNORD_Q);
  return _mm512_mask_mov_epi32(_mm512_castps_si512(sum), none, _mm512_set1_epi32(kCanonicalNaN));
}

WARPEMU_AVX512 __m512i avx512_addresses(const Warp& w, const Inst& i, uint32_t first) {
  const uint8_t* at = w.regs + i.a;
  if (!i.address_is_32)
    return _mm512_add_epi64(_mm512_load_si512(at + 8 * first),
                            _mm512_set1_epi64(static_cast<long long>(i.imm)));
  const __m256i low = _mm256_load_si256(reinterpret_cast<const __m256i*>(at + 4 * first));
  return _mm512_maskz_cvtepu32_epi64(0xff, _mm256_add_epi32(low, _mm256_set1_epi32(static_cast<int>(i.imm))));
}

// Where the lanes of w.mask update words, as distances from where `own` begins; false: not all lie within.
WARPEMU_AVX512 bool avx512_offsets(const Warp& w, const Inst& i, const OwnMemory& own, uint64_t* offset) {
  const __m512i begin = _mm512_set1_epi64(static_cast<long long>(own.begin));
  const __m512i most = _mm512_set1_epi64(static_cast<long long>(own.bytes - sizeof(uint32_t)));
  uint32_t outside = 0;
  for (uint32_t l = 0; l < kLanes; l += 8) {
    const __m512i address = avx512_addresses(w, i, l), at = _mm512_sub_epi64(address, begin);
    _mm512_store_si512(offset + l, at);
    const auto here = static_cast<__mmask8>(w.mask >> l);
    outside |= _mm512_mask_cmpgt_epu64_mask(here, at, most);
    outside |= _mm512_mask_test_epi64_mask(here, address, _mm512_set1_epi64(3));
  }
  return outside == 0;
}

WARPEMU_AVX512 bool avx512_locate(const Warp& w, const Inst& i, const OwnMemory& own, Access& x) {
  if (!avx512_offsets(w, i, own, x.host)) return false;
  const __m512i host = _mm512_set1_epi64(static_cast<long long>(reinterpret_cast<uint64_t>(own.host)));
  for (uint32_t l = 0; l < kLanes; l += 8)
    _mm512_store_si512(x.host + l, _mm512_add_epi64(_mm512_load_si512(x.host + l), host));
  return true;
}

// Lanes one after the other, as the handler has them, but plainly: no one else is at work. False: the
// handler has to.
WARPEMU_AVX512 bool avx512_update(Warp& w, const Inst& i, NativeAtomic atomic, const OwnMemory& own) {
  alignas(64) uint64_t offset[kLanes];
  if (!avx512_offsets(w, i, own, offset)) return false;
  uint32_t elsewhere = 0;
  for (uint32_t l = 0; l < kLanes; l += 8)
    elsewhere |= _mm512_cmpneq_epi64_mask(_mm512_load_si512(offset + l),
                                          avx512_row_64(offset[0], sizeof(uint32_t), l));
  const uint32_t* more = lanes<uint32_t>(w, i.b);
  uint32_t* result = i.d == kNoSlot ? nullptr : lanes<uint32_t>(w, i.d);
  if (elsewhere == 0 && w.mask == kAllLanes) {
    for (uint32_t l = 0; l < kLanes; l += 16) {
      void* place = own.host + offset[0] + sizeof(uint32_t) * l;
      const __m512i old = _mm512_loadu_si512(place);
      _mm512_storeu_si512(place, avx512_sum(atomic, old, _mm512_load_si512(more + l)));
      if (result != nullptr) _mm512_store_si512(result + l, old);
    }
    return true;
  }
  update_by_lanes(w, i, atomic, own, offset);
  return true;
}

}  // namespace

const LaneOperations kLanesAvx512 = {avx512_holds, avx512_write_out, avx512_complete, avx512_locate,
                                     avx512_update};

}  // namespace warpgrade::emu

// AVX2: vectors of 2 or 4 elements of all lanes, side by side from rdx on: between the order of memory and a
// register for each element.
#include "native/avx2_emitter.h"

namespace warpgrade::emu {

void Avx2Emitter::move_interleaved(const Access& a) {
  for (uint32_t p = 0; p < pieces_of(a.bytes); ++p) {
    ++now_;
    if (a.count == 2) {
      a.loads ? load_pairs(a, p) : store_pairs(a, p);
    } else {
      a.loads ? load_quads(a, p) : store_quads(a, p);
    }
  }
}

void Avx2Emitter::load_pairs(const Access& a, uint32_t p) {
  const int at = static_cast<int>(64 * p);
  const Ymm first = allocate(), second = allocate();
  if (a.bytes == 4) {
    vmovups(ymm12, ptr[rdx + at]);
    vmovups(ymm13, ptr[rdx + at + 32]);
    vshufps(first, ymm12, ymm13, 0x88);
    vshufps(second, ymm12, ymm13, 0xDD);
    vpermq(first, first, 0xD8);
    vpermq(second, second, 0xD8);
  } else {
    for (const int k : {0, 1}) {  // lanes 0 and 2, 1 and 3
      vmovups(Xmm(12 + k), ptr[rdx + at + 16 * k]);
      vinserti128(Ymm(12 + k), Ymm(12 + k), ptr[rdx + at + 16 * k + 32], 1);
    }
    vunpcklpd(first, ymm12, ymm13);
    vunpckhpd(second, ymm12, ymm13);
  }
  for (const uint32_t k : {0, 1}) {
    forget_scalar(a.i.vec[k]);
    bind(a.i.vec[k], p, a.bytes, k == 0 ? first : second);
  }
}

// A transposition in each half: lanes 0 to 3, and 4 to 7.
void Avx2Emitter::load_quads(const Access& a, uint32_t p) {
  const int at = static_cast<int>(128 * p);
  const std::vector<Ymm> v = {allocate(), allocate(), allocate(), allocate()};
  for (int pair = 0; pair < 2; ++pair) {
    for (int k = 0; k < 2; ++k) {
      const int lane = 32 * pair + 16 * k;
      vmovups(Xmm(12 + k), ptr[rdx + at + lane]);
      vinserti128(Ymm(12 + k), Ymm(12 + k), ptr[rdx + at + lane + 64], 1);
    }
    vunpcklps(v[2 * pair], ymm12, ymm13);
    vunpckhps(v[2 * pair + 1], ymm12, ymm13);
  }
  vunpckhpd(ymm13, v[0], v[2]);
  vunpcklpd(v[0], v[0], v[2]);
  vunpcklpd(v[2], v[1], v[3]);
  vunpckhpd(v[3], v[1], v[3]);
  vmovaps(v[1], ymm13);
  for (uint32_t k = 0; k < 4; ++k) {
    forget_scalar(a.i.vec[k]);
    bind(a.i.vec[k], p, a.bytes, v[k]);
  }
}

void Avx2Emitter::store_pairs(const Access& a, uint32_t p) {
  const int at = static_cast<int>(64 * p);
  const Ymm first = source(a.i.vec[0], p, a.bytes), second = source(a.i.vec[1], p, a.bytes);
  if (a.bytes == 4) {
    vunpcklps(ymm12, first, second);
    vunpckhps(ymm13, first, second);
  } else {
    vunpcklpd(ymm12, first, second);
    vunpckhpd(ymm13, first, second);
  }
  vperm2f128(ymm14, ymm12, ymm13, 0x20);
  vperm2f128(ymm15, ymm12, ymm13, 0x31);
  vmovups(ptr[rdx + at], ymm14);
  vmovups(ptr[rdx + at + 32], ymm15);
}

void Avx2Emitter::store_quads(const Access& a, uint32_t p) {
  const int at = static_cast<int>(128 * p);
  std::vector<Ymm> v;
  for (uint32_t k = 0; k < 4; ++k) v.push_back(source(a.i.vec[k], p, a.bytes));
  const Ymm spare = allocate();
  vunpcklps(ymm12, v[0], v[1]);
  vunpckhps(ymm13, v[0], v[1]);
  vunpcklps(ymm14, v[2], v[3]);
  vunpckhps(ymm15, v[2], v[3]);
  vunpcklpd(spare, ymm12, ymm14);
  vunpckhpd(ymm12, ymm12, ymm14);
  vunpcklpd(ymm14, ymm13, ymm15);
  vunpckhpd(ymm13, ymm13, ymm15);
  int lane = at;
  for (const Ymm& lanes : {spare, ymm12, ymm14, ymm13}) {
    vmovups(ptr[rdx + lane], Xmm(lanes.getIdx()));
    vextractf128(ptr[rdx + lane + 64], lanes, 1);
    lane += 16;
  }
}

}  // namespace warpgrade::emu

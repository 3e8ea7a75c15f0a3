// AVX2: comparison, selection, and moves between the lanes of vectors.
#include <cstddef>

#include "native/avx2_emitter.h"
#include "native/float_rules.h"

namespace warpgrade::emu {
namespace {

constexpr uint64_t kSignBits = uint64_t(1) << 63;

bool is_one_of(Comparison c, Comparison first, Comparison second) {
  return c == first || c == second;
}

}  // namespace

// Into ymm12. True: it is the opposite of what is asked for.
bool Avx2Emitter::compare_integers(const Decoded& d, Ymm a, Ymm b) {
  const bool narrow = bytes_of(d.type) == 4;
  const Comparison c = d.comparison;
  if (is_one_of(c, Comparison::eq, Comparison::ne)) {
    narrow ? vpcmpeqd(ymm12, a, b) : vpcmpeqq(ymm12, a, b);
    return c == Comparison::ne;
  }
  const bool first_is_greater = is_one_of(c, Comparison::gt, Comparison::le);
  if (narrow && !is_signed(d.type)) {
    // a <= b where the lesser of both is a; a >= b where the greater is.
    first_is_greater ? vpminud(ymm12, a, b) : vpmaxud(ymm12, a, b);
    vpcmpeqd(ymm12, ymm12, a);
    return is_one_of(c, Comparison::gt, Comparison::lt);
  }
  Ymm greater = first_is_greater ? a : b, lesser = first_is_greater ? b : a;
  if (!is_signed(d.type)) {
    vpxor(ymm12, greater, all64(kSignBits));
    vpxor(ymm13, lesser, all64(kSignBits));
    greater = ymm12;
    lesser = ymm13;
  }
  narrow ? vpcmpgtd(ymm12, greater, lesser) : vpcmpgtq(ymm12, greater, lesser);
  return is_one_of(c, Comparison::le, Comparison::ge);
}

// Leaves the comparison's mask of all lanes in eax.
void Avx2Emitter::emit_compare(const Inst& i, const Decoded& d) {
  const uint32_t bytes = bytes_of(d.type);
  bool opposite = false;
  for (uint32_t p = 0; p < pieces_of(bytes); ++p) {
    const Ymm a = source(i.a, p, bytes), b = source(i.b, p, bytes);
    if (is_float(d.type)) {
      const auto how = static_cast<uint8_t>(float_comparison(d.comparison));
      bytes == 4 ? vcmpps(ymm12, a, b, how) : vcmppd(ymm12, a, b, how);
    } else {
      opposite = compare_integers(d, a, b);
    }
    const Reg32 to = p == 0 ? eax : ecx;
    bytes == 4 ? vmovmskps(to, ymm12) : vmovmskpd(to, ymm12);
    ++now_;
    if (p == 0) continue;
    shl(ecx, kLanes / pieces_of(bytes) * p);
    or_(eax, ecx);
  }
  if (opposite) not_(eax);
}

void Avx2Emitter::begin_select() {
  spread_mask(ymm13, eax);
}

void Avx2Emitter::select_piece(int to, int a, int b, uint32_t bytes, uint32_t piece) {
  mask_of_piece(ymm12, ymm13, bytes, piece);
  vpblendvb(Ymm(to), Ymm(b), Ymm(a), ymm12);
}

void Avx2Emitter::unpack_piece(int to, uint32_t slot, uint32_t piece, bool upper) {
  narrow_piece(Ymm(to), slot, piece, upper);
}

// Eight lanes' values, from as many pieces as they lie in.
void Avx2Emitter::shuffle_piece(const ShuffledLanes& lanes, uint32_t piece, int to,
                                const std::vector<int>& from) {
  const Ymm t(to);
  vmovdqa(ymm12, words32([&](uint32_t k) { return lanes.from[8 * piece + k] % 8; }));
  bool first = true;
  for (uint32_t q = 0; q < from.size(); ++q) {
    uint8_t here = 0;
    for (uint32_t k = 0; k < 8; ++k) here |= static_cast<uint8_t>((lanes.from[8 * piece + k] / 8 == q) << k);
    if (here == 0) continue;
    vpermd(first ? t : ymm13, ymm12, Ymm(from[q]));
    if (!first) vpblendd(t, t, ymm13, here);
    first = false;
  }
}

void Avx2Emitter::pick_lane(const Reg32& lane, const std::vector<int>& from) {
  const int spare = offsetof(NativeContext, spare);
  for (uint32_t p = 0; p < from.size(); ++p) vmovdqa(ptr[r12 + spare + int(32 * p)], Ymm(from[p]));
  mov(eax, lane);
  and_(eax, kLanes - 1);
  mov(eax, dword[r12 + rax * 4 + spare]);
}

}  // namespace warpgrade::emu

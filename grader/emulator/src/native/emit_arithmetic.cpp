// Arithmetic, comparison and selection on vectors. Results are those of the handlers (exec/), bit for bit.
#include <algorithm>

#include "native/avx512_emitter.h"
#include "native/float_rules.h"

namespace warpgrade::emu {
namespace {

// The immediate of vpcmpd and kin.
int integer_comparison(Comparison c) {
  switch (c) {
    case Comparison::eq:
      return 0;
    case Comparison::ne:
      return 4;
    case Comparison::lt:
      return 1;
    case Comparison::le:
      return 2;
    case Comparison::gt:
      return 6;
    default:
      return 5;
  }
}

}  // namespace

// A NaN in single precision is always the same one.
void Avx512Emitter::canonical(Zmm t) {
  vcmpps(k7, t, t, 3);
  vpbroadcastd(t | k7, broadcast32(kCanonicalNaN));
}

// The 32-bit values that belong to the eight lanes of piece p of a 64-bit register.
void Avx512Emitter::half_of(Ymm to, uint32_t slot, uint32_t p) {
  const Zmm from = source(slot, p / 2, 4);
  p % 2 == 0 ? vmovdqa64(to, Ymm(from.getIdx())) : vextracti64x4(to, from, 1);
}

void Avx512Emitter::float_piece(const Inst& i, const Decoded& d, uint32_t p, Zmm t) {
  const uint32_t bytes = bytes_of(d.type);
  const bool single = bytes == 4;
  const auto a = [&] { return source(i.a, p, bytes); };
  const auto b = [&] { return source(i.b, p, bytes); };
  switch (d.operation) {
    case Operation::add:
      single ? vaddps(t, a(), b()) : vaddpd(t, a(), b());
      break;
    case Operation::subtract:
      single ? vsubps(t, a(), b()) : vsubpd(t, a(), b());
      break;
    case Operation::multiply:
      single ? vmulps(t, a(), b()) : vmulpd(t, a(), b());
      break;
    case Operation::divide:
      single ? vdivps(t, a(), b()) : vdivpd(t, a(), b());
      break;
    case Operation::square_root:
      single ? vsqrtps(t, a()) : vsqrtpd(t, a());
      break;
    case Operation::reciprocal:
    case Operation::reciprocal_root:
      if (single) {
        vpbroadcastd(zmm28, broadcast32(0x3f800000));
        d.operation == Operation::reciprocal ? vdivps(t, zmm28, a()) : (vsqrtps(t, a()), vdivps(t, zmm28, t));
      } else {
        vpbroadcastq(zmm28, constant({0x3ff0000000000000ull}));
        d.operation == Operation::reciprocal ? vdivpd(t, zmm28, a()) : (vsqrtpd(t, a()), vdivpd(t, zmm28, t));
      }
      break;
    case Operation::multiply_add:
      vmovdqa64(t, a());
      single ? vfmadd213ps(t, b(), source(i.c, p, 4)) : vfmadd213pd(t, b(), source(i.c, p, 8));
      break;
    case Operation::minimum:
    case Operation::maximum: {
      // Of -0 and +0 by their signs; of a number and NaN the number.
      const bool lower = d.operation == Operation::minimum;
      const Zmm x = a(), y = b();
      lower ? vminps(t, x, y) : vmaxps(t, x, y);
      vcmpps(k7, x, y, 0);
      lower ? vpord(t | k7, x, y) : vpandd(t | k7, x, y);
      vcmpps(k7, y, y, 3);
      vmovdqa32(t | k7, x);
      break;
    }
    case Operation::absolute:
      vpandd(t, a(), ptr_b[rip + constants_[{0x7fffffff7fffffffull}]]);
      break;
    case Operation::negate:
      vpxord(t, a(), ptr_b[rip + constants_[{0x8000000080000000ull}]]);
      break;
    default:
      break;
  }
  if (single) canonical(t);
}

void Avx512Emitter::shift_piece(const Inst& i, const Decoded& d, uint32_t p, Zmm t) {
  const uint32_t bytes = bytes_of(d.type);
  const bool left = d.operation == Operation::shift_left, sign = is_signed(d.type);
  const Fact count = fact(i.b);
  const Zmm a = source(i.a, p, bytes);
  if (count.known) {
    const auto n = static_cast<uint8_t>(std::min<uint64_t>(count.value, 255));
    if (bytes == 4) {
      left ? vpslld(t, a, n) : sign ? vpsrad(t, a, n) : vpsrld(t, a, n);
    } else {
      left ? vpsllq(t, a, n) : sign ? vpsraq(t, a, n) : vpsrlq(t, a, n);
    }
    return;
  }
  if (bytes == 4) {
    const Zmm b = source(i.b, p, 4);
    left ? vpsllvd(t, a, b) : sign ? vpsravd(t, a, b) : vpsrlvd(t, a, b);
    return;
  }
  half_of(ymm28, i.b, p);
  vpmovzxdq(zmm28, ymm28);
  left ? vpsllvq(t, a, zmm28) : sign ? vpsravq(t, a, zmm28) : vpsrlvq(t, a, zmm28);
}

void Avx512Emitter::wide_piece(const Inst& i, const Decoded& d, uint32_t p, Zmm t) {
  half_of(ymm28, i.a, p);
  half_of(ymm29, i.b, p);
  vpmovzxdq(zmm28, ymm28);
  vpmovzxdq(zmm29, ymm29);
  is_signed(d.type) ? vpmuldq(t, zmm28, zmm29) : vpmuludq(t, zmm28, zmm29);
  if (d.operation == Operation::multiply_add_wide) vpaddq(t, t, source(i.c, p, 8));
}

void Avx512Emitter::convert_piece(const Inst& i, const Decoded& d, uint32_t p, Zmm t) {
  const uint32_t to = bytes_of(d.type), from = bytes_of(d.from);
  const bool sign = is_signed(d.from);
  const Ymm low(t.getIdx());
  if (to == 8 && from == 4) {
    half_of(ymm28, i.a, p);
    if (!is_float(d.type)) {
      sign ? vpmovsxdq(t, ymm28) : vpmovzxdq(t, ymm28);
    } else if (is_float(d.from)) {
      vcvtps2pd(t, ymm28);
    } else {
      sign ? vcvtdq2pd(t, ymm28) : vcvtudq2pd(t, ymm28);
    }
  } else if (to == 4 && from == 8) {
    const Zmm first = source(i.a, 2 * p, 8), second = source(i.a, 2 * p + 1, 8);
    const bool floats = is_float(d.type);
    floats ? vcvtpd2ps(low, first) : vpmovqd(low, first);
    floats ? vcvtpd2ps(ymm28, second) : vpmovqd(ymm28, second);
    vinserti64x4(t, t, ymm28, 1);
  } else if (is_float(d.type) && !is_float(d.from)) {
    const Zmm a = source(i.a, p, 4);
    sign ? vcvtdq2ps(t, a) : vcvtudq2ps(t, a);
  } else {
    vmovdqa64(t, source(i.a, p, from));
  }
}

void Avx512Emitter::integer_piece(const Inst& i, const Decoded& d, uint32_t p, Zmm t) {
  const uint32_t bytes = bytes_of(d.type);
  const bool narrow = bytes == 4, sign = is_signed(d.type);
  const auto a = [&] { return source(i.a, p, bytes); };
  const auto b = [&] { return source(i.b, p, bytes); };
  switch (d.operation) {
    case Operation::add:
      narrow ? vpaddd(t, a(), b()) : vpaddq(t, a(), b());
      break;
    case Operation::subtract:
      narrow ? vpsubd(t, a(), b()) : vpsubq(t, a(), b());
      break;
    case Operation::multiply:
    case Operation::multiply_add:
      narrow ? vpmulld(t, a(), b()) : vpmullq(t, a(), b());
      if (d.operation == Operation::multiply_add)
        narrow ? vpaddd(t, t, source(i.c, p, 4)) : vpaddq(t, t, source(i.c, p, 8));
      break;
    case Operation::bit_and:
      vpandd(t, a(), b());
      break;
    case Operation::bit_or:
      vpord(t, a(), b());
      break;
    case Operation::bit_xor:
      vpxord(t, a(), b());
      break;
    case Operation::bit_not:
      vpternlogd(t, t, a(), 0x55);  // of the last operand alone
      break;
    case Operation::minimum:
      narrow ? (sign ? vpminsd(t, a(), b()) : vpminud(t, a(), b()))
             : (sign ? vpminsq(t, a(), b()) : vpminuq(t, a(), b()));
      break;
    case Operation::maximum:
      narrow ? (sign ? vpmaxsd(t, a(), b()) : vpmaxud(t, a(), b()))
             : (sign ? vpmaxsq(t, a(), b()) : vpmaxuq(t, a(), b()));
      break;
    case Operation::negate:
      vpxord(zmm28, zmm28, zmm28);
      narrow ? vpsubd(t, zmm28, a()) : vpsubq(t, zmm28, a());
      break;
    case Operation::absolute:
      if (!sign) {
        vmovdqa64(t, a());
      } else {
        narrow ? vpabsd(t, a()) : vpabsq(t, a());
      }
      break;
    case Operation::logic3:
      vmovdqa64(t, a());
      vpternlogd(t, b(), source(i.c, p, 4), static_cast<uint8_t>(i.imm));
      break;
    default:
      break;
  }
}

void Avx512Emitter::vector_piece(const Inst& i, const Decoded& d, uint32_t p, Zmm t) {
  switch (d.operation) {
    case Operation::move:
      return vmovdqa64(t, source(i.a, p, bytes_of(d.type)));
    case Operation::add_immediate:
      vpbroadcastq(zmm28, constant({uint64_t(i.imm)}));
      return vpaddq(t, source(i.a, p, 8), zmm28);
    case Operation::shift_left:
    case Operation::shift_right:
      return shift_piece(i, d, p, t);
    case Operation::multiply_wide:
    case Operation::multiply_add_wide:
      return wide_piece(i, d, p, t);
    case Operation::convert:
      return convert_piece(i, d, p, t);
    case Operation::pack:
      half_of(ymm28, i.vec[0], p);
      half_of(ymm29, i.vec[1], p);
      vpmovzxdq(t, ymm28);
      vpmovzxdq(zmm29, ymm29);
      vpsllq(zmm29, zmm29, 32);
      return vporq(t, t, zmm29);
    default:
      return is_float(d.type) ? float_piece(i, d, p, t) : integer_piece(i, d, p, t);
  }
}

void Avx512Emitter::compute_piece(const Inst& i, const Decoded& d, uint32_t piece, int to) {
  vector_piece(i, d, piece, Zmm(to));
}

void Avx512Emitter::unpack_piece(int to, uint32_t slot, uint32_t piece, bool upper) {
  const Zmm t(to), first = source(slot, 2 * piece, 8), second = source(slot, 2 * piece + 1, 8);
  if (upper) {
    vpsrlq(zmm28, first, 32);
    vpsrlq(zmm29, second, 32);
  }
  vpmovqd(Ymm(to), upper ? zmm28 : first);
  vpmovqd(ymm28, upper ? zmm29 : second);
  vinserti64x4(t, t, ymm28, 1);
}

// Leaves the comparison's mask of all lanes in eax.
void Avx512Emitter::emit_compare(const Inst& i, const Decoded& d) {
  const uint32_t bytes = bytes_of(d.type);
  const auto compare = [&](const Opmask& to, uint32_t p) {
    const Zmm a = source(i.a, p, bytes), b = source(i.b, p, bytes);
    if (is_float(d.type)) {
      const auto how = static_cast<uint8_t>(float_comparison(d.comparison));
      bytes == 4 ? vcmpps(to, a, b, how) : vcmppd(to, a, b, how);
      return;
    }
    const auto how = static_cast<uint8_t>(integer_comparison(d.comparison));
    if (bytes == 4) {
      is_signed(d.type) ? vpcmpd(to, a, b, how) : vpcmpud(to, a, b, how);
    } else {
      is_signed(d.type) ? vpcmpq(to, a, b, how) : vpcmpuq(to, a, b, how);
    }
  };
  if (bytes == 4) {
    compare(k0, 0);
    compare(k7, 1);
    kunpckwd(k7, k7, k0);
    kmovd(eax, k7);
  } else {
    for (uint32_t p = 0; p < 4; ++p) {
      compare(k7, p);
      kmovb(p == 0 ? eax : ecx, k7);
      if (p == 0) continue;
      shl(ecx, 8 * p);
      or_(eax, ecx);
    }
  }
}

void Avx512Emitter::select_piece(int to, int a, int b, uint32_t bytes, uint32_t piece) {
  if (piece != 0) shr(eax, kLanes / pieces_of(bytes));
  kmovd(k7, eax);
  bytes == 4 ? vpblendmd(Zmm(to) | k7, Zmm(b), Zmm(a)) : vpblendmq(Zmm(to) | k7, Zmm(b), Zmm(a));
}

// Of a warp that is all there.
void Avx512Emitter::emit_order() {
  mov(rax, ptr[r12 + offsetof(NativeContext, clock)]);
  mov(ecx, dword[rax]);
  inc(ecx);
  mov(dword[rax], ecx);
  vpbroadcastd(zmm28, ecx);
  mov(rax, ptr[r12 + offsetof(NativeContext, lanes_since)]);
  for (int p = 0; p < 2; ++p) vmovdqu32(ptr[rax + 64 * p], zmm28);
  mov(rax, ptr[r12 + offsetof(NativeContext, warp_since)]);
  mov(dword[rax], ecx);
}

void Avx512Emitter::shuffle_piece(const ShuffledLanes& lanes, uint32_t piece, int to,
                                  const std::vector<int>& from) {
  vmovdqa64(Zmm(to), indices(4, [&](uint32_t k) { return lanes.from[16 * piece + k]; }));
  vpermi2d(Zmm(to), Zmm(from[0]), Zmm(from[1]));
}

void Avx512Emitter::pick_lane(const Reg32& lane, const std::vector<int>& from) {
  mov(eax, lane);
  vpbroadcastd(zmm28, eax);
  vpermi2d(zmm28, Zmm(from[0]), Zmm(from[1]));
  vmovd(eax, Xbyak::Xmm(28));
}

}  // namespace warpgrade::emu

// AVX2: arithmetic on vectors. Results are those of the handlers (exec/), bit for bit.
#include <algorithm>

#include "native/avx2_emitter.h"
#include "native/float_rules.h"

namespace warpgrade::emu {
namespace {

constexpr uint64_t kSignBit = uint64_t(1) << 63;

}  // namespace

// A NaN in single precision is always the same one.
void Avx2Emitter::canonical(Ymm t) {
  vcmpps(ymm12, t, t, 3);
  vblendvps(t, t, all32(kCanonicalNaN), ymm12);
}

// Of -0 and +0 by their signs; of a number and NaN the number.
void Avx2Emitter::float_minimum(bool lower, Ymm t, Ymm x, Ymm y) {
  lower ? vminps(t, x, y) : vmaxps(t, x, y);
  vcmpps(ymm12, x, y, 0);
  lower ? vpor(ymm13, x, y) : vpand(ymm13, x, y);
  vblendvps(t, t, ymm13, ymm12);
  vcmpps(ymm12, y, y, 3);
  vblendvps(t, t, x, ymm12);
}

void Avx2Emitter::float_reciprocal(const Decoded& d, Ymm t, Ymm a) {
  const bool single = bytes_of(d.type) == 4;
  Ymm of = a;
  if (d.operation == Operation::reciprocal_root) {
    single ? vsqrtps(t, a) : vsqrtpd(t, a);
    of = t;
  }
  vmovdqa(ymm12, single ? all32(0x3f800000) : all64(0x3ff0000000000000ull));
  single ? vdivps(t, ymm12, of) : vdivpd(t, ymm12, of);
}

void Avx2Emitter::float_piece(const Inst& i, const Decoded& d, uint32_t p, Ymm t) {
  const uint32_t bytes = bytes_of(d.type);
  const bool single = bytes == 4;
  const Ymm a = source(i.a, p, bytes);
  const auto b = [&] { return source(i.b, p, bytes); };
  switch (d.operation) {
    case Operation::add:
      single ? vaddps(t, a, b()) : vaddpd(t, a, b());
      break;
    case Operation::subtract:
      single ? vsubps(t, a, b()) : vsubpd(t, a, b());
      break;
    case Operation::multiply:
      single ? vmulps(t, a, b()) : vmulpd(t, a, b());
      break;
    case Operation::divide:
      single ? vdivps(t, a, b()) : vdivpd(t, a, b());
      break;
    case Operation::square_root:
      single ? vsqrtps(t, a) : vsqrtpd(t, a);
      break;
    case Operation::reciprocal:
    case Operation::reciprocal_root:
      float_reciprocal(d, t, a);
      break;
    case Operation::multiply_add: {
      const Ymm y = b(), z = source(i.c, p, bytes);
      vmovaps(t, a);
      single ? vfmadd213ps(t, y, z) : vfmadd213pd(t, y, z);
      break;
    }
    case Operation::minimum:
    case Operation::maximum:
      float_minimum(d.operation == Operation::minimum, t, a, b());
      break;
    case Operation::absolute:
      vpand(t, a, all32(0x7fffffff));
      break;
    case Operation::negate:
      vpxor(t, a, all32(0x80000000));
      break;
    default:
      break;
  }
  if (single) canonical(t);
}

// Right, with copies of the sign: of the bits where they differ from the sign.
void Avx2Emitter::shift_right_64(Ymm t, Ymm a, const std::function<void()>& shift) {
  vpxor(ymm12, ymm12, ymm12);
  vpcmpgtq(ymm12, ymm12, a);
  vpxor(t, a, ymm12);
  shift();
  vpxor(t, t, ymm12);
}

void Avx2Emitter::shift_piece(const Inst& i, const Decoded& d, uint32_t p, Ymm t) {
  const uint32_t bytes = bytes_of(d.type);
  const bool left = d.operation == Operation::shift_left, sign = is_signed(d.type);
  const Fact count = fact(i.b);
  const Ymm a = source(i.a, p, bytes);
  if (count.known) {
    const auto n = static_cast<uint8_t>(std::min<uint64_t>(count.value, 255));
    if (bytes == 4) {
      left ? vpslld(t, a, n) : sign ? vpsrad(t, a, n) : vpsrld(t, a, n);
    } else if (!left && sign) {
      shift_right_64(t, a, [&] { vpsrlq(t, t, n); });
    } else {
      left ? vpsllq(t, a, n) : vpsrlq(t, a, n);
    }
    return;
  }
  if (bytes == 4) {
    const Ymm b = source(i.b, p, 4);
    left ? vpsllvd(t, a, b) : sign ? vpsravd(t, a, b) : vpsrlvd(t, a, b);
    return;
  }
  widened_half(ymm13, i.b, p, false);
  if (!left && sign) return shift_right_64(t, a, [&] { vpsrlvq(t, t, ymm13); });
  left ? vpsllvq(t, a, ymm13) : vpsrlvq(t, a, ymm13);
}

void Avx2Emitter::widening_piece(const Inst& i, const Decoded& d, uint32_t p, Ymm t) {
  widened_half(ymm12, i.a, p, false);
  widened_half(ymm13, i.b, p, false);
  is_signed(d.type) ? vpmuldq(t, ymm12, ymm13) : vpmuludq(t, ymm12, ymm13);
  if (d.operation == Operation::multiply_add_wide) vpaddq(t, t, source(i.c, p, 8));
}

// The lower or upper halves of eight 64-bit values.
void Avx2Emitter::narrow_piece(Ymm t, uint32_t slot, uint32_t p, bool upper) {
  const Ymm first = source(slot, 2 * p, 8), second = source(slot, 2 * p + 1, 8);
  vshufps(t, first, second, upper ? 0xDD : 0x88);
  vpermq(t, t, 0xD8);
}

void Avx2Emitter::convert_to_float(const Inst& i, const Decoded& d, uint32_t p, Ymm t) {
  const bool sign = is_signed(d.from), single = bytes_of(d.type) == 4;
  if (single && sign) return vcvtdq2ps(t, source(i.a, p, 4));
  if (single) {
    // Both halves are exact, and their sum is rounded once.
    const Ymm a = source(i.a, p, 4);
    vpsrld(ymm12, a, 16);
    vcvtdq2ps(ymm12, ymm12);
    vpand(t, a, all32(0xffff));
    vcvtdq2ps(t, t);
    return vfmadd231ps(t, ymm12, all32(0x47800000));  // 65536
  }
  if (sign) return vcvtdq2pd(t, half_of(xmm12, i.a, p));
  // As the lower bits of 2^52.
  widened_half(t, i.a, p, false);
  vpor(t, t, all64(0x4330000000000000ull));
  vsubpd(t, t, all64(0x4330000000000000ull));
}

void Avx2Emitter::convert_piece(const Inst& i, const Decoded& d, uint32_t p, Ymm t) {
  const uint32_t to = bytes_of(d.type), from = bytes_of(d.from);
  if (is_float(d.type) && !is_float(d.from)) return convert_to_float(i, d, p, t);
  if (to == from) return vmovdqa(t, source(i.a, p, from));
  if (to == 8 && is_float(d.type)) return vcvtps2pd(t, half_of(xmm12, i.a, p));
  if (to == 8) return widened_half(t, i.a, p, is_signed(d.from));
  if (!is_float(d.type)) return narrow_piece(t, i.a, p, false);
  const Ymm first = source(i.a, 2 * p, 8), second = source(i.a, 2 * p + 1, 8);
  vcvtpd2ps(Xmm(t.getIdx()), first);
  vcvtpd2ps(xmm12, second);
  vinserti128(t, t, xmm12, 1);
}

// The lower 64 bits of products, of products of 32 bits.
void Avx2Emitter::multiply_64(Ymm t, Ymm a, Ymm b) {
  vpsrlq(ymm12, a, 32);
  vpmuludq(ymm12, ymm12, b);
  vpsrlq(ymm13, b, 32);
  vpmuludq(ymm13, ymm13, a);
  vpaddq(ymm12, ymm12, ymm13);
  vpsllq(ymm12, ymm12, 32);
  vpmuludq(t, a, b);
  vpaddq(t, t, ymm12);
}

void Avx2Emitter::minimum_64(bool lower, bool sign, Ymm t, Ymm a, Ymm b) {
  if (sign) {
    vpcmpgtq(ymm12, a, b);
  } else {
    vpxor(ymm12, a, all64(kSignBit));
    vpxor(ymm13, b, all64(kSignBit));
    vpcmpgtq(ymm12, ymm12, ymm13);
  }
  lower ? vpblendvb(t, a, b, ymm12) : vpblendvb(t, b, a, ymm12);
}

// The function of two operands whose values for (0,0), (0,1), (1,0), (1,1) are the bits of `table`.
void Avx2Emitter::logic2(Ymm to, uint32_t table, Ymm b, Ymm c) {
  // Those that are 1 for (0,0) are the opposite of one that is 0 there.
  const bool inverted = (table & 1) != 0;
  switch (inverted ? ~table & 15 : table) {
    case 0:
      vpxor(to, to, to);
      break;
    case 2:
      vpandn(to, b, c);
      break;
    case 4:
      vpandn(to, c, b);
      break;
    case 6:
      vpxor(to, b, c);
      break;
    case 8:
      vpand(to, b, c);
      break;
    case 10:
      vmovdqa(to, c);
      break;
    case 12:
      vmovdqa(to, b);
      break;
    default:  // 14
      vpor(to, b, c);
      break;
  }
  if (inverted) vpxor(to, to, all32(~0u));
}

// a ? f1(b, c) : f0(b, c) = f0(b, c) ^ (a & (f0 ^ f1)(b, c))
void Avx2Emitter::logic3_piece(const Inst& i, uint32_t p, Ymm t) {
  const auto table = static_cast<uint32_t>(i.imm) & 255, f0 = table & 15, f1 = table >> 4;
  const Ymm a = source(i.a, p, 4), b = source(i.b, p, 4), c = source(i.c, p, 4);
  logic2(t, f0 ^ f1, b, c);
  vpand(t, t, a);
  if (f0 == 0) return;
  logic2(ymm12, f0, b, c);
  vpxor(t, t, ymm12);
}

// What AVX2 has no instruction of its own for.
void Avx2Emitter::wide_integer_piece(const Inst& i, const Decoded& d, uint32_t p, Ymm t) {
  const Ymm a = source(i.a, p, 8);
  const bool sign = is_signed(d.type);
  switch (d.operation) {
    case Operation::multiply:
      return multiply_64(t, a, source(i.b, p, 8));
    case Operation::multiply_add:
      multiply_64(t, a, source(i.b, p, 8));
      return vpaddq(t, t, source(i.c, p, 8));
    case Operation::minimum:
    case Operation::maximum:
      return minimum_64(d.operation == Operation::minimum, sign, t, a, source(i.b, p, 8));
    default:  // absolute
      if (!sign) return vmovdqa(t, a);
      vpxor(ymm12, ymm12, ymm12);
      vpcmpgtq(ymm12, ymm12, a);
      vpxor(t, a, ymm12);
      return vpsubq(t, t, ymm12);
  }
}

void Avx2Emitter::integer_piece(const Inst& i, const Decoded& d, uint32_t p, Ymm t) {
  const uint32_t bytes = bytes_of(d.type);
  const bool narrow = bytes == 4, sign = is_signed(d.type);
  const Ymm a = source(i.a, p, bytes);
  const auto b = [&] { return source(i.b, p, bytes); };
  switch (d.operation) {
    case Operation::add:
      return narrow ? vpaddd(t, a, b()) : vpaddq(t, a, b());
    case Operation::subtract:
      return narrow ? vpsubd(t, a, b()) : vpsubq(t, a, b());
    case Operation::multiply:
    case Operation::multiply_add:
      if (!narrow) return wide_integer_piece(i, d, p, t);
      vpmulld(t, a, b());
      if (d.operation == Operation::multiply_add) vpaddd(t, t, source(i.c, p, 4));
      return;
    case Operation::bit_and:
      return vpand(t, a, b());
    case Operation::bit_or:
      return vpor(t, a, b());
    case Operation::bit_xor:
      return vpxor(t, a, b());
    case Operation::bit_not:
      return vpxor(t, a, all32(~0u));
    case Operation::minimum:
      if (!narrow) return wide_integer_piece(i, d, p, t);
      return sign ? vpminsd(t, a, b()) : vpminud(t, a, b());
    case Operation::maximum:
      if (!narrow) return wide_integer_piece(i, d, p, t);
      return sign ? vpmaxsd(t, a, b()) : vpmaxud(t, a, b());
    case Operation::negate:
      vpxor(ymm12, ymm12, ymm12);
      return narrow ? vpsubd(t, ymm12, a) : vpsubq(t, ymm12, a);
    case Operation::absolute:
      if (!narrow) return wide_integer_piece(i, d, p, t);
      return sign ? vpabsd(t, a) : vmovdqa(t, a);
    default:  // logic3
      return logic3_piece(i, p, t);
  }
}

void Avx2Emitter::vector_piece(const Inst& i, const Decoded& d, uint32_t p, Ymm t) {
  switch (d.operation) {
    case Operation::move:
      return vmovdqa(t, source(i.a, p, bytes_of(d.type)));
    case Operation::add_immediate:
      return vpaddq(t, source(i.a, p, 8), all64(uint64_t(i.imm)));
    case Operation::shift_left:
    case Operation::shift_right:
      return shift_piece(i, d, p, t);
    case Operation::multiply_wide:
    case Operation::multiply_add_wide:
      return widening_piece(i, d, p, t);
    case Operation::convert:
      return convert_piece(i, d, p, t);
    case Operation::pack:
      widened_half(ymm12, i.vec[0], p, false);
      widened_half(ymm13, i.vec[1], p, false);
      vpsllq(ymm13, ymm13, 32);
      return vpor(t, ymm12, ymm13);
    default:
      return is_float(d.type) ? float_piece(i, d, p, t) : integer_piece(i, d, p, t);
  }
}

void Avx2Emitter::compute_piece(const Inst& i, const Decoded& d, uint32_t piece, int to) {
  vector_piece(i, d, piece, Ymm(to));
}

}  // namespace warpgrade::emu

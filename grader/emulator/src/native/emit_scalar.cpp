// Arithmetic and comparison on scalars, where one value and a step stand for all lanes, and predicates, which
// are masks of 32 bits. Results are those of the handlers (exec/), bit for bit.
#include <algorithm>

#include "native/emitter.h"

namespace warpgrade::emu {
namespace {

Xbyak::Reg sized(const Xbyak::Reg64& r, bool wide) {
  if (wide) return r;
  return r.cvt32();
}

}  // namespace

Xbyak::Reg Emitter::scalar_operand(const Decoded& d, size_t k, bool wide) {
  return sized(scalar(d.reads[k].slot), wide);
}

// Into rax, as the others below.
void Emitter::scalar_minimum(const Decoded& d, bool wide) {
  const Xbyak::Reg to = sized(rax, wide);
  const bool lower = d.operation == Operation::minimum;
  mov(to, scalar_operand(d, 0, wide));
  const Xbyak::Reg other = scalar_operand(d, 1, wide);
  cmp(other, to);
  if (is_signed(d.type)) {
    lower ? cmovl(to, other) : cmovg(to, other);
  } else {
    lower ? cmovb(to, other) : cmova(to, other);
  }
}

void Emitter::scalar_shift(const Inst& i, const Decoded& d, uint32_t bytes) {
  const Xbyak::Reg to = sized(rax, bytes == 8);
  const Fact count = fact(i.b);
  const uint32_t bits = 8 * bytes, n = static_cast<uint32_t>(std::min<uint64_t>(count.value, bits));
  mov(to, scalar_operand(d, 0, bytes == 8));
  if (is_signed(d.type) && d.operation == Operation::shift_right) {
    sar(to, std::min(n, bits - 1));
  } else if (n == bits) {
    xor_(eax, eax);
  } else {
    d.operation == Operation::shift_left ? shl(to, n) : shr(to, n);
  }
}

void Emitter::scalar_widening(const Inst& i, const Decoded& d, bool wide) {
  const bool converts = d.operation == Operation::convert;
  const bool sign = is_signed(converts ? d.from : d.type);
  const bool widens = !converts || (wide && bytes_of(d.from) == 4);
  if (!widens) {
    mov(sized(rax, wide), scalar_operand(d, 0, wide));
    return;
  }
  // A lane that wraps around is further away than the step says.
  for (size_t k = 0; k < (converts ? 1 : 2); ++k) {
    const Fact f = fact(d.reads[k].slot);
    if (f.stride == 0) continue;
    mov(ecx, scalar(d.reads[k].slot).cvt32());
    add(ecx, static_cast<uint32_t>(f.stride * (kLanes - 1)));
    Label stop;
    sign ? jo(stop, T_NEAR) : jc(stop, T_NEAR);
    stop_before(i, stop);
  }
  const auto widened = [&](const Reg64& r, size_t k) {
    const Reg64 from = scalar(d.reads[k].slot);
    sign ? movsxd(r, from.cvt32()) : mov(r.cvt32(), from.cvt32());
  };
  widened(rax, 0);
  if (!converts) {
    widened(rcx, 1);
    imul(rax, rcx);
    if (d.operation == Operation::multiply_add_wide) add(rax, scalar(i.c));
  }
}

bool Emitter::emit_scalar(const Inst& i, const Decoded& d, const Fact& result) {
  const uint32_t bytes = result.bytes;
  const bool wide = bytes == 8;
  const Xbyak::Reg to = sized(rax, wide);
  const auto of = [&](size_t k) { return scalar_operand(d, k, wide); };
  switch (d.operation) {
    case Operation::move:
      mov(to, of(0));
      break;
    case Operation::add_immediate:
      mov(to, of(0));
      if (i.imm != 0) {
        mov(rcx, uint64_t(i.imm));
        add(rax, rcx);
      }
      break;
    case Operation::add:
      mov(to, of(0));
      add(to, of(1));
      break;
    case Operation::subtract:
      mov(to, of(0));
      sub(to, of(1));
      break;
    case Operation::bit_and:
      mov(to, of(0));
      and_(to, of(1));
      break;
    case Operation::bit_or:
      mov(to, of(0));
      or_(to, of(1));
      break;
    case Operation::bit_xor:
      mov(to, of(0));
      xor_(to, of(1));
      break;
    case Operation::bit_not:
      mov(to, of(0));
      not_(to);
      break;
    case Operation::negate:
      mov(to, of(0));
      neg(to);
      break;
    case Operation::minimum:
    case Operation::maximum:
      scalar_minimum(d, wide);
      break;
    case Operation::shift_left:
    case Operation::shift_right:
      scalar_shift(i, d, bytes);
      break;
    case Operation::multiply:
    case Operation::multiply_add:
      mov(to, of(0));
      imul(to, of(1));
      if (d.operation == Operation::multiply_add) add(to, of(2));
      break;
    case Operation::multiply_wide:
    case Operation::multiply_add_wide:
    case Operation::convert:
      scalar_widening(i, d, wide);
      break;
    default:
      return false;
  }
  define_scalar(i.d, rax);
  return true;
}

// Of uniform integers: all lanes or none.
void Emitter::emit_scalar_compare(const Inst& i, const Decoded& d) {
  const Reg64 a = scalar(i.a), b = scalar(i.b);
  xor_(eax, eax);
  bytes_of(d.type) == 8 ? cmp(a, b) : cmp(a.cvt32(), b.cvt32());
  const bool sign = is_signed(d.type);
  switch (d.comparison) {
    case Comparison::eq:
      sete(al);
      break;
    case Comparison::ne:
      setne(al);
      break;
    case Comparison::lt:
      sign ? setl(al) : setb(al);
      break;
    case Comparison::le:
      sign ? setle(al) : setbe(al);
      break;
    case Comparison::gt:
      sign ? setg(al) : seta(al);
      break;
    default:
      sign ? setge(al) : setae(al);
      break;
  }
  neg(eax);
}

void Emitter::emit_predicates(const Inst& i, const Decoded& d) {
  if (d.operation != Operation::compare) {
    mov(eax, predicate(i.a));
    switch (d.operation) {
      case Operation::predicate_and:
        and_(eax, predicate(i.b));
        break;
      case Operation::predicate_or:
        or_(eax, predicate(i.b));
        break;
      case Operation::predicate_xor:
        xor_(eax, predicate(i.b));
        break;
      case Operation::predicate_not:
        not_(eax);
        break;
      default:
        break;
    }
    return define_predicate(i.d);
  }
  const bool scalars = !is_float(d.type) && fact(i.a).is_uniform() && fact(i.b).is_uniform();
  scalars ? emit_scalar_compare(i, d) : emit_compare(i, d);
  // p = join(result), q = join(~result); the joined predicate is read before either is written.
  const auto join = [&] {
    if (i.variant == 0) return;
    mov(ecx, predicate(i.c));
    if (i.flags != 0) not_(ecx);
    i.variant == 1 ? and_(eax, ecx) : i.variant == 2 ? or_(eax, ecx) : xor_(eax, ecx);
  };
  if (i.e == kNoSlot) {
    join();
    if (i.d != kNoSlot) define_predicate(i.d);
    return;
  }
  mov(edx, eax);
  not_(edx);
  if (i.variant != 0) {
    mov(ecx, predicate(i.c));
    if (i.flags != 0) not_(ecx);
    i.variant == 1 ? and_(edx, ecx) : i.variant == 2 ? or_(edx, ecx) : xor_(edx, ecx);
  }
  join();
  if (i.d != kNoSlot) define_predicate(i.d);
  mov(eax, edx);
  define_predicate(i.e);
}

// Shuffles of a warp that is all there, by a distance that is known or to the lane that all lanes name. The
// rest, and what racecheck wants to know of, is the handler's: nullopt.
std::optional<Emitter::ShuffledLanes> Emitter::shuffled_lanes(const Inst& i) const {
  const Fact distance = fact(i.b), bounds = fact(i.c), members = fact(i.e);
  ShuffledLanes lanes;
  lanes.picks = flow_.result(i, flow_.decoded(i.index), facts_).is_scalar();
  if ((mode_.orders_lanes && !orders_lanes_natively()) || !bounds.known || !members.known ||
      uint32_t(members.value) != kAllLanes)
    return std::nullopt;
  if (!lanes.picks && !distance.known) return std::nullopt;
  const int clamp = int(bounds.value & 31), segment = int(bounds.value >> 8 & 31);
  if (lanes.picks && clamp != 31) return std::nullopt;
  for (int l = 0; l < int(kLanes); ++l) {
    const int by = int(distance.value & 31), last = (l & segment) | (clamp & ~segment), first = l & segment;
    const int wanted = i.variant == 0   ? l - by
                       : i.variant == 1 ? l + by
                       : i.variant == 2 ? l ^ by
                                        : first | (by & ~segment);
    const bool valid = lanes.picks || (i.variant == 0 ? wanted >= last : wanted <= last);
    lanes.from[l] = uint32_t(valid ? wanted : l) % kLanes;
    lanes.in_range |= uint32_t(valid) << l;
  }
  return lanes;
}

}  // namespace warpgrade::emu

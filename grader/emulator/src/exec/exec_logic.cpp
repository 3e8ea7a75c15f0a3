// Comparison, selection, bitwise logic, moves, and operations on predicates.
#include "exec/half.h"
#include "memory/device_memory.h"

namespace warpgrade::emu::WARPEMU_ISA {
namespace {

struct And {
  template <class T>
  static T apply(T a, T b) {
    return T(a & b);
  }
};
struct Or {
  template <class T>
  static T apply(T a, T b) {
    return T(a | b);
  }
};
struct Xor {
  template <class T>
  static T apply(T a, T b) {
    return T(a ^ b);
  }
};
struct Not {
  template <class T>
  static T apply(T a) {
    return T(~a);
  }
};
struct Cnot {
  template <class T>
  static T apply(T a) {
    return T(a == 0);
  }
};

struct Eq {
  template <class T>
  static bool apply(T a, T b) {
    return a == b;
  }
};
struct Ne {
  template <class T>
  static bool apply(T a, T b) {
    return a < b || a > b;
  }
};  // false for NaN
struct Lt {
  template <class T>
  static bool apply(T a, T b) {
    return a < b;
  }
};
struct Le {
  template <class T>
  static bool apply(T a, T b) {
    return a <= b;
  }
};
struct Gt {
  template <class T>
  static bool apply(T a, T b) {
    return a > b;
  }
};
struct Ge {
  template <class T>
  static bool apply(T a, T b) {
    return a >= b;
  }
};
struct Num {
  template <class T>
  static bool apply(T a, T b) {
    return a == a && b == b;
  }
};
struct Nan {
  template <class T>
  static bool apply(T a, T b) {
    return a != a || b != b;
  }
};
template <class Op>
struct OrNan {
  template <class T>
  static bool apply(T a, T b) {
    return Op::apply(a, b) || a != a || b != b;
  }
};

// .ftz: subnormal operands compare like zero.
float flush(float a) {
  return __builtin_fabsf(a) < 0x1p-126f ? __builtin_copysignf(0.0f, a) : a;
}
template <class Op>
struct Flushed {
  static bool apply(float a, float b) { return Op::apply(flush(a), flush(b)); }
};

template <class T>
T operand(T a) {
  return a;
}
float operand(Half a) {
  return to_float(a);
}
float operand(BFloat a) {
  return to_float(a);
}

template <class T, class Op>
uint32_t compare(Warp& w, const Inst& i) {
  const T* a = lanes<T>(w, i.a);
  const T* b = lanes<T>(w, i.b);
  return lane_mask([=](uint32_t l) { return Op::apply(operand(a[l]), operand(b[l])); });
}

// Inst::variant: how a third predicate joins (BoolOp); Inst::flags: it is negated.
enum BoolOp : uint8_t { kNone, kAnd, kOr, kXor };
uint32_t join(Warp& w, const Inst& i, uint32_t value) {
  if (i.variant == kNone) return value;
  const uint32_t c = predicate(w, i.c) ^ (i.flags ? ~0u : 0u);
  return i.variant == kAnd ? value & c : i.variant == kOr ? value | c : value ^ c;
}

// setp p|q, a, b: q gets the negated comparison.
template <class T, class Op>
void set_predicate(Warp& w, const Inst& i) {
  const uint32_t result = compare<T, Op>(w, i);
  const uint32_t p = join(w, i, result);
  const uint32_t q = join(w, i, ~result);
  if (i.d != kNoSlot) write_predicate(w, i.d, p);
  if (i.e != kNoSlot) write_predicate(w, i.e, q);
}

// set.*.u32 writes all ones, set.*.f32 writes 1.0: imm is the value for true.
template <class T, class Op>
void set_value(Warp& w, const Inst& i) {
  const uint32_t result = join(w, i, compare<T, Op>(w, i));
  const auto yes = uint32_t(i.imm);
  assign<uint32_t>(w, i.d, [=](uint32_t l) { return (result >> l & 1) ? yes : 0u; });
}

template <class T>
void select(Warp& w, const Inst& i) {
  const T* a = lanes<T>(w, i.a);
  const T* b = lanes<T>(w, i.b);
  const uint32_t c = predicate(w, i.c) ^ (i.flags ? ~0u : 0u);
  assign<T>(w, i.d, [=](uint32_t l) { return (c >> l & 1) ? a[l] : b[l]; });
}

// slct: a where c >= 0, else b.
template <class T, class C>
void select_by_sign(Warp& w, const Inst& i) {
  const T* a = lanes<T>(w, i.a);
  const T* b = lanes<T>(w, i.b);
  const C* c = lanes<C>(w, i.c);
  assign<T>(w, i.d, [=](uint32_t l) { return c[l] >= 0 ? a[l] : b[l]; });
}

template <class T>
void move(Warp& w, const Inst& i) {
  const T* a = lanes<T>(w, i.a);
  assign<T>(w, i.d, [=](uint32_t l) { return a[l]; });
}

struct Pair64 {
  uint64_t low, high;
};

void add_immediate(Warp& w, const Inst& i) {
  const uint64_t* a = lanes<uint64_t>(w, i.a);
  const auto offset = uint64_t(i.imm);
  assign<uint64_t>(w, i.d, [=](uint32_t l) { return a[l] + offset; });
}

// mov.b64 {a, b}, c and back: vec_count elements of `bytes` in a register of reg_bytes.
void pack(Warp& w, const Inst& i) {
  for (uint32_t m = w.mask; m != 0; m &= m - 1) {
    const auto l = uint32_t(__builtin_ctz(m));
    uint8_t whole[16];
    for (uint32_t k = 0; k < i.vec_count; ++k) {
      __builtin_memcpy(whole + k * i.bytes, w.regs + i.vec[k] + l * i.bytes, i.bytes);
    }
    __builtin_memcpy(w.regs + i.d + l * i.reg_bytes, whole, i.reg_bytes);
  }
}
void unpack(Warp& w, const Inst& i) {
  for (uint32_t m = w.mask; m != 0; m &= m - 1) {
    const auto l = uint32_t(__builtin_ctz(m));
    uint8_t whole[16];
    __builtin_memcpy(whole, w.regs + i.a + l * i.reg_bytes, i.reg_bytes);
    for (uint32_t k = 0; k < i.vec_count; ++k) {
      if (i.vec[k] != kNoSlot)
        __builtin_memcpy(w.regs + i.vec[k] + l * i.bytes, whole + k * i.bytes, i.bytes);
    }
  }
}
// The common cases: two halves.
template <class Part, class Whole>
void pack_two(Warp& w, const Inst& i) {
  const Part* low = lanes<Part>(w, i.vec[0]);
  const Part* high = lanes<Part>(w, i.vec[1]);
  assign<Whole>(w, i.d, [=](uint32_t l) { return low[l] | Whole(high[l]) << 8 * sizeof(Part); });
}
template <class Part, class Whole>
void unpack_two(Warp& w, const Inst& i) {
  const Whole* a = lanes<Whole>(w, i.a);
  if (i.vec[0] != kNoSlot) assign<Part>(w, i.vec[0], [=](uint32_t l) { return Part(a[l]); });
  if (i.vec[1] != kNoSlot)
    assign<Part>(w, i.vec[1], [=](uint32_t l) { return Part(a[l] >> 8 * sizeof(Part)); });
}

template <class Op>
void predicate_logic(Warp& w, const Inst& i) {
  write_predicate(w, i.d, Op::apply(predicate(w, i.a), predicate(w, i.b)));
}
void predicate_move(Warp& w, const Inst& i) {
  write_predicate(w, i.d, predicate(w, i.a));
}
void predicate_not(Warp& w, const Inst& i) {
  write_predicate(w, i.d, ~predicate(w, i.a));
}

// Inst::space is asked about; the bytes of the tags decide (machine.h).
// Constant memory is no part of the global window, though it has plain addresses here.
bool is_constant(const Worker& worker, uint64_t address) {
  for (uint32_t k = 0; k < worker.allocation_count; ++k) {
    const Allocation& a = worker.allocations[k];
    if (a.kind == MemoryKind::constant && address >= a.begin && address < a.end) return true;
  }
  return false;
}

// The same place in the block of rank b.
template <class T>
void map_address(Warp& w, const Inst& i) {
  const T* a = lanes<T>(w, i.a);
  const uint32_t* rank = lanes<uint32_t>(w, i.b);
  assign<T>(w, i.d,
            [=](uint32_t l) { return (a[l] & ~T(~kSharedOffsetMask)) | (T(rank[l]) + 1) << kRankShift; });
}

template <class T>
void rank_of_address(Warp& w, const Inst& i) {
  const T* a = lanes<T>(w, i.a);
  const uint32_t own = w.block->rank;
  assign<uint32_t>(w, i.d, [=](uint32_t l) {
    const auto named = uint32_t(a[l]) >> kRankShift;
    return named != 0 ? named - 1 : own;
  });
}

// flags: of the whole cluster.
void is_space(Warp& w, const Inst& i) {
  const uint64_t* a = lanes<uint64_t>(w, i.a);
  const bool own_block = i.space == Space::shared && i.flags == 0;
  const uint32_t own = w.block->rank + 1;
  const uint64_t tag = i.space == Space::shared ? kSharedTag : i.space == Space::local ? kLocalTag : 0;
  uint32_t result = 0;
  for (uint32_t l = 0; l < kLanes; ++l) {
    const auto named = uint32_t(a[l]) >> kRankShift;
    const bool elsewhere = own_block && named != 0 && named != own;
    const bool inside = (a[l] & kTagMask) == tag && !elsewhere;
    const bool constant = i.space == Space::global && inside && is_constant(*w.worker, a[l]);
    result |= uint32_t(inside && !constant) << l;
  }
  write_predicate(w, i.d, result);
}

void active_mask(Warp& w, const Inst& i) {
  const uint32_t mask = w.mask;
  assign<uint32_t>(w, i.d, [=](uint32_t) { return mask; });
}

template <class T, class Op>
void add_comparison(HandlerTable& t, const char* op, const char* type) {
  t.add(set_predicate<T, Op>, "setp", op, type);
  t.add(set_value<T, Op>, "set", op, type);
}

template <class Op>
void add_flushed(HandlerTable& t, const char* op) {
  add_comparison<float, Flushed<Op>>(t, op, "ftz.f32");
}

void add_flushed_comparisons(HandlerTable& t) {
  add_flushed<Eq>(t, "eq");
  add_flushed<Ne>(t, "ne");
  add_flushed<Lt>(t, "lt");
  add_flushed<Le>(t, "le");
  add_flushed<Gt>(t, "gt");
  add_flushed<Ge>(t, "ge");
  add_flushed<OrNan<Eq>>(t, "equ");
  add_flushed<OrNan<Ne>>(t, "neu");
  add_flushed<OrNan<Lt>>(t, "ltu");
  add_flushed<OrNan<Le>>(t, "leu");
  add_flushed<OrNan<Gt>>(t, "gtu");
  add_flushed<OrNan<Ge>>(t, "geu");
  add_flushed<Num>(t, "num");
  add_flushed<Nan>(t, "nan");
}

template <class T>
void add_ordered(HandlerTable& t, const char* type) {
  add_comparison<T, Eq>(t, "eq", type);
  add_comparison<T, Ne>(t, "ne", type);
  add_comparison<T, Lt>(t, "lt", type);
  add_comparison<T, Le>(t, "le", type);
  add_comparison<T, Gt>(t, "gt", type);
  add_comparison<T, Ge>(t, "ge", type);
}

template <class T>
void add_unordered(HandlerTable& t, const char* type) {
  add_ordered<T>(t, type);
  add_comparison<T, OrNan<Eq>>(t, "equ", type);
  add_comparison<T, OrNan<Ne>>(t, "neu", type);
  add_comparison<T, OrNan<Lt>>(t, "ltu", type);
  add_comparison<T, OrNan<Le>>(t, "leu", type);
  add_comparison<T, OrNan<Gt>>(t, "gtu", type);
  add_comparison<T, OrNan<Ge>>(t, "geu", type);
  add_comparison<T, Num>(t, "num", type);
  add_comparison<T, Nan>(t, "nan", type);
}

template <class T>
void add_bitwise(HandlerTable& t, const char* type) {
  t.add(binary<T, And>, "and", type);
  t.add(binary<T, Or>, "or", type);
  t.add(binary<T, Xor>, "xor", type);
  t.add(unary<T, Not>, "not", type);
  t.add(unary<T, Cnot>, "cnot", type);
  t.add(select<T>, "selp", type);
  t.add(move<T>, "mov", type);
  t.add(select_by_sign<T, int32_t>, "slct", type, "s32");
  t.add(select_by_sign<T, float>, "slct", type, "f32");
}

}  // namespace

void add_logic_handlers(HandlerTable& t) {
  add_ordered<uint16_t>(t, "u16");
  add_ordered<int16_t>(t, "s16");
  add_ordered<uint32_t>(t, "u32");
  add_ordered<int32_t>(t, "s32");
  add_ordered<uint64_t>(t, "u64");
  add_ordered<int64_t>(t, "s64");
  add_unordered<float>(t, "f32");
  add_unordered<double>(t, "f64");
  add_unordered<Half>(t, "f16");
  add_unordered<BFloat>(t, "bf16");
  add_flushed_comparisons(t);
  add_bitwise<uint16_t>(t, "u16");
  add_bitwise<uint32_t>(t, "u32");
  add_bitwise<uint64_t>(t, "u64");
  t.add(move<Pair64>, "mov", "b128");
  t.add(add_immediate, "add_immediate");
  t.add(pack, "pack");
  t.add(unpack, "unpack");
  t.add(pack_two<uint32_t, uint64_t>, "pack", "2x32");
  t.add(unpack_two<uint32_t, uint64_t>, "unpack", "2x32");
  t.add(pack_two<uint16_t, uint32_t>, "pack", "2x16");
  t.add(unpack_two<uint16_t, uint32_t>, "unpack", "2x16");
  t.add(predicate_logic<And>, "and", "pred");
  t.add(predicate_logic<Or>, "or", "pred");
  t.add(predicate_logic<Xor>, "xor", "pred");
  t.add(predicate_move, "mov", "pred");
  t.add(predicate_not, "not", "pred");
  t.add(is_space, "isspacep");
  t.add(map_address<uint32_t>, "mapa", "u32");
  t.add(map_address<uint64_t>, "mapa", "u64");
  t.add(rank_of_address<uint32_t>, "getctarank", "u32");
  t.add(rank_of_address<uint64_t>, "getctarank", "u64");
  t.add(active_mask, "activemask");
}

}  // namespace warpgrade::emu::WARPEMU_ISA

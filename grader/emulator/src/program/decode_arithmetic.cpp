// Decoders of integer and floating-point arithmetic.
#include <algorithm>

#include "program/convert_modes.h"
#include "program/decode.h"
#include "program/handlers.h"

namespace warpgrade::emu {
namespace {

bool is_half(Type t) {
  return t == Type::f16 || t == Type::f16x2 || t == Type::bf16 || t == Type::bf16x2;
}

bool is_pair(Type t) {
  return t == Type::u16x2 || t == Type::s16x2;
}

// The type's name inside handler names: untyped and integer types by size and sign.
std::string arithmetic_name(Type t) {
  return is_float(t) ? std::string(name_of(t)) : integer_name(t);
}

void sources(Decode& d, uint32_t bytes, size_t n) {
  d.out.category = Category::arithmetic;
  d.out.d = d.dest(0, bytes);
  if (n > 0) d.out.a = d.source(1, bytes);
  if (n > 1) d.out.b = d.source(2, bytes);
  if (n > 2) d.out.c = d.source(3, bytes);
}

Rounding take_rounding(Decode& d) {
  const std::string_view mode = d.take_one_of({"rn", "rz", "rm", "rp"});
  return mode == "rz"   ? Rounding::zero
         : mode == "rm" ? Rounding::down
         : mode == "rp" ? Rounding::up
                        : Rounding::nearest;
}

// ".ftz" and ".sat" as handler names carry them.
std::string float_modifiers(Decode& d, Type type) {
  const bool flush = d.take("ftz"), saturate = d.take("sat");
  // rcp.approx.ftz.f64 and rsqrt.approx.ftz.f64 are seeds for Newton steps; the exact value serves.
  const bool is_seed = type == Type::f64 && (d.in.is("rcp") || d.in.is("rsqrt"));
  if (is_half(type)) return std::string(flush ? ".ftz" : "") + (saturate ? ".sat" : "");
  if (type != Type::f32 && (saturate || (flush && !is_seed))) d.fail("modifier for this type");
  if (type != Type::f32) return "";
  return std::string(flush ? ".ftz" : "") + (saturate ? ".sat" : "");
}

void float_operation(Decode& d, const std::string& op, Type type, size_t operands) {
  const Rounding rounding = take_rounding(d);
  d.ignore({"approx", "full"});
  const std::string modifiers = float_modifiers(d, type);
  sources(d, lane_bytes(type), operands);
  d.handler(op + modifiers + "." + std::string(name_of(type)));
  if (rounding == Rounding::nearest) return;
  if (type != Type::f32 && type != Type::f64) d.fail("rounding mode for this type");
  d.out.inner = d.out.run;
  d.out.variant = static_cast<uint8_t>(rounding);
  d.handler("rounded");
}

void carry_operation(Decode& d, const std::string& op, Type type, size_t operands) {
  sources(d, size_of(type), operands);
  d.out.flags = d.take("cc") ? 1 : 0;
  d.handler(op + "." + unsigned_name(type));
}

void two_operands(Decode& d) {
  const std::string op(d.in.parts[0]);
  const Type type = d.take_type();
  if (is_pair(type)) return decode_packed_integers(d, type);
  if (is_float(type)) return float_operation(d, op, type, 2);
  if ((op == "add" || op == "sub") && std::count(d.in.parts.begin(), d.in.parts.end(), "cc") != 0) {
    return carry_operation(d, op + ".cc", type, 2);
  }
  const bool saturate = d.take("sat");
  sources(d, size_of(type), 2);
  d.handler(op + (saturate ? ".sat." : ".") + arithmetic_name(type));
}

void add_or_subtract_with_carry(Decode& d) {
  const std::string op(d.in.parts[0]);
  carry_operation(d, op, d.take_type(), 2);
}

void minimum_or_maximum(Decode& d) {
  std::string op(d.in.parts[0]);
  const Type type = d.take_type();
  if (is_pair(type)) return decode_packed_integers(d, type);
  if (d.take("NaN")) op += ".NaN";
  if (d.take("xorsign")) {
    if (!d.take("abs")) d.fail("xorsign without abs");
    op += ".xorsign";
  }
  if (type == Type::s32 && d.take("relu")) op += ".relu";
  if (is_float(type)) return float_operation(d, op, type, 2);
  sources(d, size_of(type), 2);
  d.handler(op + "." + arithmetic_name(type));
}

void multiply(Decode& d) {
  const std::string op(d.in.parts[0]);
  const bool adds = op == "mad" || op == "mad24";
  const Type type = d.take_type();
  if (is_float(type)) return float_operation(d, adds ? "fma" : op, type, adds ? 3 : 2);
  if (std::count(d.in.parts.begin(), d.in.parts.end(), "cc") != 0) {
    return carry_operation(d, "mad." + std::string(d.take_one_of({"lo", "hi"})) + ".cc", type, 3);
  }
  const std::string_view part = d.take_one_of({"lo", "hi", "wide"});
  if (part.empty()) d.fail("product part");
  const uint32_t bytes = size_of(type), result = part == "wide" ? 2 * bytes : bytes;
  d.out.category = Category::arithmetic;
  d.out.d = d.dest(0, result);
  d.out.a = d.source(1, bytes);
  d.out.b = d.source(2, bytes);
  if (adds) d.out.c = d.source(3, result);
  const bool saturate = adds && part == "hi" && d.take("sat");
  d.handler(op + "." + std::string(part) + (saturate ? ".sat." : ".") + integer_name(type));
}

void multiply_add_with_carry(Decode& d) {
  const Type type = d.take_type();
  carry_operation(d, "madc." + std::string(d.take_one_of({"lo", "hi"})), type, 3);
}

void fused_multiply_add(Decode& d) {
  const Type type = d.take_type();
  if (!is_half(type)) return float_operation(d, "fma", type, 3);
  d.take("rn");
  const bool flush = d.take("ftz");
  d.out.flags = static_cast<uint8_t>((d.take("relu") ? 1 : 0) | (d.take("sat") ? 2 : 0));
  sources(d, size_of(type), 3);
  d.handler((flush ? "fma.ftz." : "fma.") + std::string(name_of(type)));
}

void one_operand(Decode& d) {
  const std::string op(d.in.parts[0]);
  const Type type = d.take_type();
  if (is_float(type)) return float_operation(d, op, type, 1);
  sources(d, size_of(type), 1);
  d.handler(op + "." + arithmetic_name(type));
}

void three_operands(Decode& d) {
  const Type type = d.take_type();
  sources(d, size_of(type), 3);
  d.handler(std::string(d.in.parts[0]) + "." + integer_name(type));
}

void shift(Decode& d) {
  const bool right = d.in.is("shr");
  const Type type = d.take_type();
  d.out.category = Category::arithmetic;
  d.out.d = d.dest(0, size_of(type));
  d.out.a = d.source(1, size_of(type));
  d.out.b = d.source(2, 4);
  d.handler((right ? "shr." : "shl.") + (right ? integer_name(type) : unsigned_name(type)));
}

// popc, clz, bfind: 32-bit results whatever the operand.
void bit_query(Decode& d) {
  const Type type = d.take_type();
  d.out.variant = d.take("shiftamt") ? 1 : 0;
  d.out.category = Category::arithmetic;
  d.out.d = d.dest(0, 4);
  d.out.a = d.source(1, size_of(type));
  d.handler(std::string(d.in.parts[0]) + "." + (d.in.is("bfind") ? integer_name(type) : unsigned_name(type)));
}

void extract_field(Decode& d) {
  const Type type = d.take_type();
  d.out.category = Category::arithmetic;
  d.out.d = d.dest(0, size_of(type));
  d.out.a = d.source(1, size_of(type));
  d.out.b = d.source(2, 4);
  d.out.c = d.source(3, 4);
  d.handler("bfe." + integer_name(type));
}

void insert_field(Decode& d) {
  const Type type = d.take_type();
  d.out.category = Category::arithmetic;
  d.out.d = d.dest(0, size_of(type));
  d.out.a = d.source(1, size_of(type));
  d.out.b = d.source(2, size_of(type));
  d.out.c = d.source(3, 4);
  d.out.e = d.source(4, 4);
  d.handler("bfi." + unsigned_name(type));
}

void logic3(Decode& d) {
  d.take_type();
  sources(d, 4, 3);
  d.out.imm = static_cast<int64_t>(d.number(4));
  d.handler("lop3");
}

void permute(Decode& d) {
  d.take_type();
  const std::string_view mode = d.take_one_of({"f4e", "b4e", "rc8", "ecl", "ecr", "rc16"});
  const std::string_view names[] = {"", "f4e", "b4e", "rc8", "ecl", "ecr", "rc16"};
  d.out.variant =
      static_cast<uint8_t>(std::find(std::begin(names), std::end(names), mode) - std::begin(names));
  sources(d, 4, 3);
  d.handler("prmt");
}

void funnel_shift(Decode& d) {
  d.take_type();
  d.out.variant = d.take_one_of({"l", "r"}) == "r" ? 1 : 0;
  d.out.flags = d.take_one_of({"wrap", "clamp"}) == "wrap" ? 1 : 0;
  sources(d, 4, 3);
  d.handler("shf");
}

void bit_mask(Decode& d) {
  d.take_type();
  d.out.variant = d.take_one_of({"wrap", "clamp"}) == "wrap" ? 1 : 0;
  sources(d, 4, 2);
  d.handler("bmsk");
}

void dot_product(Decode& d) {
  const Type b = d.take_type(), a = d.take_type();
  sources(d, 4, 3);
  d.handler("dp4a." + std::string(name_of(a)) + "." + std::string(name_of(b)));
}

void test_property(Decode& d) {
  const Type type = d.take_type();
  const std::string_view names[] = {"finite", "infinite", "number", "notanumber", "normal", "subnormal"};
  const std::string_view kind =
      d.take_one_of({"finite", "infinite", "number", "notanumber", "normal", "subnormal"});
  d.out.variant =
      static_cast<uint8_t>(std::find(std::begin(names), std::end(names), kind) - std::begin(names));
  d.out.d = d.predicate_dest(0);
  d.out.a = d.source(1, size_of(type));
  d.handler("testp." + std::string(name_of(type)));
}

// cvt[.rounding][.relu][.ftz][.sat].to.from
// cvt.rna.tf32.f32: a float that keeps ten bits of its significand, ties away from zero.
void convert_to_tf32(Decode& d) {
  if (!d.take("rna")) d.fail("rounding to tf32 other than rna");
  d.out.category = Category::arithmetic;
  d.out.d = d.dest(0, 4);
  d.out.a = d.source(1, 4);
  d.handler("cvt.rna.tf32");
}

void convert(Decode& d) {
  const Type from = d.take_type();
  if (d.take("tf32")) return convert_to_tf32(d);
  const Type to = d.take_type();
  if (to == Type::e4m3x2 || to == Type::e5m2x2 || from == Type::e4m3x2 || from == Type::e5m2x2)
    return decode_float8_conversion(d, to, from);
  const std::string_view integral = d.take_one_of({"rni", "rzi", "rmi", "rpi"});
  Rounding rounding = take_rounding(d);
  uint8_t flags = 0;
  if (!integral.empty()) {
    rounding = integral == "rzi"   ? Rounding::zero
               : integral == "rmi" ? Rounding::down
               : integral == "rpi" ? Rounding::up
                                   : Rounding::nearest;
    if (is_float(from) && is_float(to)) flags |= kCvtToIntegral;
  }
  if (d.take("sat")) flags |= kCvtSaturate;
  if (d.take("ftz")) flags |= kCvtFlush;
  if (d.take("relu")) flags |= kCvtRelu;
  d.out.category = Category::arithmetic;
  d.out.flags = flags;
  d.out.variant = static_cast<uint8_t>(rounding);
  const std::string key = "cvt." + std::string(name_of(to)) + "." + std::string(name_of(from));
  if (to == Type::f16x2 || to == Type::bf16x2) {
    sources(d, 4, 2);
    return d.handler(key);
  }
  d.out.reg_bytes = static_cast<uint8_t>(d.register_bytes(d.operand(0)));
  d.out.bytes = static_cast<uint8_t>(d.is_register(1) ? d.register_bytes(d.operand(1)) : lane_bytes(from));
  if (d.out.reg_bytes < size_of(to) || d.out.bytes < size_of(from)) d.fail("operand width");
  d.out.d = d.dest(0, d.out.reg_bytes);
  d.out.a = d.source(1, d.out.bytes);
  d.handler(key);
  // Rounding into a float type where the result may be inexact needs the processor's rounding mode.
  const bool float_result = to == Type::f32 || to == Type::f64;
  if (rounding == Rounding::nearest || !float_result || (flags & kCvtToIntegral)) return;
  d.out.inner = d.out.run;
  d.handler("rounded");
}

}  // namespace

void add_arithmetic_decoders(DecoderTable& t) {
  for (const char* op : {"add", "sub", "div", "rem", "copysign"}) t[op] = two_operands;
  for (const char* op : {"addc", "subc"}) t[op] = add_or_subtract_with_carry;
  for (const char* op : {"min", "max"}) t[op] = minimum_or_maximum;
  for (const char* op : {"mul", "mad", "mul24", "mad24"}) t[op] = multiply;
  t["madc"] = multiply_add_with_carry;
  t["fma"] = fused_multiply_add;
  for (const char* op : {"abs", "neg", "sqrt", "rsqrt", "rcp", "sin", "cos", "ex2", "lg2", "tanh"})
    t[op] = one_operand;
  t["sad"] = three_operands;
  for (const char* op : {"shl", "shr"}) t[op] = shift;
  for (const char* op : {"popc", "clz", "bfind"}) t[op] = bit_query;
  t["bfe"] = extract_field;
  t["bfi"] = insert_field;
  t["lop3"] = logic3;
  t["prmt"] = permute;
  t["shf"] = funnel_shift;
  t["bmsk"] = bit_mask;
  t["dp4a"] = dot_product;
  t["testp"] = test_property;
  t["cvt"] = convert;
}

}  // namespace warpgrade::emu

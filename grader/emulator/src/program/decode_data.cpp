// Decoders of moves, bitwise logic, comparison, selection, predicates and address arithmetic.
#include <algorithm>

#include "program/decode.h"

namespace warpgrade::emu {
namespace {

void predicate_operation(Decode& d, size_t operands) {
  uint8_t negated_a = 0, negated_b = 0;
  d.out.d = d.predicate_dest(0);
  if (d.out.d == kNoSlot) d.out.d = d.file.sink();
  d.out.a = d.predicate_source(1, negated_a);
  if (operands == 2) d.out.b = d.predicate_source(2, negated_b);
  if (negated_a || negated_b) d.fail("negated predicate operand");
  d.handler(std::string(d.in.parts[0]) + ".pred");
}

// and, or, xor, not, cnot, brev
void bitwise(Decode& d) {
  const size_t operands = d.in.is("and") || d.in.is("or") || d.in.is("xor") ? 2 : 1;
  const Type type = d.take_type();
  if (type == Type::pred) return predicate_operation(d, operands);
  const uint32_t bytes = lane_bytes(type);
  d.out.category = Category::arithmetic;
  d.out.d = d.dest(0, bytes);
  d.out.a = d.source(1, bytes);
  if (operands == 2) d.out.b = d.source(2, bytes);
  d.handler(std::string(d.in.parts[0]) + "." + unsigned_name(type));
}

void vector_move(Decode& d, Type type) {
  const bool unpacks = d.operand(0).kind == Ref::Kind::vector;
  const Ref& vector = d.operand(unpacks ? 0 : 1);
  const auto n = static_cast<uint32_t>(vector.elements.size());
  const uint32_t whole = lane_bytes(type), each = whole / n;
  if (whole == 2 && n == 2) {  // bytes, which registers keep in 16 bits
    for (uint32_t k = 0; k < 2; ++k)
      d.out.vec[k] = unpacks ? d.dest(vector.elements[k], 2) : d.source(vector.elements[k], 2);
    (unpacks ? d.out.a : d.out.d) = unpacks ? d.source(1, 2) : d.dest(0, 2);
    return d.handler(unpacks ? "unpack.2x8" : "pack.2x8");
  }
  if (n > 8 || each * n != whole || each < 2) d.fail("vector form");
  d.out.vec_count = static_cast<uint8_t>(n);
  d.out.bytes = static_cast<uint8_t>(each);
  d.out.reg_bytes = static_cast<uint8_t>(whole);
  for (uint32_t k = 0; k < n; ++k) {
    const Ref& e = vector.elements[k];
    d.out.vec[k] = e.kind == Ref::Kind::sink ? kNoSlot : unpacks ? d.dest(e, each) : d.source(e, each);
  }
  (unpacks ? d.out.a : d.out.d) = unpacks ? d.source(1, whole) : d.dest(0, whole);
  const char* form = n == 2 && each == 4 ? ".2x32" : n == 2 && each == 2 ? ".2x16" : "";
  d.handler(std::string(unpacks ? "unpack" : "pack") + form);
}

struct ClockName {
  std::string_view name;
  uint8_t kind;  // simt/system.cpp
};
constexpr ClockName kClocks[] = {{"%clock", 0},       {"%clock64", 0},        {"%clock_hi", 1},
                                 {"%globaltimer", 2}, {"%globaltimer_lo", 2}, {"%globaltimer_hi", 3}};

bool clock_move(Decode& d) {
  const Ref& from = d.operand(1);
  if (from.kind != Ref::Kind::special) return false;
  for (const ClockName& c : kClocks) {
    if (c.name != from.name) continue;
    d.out.variant = c.kind;
    d.out.reg_bytes = static_cast<uint8_t>(d.register_bytes(d.operand(0)));
    d.out.d = d.dest(0, d.out.reg_bytes);
    d.handler("clock");
    return true;
  }
  return false;
}

// The address of a kernel parameter: the parameter buffer's address plus an offset.
void parameter_address(Decode& d, const Ref& symbol) {
  Ref base = symbol;
  base.value = 0;
  base.offset = 0;
  d.out.d = d.dest(0, 8);
  d.out.a = d.source(base, 8);
  d.out.imm = static_cast<int64_t>(symbol.value) + symbol.offset;
  d.handler("add_immediate");
}

void move(Decode& d) {
  const Type type = d.take_type();
  if (type == Type::pred) return predicate_operation(d, 1);
  if (d.operand(0).kind == Ref::Kind::vector || d.operand(1).kind == Ref::Kind::vector)
    return vector_move(d, type);
  if (clock_move(d)) return;
  const Ref& from = d.operand(1);
  if (from.kind == Ref::Kind::symbol && from.space == Space::param) return parameter_address(d, from);
  const uint32_t bytes = lane_bytes(type);
  d.out.d = d.dest(0, bytes);
  d.out.a = d.source(1, bytes);
  d.handler(bytes == 16 ? "mov.b128" : "mov." + unsigned_name(type));
}

// Comparison operators; lo, ls, hi, hs are the unsigned spellings.
std::string take_comparison(Decode& d) {
  const std::string_view op = d.take_one_of({"eq", "ne", "lt", "le", "gt", "ge", "lo", "ls", "hi", "hs",
                                             "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan"});
  if (op.empty()) d.fail("comparison operator");
  return op == "lo" ? "lt" : op == "ls" ? "le" : op == "hi" ? "gt" : op == "hs" ? "ge" : std::string(op);
}

void comparison_operands(Decode& d, Type type) {
  const std::string_view join = d.take_one_of({"and", "or", "xor"});
  d.out.variant = join == "and" ? 1 : join == "or" ? 2 : join == "xor" ? 3 : 0;
  d.out.category = Category::arithmetic;
  d.out.a = d.source(1, lane_bytes(type));
  d.out.b = d.source(2, lane_bytes(type));
  if (d.out.variant != 0) d.out.c = d.predicate_source(3, d.out.flags);
}

std::string comparison_type(Type type) {
  return is_float(type) ? std::string(name_of(type)) : integer_name(type);
}

void set_predicate(Decode& d) {
  const Type type = d.take_type();
  const std::string op = take_comparison(d);
  const bool flush = d.take("ftz");
  comparison_operands(d, type);
  if (type == Type::f16x2 || type == Type::bf16x2) return decode_half_comparison(d, type, Type::pred, op);
  d.out.d = d.predicate_dest(0);
  d.out.e = d.second_dest(0);
  d.handler("setp." + op + (flush && type == Type::f32 ? ".ftz." : ".") + comparison_type(type));
}

void set_value(Decode& d) {
  const Type from = d.take_type(), to = d.take_type();
  const std::string op = take_comparison(d);
  const bool flush = d.take("ftz");
  comparison_operands(d, from);
  if (is_float(from) && size_of(from) < 8 && from != Type::f32)
    return decode_half_comparison(d, from, to, op);
  if (size_of(to) != 4) d.fail("result type");
  d.out.d = d.dest(0, 4);
  d.out.imm = to == Type::f32 ? 0x3f800000 : 0xffffffff;
  d.handler("set." + op + (flush && from == Type::f32 ? ".ftz." : ".") + comparison_type(from));
}

void select(Decode& d) {
  const Type type = d.take_type();
  const uint32_t bytes = lane_bytes(type);
  d.out.category = Category::arithmetic;
  d.out.d = d.dest(0, bytes);
  d.out.a = d.source(1, bytes);
  d.out.b = d.source(2, bytes);
  d.out.c = d.predicate_source(3, d.out.flags);
  d.handler("selp." + unsigned_name(type));
}

void select_by_sign(Decode& d) {
  const Type sign = d.take_type(), type = d.take_type();
  d.take("ftz");  // -0 and denormals select alike
  const uint32_t bytes = lane_bytes(type);
  d.out.d = d.dest(0, bytes);
  d.out.a = d.source(1, bytes);
  d.out.b = d.source(2, bytes);
  d.out.c = d.source(3, 4);
  d.handler("slct." + unsigned_name(type) + "." + std::string(name_of(sign)));
}

// Generic addresses of global, constant and parameter memory equal the addresses themselves; those of local
// memory differ from lane to lane (local_window).
void convert_address(Decode& d) {
  const bool to_space = d.take("to");
  const Space space = d.take_space();
  if (size_of(d.take_type()) != 8) d.fail("32-bit addresses");
  const uint64_t tag = space == Space::shared ? kSharedTag : 0;
  const Ref& from = d.operand(1);
  if (from.kind == Ref::Kind::symbol && from.space == Space::param) return parameter_address(d, from);
  d.out.d = d.dest(0, 8);
  d.out.a = d.source(1, 8);
  if (space == Space::local) {
    d.out.b = d.file.special(Special::local_window, 8);
    return d.handler(to_space ? "sub.u64" : "add.u64");
  }
  d.out.imm = static_cast<int64_t>(to_space ? 0 - tag : tag);
  d.handler("add_immediate");
}

// mapa d, a, rank: the address of the same variable in another block; getctarank d, a: the block of one
void map_address(Decode& d) {
  const bool maps = d.in.is("mapa");
  d.ignore({"shared::cluster"});
  const uint32_t bytes = size_of(d.take_type());
  d.out.d = d.dest(0, maps ? bytes : 4);
  d.out.a = d.source(1, bytes);
  if (maps) d.out.b = d.source(2, 4);
  d.handler(std::string(d.in.parts[0]) + (bytes == 8 ? ".u64" : ".u32"));
}

void is_space(Decode& d) {
  d.out.flags = d.take("shared::cluster") ? 1 : 0;
  d.out.space = d.out.flags != 0 ? Space::shared : d.take_space();
  d.out.d = d.predicate_dest(0);
  d.out.a = d.source(1, 8);
  d.handler("isspacep");
}

void active_mask(Decode& d) {
  d.take_type();
  d.out.d = d.dest(0, 4);
  d.handler("activemask");
}

}  // namespace

void add_data_decoders(DecoderTable& t) {
  for (const char* op : {"and", "or", "xor", "not", "cnot", "brev"}) t[op] = bitwise;
  t["mov"] = move;
  t["setp"] = set_predicate;
  t["set"] = set_value;
  t["selp"] = select;
  t["slct"] = select_by_sign;
  t["cvta"] = convert_address;
  for (const char* op : {"mapa", "getctarank"}) t[op] = map_address;
  t["isspacep"] = is_space;
  t["activemask"] = active_mask;
}

}  // namespace warpgrade::emu

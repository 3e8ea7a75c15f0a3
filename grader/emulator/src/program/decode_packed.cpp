// Decoders of operations on parts of a register (exec_packed.cpp).
#include <algorithm>

#include "program/decode.h"
#include "program/packed_modes.h"

namespace warpgrade::emu {
namespace {

void three_sources(Decode& d, size_t n) {
  d.out.category = Category::arithmetic;
  d.out.d = d.dest(0, 4);
  d.out.a = d.source(1, 4);
  d.out.b = d.source(2, 4);
  d.out.c = n > 2 ? d.source(3, 4) : d.out.b;
}

uint8_t sign_of(Type type, uint8_t flag) {
  if (type != Type::s32 && type != Type::u32) return 0;
  return type == Type::s32 ? flag : uint8_t(0);
}

// vadd2.d.a.b{.sat}{.add} and kin: two or four parts, without masks and selectors.
void video(Decode& d, PackedOperation operation) {
  const Type b = d.take_type(), a = d.take_type();
  const Type result = operation == PackedOperation::compare ? Type::u32 : d.take_type();
  for (const Type type : {a, b, result}) {
    if (type != Type::s32 && type != Type::u32) d.fail("types");
  }
  if (operation == PackedOperation::compare) {
    const std::string_view name = d.take_one_of({"eq", "ne", "lt", "le", "gt", "ge"});
    if (name.empty()) d.fail("comparison operator");
    d.out.imm = std::find(std::begin(kComparisonNames), std::end(kComparisonNames), name) -
                std::begin(kComparisonNames);
  }
  d.out.variant = static_cast<uint8_t>(operation);
  d.out.flags = static_cast<uint8_t>(
      sign_of(a, kPackedSignedA) | sign_of(b, kPackedSignedB) | sign_of(result, kPackedSignedResult) |
      (d.take("sat") ? kPackedSaturate : 0) | (d.take("add") ? kPackedSum : 0));
  d.out.bytes = d.in.parts[0].back() == '2' ? 2 : 1;
  three_sources(d, 3);
  d.handler("packed");
}

template <PackedOperation kOperation>
void video_instruction(Decode& d) {
  video(d, kOperation);
}

void dot_product2(Decode& d) {
  d.out.variant = d.take_one_of({"lo", "hi"}) == "hi" ? 1 : 0;
  const Type b = d.take_type(), a = d.take_type();
  d.out.flags = static_cast<uint8_t>(sign_of(a, kPackedSignedA) | sign_of(b, kPackedSignedB));
  three_sources(d, 3);
  d.handler("dp2a");
}

void find_nth_set(Decode& d) {
  d.take_type();
  three_sources(d, 3);
  d.handler("fns");
}

void extend_field(Decode& d) {
  d.out.flags = d.take_type() == Type::s32 ? 1 : 0;
  d.out.variant = d.take_one_of({"wrap", "clamp"}) == "wrap" ? 1 : 0;
  three_sources(d, 2);
  d.handler("szext");
}

}  // namespace

void decode_packed_integers(Decode& d, Type type) {
  const bool adds = d.in.is("add");
  if (!adds && !d.in.is("min") && !d.in.is("max")) d.fail("packed type");
  d.out.variant = static_cast<uint8_t>(adds             ? PackedOperation::add
                                       : d.in.is("min") ? PackedOperation::minimum
                                                        : PackedOperation::maximum);
  if (type == Type::s16x2) d.out.flags = kPackedSignedA | kPackedSignedB | kPackedSignedResult;
  if (!adds && d.take("relu")) d.out.flags |= kPackedRelu;
  d.out.bytes = 2;
  three_sources(d, 2);
  d.handler("packed");
}

void decode_half_comparison(Decode& d, Type type, Type result, const std::string& comparison) {
  const bool pair = type == Type::f16x2 || type == Type::bf16x2;
  const bool is_bfloat = type == Type::bf16 || type == Type::bf16x2;
  d.out.vec_count = pair ? 2 : 1;
  d.out.imm = std::find(std::begin(kComparisonNames), std::end(kComparisonNames), comparison) -
              std::begin(kComparisonNames);
  const std::string name = is_bfloat ? "bf16" : "f16";
  if (result == Type::pred) {
    d.out.d = d.predicate_dest(0);
    d.out.e = d.second_dest(0);
    return d.handler("setp.halves." + name);
  }
  d.out.reg_bytes = static_cast<uint8_t>(lane_bytes(result));
  d.out.d = d.dest(0, d.out.reg_bytes);
  const bool as_half = is_float(result) && result != Type::f32;
  if (result == Type::f32 || (pair && d.out.reg_bytes != 4)) d.fail("result type");
  d.out.vec[0] = as_half ? (is_bfloat ? 0x3f80 : 0x3c00) : pair || d.out.reg_bytes == 2 ? 0xffff : ~0u;
  d.handler("set.halves." + name);
}

void decode_float8_conversion(Decode& d, Type to, Type from) {
  const bool narrows = to == Type::e4m3x2 || to == Type::e5m2x2;
  d.ignore({"rn"});
  if (narrows != d.take("satfinite")) d.fail("saturation");
  d.out.flags = d.take("relu") ? kPackedRelu : 0;
  d.out.category = Category::arithmetic;
  d.out.d = d.dest(0, narrows ? 2 : 4);
  d.out.a = d.source(1, narrows ? 4 : 2);
  if (from == Type::f32) d.out.b = d.source(2, 4);
  d.handler("cvt." + std::string(name_of(to)) + "." + std::string(name_of(from)));
}

void add_packed_decoders(DecoderTable& t) {
  t["vadd2"] = t["vadd4"] = video_instruction<PackedOperation::add>;
  t["vsub2"] = t["vsub4"] = video_instruction<PackedOperation::subtract>;
  t["vavrg2"] = t["vavrg4"] = video_instruction<PackedOperation::average>;
  t["vabsdiff2"] = t["vabsdiff4"] = video_instruction<PackedOperation::absolute_difference>;
  t["vmin2"] = t["vmin4"] = video_instruction<PackedOperation::minimum>;
  t["vmax2"] = t["vmax4"] = video_instruction<PackedOperation::maximum>;
  t["vset2"] = t["vset4"] = video_instruction<PackedOperation::compare>;
  t["dp2a"] = dot_product2;
  t["fns"] = find_nth_set;
  t["szext"] = extend_field;
}

}  // namespace warpgrade::emu

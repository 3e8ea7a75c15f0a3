// Decoders of wgmma.
#include <algorithm>

#include "program/decode.h"
#include "program/warp_group.h"

namespace warpgrade::emu {
namespace {

constexpr uint32_t kStepBytes = 32;  // of a row of A along k, in every type, as it is stored

struct OperandName {
  std::string_view name;
  Element element;
};
constexpr OperandName kOperandNames[] = {
    {"f16", Element::f16},   {"bf16", Element::bf16}, {"tf32", Element::tf32}, {"f32", Element::f32},
    {"e4m3", Element::e4m3}, {"e5m2", Element::e5m2}, {"s8", Element::s8},     {"u8", Element::u8},
    {"b1", Element::b1},     {"s32", Element::s32}};

bool is_whole(Element e) {
  return e == Element::s8 || e == Element::u8 || e == Element::b1;
}

void take_types(Decode& d, WarpGroupProduct& p) {
  std::vector<Element> types;
  for (const std::string_view part : d.in.parts) {
    for (const OperandName& o : kOperandNames) {
      if (o.name != part) continue;
      d.take(part);
      types.push_back(o.element);
    }
  }
  if (types.size() != 3) d.fail("types");
  p.result = types[0];
  p.a_type = types[1];
  p.b_type = types[2];
  const bool right = is_whole(p.a_type)         ? is_whole(p.b_type) && p.result == Element::s32
                     : p.result == Element::f16 ? bits_of_element(p.a_type) <= 16 && p.a_type != Element::bf16
                                                : p.result == Element::f32;
  const bool mixed = p.a_type != p.b_type && bits_of_element(p.a_type) != 8;
  if (!right || mixed || bits_of_element(p.a_type) != bits_of_element(p.b_type)) d.fail("types");
}

// m64n8k16 ... m64n256k16
void take_shape(Decode& d, WarpGroupProduct& p) {
  const uint32_t k = 8 * kStepBytes / bits_of_element(p.a_type) * (p.is_sparse ? 2 : 1);
  const std::string begin = "m64n", end = "k" + std::to_string(k);
  for (uint32_t n = 8; n <= kMostWarpGroupColumns; n += 8) {
    if (d.take(begin + std::to_string(n) + end))
      p.shape = {16, static_cast<uint16_t>(n), static_cast<uint16_t>(k)};
  }
  if (p.shape.n == 0) d.fail("shape for these types");
}

bool take_sign(Decode& d, size_t operand) {
  const auto value = static_cast<int32_t>(d.number(operand));
  if (value != 1 && value != -1) d.fail("scale of an operand");
  return value < 0;
}

void take_metadata(Decode& d, WarpGroupProduct& p) {
  p.metadata = d.source(3, 4);
  p.selector = static_cast<uint32_t>(d.number(4));
  const SparseChunks chunks{p.shape, bits_of_element(p.a_type)};
  if (p.selector >= 4 / chunks.lanes_of_four()) d.fail("sparsity selector");
}

// d, a, b{, metadata, selector}, scale-d{, imm-scale-a, imm-scale-b{, imm-trans-a}{, imm-trans-b}}
void take_operands(Decode& d, WarpGroupProduct& p) {
  const Ref& result = d.operand(0);
  const uint32_t registers = p.result == Element::f16 ? p.shape.n / 4u : p.shape.n / 2u;
  if (result.elements.size() != registers) d.fail("operand count");
  for (const Ref& element : result.elements) p.d.push_back(d.dest(element, 4));
  const Ref& a = d.operand(1);
  p.a_in_registers = a.kind == Ref::Kind::vector;
  if (p.a_in_registers) {
    if (a.elements.size() != std::size(p.a)) d.fail("operand count");
    for (size_t k = 0; k < std::size(p.a); ++k) p.a[k] = d.source(a.elements[k], 4);
  } else {
    p.a[0] = d.source(a, 8);
  }
  p.b = d.source(2, 8);
  if (p.is_sparse) take_metadata(d, p);
  const size_t scale = p.is_sparse ? 5 : 3, major = scale + 3;
  p.scale_d = d.predicate_source(scale, p.scale_d_negated);
  if (d.count() > scale + 1) {
    p.negates_a = take_sign(d, scale + 1);
    p.negates_b = take_sign(d, scale + 2);
  }
  const size_t majors = d.count() > major ? d.count() - major : 0;
  if (majors == 0) return;
  if (bits_of_element(p.a_type) != 16 || majors != (p.a_in_registers ? 1u : 2u)) d.fail("operand count");
  p.a_m_major = !p.a_in_registers && d.number(major) != 0;
  p.b_n_major = d.number(d.count() - 1) != 0;
}

void multiply_in_group(Decode& d) {
  WarpGroupProduct p;
  p.is_sparse = d.take("sp");
  take_types(d, p);
  if (p.is_sparse && p.a_type == Element::b1) d.fail("types");
  take_shape(d, p);
  p.saturate = d.take("satfinite");
  if (p.a_type == Element::b1 && !(d.take("and") && d.take("popc"))) d.fail("operation on bits");
  take_operands(d, p);
  d.out.e = d.file.constant(kAllLanes, 4);
  d.out.category = Category::arithmetic;
  d.out.space = Space::shared;
  d.out.target = static_cast<uint32_t>(d.program.warp_group_products.size());
  d.program.warp_group_products.push_back(std::move(p));
  d.handler(is_whole(d.program.warp_group_products.back().a_type) ? "wgmma.integer" : "wgmma.float");
}

// Products are complete when they are issued: fences and groups have nothing to wait for.
void warp_group(Decode& d) {
  d.ignore({"sync", "aligned"});
  if (d.take("mma_async")) return multiply_in_group(d);
  if (d.take("wait_group") && d.count() == 1) d.number(0);
  d.ignore({"fence", "commit_group"});
  d.handler("nop");
}

}  // namespace

void add_warp_group_decoders(DecoderTable& t) {
  t["wgmma"] = warp_group;
}

}  // namespace warpgrade::emu

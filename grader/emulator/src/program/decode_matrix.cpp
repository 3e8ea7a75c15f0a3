// Decoders of ldmatrix, stmatrix, movmatrix, mma and wmma.
#include <charconv>

#include "program/convert_modes.h"
#include "program/decode.h"
#include "program/matrix.h"

namespace warpgrade::emu {
namespace {

struct ElementName {
  std::string_view name;
  Element element;
};
constexpr ElementName kElementNames[] = {
    {"f16", Element::f16}, {"bf16", Element::bf16}, {"tf32", Element::tf32}, {"f32", Element::f32},
    {"f64", Element::f64}, {"e4m3", Element::e4m3}, {"e5m2", Element::e5m2}, {"s8", Element::s8},
    {"u8", Element::u8},   {"s4", Element::s4},     {"u4", Element::u4},     {"b1", Element::b1},
    {"s32", Element::s32}};

// "m16n8k16"
bool parse_shape(std::string_view text, MatrixShape& shape) {
  uint16_t* const numbers[] = {&shape.m, &shape.n, &shape.k};
  const char* at = text.data();
  const char* const end = at + text.size();
  for (size_t k = 0; k < 3; ++k) {
    if (at == end || *at != "mnk"[k]) return false;
    const auto [next, error] = std::from_chars(at + 1, end, *numbers[k]);
    if (error != std::errc()) return false;
    at = next;
  }
  return at == end;
}

// The modifiers whose order matters.
struct MatrixModifiers {
  MatrixShape shape;
  std::vector<Element> elements;
  std::vector<bool> column_major;
};

MatrixModifiers take_modifiers(Decode& d) {
  MatrixModifiers m;
  d.ignore({"sync", "aligned"});
  for (const std::string_view part : d.in.parts) {
    if (parse_shape(part, m.shape) || part == "row" || part == "col") d.take(part);
    if (part == "row" || part == "col") m.column_major.push_back(part == "col");
    for (const ElementName& e : kElementNames) {
      if (e.name != part) continue;
      d.take(part);
      m.elements.push_back(e.element);
    }
  }
  if (m.shape.m % 8 != 0 || m.shape.n % 8 != 0 || m.shape.m * m.shape.n * m.shape.k == 0) d.fail("shape");
  return m;
}

uint8_t registers(Decode& d, size_t operand, Element type, bool writes, uint32_t* slots) {
  const Ref& ref = d.operand(operand);
  const std::vector<Ref> list = ref.kind == Ref::Kind::vector ? ref.elements : std::vector<Ref>{ref};
  if (list.size() > kMatrixRegisters) d.fail("operand count");
  const uint32_t bytes = type == Element::f64 ? 8 : 4;
  for (size_t k = 0; k < list.size(); ++k) {
    slots[k] = writes ? d.dest(list[k], bytes) : d.source(list[k], bytes);
  }
  return static_cast<uint8_t>(list.size());
}

// Registers that a fragment fills; 0 when the shape has no such fragment.
uint32_t registers_of(Part part, MatrixShape shape, Element type) {
  const Fragment2D layout(part, shape, bits_of_element(type));
  const uint32_t along = part == Part::a ? layout.columns : part == Part::b ? layout.rows : 8;
  if (along % (4 * layout.per_register) != 0) return 0;
  const uint32_t bits = bits_of_element(type);
  return layout.elements_per_lane() * bits / (bits == 64 ? 64 : 32);
}

void check_registers(Decode& d, Part part, MatrixShape shape, Element type, uint32_t given) {
  const uint32_t wanted = registers_of(part, shape, type);
  if (wanted == 0 || given < wanted) d.fail("shape for this type");
}

void whole_warp(Decode& d) {
  d.out.e = d.file.constant(kAllLanes, 4);
  d.out.category = Category::arithmetic;
}

void keep(Decode& d, const MatrixOperands& o) {
  d.out.target = static_cast<uint32_t>(d.program.matrices.size());
  d.program.matrices.push_back(o);
}

bool is_integer(Element e) {
  return e == Element::s8 || e == Element::u8 || e == Element::s4 || e == Element::u4 || e == Element::b1;
}

// wmma.mma of f16 names the types of d and c only.
void name_types(Decode& d, const MatrixModifiers& m, MatrixOperands& o) {
  if (m.elements.size() != 4 && m.elements.size() != 2) d.fail("types");
  const bool all = m.elements.size() == 4;
  o.result = m.elements.front();
  o.a_type = all ? m.elements[1] : Element::f16;
  o.b_type = all ? m.elements[2] : Element::f16;
  o.accumulator = m.elements.back();
  const auto family = [](Element e) {
    return e == Element::f64                                              ? 1
           : is_integer(e)                                                ? 2
           : e == Element::f32 || e == Element::s32 || e == Element::none ? 0
                                                                          : 3;
  };
  const auto is_sum_of = [](int f, Element e) {
    return f == 1 ? e == Element::f64 : f == 2 ? e == Element::s32 : e == Element::f16 || e == Element::f32;
  };
  const int f = family(o.a_type);
  if (f == 0 || family(o.b_type) != f || !is_sum_of(f, o.result) || !is_sum_of(f, o.accumulator))
    d.fail("types");
}

void take_integer_modifiers(Decode& d, MatrixOperands& o) {
  o.saturate = d.take("satfinite");
  if (o.a_type != Element::b1) return;
  const std::string_view op = d.take_one_of({"xor", "and"});
  d.take("popc");
  if (op.empty()) d.fail("operation on bits");
  o.operation = op == "xor" ? MatrixOperation::xor_popc : MatrixOperation::and_popc;
}

Rounding take_double_rounding(Decode& d) {
  const std::string_view mode = d.take_one_of({"rn", "rz", "rm", "rp"});
  return mode == "rz"   ? Rounding::zero
         : mode == "rm" ? Rounding::down
         : mode == "rp" ? Rounding::up
                        : Rounding::nearest;
}

// mma.sp d, a, b, c, metadata, selector: A is stored with half of its k.
void multiply_sparse(Decode& d, MatrixOperands& o) {
  const uint32_t bits = bits_of_element(o.a_type);
  const SparseChunks chunks{o.shape, bits};
  const uint32_t lanes =
      bits < 8 || bits > 32 || o.shape.m != 16 || o.shape.n != 8 ? 0 : chunks.lanes_of_four();
  if (lanes != 1 && lanes != 2 && lanes != 4) d.fail("sparse products of this shape and type");
  if (d.count() != 6 || o.a_column_major || !o.b_column_major) d.fail("operands of sparse products");
  MatrixShape stored = o.shape;
  stored.k /= 2;
  check_registers(d, Part::a, stored, o.a_type, o.a_count);
  check_registers(d, Part::b, o.shape, o.b_type, o.b_count);
  check_registers(d, Part::accumulator, o.shape, o.result, o.d_count);
  check_registers(d, Part::accumulator, o.shape, o.accumulator, o.c_count);
  o.metadata = d.source(4, 4);
  o.selector = static_cast<uint32_t>(d.number(5));
  if (o.selector >= 4 / lanes) d.fail("sparsity selector");
  if (is_integer(o.a_type)) take_integer_modifiers(d, o);
  keep(d, o);
  d.handler(is_integer(o.a_type) ? "mma.sparse_integer" : "mma.sparse_float");
}

// mma and wmma.mma d, a, b, c
void multiply_matrices(Decode& d) {
  d.take("mma");
  const bool ordered = d.take("sp::ordered_metadata"), sparse = d.take("sp") || ordered;
  const MatrixModifiers m = take_modifiers(d);
  MatrixOperands o;
  o.shape = m.shape;
  name_types(d, m, o);
  if (m.column_major.size() != 2) d.fail("layouts");
  o.a_column_major = m.column_major[0];
  o.b_column_major = m.column_major[1];
  o.d_count = registers(d, 0, o.result, true, o.d);
  o.a_count = registers(d, 1, o.a_type, false, o.a);
  o.b_count = registers(d, 2, o.b_type, false, o.b);
  o.c_count = registers(d, 3, o.accumulator, false, o.c);
  whole_warp(d);
  if (sparse) return multiply_sparse(d, o);
  if (d.in.is("mma") && o.a_type == Element::f16 && m.shape.k == 4) {
    if (o.a_count != 2 || o.b_count != 2 || (o.result == Element::f16) != (o.accumulator == Element::f16))
      d.fail("types");
    keep(d, o);
    return d.handler("mma.m8n8k4");
  }
  check_registers(d, Part::a, o.shape, o.a_type, o.a_count);
  check_registers(d, Part::b, o.shape, o.b_type, o.b_count);
  check_registers(d, Part::accumulator, o.shape, o.result, o.d_count);
  check_registers(d, Part::accumulator, o.shape, o.accumulator, o.c_count);
  if (is_integer(o.a_type)) take_integer_modifiers(d, o);
  keep(d, o);
  if (o.a_type != Element::f64) return d.handler(is_integer(o.a_type) ? "mma.integer" : "mma.float");
  d.handler("mma.double");
  const Rounding rounding = take_double_rounding(d);
  if (rounding == Rounding::nearest) return;
  d.out.inner = d.out.run;
  d.out.variant = static_cast<uint8_t>(rounding);
  d.handler("rounded");
}

uint32_t default_stride(const MatrixOperands& o) {
  const Fragment2D layout(o.part, o.shape, bits_of_element(o.result));
  return o.column_major ? layout.rows : layout.columns;
}

// wmma.load.part fragment, [address]{, stride} and wmma.store.d [address], fragment{, stride}
void move_fragment(Decode& d, bool loads) {
  MatrixOperands o;
  const std::string_view part = d.take_one_of({"a", "b", "c", "d"});
  o.part = part == "a" ? Part::a : part == "b" ? Part::b : Part::accumulator;
  const MatrixModifiers m = take_modifiers(d);
  if (m.elements.size() != 1 || m.column_major.size() != 1) d.fail("fragment form");
  o.shape = m.shape;
  o.result = m.elements[0];
  o.column_major = m.column_major[0];
  const bool along_k = (o.part == Part::b) == o.column_major;
  if (bits_of_element(o.result) < 8 && !along_k) d.fail("layout for this type");
  o.d_count = registers(d, loads ? 0 : 1, o.result, loads, o.d);
  check_registers(d, o.part, o.shape, o.result, o.d_count);
  d.out.space = d.take_space();
  d.address(loads ? 1 : 0);
  o.stride_slot = d.count() > 2 ? d.source(2, 4) : d.file.constant(default_stride(o), 4);
  whole_warp(d);
  d.out.category = Category::memory;
  keep(d, o);
  d.handler(loads ? "wmma.load" : "wmma.store");
}

void wmma(Decode& d) {
  if (d.take("load")) return move_fragment(d, true);
  if (d.take("store")) return move_fragment(d, false);
  if (d.has("mma")) return multiply_matrices(d);
  d.fail("wmma form");
}

// ldmatrix d, [row address] and stmatrix [row address], s: one, two or four matrices of 8 x 8.
void move_matrix(Decode& d, bool loads) {
  d.ignore({"sync", "aligned"});
  if (!d.take("m8n8") || !d.take("b16")) d.fail("shape");
  d.out.variant = d.take("trans") ? 1 : 0;
  const std::string_view count = d.take_one_of({"x1", "x2", "x4"});
  uint32_t slots[kMatrixRegisters];
  d.out.vec_count = registers(d, loads ? 0 : 1, Element::b1, loads, slots);
  if (count.empty() || count[1] - '0' != d.out.vec_count) d.fail("operand count");
  for (uint32_t k = 0; k < d.out.vec_count; ++k) d.out.vec[k] = slots[k];
  d.out.space = d.take_space();
  d.address(loads ? 1 : 0);
  whole_warp(d);
  d.out.category = Category::memory;
  d.handler(loads ? "ldmatrix" : "stmatrix");
}

void load_matrix(Decode& d) {
  move_matrix(d, true);
}

void store_matrix(Decode& d) {
  move_matrix(d, false);
}

void transpose_matrix(Decode& d) {
  d.ignore({"sync", "aligned", "m8n8", "trans", "b16"});
  d.out.d = d.dest(0, 4);
  d.out.a = d.source(1, 4);
  whole_warp(d);
  d.handler("movmatrix");
}

}  // namespace

void add_matrix_decoders(DecoderTable& t) {
  t["mma"] = multiply_matrices;
  t["wmma"] = wmma;
  t["ldmatrix"] = load_matrix;
  t["stmatrix"] = store_matrix;
  t["movmatrix"] = transpose_matrix;
}

}  // namespace warpgrade::emu

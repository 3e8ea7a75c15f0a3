// Decoders of texture and surface instructions: tex, tld4, txq, suld, sust, suq. Objects are in
// registers, as nvcc writes them; mipmaps have one level, so the level and the gradients that an
// instruction names choose nothing.
#include <algorithm>
#include <iterator>

#include "cudart/image.h"
#include "program/decode.h"
#include "program/image_operands.h"

namespace warpgrade::emu {
namespace {

using cudart::ImageShape;

struct Geometry {
  std::string_view name;
  ImageShape shape;
  uint32_t axes;
  bool layered;
};
constexpr Geometry kGeometries[] = {
    {"1d", ImageShape::line, 1, false},   {"2d", ImageShape::plane, 2, false},
    {"3d", ImageShape::volume, 3, false}, {"a1d", ImageShape::lines, 1, true},
    {"a2d", ImageShape::planes, 2, true}, {"cube", ImageShape::cube, 3, false},
    {"acube", ImageShape::cubes, 3, true}};

const Geometry& take_geometry(Decode& d) {
  for (const Geometry& g : kGeometries) {
    if (d.take(g.name)) return g;
  }
  d.fail("geometry");
}

// [object, {coordinates}]: the object in `a`, a layer and three coordinates from kImageCoordinates.
void take_place(Decode& d, size_t operand, const Geometry& g) {
  const Ref& place = d.operand(operand);
  if (place.kind != Ref::Kind::address || place.reg == kNoRegister || place.offset != 0 ||
      place.elements.size() != 1 || lane_bytes(place.type) != 8)
    d.fail("an object that is no 64-bit register");
  Ref object;
  object.kind = Ref::Kind::reg;
  object.type = place.type;
  object.reg = place.reg;
  d.out.a = d.source(object, 8);
  const Ref& list = place.elements.front();
  const std::vector<Ref> given = list.kind == Ref::Kind::vector ? list.elements : std::vector<Ref>{list};
  const size_t wanted = g.axes + (g.layered ? 1 : 0);
  if (given.size() < wanted) d.fail("too few coordinates");
  size_t next = 0;
  d.out.vec[kImageCoordinates] = g.layered ? d.source(given[next++], 4) : kNoSlot;
  for (uint32_t axis = 0; axis < 3; ++axis)
    d.out.vec[kImageCoordinates + 1 + axis] = axis < g.axes ? d.source(given[next++], 4) : kNoSlot;
  d.out.variant = static_cast<uint8_t>(g.shape);
  d.out.space = Space::global;
  d.out.category = Category::memory;
}

// The four results of a fetch, and the predicate that says that all was resident: it always is.
void take_results(Decode& d) {
  const Ref& results = d.operand(0);
  const Type type = d.take_type();
  if (lane_bytes(type) != 4 || !d.take("v4") || results.kind != Ref::Kind::vector ||
      results.elements.size() != 4)
    d.fail("result form");
  for (size_t k = 0; k < 4; ++k) d.out.vec[kImageValues + k] = d.dest(results.elements[k], 4);
  d.out.e = d.second_dest(0);
}

// tex{.level|.grad}.geometry.v4.type.coordinates d, [object, {coordinates}]{, level | gradients}
void texture(Decode& d) {
  if (d.count() < 2) d.fail("too few operands");
  d.ignore({"level", "grad", "base"});
  const Geometry& g = take_geometry(d);
  const Type coordinates = d.take_type();
  if (coordinates != Type::f32 && coordinates != Type::s32) d.fail("coordinates");
  d.out.flags = coordinates == Type::s32 ? kIntegerCoordinates : 0;
  take_results(d);
  take_place(d, 1, g);
  d.handler("tex");
}

void gather_four(Decode& d) {
  constexpr std::string_view kChannels[] = {"r", "g", "b", "a"};
  d.out.imm = -1;
  for (int c = 0; c < 4; ++c) {
    if (d.take(kChannels[c])) d.out.imm = c;
  }
  const Geometry& g = take_geometry(d);
  if (d.out.imm < 0 || g.shape != ImageShape::plane || d.take_type() != Type::f32) d.fail("gather form");
  take_results(d);
  take_place(d, 1, g);
  d.handler("tld4");
}

// suld.b and sust.b: bytes of a surface, whose x counts bytes.
void surface(Decode& d) {
  const bool loads = d.in.is("suld");
  if (!d.take("b")) d.fail("formatted surfaces");
  d.ignore({"ca", "cg", "cs", "cv", "wb", "wt"});
  const std::string_view boundary = d.take_one_of({"trap", "clamp", "zero"});
  if (boundary.empty()) d.fail("what is done outside of the surface");
  d.out.flags = boundary == "trap" ? kSurfaceTrap : boundary == "clamp" ? kSurfaceClamp : kSurfaceZero;
  const Geometry& g = take_geometry(d);
  const std::string_view width = d.take_one_of({"v2", "v4"});
  const size_t count = width == "v2" ? 2 : width == "v4" ? 4 : 1;
  const uint32_t bytes = size_of(d.take_type());
  if (bytes == 0 || bytes * count > 16) d.fail("surface type");
  const Ref& value = d.operand(loads ? 0 : 1);
  const std::vector<Ref> values = value.kind == Ref::Kind::vector ? value.elements : std::vector<Ref>{value};
  if (values.size() != count) d.fail("vector form");
  const uint32_t held = d.register_bytes(values.front());
  if (held != 0 && held < bytes) d.fail("register narrower than the type");
  const uint32_t lane = held != 0 ? held : std::max<uint32_t>(bytes, 2);
  take_place(d, loads ? 1 : 0, g);
  for (size_t k = 0; k < count; ++k)
    d.out.vec[kImageValues + k] = loads ? d.dest(values[k], lane) : d.source(values[k], lane);
  d.out.vec_count = static_cast<uint8_t>(count);
  d.out.bytes = static_cast<uint8_t>(bytes);
  d.out.reg_bytes = static_cast<uint8_t>(lane);
  if (!loads) d.program.stores_to_surfaces = true;
  d.handler(loads ? "suld" : "sust");
}

// txq.width.b32 d, [object]
void query(Decode& d) {
  struct Question {
    std::string_view name;
    ImageQuery what;
  };
  constexpr Question kQuestions[] = {{"width", kQueryWidth},
                                     {"height", kQueryHeight},
                                     {"depth", kQueryDepth},
                                     {"array_size", kQueryLayers},
                                     {"normalized_coords", kQueryNormalized},
                                     {"filter_mode", kQueryFilter},
                                     {"addr_mode_0", kQueryAddress0}};
  const auto* asked = std::find_if(std::begin(kQuestions), std::end(kQuestions),
                                   [&](const Question& q) { return d.take(q.name); });
  if (asked == std::end(kQuestions)) d.fail("query");
  d.take("b32");
  const Ref& object = d.operand(1);
  if (object.kind != Ref::Kind::address || object.reg == kNoRegister || !object.elements.empty() ||
      object.offset != 0)
    d.fail("an object that is no 64-bit register");
  d.address(1);
  if (d.out.address_is_32) d.fail("an object that is no 64-bit register");
  d.out.flags = asked->what;
  d.out.d = d.dest(0, 4);
  d.handler("txq");
}

}  // namespace

void add_texture_decoders(DecoderTable& t) {
  t["tex"] = texture;
  t["tld4"] = gather_four;
  t["suld"] = t["sust"] = surface;
  t["txq"] = t["suq"] = query;
}

}  // namespace warpgrade::emu

// Texture and surface instructions, lane by lane.
#include <algorithm>
#include <cstring>

#include "check/diagnose.h"
#include "exec/handlers.h"
#include "program/image_operands.h"
#include "state/launch.h"
#include "texture/images.h"
#include "texture/sample.h"

namespace warpgrade::emu {
namespace {

using cudart::Image;
using cudart::ImageShape;

const char* name_of(ImageShape shape) {
  constexpr const char* kNames[] = {"linear memory", "a 1D array", "a 2D image", "a 3D array",
                                    "1D layers",     "2D layers",  "a cubemap",  "layers of cubemaps"};
  return kNames[static_cast<uint32_t>(shape)];
}

// An object's image, and where its memory is.
struct View {
  const Image* image = nullptr;
  const Allocation* allocation = nullptr;
  uint8_t* memory = nullptr;
};

void fail(Warp& w, Diagnostic d, Fault fault) {
  w.block->launch->report(*w.block, std::move(d));
  w.block->launch->fail(*w.block, fault);
  w.stop = Stop::aborted;
}

bool report_no_object(Warp& w, const Inst& i, uint32_t lane, uint64_t object, bool destroyed) {
  Diagnostic d = diagnose(w, i, lane, destroyed ? Finding::use_after_free : Finding::null_pointer);
  d.message += "uses " + std::to_string(object) + " as a texture or surface object, which " +
               (destroyed ? "was destroyed" : "no call has created");
  d.advice = destroyed ? "Destroy the object only after the last kernel that uses it."
                       : "Check that cudaCreateTextureObject or cudaCreateSurfaceObject succeeded and that "
                         "its object was passed.";
  fail(w, std::move(d), Fault::illegal_address);
  return false;
}

bool report_shape(Warp& w, const Inst& i, uint32_t lane, const Image& image) {
  Diagnostic d = diagnose(w, i, lane, Finding::trap);
  d.message += std::string("accesses ") + name_of(image.shape) + " as if it were " +
               name_of(static_cast<ImageShape>(i.variant)) + ", of which the result is undefined";
  d.advice =
      "Use the function that fits the array that the object was made of: tex2D and surf2Dread for 2D "
      "arrays, tex2DLayered for layers, ...";
  fail(w, std::move(d), Fault::launch_failure);
  return false;
}

bool report_kind(Warp& w, const Inst& i, uint32_t lane, bool wants_surface) {
  Diagnostic d = diagnose(w, i, lane, Finding::trap);
  d.message += wants_surface ? "uses a texture object as a surface" : "uses a surface object as a texture";
  d.advice = wants_surface ? "Create a surface object with cudaCreateSurfaceObject and pass that one."
                           : "Create a texture object with cudaCreateTextureObject and pass that one.";
  fail(w, std::move(d), Fault::launch_failure);
  return false;
}

bool report_freed(Warp& w, const Inst& i, uint32_t lane, const Allocation* a) {
  Diagnostic d = diagnose(w, i, lane, Finding::use_after_free);
  d.message += "uses a texture or surface object of memory that was freed";
  if (a != nullptr) d.message += " (" + a->name + ")";
  d.advice = "Free the array or the memory only after the last kernel that uses it.";
  fail(w, std::move(d), Fault::illegal_address);
  return false;
}

bool fits(ImageShape asked, ImageShape is, bool surface) {
  if (asked == is) return true;
  if (asked == ImageShape::line) return is == ImageShape::linear && !surface;
  // The faces of cubemaps are layers to surfaces.
  return surface && asked == ImageShape::planes && (is == ImageShape::cube || is == ImageShape::cubes);
}

const Allocation* allocation_of(Warp& w, const Inst& i, uint64_t address) {
  Worker& worker = *w.worker;
  const uint32_t hint = worker.allocation_hint[i.index];
  const Allocation* first = worker.allocations;
  if (hint < worker.allocation_count && address >= first[hint].begin && address < first[hint].end)
    return &first[hint];
  const Allocation* after = std::upper_bound(first, first + worker.allocation_count, address,
                                             [](uint64_t at, const Allocation& a) { return at < a.begin; });
  if (after == first || address >= (after - 1)->end) return nullptr;
  worker.allocation_hint[i.index] = static_cast<uint32_t>(after - 1 - first);
  return after - 1;
}

// False: reported.
bool look_up(Warp& w, const Inst& i, uint32_t lane, bool surface, bool any_shape, View& view) {
  const uint64_t object = lanes<uint64_t>(w, i.a)[lane];
  const ImageList& all = *w.block->launch->images;
  const uint64_t at = object & (kMostImages - 1), generation = object >> kImagePlaceBits;
  if (generation == 0 || at >= all.size() || generation > all[at].generation)
    return report_no_object(w, i, lane, object, false);
  const ImageObject& found = all[at];
  if (found.destroyed || generation < found.generation) return report_no_object(w, i, lane, object, true);
  const Image& image = found.image;
  if (!any_shape) {
    if ((image.is_surface != 0) != surface) return report_kind(w, i, lane, surface);
    if (!fits(static_cast<ImageShape>(i.variant), image.shape, surface))
      return report_shape(w, i, lane, image);
  }
  const Allocation* a = allocation_of(w, i, image.address);
  if (a == nullptr || a->freed) return report_freed(w, i, lane, a);
  view = {&image, a, a->host(image.address)};
  return true;
}

// Calls `work(lane, view)` for each active lane until one fails; lanes mostly name one object.
template <class Work>
void each_lane(Warp& w, const Inst& i, bool surface, bool any_shape, Work work) {
  View view;
  uint64_t known = 0;
  const uint64_t* objects = lanes<uint64_t>(w, i.a);
  for (uint32_t m = w.mask; m != 0; m &= m - 1) {
    const auto lane = static_cast<uint32_t>(__builtin_ctz(m));
    if (objects[lane] != known || known == 0) {
      if (!look_up(w, i, lane, surface, any_shape, view)) return;
      known = objects[lane];
    }
    if (!work(lane, view)) return;
  }
}

uint32_t coordinate(Warp& w, const Inst& i, uint32_t axis, uint32_t lane) {
  const uint32_t slot = i.vec[kImageCoordinates + axis];
  return slot == kNoSlot ? 0 : lanes<uint32_t>(w, slot)[lane];
}

template <class T>
void coordinates(Warp& w, const Inst& i, uint32_t lane, T (&at)[3]) {
  for (uint32_t axis = 0; axis < 3; ++axis) {
    const uint32_t bits = coordinate(w, i, 1 + axis, lane);
    std::memcpy(&at[axis], &bits, sizeof bits);
  }
}

// Results are put down when all lanes have theirs: a result's register may be a coordinate's.
struct Results {
  Texel of[kLanes];
  void put(Warp& w, const Inst& i) const {
    for (int c = 0; c < 4; ++c) {
      const uint32_t slot = i.vec[kImageValues + c];
      for (uint32_t m = w.mask; m != 0; m &= m - 1) {
        const auto lane = static_cast<uint32_t>(__builtin_ctz(m));
        lanes<uint32_t>(w, slot)[lane] = of[lane].bits[c];
      }
    }
    if (i.e != kNoSlot) write_predicate(w, i.e, ~0u);
  }
};

void tex(Warp& w, const Inst& i) {
  Results results{};
  each_lane(w, i, false, false, [&](uint32_t lane, const View& v) {
    const uint32_t layer = coordinate(w, i, 0, lane);
    if ((i.flags & kIntegerCoordinates) != 0) {
      int32_t at[3];
      coordinates(w, i, lane, at);
      results.of[lane] = fetch(*v.image, v.memory, at, layer);
    } else {
      float at[3];
      coordinates(w, i, lane, at);
      results.of[lane] = sample(*v.image, v.memory, at, layer);
    }
    return true;
  });
  results.put(w, i);
}

void tld4(Warp& w, const Inst& i) {
  Results results{};
  each_lane(w, i, false, false, [&](uint32_t lane, const View& v) {
    float at[3];
    coordinates(w, i, lane, at);
    results.of[lane] = gather(*v.image, v.memory, at, static_cast<uint32_t>(i.imm));
    return true;
  });
  results.put(w, i);
}

bool report_outside(Warp& w, const Inst& i, uint32_t lane, const View& v, bool stores) {
  const auto number = [&](uint32_t axis) {
    return std::to_string(static_cast<int32_t>(coordinate(w, i, axis, lane)));
  };
  Diagnostic d = diagnose(w, i, lane, Finding::out_of_bounds);
  d.access = stores ? "store" : "load";
  d.bytes = uint32_t{i.bytes} * i.vec_count;
  d.message += std::string(stores ? "writes " : "reads ") + std::to_string(d.bytes) +
               " bytes outside of a surface of " + std::to_string(v.image->row_bytes()) + " bytes x " +
               std::to_string(v.image->height) + " rows" +
               (v.image->depth > 1 ? " x " + std::to_string(v.image->depth) + " slices or layers" : "") +
               ", at byte " + number(1) +
               (i.vec[kImageCoordinates + 2] != kNoSlot ? ", row " + number(2) : "") +
               (i.vec[kImageCoordinates + 3] != kNoSlot ? ", slice " + number(3) : "") +
               (i.vec[kImageCoordinates] != kNoSlot ? ", layer " + number(0) : "");
  d.advice =
      "The x of a surface counts bytes, so it is the element's number times its size; does the guard use "
      "`<=` where it must use `<`?";
  fail(w, std::move(d), Fault::launch_failure);
  return false;
}

bool report_misaligned(Warp& w, const Inst& i, uint32_t lane) {
  Diagnostic d = diagnose(w, i, lane, Finding::misaligned);
  d.bytes = uint32_t{i.bytes} * i.vec_count;
  d.message += "accesses " + std::to_string(d.bytes) + " bytes of a surface at x = " +
               std::to_string(static_cast<int32_t>(coordinate(w, i, 1, lane))) +
               ", which is no multiple of them";
  d.advice = "The x of a surface counts bytes: multiply the element's number by its size.";
  fail(w, std::move(d), Fault::misaligned_address);
  return false;
}

// Where a lane's access goes: `at` in host memory; nothing: outside, where zeros are read and nothing is
// written. False: reported.
bool place(Warp& w, const Inst& i, uint32_t lane, const View& v, bool stores, uint8_t*& at) {
  const Image& image = *v.image;
  const auto bytes = int64_t{i.bytes} * i.vec_count;
  const bool layered = i.vec[kImageCoordinates] != kNoSlot;
  const auto signed_coordinate = [&](uint32_t axis) {
    return static_cast<int64_t>(static_cast<int32_t>(coordinate(w, i, axis, lane)));
  };
  int64_t x = signed_coordinate(1), y = signed_coordinate(2), z = signed_coordinate(layered ? 0 : 3);
  const auto last_x = static_cast<int64_t>(image.row_bytes()) - bytes;
  const bool inside = x >= 0 && x <= last_x && y >= 0 && y < image.height && z >= 0 && z < image.depth;
  if (!inside) {
    at = nullptr;
    if (i.flags == kSurfaceTrap) return report_outside(w, i, lane, v, stores);
    if (i.flags == kSurfaceZero || last_x < 0) return true;
    x = std::clamp<int64_t>(x, 0, last_x);
    y = std::clamp<int64_t>(y, 0, image.height - 1);
    z = std::clamp<int64_t>(z, 0, image.depth - 1);
  }
  if (x % bytes != 0) return report_misaligned(w, i, lane);
  at = v.memory + z * static_cast<int64_t>(image.slice) + y * static_cast<int64_t>(image.pitch) + x;
  return true;
}

void suld(Warp& w, const Inst& i) {
  uint8_t values[kLanes][16] = {};
  each_lane(w, i, true, false, [&](uint32_t lane, const View& v) {
    uint8_t* at = nullptr;
    if (!place(w, i, lane, v, false, at)) return false;
    if (at != nullptr) std::memcpy(values[lane], at, size_t{i.bytes} * i.vec_count);
    return true;
  });
  for (uint32_t k = 0; k < i.vec_count; ++k) {
    for (uint32_t m = w.mask; m != 0; m &= m - 1) {
      const auto lane = static_cast<uint32_t>(__builtin_ctz(m));
      uint64_t wide = 0;
      std::memcpy(&wide, values[lane] + size_t{k} * i.bytes, i.bytes);
      std::memcpy(w.regs + i.vec[kImageValues + k] + size_t{lane} * i.reg_bytes, &wide, i.reg_bytes);
    }
  }
}

void sust(Warp& w, const Inst& i) {
  each_lane(w, i, true, false, [&](uint32_t lane, const View& v) {
    uint8_t* at = nullptr;
    if (!place(w, i, lane, v, true, at)) return false;
    if (at == nullptr) return true;
    for (uint32_t k = 0; k < i.vec_count; ++k)
      std::memcpy(at + size_t{k} * i.bytes, w.regs + i.vec[kImageValues + k] + size_t{lane} * i.reg_bytes,
                  i.bytes);
    if (v.allocation->initialized) {
      const uint64_t offset = static_cast<uint64_t>(at - v.allocation->host(v.allocation->begin));
      std::memset(v.allocation->initialized.get() + offset, 1, size_t{i.bytes} * i.vec_count);
    }
    return true;
  });
}

uint32_t answer(const Image& image, uint8_t question) {
  const bool layered = image.shape == ImageShape::lines || image.shape == ImageShape::planes ||
                       image.shape == ImageShape::cubes;
  switch (question) {
    case kQueryWidth:
      return image.width;
    case kQueryHeight:
      return image.height;
    case kQueryDepth:
      return image.shape == ImageShape::volume ? image.depth : 1;
    case kQueryLayers:
      return layered ? image.depth / (image.shape == ImageShape::cubes ? 6 : 1) : 1;
    case kQueryNormalized:
      return image.normalized;
    case kQueryFilter:
      return image.filters;
    default:
      return static_cast<uint32_t>(image.modes[0]);
  }
}

void txq(Warp& w, const Inst& i) {
  uint32_t answers[kLanes] = {};
  each_lane(w, i, false, true, [&](uint32_t lane, const View& v) {
    answers[lane] = answer(*v.image, i.flags);
    return true;
  });
  for (uint32_t m = w.mask; m != 0; m &= m - 1) {
    const auto lane = static_cast<uint32_t>(__builtin_ctz(m));
    lanes<uint32_t>(w, i.d)[lane] = answers[lane];
  }
}

}  // namespace

void add_texture_handlers(HandlerTable& t) {
  t.add(tex, "tex");
  t.add(tld4, "tld4");
  t.add(suld, "suld");
  t.add(sust, "sust");
  t.add(txq, "txq");
}

}  // namespace warpgrade::emu

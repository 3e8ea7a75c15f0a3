#include "cudart/arrays.h"

#include <memory>
#include <mutex>
#include <tuple>
#include <unordered_map>

namespace warpgrade::cudart {
namespace {

std::mutex g_arrays_mutex;

// Never destroyed: programs free arrays in their own static destructors.
std::unordered_map<const void*, std::unique_ptr<Array>>& arrays() {
  static auto* all = new std::unordered_map<const void*, std::unique_ptr<Array>>;
  return *all;
}

// An array as pitched memory; positions of arrays are in elements.
bool lay_open(cudaArray_const_t handle, cudaPitchedPtr& memory, cudaPos& at, const cudaExtent& elements) {
  const auto array = find_array(handle);
  if (!array) return false;
  const auto inside = [](uint64_t begin, uint64_t count, uint64_t end) {
    return begin <= end && count <= end - begin;
  };
  if (!inside(at.x, elements.width, array->width) || !inside(at.y, elements.height, array->rows) ||
      !inside(at.z, elements.depth, array->slices))
    return false;
  memory = {reinterpret_cast<void*>(array->address), array->pitch, array->width * array->element_bytes,
            array->rows};
  at.x *= array->element_bytes;
  return true;
}

}  // namespace

ImageShape Array::shape() const {
  const bool layered = (flags & cudaArrayLayered) != 0;
  if ((flags & cudaArrayCubemap) != 0) return layered ? ImageShape::cubes : ImageShape::cube;
  if (layered) return extent.height == 0 ? ImageShape::lines : ImageShape::planes;
  if (extent.depth != 0) return ImageShape::volume;
  return extent.height == 0 ? ImageShape::line : ImageShape::plane;
}

std::optional<ElementFormat> element_format(const cudaChannelFormatDesc& f) {
  const uint32_t bits = static_cast<uint32_t>(f.x);
  const bool two = f.y != 0, four = f.z != 0;
  const bool alike =
      (!two || f.y == f.x) && (!four || (f.z == f.x && f.w == f.x && two)) && (four || f.w == 0);
  const bool known = f.f == cudaChannelFormatKindSigned || f.f == cudaChannelFormatKindUnsigned ||
                     (f.f == cudaChannelFormatKindFloat && bits != 8);
  if (!alike || !known || (bits != 8 && bits != 16 && bits != 32)) return std::nullopt;
  return ElementFormat{static_cast<ChannelKind>(f.f), four ? 4u : two ? 2u : 1u, bits};
}

std::optional<Array> find_array(cudaArray_const_t handle) {
  std::lock_guard lock(g_arrays_mutex);
  const auto found = arrays().find(handle);
  if (found == arrays().end()) return std::nullopt;
  return *found->second;
}

cudaArray_t add_array(const Array& array) {
  std::lock_guard lock(g_arrays_mutex);
  auto kept = std::make_unique<Array>(array);
  auto* handle = reinterpret_cast<cudaArray_t>(kept.get());
  arrays()[handle] = std::move(kept);
  return handle;
}

bool remove_array(cudaArray_t handle) {
  std::lock_guard lock(g_arrays_mutex);
  return arrays().erase(handle) == 1;
}

std::optional<cudaMemcpy3DParms> without_arrays(const cudaMemcpy3DParms& copy) {
  if (copy.srcArray == nullptr && copy.dstArray == nullptr) return copy;
  // One side is an array or memory, never both; the extent counts elements of the array.
  if ((copy.srcArray != nullptr && copy.srcPtr.ptr != nullptr) ||
      (copy.dstArray != nullptr && copy.dstPtr.ptr != nullptr))
    return std::nullopt;
  cudaMemcpy3DParms open = copy;
  uint64_t element_bytes = 0;
  for (const auto& [handle, memory, at] : {std::tuple{copy.srcArray, &open.srcPtr, &open.srcPos},
                                           std::tuple{copy.dstArray, &open.dstPtr, &open.dstPos}}) {
    if (handle == nullptr) continue;
    if (!lay_open(handle, *memory, *at, copy.extent)) return std::nullopt;
    const uint64_t bytes = find_array(handle)->element_bytes;
    if (element_bytes != 0 && bytes != element_bytes) return std::nullopt;
    element_bytes = bytes;
  }
  open.extent.width *= element_bytes;
  open.srcArray = open.dstArray = nullptr;
  return open;
}

}  // namespace warpgrade::cudart

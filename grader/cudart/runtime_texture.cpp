// Texture and surface objects: what they are made of is checked here, device code reads it through
// the backend.
#include <cuda_runtime_api.h>

#include <map>
#include <mutex>
#include <utility>

#include "cudart/arrays.h"
#include "cudart/errors.h"

namespace warpgrade::cudart {
namespace {

struct Object {
  bool is_surface = false;
  cudaResourceDesc resource{};
  cudaTextureDesc texture{};
};

std::mutex g_textures_mutex;

// Never destroyed: programs destroy objects in their own static destructors.
// By handle and kind: a texture and a surface may have one number.
std::map<std::pair<uint64_t, bool>, Object>& objects() {
  static auto* all = new std::map<std::pair<uint64_t, bool>, Object>;
  return *all;
}

bool find_object(uint64_t handle, bool is_surface, Object& object) {
  std::lock_guard lock(g_textures_mutex);
  const auto found = objects().find({handle, is_surface});
  if (found == objects().end()) return false;
  object = found->second;
  return true;
}

cudaError_t destroy(uint64_t handle, bool is_surface) {
  CUDART_RETURN_IF_STICKY();
  Object object;
  if (handle == 0) return cudaSuccess;
  if (!find_object(handle, is_surface, object)) return record(cudaErrorInvalidValue);
  {
    std::lock_guard lock(g_textures_mutex);
    objects().erase({handle, is_surface});
  }
  return record(backend().destroy_image(handle, is_surface));
}

void set_format(Image& image, const ElementFormat& format) {
  image.kind = format.kind;
  image.channels = format.channels;
  image.channel_bits = format.bits;
}

bool describe_array(cudaArray_t handle, Image& image) {
  const auto array = find_array(handle);
  if (!array) return false;
  set_format(image, *element_format(array->format));
  image.is_array = 1;
  image.address = array->address;
  image.pitch = array->pitch;
  image.slice = array->pitch * array->rows;
  image.shape = array->shape();
  image.width = static_cast<uint32_t>(array->width);
  image.height = static_cast<uint32_t>(array->rows);
  image.depth = static_cast<uint32_t>(array->slices);
  return true;
}

bool describe_linear(const cudaResourceDesc& resource, Image& image) {
  const auto& memory = resource.res.linear;
  const auto format = element_format(memory.desc);
  if (!format || memory.devPtr == nullptr) return false;
  set_format(image, *format);
  image.address = reinterpret_cast<uint64_t>(memory.devPtr);
  image.shape = ImageShape::linear;
  const uint64_t width = memory.sizeInBytes / image.element_bytes();
  if (width == 0 || width > uint64_t{1} << 28) return false;
  image.width = static_cast<uint32_t>(width);
  return true;
}

bool describe_rows(const cudaResourceDesc& resource, Image& image) {
  const auto& memory = resource.res.pitch2D;
  const auto format = element_format(memory.desc);
  if (!format || memory.devPtr == nullptr || memory.width == 0 || memory.height == 0) return false;
  const auto& limits = backend().device().attributes;
  const auto align = static_cast<size_t>(limits[cudaDevAttrTexturePitchAlignment]);
  if (align != 0 && memory.height > 1 && memory.pitchInBytes % align != 0) return false;
  constexpr size_t kMostWidth = 131072, kMostHeight = 65536;
  if (memory.width > kMostWidth || memory.height > kMostHeight) return false;
  set_format(image, *format);
  image.address = reinterpret_cast<uint64_t>(memory.devPtr);
  image.pitch = memory.pitchInBytes;
  image.shape = ImageShape::plane;
  image.width = static_cast<uint32_t>(memory.width);
  image.height = static_cast<uint32_t>(memory.height);
  return image.height == 1 || image.pitch >= image.row_bytes();
}

bool describe(const cudaResourceDesc& resource, Image& image) {
  switch (resource.resType) {
    case cudaResourceTypeArray:
      return describe_array(resource.res.array.array, image);
    case cudaResourceTypeLinear:
      return describe_linear(resource, image);
    case cudaResourceTypePitch2D:
      return describe_rows(resource, image);
    default:
      return false;
  }
}

bool add_reading(const cudaTextureDesc& t, Image& image) {
  for (int axis = 0; axis < 3; ++axis) {
    if (static_cast<unsigned>(t.addressMode[axis]) > cudaAddressModeBorder) return false;
    image.modes[axis] = static_cast<AddressMode>(t.addressMode[axis]);
  }
  const bool linear_memory = image.shape == ImageShape::linear;
  image.normalized = t.normalizedCoords != 0 && !linear_memory;
  image.reads_normalized = t.readMode == cudaReadModeNormalizedFloat;
  image.filters = t.filterMode == cudaFilterModeLinear && !linear_memory;
  image.srgb = t.sRGB != 0;
  for (int c = 0; c < 4; ++c) image.border[c] = t.borderColor[c];
  // Elements are mixed as floats only.
  const bool floats =
      image.kind == ChannelKind::floating || (image.reads_normalized != 0 && image.channel_bits < 32);
  return floats || image.filters == 0;
}

cudaError_t create(const Object& object, const Image& image, uint64_t* handle, const char* call) {
  const cudaError_t error = backend().create_image(image, *handle);
  if (error == cudaErrorNotSupported) return cudart_not_implemented(call);
  if (error != cudaSuccess) return record(error);
  std::lock_guard lock(g_textures_mutex);
  objects()[{*handle, object.is_surface}] = object;
  return cudaSuccess;
}

}  // namespace
}  // namespace warpgrade::cudart

using namespace warpgrade::cudart;

extern "C" {

cudaError_t cudaCreateTextureObject(cudaTextureObject_t* handle, const cudaResourceDesc* resource,
                                    const cudaTextureDesc* texture, const cudaResourceViewDesc* view) {
  CUDART_RETURN_IF_STICKY();
  if (handle == nullptr || resource == nullptr || texture == nullptr) return record(cudaErrorInvalidValue);
  if (view != nullptr) return cudart_not_implemented("cudaCreateTextureObject with a resource view");
  if (resource->resType == cudaResourceTypeMipmappedArray)
    return cudart_not_implemented("cudaCreateTextureObject of a mipmapped array");
  Image image;
  if (!describe(*resource, image) || !add_reading(*texture, image)) return record(cudaErrorInvalidValue);
  uint64_t object = 0;
  const cudaError_t error = create({false, *resource, *texture}, image, &object, "cudaCreateTextureObject");
  if (error == cudaSuccess) *handle = object;
  return error;
}
cudaError_t cudaDestroyTextureObject(cudaTextureObject_t handle) {
  return destroy(handle, false);
}
cudaError_t cudaGetTextureObjectResourceDesc(cudaResourceDesc* resource, cudaTextureObject_t handle) {
  Object object;
  if (resource == nullptr || !find_object(handle, false, object)) return record(cudaErrorInvalidValue);
  *resource = object.resource;
  return cudaSuccess;
}
cudaError_t cudaGetTextureObjectTextureDesc(cudaTextureDesc* texture, cudaTextureObject_t handle) {
  Object object;
  if (texture == nullptr || !find_object(handle, false, object)) return record(cudaErrorInvalidValue);
  *texture = object.texture;
  return cudaSuccess;
}
// No texture has a view of its own.
cudaError_t cudaGetTextureObjectResourceViewDesc(cudaResourceViewDesc*, cudaTextureObject_t) {
  return record(cudaErrorInvalidValue);
}

cudaError_t cudaCreateSurfaceObject(cudaSurfaceObject_t* handle, const cudaResourceDesc* resource) {
  CUDART_RETURN_IF_STICKY();
  Image image;
  if (handle == nullptr || resource == nullptr || resource->resType != cudaResourceTypeArray ||
      !describe(*resource, image))
    return record(cudaErrorInvalidValue);
  // The guide asks for arrays with cudaArraySurfaceLoadStore; an H200 makes surfaces of others as well.
  image.is_surface = 1;
  uint64_t object = 0;
  const cudaError_t error = create({true, *resource, {}}, image, &object, "cudaCreateSurfaceObject");
  if (error == cudaSuccess) *handle = object;
  return error;
}
cudaError_t cudaDestroySurfaceObject(cudaSurfaceObject_t handle) {
  return destroy(handle, true);
}
cudaError_t cudaGetSurfaceObjectResourceDesc(cudaResourceDesc* resource, cudaSurfaceObject_t handle) {
  Object object;
  if (resource == nullptr || !find_object(handle, true, object)) return record(cudaErrorInvalidValue);
  *resource = object.resource;
  return cudaSuccess;
}
cudaError_t cudaDeviceGetTexture1DLinearMaxWidth(size_t* elements, const cudaChannelFormatDesc* format,
                                                 int device) {
  if (device < 0 || device >= backend().device_count()) return record(cudaErrorInvalidDevice);
  if (elements == nullptr || format == nullptr || !element_format(*format))
    return record(cudaErrorInvalidValue);
  *elements = size_t{1} << 28;
  return cudaSuccess;
}

}  // extern "C"

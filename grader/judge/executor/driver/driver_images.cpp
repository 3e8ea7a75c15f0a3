// Texture and surface objects on a GPU. The front end keeps a CUDA array in plain memory with rows of its own
// pitch; the GPU's units read arrays in another order. So the first object of an array makes one of the
// driver's and copies what is there into it. From then on it stands for that memory: copies that name the
// memory go to the array.
#include <cstring>

#include "judge/executor/driver/driver.h"

namespace warpgrade::executor {
namespace {

using cudart::ChannelKind;
using cudart::Image;
using cudart::ImageShape;

CUarray_format format_of(const Image& image) {
  const bool is_signed = image.kind == ChannelKind::signed_integer;
  if (image.kind == ChannelKind::floating)
    return image.channel_bits == 16 ? CU_AD_FORMAT_HALF : CU_AD_FORMAT_FLOAT;
  if (image.channel_bits == 8) return is_signed ? CU_AD_FORMAT_SIGNED_INT8 : CU_AD_FORMAT_UNSIGNED_INT8;
  if (image.channel_bits == 16) return is_signed ? CU_AD_FORMAT_SIGNED_INT16 : CU_AD_FORMAT_UNSIGNED_INT16;
  return is_signed ? CU_AD_FORMAT_SIGNED_INT32 : CU_AD_FORMAT_UNSIGNED_INT32;
}

// The description comes from the host process: nothing of it is taken on trust. Modes and limits the
// driver checks.
bool is_sound(const Image& image) {
  const bool channels = image.channels == 1 || image.channels == 2 || image.channels == 4;
  const bool bits = image.channel_bits == 8 || image.channel_bits == 16 || image.channel_bits == 32;
  const bool floats = image.kind != ChannelKind::floating || image.channel_bits != 8;
  if (!channels || !bits || !floats || image.kind > ChannelKind::floating) return false;
  if (image.width == 0 || image.height == 0 || image.depth == 0 || image.shape > ImageShape::cubes)
    return false;
  if (image.is_array == 0)
    return image.is_surface == 0 && (image.shape == ImageShape::linear || image.shape == ImageShape::plane);
  return image.shape != ImageShape::linear && image.pitch >= image.row_bytes() &&
         image.slice / image.height >= image.pitch && image.slice % image.pitch == 0;
}

bool is_layered(ImageShape shape) {
  return shape == ImageShape::lines || shape == ImageShape::planes || shape == ImageShape::cubes;
}

CUDA_ARRAY3D_DESCRIPTOR descriptor_of(const Image& image) {
  const bool is_line = image.shape == ImageShape::line || image.shape == ImageShape::lines;
  const bool is_cube = image.shape == ImageShape::cube || image.shape == ImageShape::cubes;
  CUDA_ARRAY3D_DESCRIPTOR array{};
  array.Width = image.width;
  array.Height = is_line ? 0 : image.height;
  array.Depth = image.shape == ImageShape::line || image.shape == ImageShape::plane ? 0 : image.depth;
  array.Format = format_of(image);
  array.NumChannels = image.channels;
  array.Flags = CUDA_ARRAY3D_SURFACE_LDST;  // any array may get a surface later
  if (is_layered(image.shape)) array.Flags |= CUDA_ARRAY3D_LAYERED;
  if (is_cube) array.Flags |= CUDA_ARRAY3D_CUBEMAP;
  if (image.shape == ImageShape::plane) array.Flags |= CUDA_ARRAY3D_TEXTURE_GATHER;
  return array;
}

CUDA_RESOURCE_DESC resource_of(const Image& image, CUarray array) {
  CUDA_RESOURCE_DESC resource{};
  if (array != nullptr) {
    resource.resType = CU_RESOURCE_TYPE_ARRAY;
    resource.res.array.hArray = array;
  } else if (image.shape == ImageShape::linear) {
    resource.resType = CU_RESOURCE_TYPE_LINEAR;
    resource.res.linear = {image.address, format_of(image), image.channels, image.row_bytes()};
  } else {
    resource.resType = CU_RESOURCE_TYPE_PITCH2D;
    resource.res.pitch2D = {image.address, format_of(image), image.channels,
                            image.width,   image.height,     image.pitch};
  }
  return resource;
}

CUDA_TEXTURE_DESC reading_of(const Image& image) {
  CUDA_TEXTURE_DESC texture{};
  for (int axis = 0; axis < 3; ++axis)
    texture.addressMode[axis] = static_cast<CUaddress_mode>(image.modes[axis]);
  texture.filterMode = image.filters != 0 ? CU_TR_FILTER_MODE_LINEAR : CU_TR_FILTER_MODE_POINT;
  if (image.normalized != 0) texture.flags |= CU_TRSF_NORMALIZED_COORDINATES;
  if (image.srgb != 0) texture.flags |= CU_TRSF_SRGB;
  if (image.kind != ChannelKind::floating && image.reads_normalized == 0)
    texture.flags |= CU_TRSF_READ_AS_INTEGER;
  std::memcpy(texture.borderColor, image.border, sizeof image.border);
  return texture;
}

}  // namespace

const Driver::DeviceArray* Driver::array_at(uint64_t address, uint64_t* begin) const {
  if (arrays_.empty()) return nullptr;
  const auto after = arrays_.upper_bound(address);
  if (after == arrays_.begin() || address >= std::prev(after)->second.end) return nullptr;
  if (begin != nullptr) *begin = std::prev(after)->first;
  return &std::prev(after)->second;
}

void Driver::name_arrays(const cudart::RowsCopy& rows, CUDA_MEMCPY3D& copy) const {
  uint64_t begin = 0;
  if (const DeviceArray* from = array_at(rows.from.address, &begin)) {
    const uint64_t at = rows.from.address - begin;
    copy.srcMemoryType = CU_MEMORYTYPE_ARRAY;
    copy.srcArray = from->array;
    copy.srcZ = at / from->slice;
    copy.srcY = at % from->slice / from->pitch;
    copy.srcXInBytes = at % from->pitch;
  }
  if (const DeviceArray* to = array_at(rows.to.address, &begin)) {
    const uint64_t at = rows.to.address - begin;
    copy.dstMemoryType = CU_MEMORYTYPE_ARRAY;
    copy.dstArray = to->array;
    copy.dstZ = at / to->slice;
    copy.dstY = at % to->slice / to->pitch;
    copy.dstXInBytes = at % to->pitch;
  }
}

// What the plain memory holds, once everything that was put into streams has been done.
CUresult Driver::fill_array(const Image& image, CUarray array) {
  CUDA_MEMCPY3D copy{};
  copy.srcMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.srcDevice = image.address;
  copy.srcPitch = image.pitch;
  copy.srcHeight = image.slice / image.pitch;
  copy.dstMemoryType = CU_MEMORYTYPE_ARRAY;
  copy.dstArray = array;
  copy.WidthInBytes = image.row_bytes();
  copy.Height = image.height;
  copy.Depth = image.depth;
  CUresult result = api_.cuCtxSynchronize_();
  if (result == CUDA_SUCCESS) result = api_.cuMemcpy3D_(&copy);
  return result;
}

// The array that stands for the image's memory, made when there is none. Memory that has an array already
// gets no second one of another form.
CUresult Driver::array_of(const Image& image, CUarray& array) {
  const uint64_t end = image.address + image.bytes();
  const auto known = arrays_.find(image.address);
  if (known != arrays_.end()) {
    const DeviceArray& same = known->second;
    array = same.array;
    const bool fits = same.end == end && same.pitch == image.pitch && same.slice == image.slice;
    return fits ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
  }
  const auto next = arrays_.lower_bound(image.address);
  if (array_at(image.address) != nullptr || (next != arrays_.end() && next->first < end))
    return CUDA_ERROR_INVALID_VALUE;
  const CUDA_ARRAY3D_DESCRIPTOR descriptor = descriptor_of(image);
  CUresult result = api_.cuArray3DCreate_(&array, &descriptor);
  if (result != CUDA_SUCCESS) return result;
  result = fill_array(image, array);
  if (result != CUDA_SUCCESS) {
    api_.cuArrayDestroy_(array);
    return result;
  }
  arrays_[image.address] = {end, image.pitch, image.slice, array};
  return CUDA_SUCCESS;
}

void Driver::destroy_array(uint64_t address) {
  const auto gone = arrays_.find(address);
  if (gone == arrays_.end()) return;
  api_.cuArrayDestroy_(gone->second.array);
  arrays_.erase(gone);
}

cudaError_t Driver::create_image(const Image& image, uint64_t& object) {
  if (!is_sound(image)) return cudaErrorInvalidValue;
  CUarray array = nullptr;
  if (image.is_array != 0) {
    const CUresult made = array_of(image, array);
    if (made != CUDA_SUCCESS) return result_of(made);
  }
  const CUDA_RESOURCE_DESC resource = resource_of(image, array);
  const CUDA_TEXTURE_DESC texture = reading_of(image);
  unsigned long long made = 0;
  const CUresult result = image.is_surface != 0
                              ? api_.cuSurfObjectCreate_(&made, &resource)
                              : api_.cuTexObjectCreate_(&made, &resource, &texture, nullptr);
  object = made;
  return result_of(result);
}

cudaError_t Driver::destroy_image(uint64_t object, bool is_surface) {
  return result_of(is_surface ? api_.cuSurfObjectDestroy_(object) : api_.cuTexObjectDestroy_(object));
}

}  // namespace warpgrade::executor

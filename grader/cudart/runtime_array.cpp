// CUDA arrays: allocation, questions about them, and copies that name rows of them. cudaMemcpy3D with arrays
// is in runtime_copy.cpp.
#include <cuda_runtime_api.h>

#include <algorithm>

#include "cudart/arrays.h"
#include "cudart/capture.h"
#include "cudart/errors.h"
#include "cudart/host_functions.h"

namespace warpgrade::cudart {
namespace {

constexpr uint64_t kRowAlign = 256;

// The limits of cudaMalloc3DArray for a device, by its attributes.
bool fits_device(const cudaExtent& e, unsigned flags) {
  const auto& known = backend().device().attributes;
  const auto within = [&](size_t asked, cudaDeviceAttr limit) {
    return known[limit] == 0 || asked <= static_cast<size_t>(known[limit]);
  };
  const bool layered = (flags & cudaArrayLayered) != 0;
  if ((flags & cudaArrayCubemap) != 0) return within(e.width, cudaDevAttrMaxTextureCubemapWidth);
  if (layered && e.height == 0)
    return within(e.width, cudaDevAttrMaxTexture1DLayeredWidth) &&
           within(e.depth, cudaDevAttrMaxTexture1DLayeredLayers);
  if (layered)
    return within(e.width, cudaDevAttrMaxTexture2DLayeredWidth) &&
           within(e.height, cudaDevAttrMaxTexture2DLayeredHeight) &&
           within(e.depth, cudaDevAttrMaxTexture2DLayeredLayers);
  if (e.depth != 0)
    return within(e.width, cudaDevAttrMaxTexture3DWidth) && within(e.height, cudaDevAttrMaxTexture3DHeight) &&
           within(e.depth, cudaDevAttrMaxTexture3DDepth);
  if (e.height != 0)
    return within(e.width, cudaDevAttrMaxTexture2DWidth) && within(e.height, cudaDevAttrMaxTexture2DHeight);
  return within(e.width, cudaDevAttrMaxTexture1DWidth);
}

cudaError_t check_extent(const cudaExtent& e, unsigned flags) {
  constexpr unsigned kKnown =
      cudaArrayLayered | cudaArraySurfaceLoadStore | cudaArrayCubemap | cudaArrayTextureGather;
  if ((flags & ~kKnown) != 0)
    return cudart_not_implemented("cudaMalloc3DArray of a sparse or deferred array");
  const bool layered = (flags & cudaArrayLayered) != 0, cube = (flags & cudaArrayCubemap) != 0;
  if (e.width == 0 || (layered && e.depth == 0) || (!layered && e.depth != 0 && e.height == 0))
    return cudaErrorInvalidValue;
  if (cube && (e.width != e.height || (layered ? e.depth % 6 != 0 : e.depth != 6)))
    return cudaErrorInvalidValue;
  if ((flags & cudaArrayTextureGather) != 0 && (e.height == 0 || e.depth != 0)) return cudaErrorInvalidValue;
  return fits_device(e, flags) ? cudaSuccess : cudaErrorInvalidValue;
}

cudaError_t allocate_array(cudaArray_t* handle, const cudaChannelFormatDesc* format, const cudaExtent& extent,
                           unsigned flags) {
  CUDART_RETURN_IF_STICKY();
  if (handle == nullptr || format == nullptr) return record(cudaErrorInvalidValue);
  if (const cudaError_t error = refuse_unsafe_in_capture(); error != cudaSuccess) return record(error);
  const auto element = element_format(*format);
  if (!element) return record(cudaErrorInvalidChannelDescriptor);
  if (const cudaError_t error = check_extent(extent, flags); error != cudaSuccess) return record(error);
  Array array;
  array.format = *format;
  array.extent = extent;
  array.flags = flags;
  array.width = extent.width;
  array.rows = std::max<size_t>(1, extent.height);
  array.slices = std::max<size_t>(1, extent.depth);
  array.element_bytes = element->channels * element->bits / 8;
  array.pitch = (array.width * array.element_bytes + kRowAlign - 1) / kRowAlign * kRowAlign;
  const uint64_t bytes = array.pitch * array.rows * array.slices;
  if (const cudaError_t error = backend().allocate(MemoryKind::device, bytes, array.address);
      error != cudaSuccess)
    return record(error);
  *handle = add_array(array);
  return cudaSuccess;
}

// The bytes of a row of an array from an offset on: pitched memory that the other copies know.
struct Rows {
  char* begin = nullptr;
  size_t pitch = 0;
};

// cudaErrorInvalidValue when the box is not inside the array.
cudaError_t rows_in(cudaArray_const_t handle, size_t x, size_t y, size_t width, size_t height, Rows& rows) {
  const auto array = find_array(handle);
  if (!array) return cudaErrorInvalidResourceHandle;
  const uint64_t row = array->width * array->element_bytes;
  if (x > row || width > row - x || y > array->rows || height > array->rows - y) return cudaErrorInvalidValue;
  rows = {reinterpret_cast<char*>(array->address) + y * array->pitch + x, array->pitch};
  return cudaSuccess;
}

// `count` bytes that follow each other in an array from (x, y) on, row after row: calls `copy` with each
// stretch in a row and with its offset in the bytes.
template <class Copy>
cudaError_t each_stretch(cudaArray_const_t handle, size_t x, size_t y, size_t count, Copy copy) {
  const auto array = find_array(handle);
  if (!array) return record(cudaErrorInvalidResourceHandle);
  const size_t row = array->width * array->element_bytes;
  const size_t whole = row * array->rows;
  if (x > row || y > array->rows || y * row + x > whole || count > whole - (y * row + x))
    return record(cudaErrorInvalidValue);
  for (size_t done = 0; done < count;) {
    const size_t here = std::min(count - done, row - x);
    const cudaError_t error =
        copy(reinterpret_cast<char*>(array->address) + y * array->pitch + x, done, here);
    if (error != cudaSuccess) return error;
    done += here;
    x = 0;
    ++y;
  }
  return cudaSuccess;
}

}  // namespace
}  // namespace warpgrade::cudart

using namespace warpgrade::cudart;

extern "C" {

cudaChannelFormatDesc cudaCreateChannelDesc(int x, int y, int z, int w, cudaChannelFormatKind f) {
  return {x, y, z, w, f};
}
cudaError_t cudaGetChannelDesc(cudaChannelFormatDesc* format, cudaArray_const_t handle) {
  const auto array = find_array(handle);
  if (!array) return record(cudaErrorInvalidResourceHandle);
  if (format == nullptr) return record(cudaErrorInvalidValue);
  *format = array->format;
  return cudaSuccess;
}
cudaError_t cudaMallocArray(cudaArray_t* array, const cudaChannelFormatDesc* format, size_t width,
                            size_t height, unsigned flags) {
  return allocate_array(array, format, {width, height, 0}, flags);
}
cudaError_t cudaMalloc3DArray(cudaArray_t* array, const cudaChannelFormatDesc* format, cudaExtent extent,
                              unsigned flags) {
  return allocate_array(array, format, extent, flags);
}
cudaError_t cudaFreeArray(cudaArray_t handle) {
  CUDART_RETURN_IF_STICKY();
  if (handle == nullptr) return cudaSuccess;
  const auto array = find_array(handle);
  if (!array) return record(cudaErrorInvalidResourceHandle);
  if (const cudaError_t error = wait_for_all_held(); error != cudaSuccess) return record(error);
  remove_array(handle);
  constexpr MemoryKind kinds[] = {MemoryKind::device};
  return record(backend().release(array->address, kinds, "cudaFreeArray"));
}
cudaError_t cudaArrayGetInfo(cudaChannelFormatDesc* format, cudaExtent* extent, unsigned* flags,
                             cudaArray_t handle) {
  const auto array = find_array(handle);
  if (!array) return record(cudaErrorInvalidResourceHandle);
  if (format != nullptr) *format = array->format;
  if (extent != nullptr) *extent = array->extent;
  if (flags != nullptr) *flags = array->flags;
  return cudaSuccess;
}

cudaError_t cudaMemcpy2DToArrayAsync(cudaArray_t dst, size_t x, size_t y, const void* src, size_t pitch,
                                     size_t width, size_t height, cudaMemcpyKind kind, cudaStream_t stream) {
  Rows rows;
  if (const cudaError_t error = rows_in(dst, x, y, width, height, rows); error != cudaSuccess)
    return record(error);
  return cudaMemcpy2DAsync(rows.begin, rows.pitch, src, pitch, width, height, kind, stream);
}
cudaError_t cudaMemcpy2DToArray(cudaArray_t dst, size_t x, size_t y, const void* src, size_t pitch,
                                size_t width, size_t height, cudaMemcpyKind kind) {
  Rows rows;
  if (const cudaError_t error = rows_in(dst, x, y, width, height, rows); error != cudaSuccess)
    return record(error);
  return cudaMemcpy2D(rows.begin, rows.pitch, src, pitch, width, height, kind);
}
cudaError_t cudaMemcpy2DFromArrayAsync(void* dst, size_t pitch, cudaArray_const_t src, size_t x, size_t y,
                                       size_t width, size_t height, cudaMemcpyKind kind,
                                       cudaStream_t stream) {
  Rows rows;
  if (const cudaError_t error = rows_in(src, x, y, width, height, rows); error != cudaSuccess)
    return record(error);
  return cudaMemcpy2DAsync(dst, pitch, rows.begin, rows.pitch, width, height, kind, stream);
}
cudaError_t cudaMemcpy2DFromArray(void* dst, size_t pitch, cudaArray_const_t src, size_t x, size_t y,
                                  size_t width, size_t height, cudaMemcpyKind kind) {
  Rows rows;
  if (const cudaError_t error = rows_in(src, x, y, width, height, rows); error != cudaSuccess)
    return record(error);
  return cudaMemcpy2D(dst, pitch, rows.begin, rows.pitch, width, height, kind);
}
cudaError_t cudaMemcpy2DArrayToArray(cudaArray_t dst, size_t to_x, size_t to_y, cudaArray_const_t src,
                                     size_t from_x, size_t from_y, size_t width, size_t height,
                                     cudaMemcpyKind kind) {
  Rows from;
  if (const cudaError_t error = rows_in(src, from_x, from_y, width, height, from); error != cudaSuccess)
    return record(error);
  return cudaMemcpy2DToArray(dst, to_x, to_y, from.begin, from.pitch, width, height, kind);
}

cudaError_t cudaMemcpyToArrayAsync(cudaArray_t dst, size_t x, size_t y, const void* src, size_t count,
                                   cudaMemcpyKind kind, cudaStream_t stream) {
  return each_stretch(dst, x, y, count, [&](char* at, size_t done, size_t bytes) {
    return cudaMemcpyAsync(at, static_cast<const char*>(src) + done, bytes, kind, stream);
  });
}
cudaError_t cudaMemcpyToArray(cudaArray_t dst, size_t x, size_t y, const void* src, size_t count,
                              cudaMemcpyKind kind) {
  return each_stretch(dst, x, y, count, [&](char* at, size_t done, size_t bytes) {
    return cudaMemcpy(at, static_cast<const char*>(src) + done, bytes, kind);
  });
}
cudaError_t cudaMemcpyFromArrayAsync(void* dst, cudaArray_const_t src, size_t x, size_t y, size_t count,
                                     cudaMemcpyKind kind, cudaStream_t stream) {
  return each_stretch(src, x, y, count, [&](const char* at, size_t done, size_t bytes) {
    return cudaMemcpyAsync(static_cast<char*>(dst) + done, at, bytes, kind, stream);
  });
}
cudaError_t cudaMemcpyFromArray(void* dst, cudaArray_const_t src, size_t x, size_t y, size_t count,
                                cudaMemcpyKind kind) {
  return each_stretch(src, x, y, count, [&](const char* at, size_t done, size_t bytes) {
    return cudaMemcpy(static_cast<char*>(dst) + done, at, bytes, kind);
  });
}
cudaError_t cudaMemcpyArrayToArray(cudaArray_t dst, size_t to_x, size_t to_y, cudaArray_const_t src,
                                   size_t from_x, size_t from_y, size_t count, cudaMemcpyKind kind) {
  return each_stretch(src, from_x, from_y, count, [&](const char* at, size_t done, size_t bytes) {
    const auto array = find_array(dst);
    const size_t row = array ? array->width * array->element_bytes : 0;
    if (row == 0) return record(cudaErrorInvalidResourceHandle);
    const size_t offset = to_y * row + to_x + done;
    return cudaMemcpyToArray(dst, offset % row, offset / row, at, bytes, kind);
  });
}

}  // extern "C"

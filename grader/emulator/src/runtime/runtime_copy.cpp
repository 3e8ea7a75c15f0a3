// Copies and fills: linear, two- and three-dimensional, to and from symbols. All are complete when they
// return.
#include <cuda_runtime_api.h>

#include "runtime/capture.h"
#include "runtime/errors.h"
#include "runtime/host_access.h"
#include "runtime/modules.h"

namespace warpgrade::emu {
namespace {

cudaMemcpy3DParms rows(void* dst, size_t dst_pitch, const void* src, size_t src_pitch, size_t width,
                       size_t height, cudaMemcpyKind kind) {
  cudaMemcpy3DParms copy{};
  copy.dstPtr = {dst, dst_pitch, width, height};
  copy.srcPtr = {const_cast<void*>(src), src_pitch, width, height};
  copy.extent = {width, height, 1};
  copy.kind = kind;
  return copy;
}

cudaMemsetParams fill_of(void* dst, size_t pitch, int value, size_t width, size_t height) {
  cudaMemsetParams fill{};
  fill.dst = dst;
  fill.pitch = pitch;
  fill.value = static_cast<unsigned>(value) & 0xff;
  fill.elementSize = 1;
  fill.width = width;
  fill.height = height;
  return fill;
}

cudaError_t run_work(const cudaMemcpy3DParms& copy) {
  return copy_3d(copy);
}
cudaError_t run_work(const cudaMemsetParams& fill) {
  return fill_elements(fill);
}

// Runs a copy or fill, or adds it to the graph that captures its stream.
template <class Work>
cudaError_t in_stream(cudaStream_t stream, const Work& work) {
  WARPEMU_RETURN_IF_STICKY();
  if (find_stream(stream) == nullptr) return record(cudaErrorInvalidResourceHandle);
  const auto kept = captured(stream, [&] { return NodeWork(work); });
  return record(kept ? *kept : run_work(work));
}

// The address of `bytes` at an offset in a symbol; 0 when they are not inside it.
cudaError_t symbol_range(const void* symbol, size_t offset, size_t bytes, void** address) {
  DeviceVariable variable;
  if (!Modules::instance().find_variable(symbol, variable)) return cudaErrorInvalidSymbol;
  if (offset + bytes > variable.bytes) return cudaErrorInvalidValue;
  *address = reinterpret_cast<void*>(variable.address + offset);
  return cudaSuccess;
}

}  // namespace
}  // namespace warpgrade::emu

using namespace warpgrade::emu;

extern "C" {

// Calls without a stream wait for the default one.
cudaError_t cudaMemcpyAsync(void* dst, const void* src, size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream) {
  return in_stream(stream, linear_copy(dst, src, bytes, kind));
}
cudaError_t cudaMemcpy(void* dst, const void* src, size_t bytes, cudaMemcpyKind kind) {
  if (!no_capture()) {
    if (const cudaError_t error = refuse_wait_in_capture(nullptr); error != cudaSuccess) return record(error);
  }
  return cudaMemcpyAsync(dst, src, bytes, kind, nullptr);
}
cudaError_t cudaMemcpyPeerAsync(void* dst, int to, const void* src, int from, size_t bytes,
                                cudaStream_t stream) {
  if (to != 0 || from != 0) return record(cudaErrorInvalidDevice);
  return cudaMemcpyAsync(dst, src, bytes, cudaMemcpyDefault, stream);
}
cudaError_t cudaMemcpyPeer(void* dst, int to, const void* src, int from, size_t bytes) {
  if (to != 0 || from != 0) return record(cudaErrorInvalidDevice);
  return cudaMemcpy(dst, src, bytes, cudaMemcpyDefault);
}

cudaError_t cudaMemcpy2DAsync(void* dst, size_t dst_pitch, const void* src, size_t src_pitch, size_t width,
                              size_t height, cudaMemcpyKind kind, cudaStream_t stream) {
  WARPEMU_RETURN_IF_STICKY();
  if (width > dst_pitch || width > src_pitch)  // one row alone has no pitch to be wrong: an H200 says so, too
    return record(height == 1 ? cudaErrorInvalidValue : cudaErrorInvalidPitchValue);
  return in_stream(stream, rows(dst, dst_pitch, src, src_pitch, width, height, kind));
}
cudaError_t cudaMemcpy2D(void* dst, size_t dst_pitch, const void* src, size_t src_pitch, size_t width,
                         size_t height, cudaMemcpyKind kind) {
  return cudaMemcpy2DAsync(dst, dst_pitch, src, src_pitch, width, height, kind, nullptr);
}
cudaError_t cudaMemcpy3DAsync(const cudaMemcpy3DParms* copy, cudaStream_t stream) {
  WARPEMU_RETURN_IF_STICKY();
  if (copy == nullptr) return record(cudaErrorInvalidValue);
  if (const cudaError_t error = check_copy_3d(*copy); error != cudaSuccess) return record(error);
  return in_stream(stream, *copy);
}
cudaError_t cudaMemcpy3D(const cudaMemcpy3DParms* copy) {
  return cudaMemcpy3DAsync(copy, nullptr);
}

cudaError_t cudaMemsetAsync(void* dst, int value, size_t bytes, cudaStream_t stream) {
  return in_stream(stream, fill_of(dst, bytes, value, bytes, 1));
}
cudaError_t cudaMemset(void* dst, int value, size_t bytes) {
  return cudaMemsetAsync(dst, value, bytes, nullptr);
}
cudaError_t cudaMemset2DAsync(void* dst, size_t pitch, int value, size_t width, size_t height,
                              cudaStream_t stream) {
  WARPEMU_RETURN_IF_STICKY();
  if (height > 1 && width > pitch) return record(cudaErrorInvalidValue);
  return in_stream(stream, fill_of(dst, pitch, value, width, height));
}
cudaError_t cudaMemset2D(void* dst, size_t pitch, int value, size_t width, size_t height) {
  return cudaMemset2DAsync(dst, pitch, value, width, height, nullptr);
}
// Rows of all slices follow each other at the pitch when the extent is as high as the allocation.
cudaError_t cudaMemset3DAsync(cudaPitchedPtr dst, int value, cudaExtent extent, cudaStream_t stream) {
  const size_t slice = dst.pitch * dst.ysize;
  for (size_t z = 0; z < extent.depth; ++z) {
    const cudaError_t error = cudaMemset2DAsync(static_cast<char*>(dst.ptr) + z * slice, dst.pitch, value,
                                                extent.width, extent.height, stream);
    if (error != cudaSuccess) return error;
  }
  return cudaSuccess;
}
cudaError_t cudaMemset3D(cudaPitchedPtr dst, int value, cudaExtent extent) {
  return cudaMemset3DAsync(dst, value, extent, nullptr);
}

cudaError_t cudaMemcpyToSymbolAsync(const void* symbol, const void* src, size_t bytes, size_t offset,
                                    cudaMemcpyKind kind, cudaStream_t stream) {
  WARPEMU_RETURN_IF_STICKY();
  void* dst = nullptr;
  const cudaError_t error = symbol_range(symbol, offset, bytes, &dst);
  return error != cudaSuccess ? record(error) : cudaMemcpyAsync(dst, src, bytes, kind, stream);
}
cudaError_t cudaMemcpyToSymbol(const void* symbol, const void* src, size_t bytes, size_t offset,
                               cudaMemcpyKind kind) {
  return cudaMemcpyToSymbolAsync(symbol, src, bytes, offset, kind, nullptr);
}
cudaError_t cudaMemcpyFromSymbolAsync(void* dst, const void* symbol, size_t bytes, size_t offset,
                                      cudaMemcpyKind kind, cudaStream_t stream) {
  WARPEMU_RETURN_IF_STICKY();
  void* src = nullptr;
  const cudaError_t error = symbol_range(symbol, offset, bytes, &src);
  return error != cudaSuccess ? record(error) : cudaMemcpyAsync(dst, src, bytes, kind, stream);
}
cudaError_t cudaMemcpyFromSymbol(void* dst, const void* symbol, size_t bytes, size_t offset,
                                 cudaMemcpyKind kind) {
  return cudaMemcpyFromSymbolAsync(dst, symbol, bytes, offset, kind, nullptr);
}

cudaError_t cudaGetSymbolAddress(void** address, const void* symbol) {
  WARPEMU_RETURN_IF_STICKY();
  return record(symbol_range(symbol, 0, 0, address));
}
cudaError_t cudaGetSymbolSize(size_t* bytes, const void* symbol) {
  DeviceVariable variable;
  if (!Modules::instance().find_variable(symbol, variable)) return record(cudaErrorInvalidSymbol);
  *bytes = variable.bytes;
  return cudaSuccess;
}

}  // extern "C"

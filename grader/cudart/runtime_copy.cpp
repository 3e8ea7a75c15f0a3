// Copies and fills: linear, two- and three-dimensional, to and from symbols.
#include <cuda_runtime_api.h>

#include <optional>
#include <utility>

#include "cudart/capture.h"
#include "cudart/errors.h"
#include "cudart/host_access.h"
#include "cudart/host_functions.h"
#include "cudart/kernels.h"
#include "cudart/refused_copy.h"

namespace warpgrade::cudart {
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

cudaError_t run_work(const cudaMemcpy3DParms& copy, StreamId stream, bool waits) {
  return copy_3d(copy, stream, waits);
}
cudaError_t run_work(const cudaMemsetParams& fill, StreamId stream, bool) {
  return fill_elements(fill, stream);
}

// Keeps the work behind a host function, or waits for that where the program's own memory is used at once.
std::optional<cudaError_t> keep(Stream& stream, const cudaMemcpy3DParms& copy, bool waits) {
  if (nothing_is_held()) return std::nullopt;
  if (waits || !fits_into_graph(copy)) {
    const cudaError_t error = wait_to_enqueue(stream);
    return error == cudaSuccess ? std::nullopt : std::optional(error);
  }
  return hold(stream, [&] { return [copy](StreamId s) { return run_work(copy, s, false); }; });
}
std::optional<cudaError_t> keep(Stream& stream, const cudaMemsetParams& fill, bool) {
  if (nothing_is_held() || !fits_into_graph(fill)) return std::nullopt;  // one that is wrong fails at once
  return hold(stream, [&] { return [fill](StreamId s) { return run_work(fill, s, false); }; });
}

// Runs a copy or fill, or adds it to the graph that captures its stream.
template <class Work>
cudaError_t put_into(cudaStream_t handle, const Work& work, bool waits) {
  Stream* stream = find_stream(handle);
  if (stream == nullptr) return cudaErrorInvalidResourceHandle;
  if (const auto kept = captured(handle, [&] { return NodeWork(work); })) return *kept;
  if (const auto kept = keep(*stream, work, waits)) return *kept;
  return run_work(work, stream->in_backend, waits);
}

template <class Work>
cudaError_t in_stream(cudaStream_t handle, const Work& work, bool waits = false) {
  CUDART_RETURN_IF_STICKY();
  return record(put_into(handle, work, waits));
}

cudaError_t copy_rows(const cudaMemcpy3DParms& copy, cudaStream_t stream, bool waits) {
  CUDART_RETURN_IF_STICKY();
  const cudaExtent& e = copy.extent;
  if (e.width > copy.dstPtr.pitch || e.width > copy.srcPtr.pitch)  // one row alone has no pitch to be wrong:
    return record(e.height == 1 ? cudaErrorInvalidValue
                                : cudaErrorInvalidPitchValue);  // an H200 says so, too
  return in_stream(stream, copy, waits);
}

cudaError_t copy_volume(const cudaMemcpy3DParms* copy, cudaStream_t stream, bool waits) {
  CUDART_RETURN_IF_STICKY();
  if (copy == nullptr) return record(cudaErrorInvalidValue);
  if (const cudaError_t error = check_copy_3d(*copy); error != cudaSuccess) return record(error);
  return in_stream(stream, *copy, waits);
}

// A copy without a stream, which waits for the default one.
cudaError_t copy_and_wait(void* dst, const void* src, size_t bytes, cudaMemcpyKind kind) {
  if (!no_capture()) {
    if (const cudaError_t error = refuse_wait_in_capture(nullptr); error != cudaSuccess) return record(error);
  }
  return in_stream(nullptr, linear_copy(dst, src, bytes, kind), true);
}

// Whether the devices exist and own these addresses, of which null is an array's.
cudaError_t check_sides(const void* dst, int to, const void* src, int from) {
  for (const auto& [pointer, device] : {std::pair{dst, to}, std::pair{src, from}}) {
    if (device < 0 || device >= backend().device_count()) return cudaErrorInvalidDevice;
    const auto range = backend().find(reinterpret_cast<uint64_t>(pointer));
    if (range && !range->is_on_both_sides() && range->device != device) return cudaErrorInvalidValue;
  }
  return cudaSuccess;
}

cudaMemcpy3DParms without_devices(const cudaMemcpy3DPeerParms& copy) {
  cudaMemcpy3DParms plain{};
  plain.srcArray = copy.srcArray;
  plain.srcPos = copy.srcPos;
  plain.srcPtr = copy.srcPtr;
  plain.dstArray = copy.dstArray;
  plain.dstPos = copy.dstPos;
  plain.dstPtr = copy.dstPtr;
  plain.extent = copy.extent;
  plain.kind = cudaMemcpyDefault;
  return plain;
}

// The address of `bytes` at an offset in a symbol; one that is not there, or too small, is reported.
cudaError_t symbol_range(const void* symbol, size_t offset, size_t bytes, void** address) {
  MemoryRange variable;
  const cudaError_t error = Registry::instance().find_variable(symbol, variable);
  if (error != cudaSuccess) return refuse_symbol(symbol, offset, bytes, error);
  const uint64_t size = variable.end - variable.begin;
  if (offset > size || bytes > size - offset)
    return refuse_symbol(symbol, offset, bytes, cudaErrorInvalidValue);
  *address = reinterpret_cast<void*>(variable.begin + offset);
  return cudaSuccess;
}

}  // namespace

cudaError_t fill_in_stream(cudaStream_t stream, const cudaMemsetParams& fill) {
  return put_into(stream, fill, false);
}

}  // namespace warpgrade::cudart

using namespace warpgrade::cudart;

extern "C" {

cudaError_t cudaMemcpyAsync(void* dst, const void* src, size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream) {
  return in_stream(stream, linear_copy(dst, src, bytes, kind));
}
cudaError_t cudaMemcpy(void* dst, const void* src, size_t bytes, cudaMemcpyKind kind) {
  return copy_and_wait(dst, src, bytes, kind);
}
cudaError_t cudaMemcpyPeerAsync(void* dst, int to, const void* src, int from, size_t bytes,
                                cudaStream_t stream) {
  if (const cudaError_t error = check_sides(dst, to, src, from); error != cudaSuccess) return record(error);
  return cudaMemcpyAsync(dst, src, bytes, cudaMemcpyDefault, stream);
}
cudaError_t cudaMemcpyPeer(void* dst, int to, const void* src, int from, size_t bytes) {
  if (const cudaError_t error = check_sides(dst, to, src, from); error != cudaSuccess) return record(error);
  return cudaMemcpy(dst, src, bytes, cudaMemcpyDefault);
}
cudaError_t cudaMemcpy3DPeerAsync(const cudaMemcpy3DPeerParms* copy, cudaStream_t stream) {
  if (copy == nullptr) return record(cudaErrorInvalidValue);
  const cudaError_t error = check_sides(copy->dstPtr.ptr, copy->dstDevice, copy->srcPtr.ptr, copy->srcDevice);
  if (error != cudaSuccess) return record(error);
  const cudaMemcpy3DParms plain = without_devices(*copy);
  return copy_volume(&plain, stream, false);
}
cudaError_t cudaMemcpy3DPeer(const cudaMemcpy3DPeerParms* copy) {
  if (copy == nullptr) return record(cudaErrorInvalidValue);
  const cudaError_t error = check_sides(copy->dstPtr.ptr, copy->dstDevice, copy->srcPtr.ptr, copy->srcDevice);
  if (error != cudaSuccess) return record(error);
  const cudaMemcpy3DParms plain = without_devices(*copy);
  return copy_volume(&plain, nullptr, true);
}

cudaError_t cudaMemcpy2DAsync(void* dst, size_t dst_pitch, const void* src, size_t src_pitch, size_t width,
                              size_t height, cudaMemcpyKind kind, cudaStream_t stream) {
  return copy_rows(rows(dst, dst_pitch, src, src_pitch, width, height, kind), stream, false);
}
cudaError_t cudaMemcpy2D(void* dst, size_t dst_pitch, const void* src, size_t src_pitch, size_t width,
                         size_t height, cudaMemcpyKind kind) {
  return copy_rows(rows(dst, dst_pitch, src, src_pitch, width, height, kind), nullptr, true);
}
cudaError_t cudaMemcpy3DAsync(const cudaMemcpy3DParms* copy, cudaStream_t stream) {
  return copy_volume(copy, stream, false);
}
cudaError_t cudaMemcpy3D(const cudaMemcpy3DParms* copy) {
  return copy_volume(copy, nullptr, true);
}

cudaError_t cudaMemsetAsync(void* dst, int value, size_t bytes, cudaStream_t stream) {
  return in_stream(stream, fill_of(dst, bytes, value, bytes, 1));
}
cudaError_t cudaMemset(void* dst, int value, size_t bytes) {
  return cudaMemsetAsync(dst, value, bytes, nullptr);
}
cudaError_t cudaMemset2DAsync(void* dst, size_t pitch, int value, size_t width, size_t height,
                              cudaStream_t stream) {
  CUDART_RETURN_IF_STICKY();
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
  CUDART_RETURN_IF_STICKY();
  void* dst = nullptr;
  const cudaError_t error = symbol_range(symbol, offset, bytes, &dst);
  return error != cudaSuccess ? record(error) : cudaMemcpyAsync(dst, src, bytes, kind, stream);
}
cudaError_t cudaMemcpyToSymbol(const void* symbol, const void* src, size_t bytes, size_t offset,
                               cudaMemcpyKind kind) {
  CUDART_RETURN_IF_STICKY();
  void* dst = nullptr;
  const cudaError_t error = symbol_range(symbol, offset, bytes, &dst);
  return error != cudaSuccess ? record(error) : copy_and_wait(dst, src, bytes, kind);
}
cudaError_t cudaMemcpyFromSymbolAsync(void* dst, const void* symbol, size_t bytes, size_t offset,
                                      cudaMemcpyKind kind, cudaStream_t stream) {
  CUDART_RETURN_IF_STICKY();
  void* src = nullptr;
  const cudaError_t error = symbol_range(symbol, offset, bytes, &src);
  return error != cudaSuccess ? record(error) : cudaMemcpyAsync(dst, src, bytes, kind, stream);
}
cudaError_t cudaMemcpyFromSymbol(void* dst, const void* symbol, size_t bytes, size_t offset,
                                 cudaMemcpyKind kind) {
  CUDART_RETURN_IF_STICKY();
  void* src = nullptr;
  const cudaError_t error = symbol_range(symbol, offset, bytes, &src);
  return error != cudaSuccess ? record(error) : copy_and_wait(dst, src, bytes, kind);
}

cudaError_t cudaGetSymbolAddress(void** address, const void* symbol) {
  CUDART_RETURN_IF_STICKY();
  MemoryRange variable;
  const cudaError_t error = Registry::instance().find_variable(symbol, variable);
  if (error == cudaSuccess) *address = reinterpret_cast<void*>(variable.begin);
  return record(error);
}
cudaError_t cudaGetSymbolSize(size_t* bytes, const void* symbol) {
  MemoryRange variable;
  const cudaError_t error = Registry::instance().find_variable(symbol, variable);
  *bytes = error == cudaSuccess ? variable.end - variable.begin : 0;
  return record(error);
}

}  // extern "C"

// Copies and fills: linear, two-dimensional, to and from symbols. All are complete when they return.
#include <cuda_runtime_api.h>

#include "runtime/errors.h"
#include "runtime/host_access.h"
#include "runtime/modules.h"

namespace warpgrade::emu {
namespace {

cudaError_t copy_rows(void* dst, size_t dst_pitch, const void* src, size_t src_pitch, size_t width,
                      size_t height, cudaMemcpyKind kind) {
  if (width > dst_pitch || width > src_pitch) return cudaErrorInvalidValue;
  for (size_t row = 0; row < height; ++row) {
    const cudaError_t error = copy_bytes(static_cast<char*>(dst) + row * dst_pitch,
                                         static_cast<const char*>(src) + row * src_pitch, width, kind);
    if (error != cudaSuccess) return error;
  }
  return cudaSuccess;
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

cudaError_t cudaMemcpy(void* dst, const void* src, size_t bytes, cudaMemcpyKind kind) {
  WARPEMU_RETURN_IF_STICKY();
  return record(copy_bytes(dst, src, bytes, kind));
}
cudaError_t cudaMemcpyAsync(void* dst, const void* src, size_t bytes, cudaMemcpyKind kind, cudaStream_t) {
  return cudaMemcpy(dst, src, bytes, kind);
}
cudaError_t cudaMemcpyPeer(void* dst, int, const void* src, int, size_t bytes) {
  return cudaMemcpy(dst, src, bytes, cudaMemcpyDefault);
}
cudaError_t cudaMemcpyPeerAsync(void* dst, int, const void* src, int, size_t bytes, cudaStream_t) {
  return cudaMemcpy(dst, src, bytes, cudaMemcpyDefault);
}

cudaError_t cudaMemcpy2D(void* dst, size_t dst_pitch, const void* src, size_t src_pitch, size_t width,
                         size_t height, cudaMemcpyKind kind) {
  WARPEMU_RETURN_IF_STICKY();
  return record(copy_rows(dst, dst_pitch, src, src_pitch, width, height, kind));
}
cudaError_t cudaMemcpy2DAsync(void* dst, size_t dst_pitch, const void* src, size_t src_pitch, size_t width,
                              size_t height, cudaMemcpyKind kind, cudaStream_t) {
  return cudaMemcpy2D(dst, dst_pitch, src, src_pitch, width, height, kind);
}

cudaError_t cudaMemset(void* dst, int value, size_t bytes) {
  WARPEMU_RETURN_IF_STICKY();
  return record(fill_bytes(dst, value, bytes));
}
cudaError_t cudaMemsetAsync(void* dst, int value, size_t bytes, cudaStream_t) {
  return cudaMemset(dst, value, bytes);
}
cudaError_t cudaMemset2D(void* dst, size_t pitch, int value, size_t width, size_t height) {
  WARPEMU_RETURN_IF_STICKY();
  for (size_t row = 0; row < height; ++row) {
    const cudaError_t error = fill_bytes(static_cast<char*>(dst) + row * pitch, value, width);
    if (error != cudaSuccess) return record(error);
  }
  return cudaSuccess;
}
cudaError_t cudaMemset2DAsync(void* dst, size_t pitch, int value, size_t width, size_t height, cudaStream_t) {
  return cudaMemset2D(dst, pitch, value, width, height);
}

cudaError_t cudaMemcpyToSymbol(const void* symbol, const void* src, size_t bytes, size_t offset,
                               cudaMemcpyKind kind) {
  WARPEMU_RETURN_IF_STICKY();
  void* dst = nullptr;
  const cudaError_t error = symbol_range(symbol, offset, bytes, &dst);
  return record(error != cudaSuccess ? error : copy_bytes(dst, src, bytes, kind));
}
cudaError_t cudaMemcpyToSymbolAsync(const void* symbol, const void* src, size_t bytes, size_t offset,
                                    cudaMemcpyKind kind, cudaStream_t) {
  return cudaMemcpyToSymbol(symbol, src, bytes, offset, kind);
}
cudaError_t cudaMemcpyFromSymbol(void* dst, const void* symbol, size_t bytes, size_t offset,
                                 cudaMemcpyKind kind) {
  WARPEMU_RETURN_IF_STICKY();
  void* src = nullptr;
  const cudaError_t error = symbol_range(symbol, offset, bytes, &src);
  return record(error != cudaSuccess ? error : copy_bytes(dst, src, bytes, kind));
}
cudaError_t cudaMemcpyFromSymbolAsync(void* dst, const void* symbol, size_t bytes, size_t offset,
                                      cudaMemcpyKind kind, cudaStream_t) {
  return cudaMemcpyFromSymbol(dst, symbol, bytes, offset, kind);
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

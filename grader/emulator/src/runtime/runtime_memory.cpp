// Allocation: device, managed, pinned, registered, pools, and questions about pointers.
#include <cuda_runtime_api.h>

#include "memory/device_memory.h"
#include "report/diagnostics.h"
#include "runtime/capture.h"
#include "runtime/errors.h"
#include "runtime/host_access.h"
#include "runtime/host_place.h"
#include "runtime/leaks.h"
#include "support/settings.h"

namespace warpgrade::emu {
namespace {

cudaError_t allocate(void** pointer, size_t bytes, MemoryKind kind) {
  WARPEMU_RETURN_IF_STICKY();
  if (pointer == nullptr) return record(cudaErrorInvalidValue);
  if (const cudaError_t error = refuse_unsafe_in_capture(); error != cudaSuccess) return record(error);
  *pointer = nullptr;
  if (bytes == 0) return cudaSuccess;
  const auto address = DeviceMemory::instance().allocate(bytes, kind);
  if (!address) return record(cudaErrorMemoryAllocation);
  note_allocation(*address);
  *pointer = reinterpret_cast<void*>(*address);
  return cudaSuccess;
}

void report_invalid_free(uint64_t address) {
  const auto a = DeviceMemory::instance().find(address);
  Diagnostic d;
  d.kind = "invalid_free";
  d.address = address;
  if (a) d.allocation = DiagnosedAllocation{a->name, a->bytes(), static_cast<int64_t>(address - a->begin)};
  d.message = !a                    ? "cudaFree of an address that cudaMalloc did not return"
              : a->freed            ? "cudaFree of " + a->name + ", which was freed before"
              : address != a->begin ? "cudaFree of an address inside " + a->name
                                    : "cudaFree of " + a->name + ", which cudaMalloc did not return";
  d.advice = "Free each allocation once, with the pointer that cudaMalloc returned.";
  add_host_diagnostic(std::move(d));
}

cudaError_t release(void* pointer) {
  WARPEMU_RETURN_IF_STICKY();
  if (pointer == nullptr) return cudaSuccess;
  const auto address = reinterpret_cast<uint64_t>(pointer);
  if (DeviceMemory::instance().release(address)) return cudaSuccess;
  report_invalid_free(address);
  return record(cudaErrorInvalidValue);
}

constexpr size_t kPitchAlign = 512;

cudaMemPool_t the_pool() {
  static char pool;
  return reinterpret_cast<cudaMemPool_t>(&pool);
}

}  // namespace
}  // namespace warpgrade::emu

using namespace warpgrade::emu;

extern "C" {

cudaError_t cudaMalloc(void** pointer, size_t bytes) {
  return allocate(pointer, bytes, MemoryKind::device);
}
cudaError_t cudaMallocAsync(void** pointer, size_t bytes, cudaStream_t handle) {
  const Stream* stream = find_stream(handle);
  if (stream == nullptr) return record(cudaErrorInvalidResourceHandle);
  if (stream->capture) return warpemu_not_implemented("cudaMallocAsync in a captured stream");
  return allocate(pointer, bytes, MemoryKind::device);
}
cudaError_t cudaMallocFromPoolAsync(void** pointer, size_t bytes, cudaMemPool_t, cudaStream_t stream) {
  return cudaMallocAsync(pointer, bytes, stream);
}
cudaError_t cudaMallocManaged(void** pointer, size_t bytes, unsigned) {
  return allocate(pointer, bytes, MemoryKind::managed);
}
cudaError_t cudaMallocHost(void** pointer, size_t bytes) {
  return allocate(pointer, bytes, MemoryKind::pinned);
}
cudaError_t cudaHostAlloc(void** pointer, size_t bytes, unsigned) {
  return cudaMallocHost(pointer, bytes);
}
cudaError_t cudaFree(void* pointer) {
  return release(pointer);
}
cudaError_t cudaFreeAsync(void* pointer, cudaStream_t) {
  return release(pointer);
}
cudaError_t cudaFreeHost(void* pointer) {
  return release(pointer);
}

cudaError_t cudaMallocPitch(void** pointer, size_t* pitch, size_t width, size_t height) {
  *pitch = (width + kPitchAlign - 1) / kPitchAlign * kPitchAlign;
  return cudaMalloc(pointer, *pitch * height);
}

cudaError_t cudaMalloc3D(cudaPitchedPtr* pointer, cudaExtent extent) {
  const size_t pitch = (extent.width + kPitchAlign - 1) / kPitchAlign * kPitchAlign;
  *pointer = {nullptr, pitch, extent.width, extent.height};
  return cudaMalloc(&pointer->ptr, pitch * extent.height * extent.depth);
}

cudaError_t cudaHostRegister(void* pointer, size_t bytes, unsigned) {
  WARPEMU_RETURN_IF_STICKY();
  if (pointer == nullptr || bytes == 0) return record(cudaErrorInvalidValue);
  return DeviceMemory::instance().register_host(pointer, bytes)
             ? cudaSuccess
             : record(cudaErrorHostMemoryAlreadyRegistered);
}

cudaError_t cudaHostUnregister(void* pointer) {
  return DeviceMemory::instance().unregister_host(pointer) ? cudaSuccess
                                                           : record(cudaErrorHostMemoryNotRegistered);
}

// Host-visible memory has one address on both sides.
cudaError_t cudaHostGetDevicePointer(void** device, void* host, unsigned) {
  if (!may_be(host, Side::device)) return record(cudaErrorInvalidValue);
  *device = host;
  return cudaSuccess;
}

cudaError_t cudaHostGetFlags(unsigned* flags, void* host) {
  if (!may_be(host, Side::device)) return record(cudaErrorInvalidValue);
  *flags = cudaHostAllocMapped;
  return cudaSuccess;
}

cudaError_t cudaMemGetInfo(size_t* free_bytes, size_t* total_bytes) {
  WARPEMU_RETURN_IF_STICKY();
  const DeviceMemory& memory = DeviceMemory::instance();
  if (total_bytes != nullptr) *total_bytes = memory.total_bytes();
  if (free_bytes != nullptr) *free_bytes = memory.total_bytes() - memory.used_bytes();
  return cudaSuccess;
}

cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* pointer) {
  const auto a = DeviceMemory::instance().find(reinterpret_cast<uint64_t>(pointer));
  *attributes = {};
  attributes->device = 0;
  attributes->hostPointer = const_cast<void*>(pointer);
  if (!a || a->freed) {
    attributes->type = cudaMemoryTypeUnregistered;
    attributes->device = -1;
    return cudaSuccess;
  }
  attributes->devicePointer = const_cast<void*>(pointer);
  if (a->kind == MemoryKind::managed) {
    attributes->type = cudaMemoryTypeManaged;
  } else if (a->kind == MemoryKind::pinned || a->kind == MemoryKind::registered) {
    attributes->type = cudaMemoryTypeHost;
  } else {
    attributes->type = cudaMemoryTypeDevice;
    attributes->hostPointer = nullptr;
  }
  return cudaSuccess;
}

// One pool, without limits of its own.
cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t* pool, int) {
  *pool = the_pool();
  return cudaSuccess;
}
cudaError_t cudaDeviceGetMemPool(cudaMemPool_t* pool, int device) {
  return cudaDeviceGetDefaultMemPool(pool, device);
}
cudaError_t cudaDeviceSetMemPool(int, cudaMemPool_t) {
  return cudaSuccess;
}
cudaError_t cudaMemPoolCreate(cudaMemPool_t* pool, const cudaMemPoolProps*) {
  *pool = the_pool();
  return cudaSuccess;
}
cudaError_t cudaMemPoolDestroy(cudaMemPool_t) {
  return cudaSuccess;
}
cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t, cudaMemPoolAttr, void*) {
  return cudaSuccess;
}
cudaError_t cudaMemPoolTrimTo(cudaMemPool_t, size_t) {
  return cudaSuccess;
}

#if CUDART_VERSION >= 13000
cudaError_t cudaMemPrefetchAsync(const void*, size_t, cudaMemLocation, unsigned, cudaStream_t) {
  return cudaSuccess;
}
cudaError_t cudaMemAdvise(const void*, size_t, cudaMemoryAdvise, cudaMemLocation) {
  return cudaSuccess;
}
#else
cudaError_t cudaMemPrefetchAsync(const void*, size_t, int, cudaStream_t) {
  return cudaSuccess;
}
cudaError_t cudaMemAdvise(const void*, size_t, cudaMemoryAdvise, int) {
  return cudaSuccess;
}
#endif

}  // extern "C"

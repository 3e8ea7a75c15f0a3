// Allocation: device, managed, pinned, registered, and questions about pointers.
#include <cuda_runtime_api.h>

#include <initializer_list>

#include "cudart/backend.h"
#include "cudart/capture.h"
#include "cudart/errors.h"
#include "cudart/host_functions.h"
#include "cudart/pools.h"

namespace warpgrade::cudart {
namespace {

cudaError_t allocate(void** pointer, size_t bytes, MemoryKind kind) {
  CUDART_RETURN_IF_STICKY();
  if (pointer == nullptr) return record(cudaErrorInvalidValue);
  if (const cudaError_t error = refuse_unsafe_in_capture(); error != cudaSuccess) return record(error);
  *pointer = nullptr;
  if (bytes == 0) return cudaSuccess;
  uint64_t address = 0;
  if (const cudaError_t error = backend().allocate(kind, bytes, address); error != cudaSuccess)
    return record(error);
  *pointer = reinterpret_cast<void*>(address);
  return cudaSuccess;
}

cudaError_t release(void* pointer, const char* call, std::initializer_list<MemoryKind> kinds) {
  CUDART_RETURN_IF_STICKY();
  if (pointer == nullptr) return cudaSuccess;
  if (const cudaError_t error = wait_for_all_held(); error != cudaSuccess) return record(error);
  const auto address = reinterpret_cast<uint64_t>(pointer);
  if (const auto freed = free_graph_memory(address)) return record(*freed);
  const cudaError_t error = backend().release(address, {kinds.begin(), kinds.size()}, call);
  if (error == cudaSuccess) return_to_pool(address);
  return record(error);
}

bool is_pinned_or_registered(const void* pointer) {
  const auto address = reinterpret_cast<uint64_t>(pointer);
  const auto a = backend().find(address);
  return a && !a->freed && address < a->end &&
         (a->kind == MemoryKind::pinned || a->kind == MemoryKind::registered);
}

cudaError_t check_managed(const void* pointer, size_t bytes) {
  CUDART_RETURN_IF_STICKY();
  const auto address = reinterpret_cast<uint64_t>(pointer);
  const auto a = backend().find(address);
  const bool inside =
      a && !a->freed && a->kind == MemoryKind::managed && bytes != 0 && bytes <= a->end - address;
  return inside ? cudaSuccess : record(cudaErrorInvalidValue);
}

constexpr size_t kPitchAlign = 512;

}  // namespace
}  // namespace warpgrade::cudart

using namespace warpgrade::cudart;

extern "C" {

cudaError_t cudaMalloc(void** pointer, size_t bytes) {
  return allocate(pointer, bytes, MemoryKind::device);
}
cudaError_t cudaMallocManaged(void** pointer, size_t bytes, unsigned flags) {
  if (flags != cudaMemAttachGlobal && flags != cudaMemAttachHost) return record(cudaErrorInvalidValue);
  return allocate(pointer, bytes, MemoryKind::managed);
}
cudaError_t cudaMallocHost(void** pointer, size_t bytes) {
  return allocate(pointer, bytes, MemoryKind::pinned);
}
cudaError_t cudaHostAlloc(void** pointer, size_t bytes, unsigned flags) {
  constexpr unsigned kKnown = cudaHostAllocPortable | cudaHostAllocMapped | cudaHostAllocWriteCombined;
  return (flags & ~kKnown) != 0 ? record(cudaErrorInvalidValue) : cudaMallocHost(pointer, bytes);
}
cudaError_t cudaFree(void* pointer) {
  return release(pointer, "cudaFree", {MemoryKind::device, MemoryKind::managed});
}
cudaError_t cudaFreeAsync(void* pointer, cudaStream_t handle) {
  Stream* stream = find_stream(handle);
  if (stream == nullptr) return record(cudaErrorInvalidResourceHandle);
  CUDART_RETURN_IF_STICKY();
  if (pointer == nullptr) return cudaSuccess;
  const auto address = reinterpret_cast<uint64_t>(pointer);
  if (stream->capture) {
    if (!is_graph_memory(address)) return record(cudaErrorInvalidValue);
    return record(
        captured(handle, [&] { return NodeWork(MemFreeNode{address}); }).value_or(cudaErrorIllegalState));
  }
  if (const cudaError_t error = wait_to_enqueue(*stream); error != cudaSuccess) return record(error);
  if (const auto freed = free_graph_memory(address)) return record(*freed);
  const cudaError_t error = backend().release_async(address, stream->in_backend);
  if (error == cudaSuccess) return_to_pool(address);
  return record(error);
}
cudaError_t cudaFreeHost(void* pointer) {
  return release(pointer, "cudaFreeHost", {MemoryKind::pinned});
}

cudaError_t cudaMallocPitch(void** pointer, size_t* pitch, size_t width, size_t height) {
  if (pointer == nullptr || pitch == nullptr) return record(cudaErrorInvalidValue);
  *pitch = (width + kPitchAlign - 1) / kPitchAlign * kPitchAlign;
  return cudaMalloc(pointer, *pitch * height);
}

cudaError_t cudaMalloc3D(cudaPitchedPtr* pointer, cudaExtent extent) {
  const size_t pitch = (extent.width + kPitchAlign - 1) / kPitchAlign * kPitchAlign;
  *pointer = {nullptr, pitch, extent.width, extent.height};
  return cudaMalloc(&pointer->ptr, pitch * extent.height * extent.depth);
}

cudaError_t cudaHostRegister(void* pointer, size_t bytes, unsigned) {
  CUDART_RETURN_IF_STICKY();
  if (pointer == nullptr || bytes == 0) return record(cudaErrorInvalidValue);
  return record(backend().register_host(pointer, bytes));
}

cudaError_t cudaHostUnregister(void* pointer) {
  if (const cudaError_t error = wait_for_all_held(); error != cudaSuccess) return record(error);
  return record(backend().unregister_host(pointer));
}

// Host-visible memory has one address on both sides, as a rule.
cudaError_t cudaHostGetDevicePointer(void** device, void* host, unsigned) {
  CUDART_RETURN_IF_STICKY();
  if (device == nullptr || !is_pinned_or_registered(host)) return record(cudaErrorInvalidValue);
  *device = reinterpret_cast<void*>(backend().device_address(reinterpret_cast<uint64_t>(host)));
  return cudaSuccess;
}

cudaError_t cudaHostGetFlags(unsigned* flags, void* host) {
  if (flags == nullptr || !is_pinned_or_registered(host)) return record(cudaErrorInvalidValue);
  *flags = cudaHostAllocMapped;
  return cudaSuccess;
}

cudaError_t cudaMemGetInfo(size_t* free_bytes, size_t* total_bytes) {
  CUDART_RETURN_IF_STICKY();
  uint64_t left = 0, all = 0;
  const cudaError_t error = backend().memory_info(left, all);
  if (total_bytes != nullptr) *total_bytes = all;
  if (free_bytes != nullptr) *free_bytes = left;
  return record(error);
}

cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* pointer) {
  if (attributes == nullptr) return record(cudaErrorInvalidValue);
  const auto a = backend().find(reinterpret_cast<uint64_t>(pointer));
  *attributes = {};
  attributes->device = a ? a->device : 0;
  attributes->hostPointer = const_cast<void*>(pointer);
  if (!a || a->freed) {
    attributes->type = cudaMemoryTypeUnregistered;
    attributes->device = -1;
    return cudaSuccess;
  }
  attributes->devicePointer =
      reinterpret_cast<void*>(backend().device_address(reinterpret_cast<uint64_t>(pointer)));
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

// Where managed memory lies makes no difference here; only calls on other memory are told apart.
#if CUDART_VERSION >= 13000
cudaError_t cudaMemPrefetchAsync(const void* pointer, size_t bytes, cudaMemLocation, unsigned, cudaStream_t) {
  return check_managed(pointer, bytes);
}
cudaError_t cudaMemAdvise(const void* pointer, size_t bytes, cudaMemoryAdvise, cudaMemLocation) {
  return check_managed(pointer, bytes);
}
#else
cudaError_t cudaMemPrefetchAsync(const void* pointer, size_t bytes, int, cudaStream_t) {
  return check_managed(pointer, bytes);
}
cudaError_t cudaMemAdvise(const void* pointer, size_t bytes, cudaMemoryAdvise, int) {
  return check_managed(pointer, bytes);
}
#endif

}  // extern "C"

// Stream-ordered allocation and its pools. Memory goes back to the device when it is freed, so a pool never
// reserves more than is in use; thresholds and reuse policies are kept, and have no effect.
#include <cuda_runtime_api.h>

#include <algorithm>
#include <array>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "cudart/capture.h"
#include "cudart/current_device.h"
#include "cudart/errors.h"
#include "cudart/host_functions.h"
#include "cudart/pools.h"

namespace warpgrade::cudart {
namespace {

struct Pool {
  uint64_t release_threshold = 0, used = 0, most_used = 0;
  int device = 0;
  int reuse[3] = {1, 1, 1};  // by event dependencies, opportunistic, internal dependencies
};

struct PoolShare {
  Pool* pool;
  uint64_t bytes;
};

struct Pools {
  std::mutex mutex;
  std::unordered_map<const void*, std::unique_ptr<Pool>> all;
  std::unordered_map<uint64_t, PoolShare> shares;  // by address
  std::array<Pool, kMostDevices> defaults;
  std::array<Pool*, kMostDevices> chosen;  // of each device, for cudaMallocAsync

  Pools() {
    for (int device = 0; device < kMostDevices; ++device) {
      defaults[static_cast<size_t>(device)].device = device;
      chosen[static_cast<size_t>(device)] = default_of(device);
    }
  }
  Pool* default_of(int device) { return &defaults[static_cast<size_t>(device)]; }
  Pool*& chosen_of(int device) { return chosen[static_cast<size_t>(device)]; }

  Pool* find(cudaMemPool_t handle) {
    for (Pool& pool : defaults) {
      if (static_cast<void*>(handle) == &pool) return &pool;
    }
    const auto found = all.find(handle);
    return found == all.end() ? nullptr : found->second.get();
  }
};

Pools& pools() {
  static auto* instance = new Pools;
  return *instance;
}

bool is_device(int device) {
  return device >= 0 && device < backend().device_count();
}

cudaMemPool_t handle_of(Pool* pool) {
  return reinterpret_cast<cudaMemPool_t>(pool);
}

// The allocation becomes a node of the graph, with an address at once.
cudaError_t allocate_in_capture(void** pointer, size_t bytes, cudaStream_t stream) {
  cudaMemAllocNodeParams params{};
  params.poolProps.allocType = cudaMemAllocationTypePinned;
  params.poolProps.location = {cudaMemLocationTypeDevice, current_device()};
  params.bytesize = bytes;
  MemAllocNode node;
  if (const cudaError_t error = make_allocation(params, node); error != cudaSuccess) return record(error);
  const auto kept = captured(stream, [&] { return NodeWork(node); });
  if (kept && *kept == cudaSuccess) *pointer = node.params.dptr;
  return record(kept.value_or(cudaErrorIllegalState));
}

cudaError_t allocate_from(Pool* pool, void** pointer, size_t bytes, cudaStream_t stream_handle) {
  CUDART_RETURN_IF_STICKY();
  Stream* stream = find_stream(stream_handle);
  if (stream == nullptr) return record(cudaErrorInvalidResourceHandle);
  if (pointer == nullptr || pool == nullptr) return record(cudaErrorInvalidValue);
  *pointer = nullptr;
  if (bytes == 0) return cudaSuccess;
  if (stream->capture) return allocate_in_capture(pointer, bytes, stream_handle);
  const ScopedDevice device(pool->device);
  uint64_t address = 0;
  cudaError_t error = wait_to_enqueue(*stream);
  if (error == cudaSuccess) error = backend().allocate_async(bytes, stream->in_backend, address);
  if (error != cudaSuccess) return record(error);
  *pointer = reinterpret_cast<void*>(address);
  pools().shares[address] = {pool, bytes};
  pool->used += bytes;
  pool->most_used = std::max(pool->most_used, pool->used);
  return cudaSuccess;
}

// Where an attribute is kept; a 64-bit number or an int, by its kind.
struct AttributePlace {
  uint64_t* number = nullptr;
  int* flag = nullptr;
};

AttributePlace place_of(Pool& pool, cudaMemPoolAttr attribute) {
  switch (attribute) {
    case cudaMemPoolReuseFollowEventDependencies:
      return {nullptr, &pool.reuse[0]};
    case cudaMemPoolReuseAllowOpportunistic:
      return {nullptr, &pool.reuse[1]};
    case cudaMemPoolReuseAllowInternalDependencies:
      return {nullptr, &pool.reuse[2]};
    case cudaMemPoolAttrReleaseThreshold:
      return {&pool.release_threshold, nullptr};
    case cudaMemPoolAttrReservedMemCurrent:
    case cudaMemPoolAttrUsedMemCurrent:
      return {&pool.used, nullptr};
    case cudaMemPoolAttrReservedMemHigh:
    case cudaMemPoolAttrUsedMemHigh:
      return {&pool.most_used, nullptr};
    default:
      return {};
  }
}

}  // namespace

void return_to_pool(uint64_t address) {
  std::lock_guard lock(pools().mutex);
  const auto found = pools().shares.find(address);
  if (found == pools().shares.end()) return;
  found->second.pool->used -= found->second.bytes;
  pools().shares.erase(found);
}

void return_all_to_pools() {
  std::lock_guard lock(pools().mutex);
  for (const auto& [address, share] : pools().shares) share.pool->used -= share.bytes;
  pools().shares.clear();
}

}  // namespace warpgrade::cudart

using namespace warpgrade::cudart;

extern "C" {

cudaError_t cudaMallocAsync(void** pointer, size_t bytes, cudaStream_t stream) {
  std::lock_guard lock(pools().mutex);
  const bool is_stream = find_stream(stream) != nullptr;
  const int device = is_stream ? device_of_stream(stream) : current_device();
  return allocate_from(pools().chosen_of(device), pointer, bytes, stream);
}
cudaError_t cudaMallocFromPoolAsync(void** pointer, size_t bytes, cudaMemPool_t pool, cudaStream_t stream) {
  std::lock_guard lock(pools().mutex);
  return allocate_from(pools().find(pool), pointer, bytes, stream);
}

cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t* pool, int device) {
  if (!is_device(device)) return record(cudaErrorInvalidDevice);
  if (pool == nullptr) return record(cudaErrorInvalidValue);
  *pool = handle_of(pools().default_of(device));
  return cudaSuccess;
}
cudaError_t cudaDeviceGetMemPool(cudaMemPool_t* pool, int device) {
  if (!is_device(device)) return record(cudaErrorInvalidDevice);
  if (pool == nullptr) return record(cudaErrorInvalidValue);
  std::lock_guard lock(pools().mutex);
  *pool = handle_of(pools().chosen_of(device));
  return cudaSuccess;
}
cudaError_t cudaDeviceSetMemPool(int device, cudaMemPool_t handle) {
  if (!is_device(device)) return record(cudaErrorInvalidDevice);
  std::lock_guard lock(pools().mutex);
  Pool* pool = pools().find(handle);
  if (pool == nullptr || pool->device != device) return record(cudaErrorInvalidValue);
  pools().chosen_of(device) = pool;
  return cudaSuccess;
}
cudaError_t cudaMemPoolCreate(cudaMemPool_t* handle, const cudaMemPoolProps* properties) {
  CUDART_RETURN_IF_STICKY();
  if (handle == nullptr || properties == nullptr) return record(cudaErrorInvalidValue);
  std::lock_guard lock(pools().mutex);
  if (!is_device(properties->location.id)) return record(cudaErrorInvalidValue);
  auto pool = std::make_unique<Pool>();
  pool->device = properties->location.id;
  *handle = handle_of(pool.get());
  pools().all[*handle] = std::move(pool);
  return cudaSuccess;
}
cudaError_t cudaMemPoolDestroy(cudaMemPool_t handle) {
  std::lock_guard lock(pools().mutex);
  const auto found = pools().all.find(handle);
  if (found == pools().all.end()) return record(cudaErrorInvalidValue);
  Pool* pool = found->second.get();
  Pool*& chosen = pools().chosen_of(pool->device);
  if (chosen == pool) chosen = pools().default_of(pool->device);
  std::erase_if(pools().shares, [&](const auto& share) { return share.second.pool == pool; });
  pools().all.erase(found);
  return cudaSuccess;
}
cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t handle, cudaMemPoolAttr attribute, void* value) {
  std::lock_guard lock(pools().mutex);
  Pool* pool = pools().find(handle);
  if (pool == nullptr || value == nullptr) return record(cudaErrorInvalidValue);
  const AttributePlace place = place_of(*pool, attribute);
  if (place.flag != nullptr) {
    *place.flag = *static_cast<int*>(value);
  } else if (attribute == cudaMemPoolAttrReleaseThreshold) {
    *place.number = *static_cast<uint64_t*>(value);
    return record(backend().keep_pool(*place.number));
  } else if (place.number == &pool->most_used && *static_cast<uint64_t*>(value) == 0) {
    pool->most_used = pool->used;  // high-water marks can be reset, to 0 only
  } else {
    return record(cudaErrorInvalidValue);
  }
  return cudaSuccess;
}
cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t handle, cudaMemPoolAttr attribute, void* value) {
  std::lock_guard lock(pools().mutex);
  Pool* pool = pools().find(handle);
  if (pool == nullptr || value == nullptr) return record(cudaErrorInvalidValue);
  const AttributePlace place = place_of(*pool, attribute);
  if (place.flag == nullptr && place.number == nullptr) return record(cudaErrorInvalidValue);
  if (place.flag != nullptr) *static_cast<int*>(value) = *place.flag;
  if (place.number != nullptr) *static_cast<uint64_t*>(value) = *place.number;
  return cudaSuccess;
}
cudaError_t cudaMemPoolTrimTo(cudaMemPool_t handle, size_t) {
  std::lock_guard lock(pools().mutex);
  return pools().find(handle) != nullptr ? cudaSuccess : record(cudaErrorInvalidValue);
}

}  // extern "C"

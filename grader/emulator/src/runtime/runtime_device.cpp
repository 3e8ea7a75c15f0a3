// The one device: properties, attributes, limits, versions.
#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <map>

#include "device/device_model.h"
#include "memory/device_heap.h"
#include "memory/device_memory.h"
#include "runtime/capture.h"
#include "runtime/errors.h"
#include "runtime/leaks.h"
#include "runtime/limits.h"
#include "runtime/pools.h"
#include "support/settings.h"

namespace warpgrade::emu {
namespace {

constexpr int kMaxGridX = 2147483647, kMaxGridYZ = 65535;
constexpr int kRegistersPerBlock = 65536;

void fill_properties(cudaDeviceProp& p) {
  const DeviceModel& m = device_model();
  std::memset(&p, 0, sizeof p);
  std::snprintf(p.name, sizeof p.name, "%s (emulated)", m.name.c_str());
  std::memcpy(p.uuid.bytes, "warpgrade-emul\0\1", sizeof p.uuid.bytes);
  p.totalGlobalMem = DeviceMemory::instance().total_bytes();
  p.sharedMemPerBlock = kSharedPerBlock;
  p.sharedMemPerBlockOptin = m.shared_per_block_optin;
  p.sharedMemPerMultiprocessor = m.shared_per_multiprocessor;
  p.reservedSharedMemPerBlock = m.reserved_shared_per_block;
  p.regsPerMultiprocessor = m.registers_per_multiprocessor;
  p.regsPerBlock = kRegistersPerBlock;
  p.warpSize = 32;
  p.memPitch = 2147483647;
  p.maxThreadsPerBlock = kMaxThreadsPerBlock;
  p.maxThreadsDim[0] = p.maxThreadsDim[1] = 1024;
  p.maxThreadsDim[2] = 64;
  p.maxGridSize[0] = kMaxGridX;
  p.maxGridSize[1] = p.maxGridSize[2] = kMaxGridYZ;
  p.totalConstMem = 65536;
  p.major = m.major;
  p.minor = m.minor;
  p.multiProcessorCount = m.multiprocessors;
  p.maxThreadsPerMultiProcessor = m.threads_per_multiprocessor;
  p.maxBlocksPerMultiProcessor = m.blocks_per_multiprocessor;
  p.textureAlignment = 512;
  p.texturePitchAlignment = 32;
  p.canMapHostMemory = p.unifiedAddressing = p.managedMemory = p.concurrentManagedAccess = 1;
  p.concurrentKernels = p.cooperativeLaunch = p.hostRegisterSupported = p.streamPrioritiesSupported = 1;
  p.globalL1CacheSupported = p.localL1CacheSupported = 1;
  p.asyncEngineCount = 2;
  p.memoryPoolsSupported = 1;
  p.l2CacheSize = m.l2_bytes;
  p.memoryBusWidth = m.memory_bus_bits;
}

int attribute(cudaDeviceAttr a) {
  const DeviceModel& m = device_model();
  switch (a) {
    case cudaDevAttrMaxThreadsPerBlock:
    case cudaDevAttrMaxBlockDimX:
    case cudaDevAttrMaxBlockDimY:
      return kMaxThreadsPerBlock;
    case cudaDevAttrMaxBlockDimZ:
      return 64;
    case cudaDevAttrMaxGridDimX:
      return kMaxGridX;
    case cudaDevAttrMaxGridDimY:
    case cudaDevAttrMaxGridDimZ:
      return kMaxGridYZ;
    case cudaDevAttrMaxSharedMemoryPerBlock:
      return kSharedPerBlock;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin:
      return static_cast<int>(m.shared_per_block_optin);
    case cudaDevAttrMaxSharedMemoryPerMultiprocessor:
      return static_cast<int>(m.shared_per_multiprocessor);
    case cudaDevAttrReservedSharedMemoryPerBlock:
      return static_cast<int>(m.reserved_shared_per_block);
    case cudaDevAttrTotalConstantMemory:
      return 65536;
    case cudaDevAttrWarpSize:
      return 32;
    case cudaDevAttrMaxPitch:
      return 2147483647;
    case cudaDevAttrMaxRegistersPerBlock:
      return kRegistersPerBlock;
    case cudaDevAttrMaxRegistersPerMultiprocessor:
      return m.registers_per_multiprocessor;
    case cudaDevAttrClockRate:
      return m.clock_khz;
    case cudaDevAttrMemoryClockRate:
      return m.memory_clock_khz;
    case cudaDevAttrGlobalMemoryBusWidth:
      return m.memory_bus_bits;
    case cudaDevAttrMultiProcessorCount:
      return m.multiprocessors;
    case cudaDevAttrMaxThreadsPerMultiProcessor:
      return m.threads_per_multiprocessor;
    case cudaDevAttrMaxBlocksPerMultiprocessor:
      return m.blocks_per_multiprocessor;
    case cudaDevAttrL2CacheSize:
      return m.l2_bytes;
    case cudaDevAttrTextureAlignment:
      return 512;
    case cudaDevAttrAsyncEngineCount:
      return 2;
    case cudaDevAttrComputeCapabilityMajor:
      return m.major;
    case cudaDevAttrComputeCapabilityMinor:
      return m.minor;
    case cudaDevAttrCanMapHostMemory:
    case cudaDevAttrConcurrentKernels:
    case cudaDevAttrUnifiedAddressing:
    case cudaDevAttrManagedMemory:
    case cudaDevAttrConcurrentManagedAccess:
    case cudaDevAttrCooperativeLaunch:
    case cudaDevAttrHostRegisterSupported:
    case cudaDevAttrMemoryPoolsSupported:
    case cudaDevAttrStreamPrioritiesSupported:
    case cudaDevAttrGlobalL1CacheSupported:
    case cudaDevAttrLocalL1CacheSupported:
      return 1;
    default:
      return 0;
  }
}

cudaError_t check_device(int device) {
  return device == 0 ? cudaSuccess : record(cudaErrorInvalidDevice);
}

constexpr const char* kBusId = "0000:00:00.0";

std::map<cudaLimit, size_t>& limits() {
  static std::map<cudaLimit, size_t> values{
      {cudaLimitStackSize, 1024},           {cudaLimitPrintfFifoSize, 1 << 20},
      {cudaLimitDevRuntimeSyncDepth, 2},    {cudaLimitDevRuntimePendingLaunchCount, 2048},
      {cudaLimitMaxL2FetchGranularity, 64}, {cudaLimitPersistingL2CacheSize, 0}};
  return values;
}

}  // namespace

size_t stack_limit() {
  return limits()[cudaLimitStackSize];
}

}  // namespace warpgrade::emu

using namespace warpgrade::emu;

extern "C" {

cudaError_t cudaGetDeviceCount(int* count) {
  *count = 1;
  return cudaSuccess;
}
cudaError_t cudaGetDevice(int* device) {
  *device = 0;
  return cudaSuccess;
}
cudaError_t cudaSetDevice(int device) {
  return check_device(device);
}
cudaError_t cudaInitDevice(int device, unsigned, unsigned) {
  return check_device(device);
}
cudaError_t cudaChooseDevice(int* device, const cudaDeviceProp*) {
  return cudaGetDevice(device);
}
cudaError_t cudaSetValidDevices(int*, int) {
  return cudaSuccess;
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  if (const cudaError_t error = check_device(device); error != cudaSuccess) return error;
  fill_properties(*properties);
  return cudaSuccess;
}
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr what, int device) {
  if (const cudaError_t error = check_device(device); error != cudaSuccess) return error;
  *value = attribute(what);
  return cudaSuccess;
}
cudaError_t cudaDeviceSynchronize() {
  WARPEMU_RETURN_IF_STICKY();
  return record(refuse_unsafe_in_capture());
}
// Frees all that the program allocated. A process whose kernel faulted stays without a device, as on a GPU.
cudaError_t cudaDeviceReset() {
  report_leaks_of_program();
  DeviceMemory& memory = DeviceMemory::instance();
  for (const Allocation& a : memory.unreleased()) {
    memory.release(a.begin, {a.kind});
    return_to_pool(a.begin);
  }
  return cudaSuccess;
}
cudaError_t cudaSetDeviceFlags(unsigned) {
  return cudaSuccess;
}
cudaError_t cudaGetDeviceFlags(unsigned* flags) {
  *flags = cudaDeviceScheduleAuto;
  return cudaSuccess;
}
cudaError_t cudaDeviceSetCacheConfig(cudaFuncCache) {
  return cudaSuccess;
}
cudaError_t cudaDeviceGetCacheConfig(cudaFuncCache* config) {
  *config = cudaFuncCachePreferNone;
  return cudaSuccess;
}
// Banks are four bytes wide since Maxwell, whatever is asked for.
cudaError_t cudaDeviceSetSharedMemConfig(cudaSharedMemConfig) {
  return cudaSuccess;
}
cudaError_t cudaDeviceGetSharedMemConfig(cudaSharedMemConfig* config) {
  *config = cudaSharedMemBankSizeFourByte;
  return cudaSuccess;
}
cudaError_t cudaFuncSetSharedMemConfig(const void*, cudaSharedMemConfig) {
  return cudaSuccess;
}
cudaError_t cudaDeviceSetLimit(cudaLimit limit, size_t value) {
  if (limit == cudaLimitMallocHeapSize) {
    return record(DeviceHeap::instance().set_limit(value) ? cudaSuccess : cudaErrorInvalidValue);
  }
  if (limits().count(limit) == 0) return record(cudaErrorUnsupportedLimit);
  limits()[limit] = value;
  return cudaSuccess;
}
cudaError_t cudaDeviceGetLimit(size_t* value, cudaLimit limit) {
  if (limit == cudaLimitMallocHeapSize) {
    *value = DeviceHeap::instance().limit();
    return cudaSuccess;
  }
  if (limits().count(limit) == 0) return record(cudaErrorUnsupportedLimit);
  *value = limits()[limit];
  return cudaSuccess;
}
cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  if (least != nullptr) *least = 0;
  if (greatest != nullptr) *greatest = -5;
  return cudaSuccess;
}
// With one device there are no peers, and no device is its own.
cudaError_t cudaDeviceCanAccessPeer(int* can, int device, int peer) {
  if (check_device(device) != cudaSuccess || check_device(peer) != cudaSuccess) return cudaErrorInvalidDevice;
  *can = 0;
  return cudaSuccess;
}
cudaError_t cudaDeviceEnablePeerAccess(int, unsigned) {
  return record(cudaErrorInvalidDevice);
}
cudaError_t cudaDeviceDisablePeerAccess(int) {
  return record(cudaErrorInvalidDevice);
}
cudaError_t cudaDeviceGetPCIBusId(char* text, int length, int device) {
  if (const cudaError_t error = check_device(device); error != cudaSuccess) return error;
  std::snprintf(text, static_cast<size_t>(length), "%s", kBusId);
  return cudaSuccess;
}
cudaError_t cudaDeviceGetByPCIBusId(int* device, const char* text) {
  if (device == nullptr || text == nullptr || std::strcmp(text, kBusId) != 0)
    return record(cudaErrorInvalidValue);
  *device = 0;
  return cudaSuccess;
}
cudaError_t cudaDeviceGetP2PAttribute(int*, cudaDeviceP2PAttr, int, int) {
  return record(cudaErrorInvalidDevice);
}
cudaError_t cudaDriverGetVersion(int* version) {
  *version = CUDART_VERSION;
  return cudaSuccess;
}
cudaError_t cudaRuntimeGetVersion(int* version) {
  *version = CUDART_VERSION;
  return cudaSuccess;
}
cudaError_t cudaProfilerStart() {
  return cudaSuccess;
}
cudaError_t cudaProfilerStop() {
  return cudaSuccess;
}

// There is no driver behind this runtime.
cudaError_t cudaGetDriverEntryPoint(const char*, void** function, unsigned long long,
                                    cudaDriverEntryPointQueryResult* status) {
  *function = nullptr;
  if (status != nullptr) *status = cudaDriverEntryPointSymbolNotFound;
  return cudaSuccess;
}
#if CUDART_VERSION >= 12050
cudaError_t cudaGetDriverEntryPointByVersion(const char* symbol, void** function, unsigned,
                                             unsigned long long flags,
                                             cudaDriverEntryPointQueryResult* status) {
  return cudaGetDriverEntryPoint(symbol, function, flags, status);
}
#endif

}  // extern "C"

// The devices, which are alike: properties, attributes, limits, versions.
#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <string>

#include "cudart/backend.h"
#include "cudart/capture.h"
#include "cudart/current_device.h"
#include "cudart/errors.h"
#include "cudart/graph_memory.h"
#include "cudart/host_functions.h"
#include "cudart/pools.h"

namespace warpgrade::cudart {
namespace {

void fill_properties(cudaDeviceProp& p, int device) {
  const DeviceFacts& f = backend().device();
  const auto& a = f.attributes;
  const auto size = [&](cudaDeviceAttr which) { return static_cast<size_t>(a[which]); };
  std::memset(&p, 0, sizeof p);
  std::snprintf(p.name, sizeof p.name, "%s", f.name.c_str());
  std::memcpy(p.uuid.bytes, f.uuid.data(), sizeof p.uuid.bytes);
  p.uuid.bytes[sizeof p.uuid.bytes - 1] = static_cast<char>(p.uuid.bytes[sizeof p.uuid.bytes - 1] + device);
  p.pciBusID = device;
  p.totalGlobalMem = f.total_bytes;
  p.sharedMemPerBlock = size(cudaDevAttrMaxSharedMemoryPerBlock);
  p.sharedMemPerBlockOptin = size(cudaDevAttrMaxSharedMemoryPerBlockOptin);
  p.sharedMemPerMultiprocessor = size(cudaDevAttrMaxSharedMemoryPerMultiprocessor);
  p.reservedSharedMemPerBlock = size(cudaDevAttrReservedSharedMemoryPerBlock);
  p.regsPerMultiprocessor = a[cudaDevAttrMaxRegistersPerMultiprocessor];
  p.regsPerBlock = a[cudaDevAttrMaxRegistersPerBlock];
  p.warpSize = a[cudaDevAttrWarpSize];
  p.memPitch = size(cudaDevAttrMaxPitch);
  p.maxThreadsPerBlock = a[cudaDevAttrMaxThreadsPerBlock];
  p.maxThreadsDim[0] = a[cudaDevAttrMaxBlockDimX];
  p.maxThreadsDim[1] = a[cudaDevAttrMaxBlockDimY];
  p.maxThreadsDim[2] = a[cudaDevAttrMaxBlockDimZ];
  p.maxGridSize[0] = a[cudaDevAttrMaxGridDimX];
  p.maxGridSize[1] = a[cudaDevAttrMaxGridDimY];
  p.maxGridSize[2] = a[cudaDevAttrMaxGridDimZ];
  p.totalConstMem = size(cudaDevAttrTotalConstantMemory);
  p.major = a[cudaDevAttrComputeCapabilityMajor];
  p.minor = a[cudaDevAttrComputeCapabilityMinor];
  p.multiProcessorCount = a[cudaDevAttrMultiProcessorCount];
  p.maxThreadsPerMultiProcessor = a[cudaDevAttrMaxThreadsPerMultiProcessor];
  p.maxBlocksPerMultiProcessor = a[cudaDevAttrMaxBlocksPerMultiprocessor];
  p.textureAlignment = size(cudaDevAttrTextureAlignment);
  p.texturePitchAlignment = size(cudaDevAttrTexturePitchAlignment);
  p.maxTexture1D = a[cudaDevAttrMaxTexture1DWidth];
  p.maxTexture2D[0] = a[cudaDevAttrMaxTexture2DWidth];
  p.maxTexture2D[1] = a[cudaDevAttrMaxTexture2DHeight];
  p.maxTexture2DLinear[0] = a[cudaDevAttrMaxTexture2DLinearWidth];
  p.maxTexture2DLinear[1] = a[cudaDevAttrMaxTexture2DLinearHeight];
  p.maxTexture2DLinear[2] = a[cudaDevAttrMaxTexture2DLinearPitch];
  p.maxTexture2DGather[0] = a[cudaDevAttrMaxTexture2DGatherWidth];
  p.maxTexture2DGather[1] = a[cudaDevAttrMaxTexture2DGatherHeight];
  p.maxTexture3D[0] = a[cudaDevAttrMaxTexture3DWidth];
  p.maxTexture3D[1] = a[cudaDevAttrMaxTexture3DHeight];
  p.maxTexture3D[2] = a[cudaDevAttrMaxTexture3DDepth];
  p.maxTextureCubemap = a[cudaDevAttrMaxTextureCubemapWidth];
  p.maxTexture1DLayered[0] = a[cudaDevAttrMaxTexture1DLayeredWidth];
  p.maxTexture1DLayered[1] = a[cudaDevAttrMaxTexture1DLayeredLayers];
  p.maxTexture2DLayered[0] = a[cudaDevAttrMaxTexture2DLayeredWidth];
  p.maxTexture2DLayered[1] = a[cudaDevAttrMaxTexture2DLayeredHeight];
  p.maxTexture2DLayered[2] = a[cudaDevAttrMaxTexture2DLayeredLayers];
  p.maxSurface1D = a[cudaDevAttrMaxSurface1DWidth];
  p.maxSurface2D[0] = a[cudaDevAttrMaxSurface2DWidth];
  p.maxSurface2D[1] = a[cudaDevAttrMaxSurface2DHeight];
  p.maxSurface3D[0] = a[cudaDevAttrMaxSurface3DWidth];
  p.maxSurface3D[1] = a[cudaDevAttrMaxSurface3DHeight];
  p.maxSurface3D[2] = a[cudaDevAttrMaxSurface3DDepth];
  p.canMapHostMemory = a[cudaDevAttrCanMapHostMemory];
  p.unifiedAddressing = a[cudaDevAttrUnifiedAddressing];
  p.managedMemory = a[cudaDevAttrManagedMemory];
  p.concurrentManagedAccess = a[cudaDevAttrConcurrentManagedAccess];
  p.concurrentKernels = a[cudaDevAttrConcurrentKernels];
  p.cooperativeLaunch = a[cudaDevAttrCooperativeLaunch];
  p.hostRegisterSupported = a[cudaDevAttrHostRegisterSupported];
  p.streamPrioritiesSupported = a[cudaDevAttrStreamPrioritiesSupported];
  p.globalL1CacheSupported = a[cudaDevAttrGlobalL1CacheSupported];
  p.localL1CacheSupported = a[cudaDevAttrLocalL1CacheSupported];
  p.asyncEngineCount = a[cudaDevAttrAsyncEngineCount];
  p.memoryPoolsSupported = a[cudaDevAttrMemoryPoolsSupported];
  p.l2CacheSize = a[cudaDevAttrL2CacheSize];
  p.persistingL2CacheMaxSize = a[cudaDevAttrMaxPersistingL2CacheSize];
  p.accessPolicyMaxWindowSize = a[cudaDevAttrMaxAccessPolicyWindowSize];
  p.memoryBusWidth = a[cudaDevAttrGlobalMemoryBusWidth];
  p.clusterLaunch = a[cudaDevAttrClusterLaunch];
}

cudaError_t check_device(int device) {
  const bool is_known = device >= 0 && device < backend().device_count();
  return is_known ? cudaSuccess : record(cudaErrorInvalidDevice);
}

std::string bus_id(int device) {
  char text[32];
  std::snprintf(text, sizeof text, "0000:%02x:00.0", static_cast<unsigned>(device));
  return text;
}

// Whether the current device could have that peer.
cudaError_t check_peer(int peer) {
  if (const cudaError_t error = check_device(peer); error != cudaSuccess) return error;
  return peer == current_device() ? record(cudaErrorInvalidDevice) : cudaSuccess;
}

}  // namespace
}  // namespace warpgrade::cudart

using namespace warpgrade::cudart;

extern "C" {

cudaError_t cudaGetDeviceCount(int* count) {
  *count = backend().device_count();
  return cudaSuccess;
}
cudaError_t cudaGetDevice(int* device) {
  *device = current_device();
  return cudaSuccess;
}
cudaError_t cudaSetDevice(int device) {
  if (const cudaError_t error = check_device(device); error != cudaSuccess) return error;
  note_runtime_use();
  current_device() = device;
  return cudaSuccess;
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
  fill_properties(*properties, device);
  return cudaSuccess;
}
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr what, int device) {
  if (const cudaError_t error = check_device(device); error != cudaSuccess) return error;
  const auto& known = backend().device().attributes;
  if (what < 0 || static_cast<size_t>(what) >= known.size()) return record(cudaErrorInvalidValue);
  *value = what == cudaDevAttrPciBusId ? device : known[what];
  return cudaSuccess;
}
cudaError_t cudaDeviceSynchronize() {
  CUDART_RETURN_IF_STICKY();
  if (const cudaError_t error = refuse_unsafe_in_capture(); error != cudaSuccess) return record(error);
  if (const cudaError_t error = wait_for_all_held(); error != cudaSuccess) return record(error);
  return record(backend().synchronize_device());
}
// Frees all that the program allocated. A process whose kernel faulted stays without a device, as on a GPU.
cudaError_t cudaDeviceReset() {
  if (const cudaError_t error = wait_for_all_held(); error != cudaSuccess) return record(error);
  backend().report_leaks();
  const cudaError_t error = backend().release_all();
  return_all_to_pools();
  forget_graph_memory();
  return record(error);
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
  return record(backend().set_limit(limit, value));
}
cudaError_t cudaDeviceGetLimit(size_t* value, cudaLimit limit) {
  return record(backend().get_limit(limit, *value));
}
cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  if (least != nullptr) *least = backend().device().least_priority;
  if (greatest != nullptr) *greatest = backend().device().greatest_priority;
  return cudaSuccess;
}
// Every device reaches every other one; no device is its own peer.
cudaError_t cudaDeviceCanAccessPeer(int* can, int device, int peer) {
  if (check_device(device) != cudaSuccess || check_device(peer) != cudaSuccess) return cudaErrorInvalidDevice;
  *can = device != peer ? 1 : 0;
  return cudaSuccess;
}
cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned flags) {
  if (const cudaError_t error = check_peer(peer); error != cudaSuccess) return error;
  if (flags != 0) return record(cudaErrorInvalidValue);
  if (backend().has_peer_access(current_device(), peer)) return record(cudaErrorPeerAccessAlreadyEnabled);
  backend().set_peer_access(current_device(), peer, true);
  return cudaSuccess;
}
cudaError_t cudaDeviceDisablePeerAccess(int peer) {
  if (const cudaError_t error = check_peer(peer); error != cudaSuccess) return error;
  if (!backend().has_peer_access(current_device(), peer)) return record(cudaErrorPeerAccessNotEnabled);
  backend().set_peer_access(current_device(), peer, false);
  return cudaSuccess;
}
cudaError_t cudaDeviceGetPCIBusId(char* text, int length, int device) {
  if (const cudaError_t error = check_device(device); error != cudaSuccess) return error;
  std::snprintf(text, static_cast<size_t>(length), "%s", bus_id(device).c_str());
  return cudaSuccess;
}
cudaError_t cudaDeviceGetByPCIBusId(int* device, const char* text) {
  if (device == nullptr || text == nullptr) return record(cudaErrorInvalidValue);
  for (int k = 0; k < backend().device_count(); ++k) {
    if (bus_id(k) != text) continue;
    *device = k;
    return cudaSuccess;
  }
  return record(cudaErrorInvalidValue);
}
cudaError_t cudaDeviceGetP2PAttribute(int* value, cudaDeviceP2PAttr attribute, int from, int to) {
  if (check_device(from) != cudaSuccess || check_device(to) != cudaSuccess || from == to)
    return record(cudaErrorInvalidDevice);
  if (value == nullptr) return record(cudaErrorInvalidValue);
  *value = attribute == cudaDevP2PAttrAccessSupported || attribute == cudaDevP2PAttrNativeAtomicSupported ||
                   attribute == cudaDevP2PAttrCudaArrayAccessSupported
               ? 1
               : 0;
  return cudaSuccess;
}
cudaError_t cudaDriverGetVersion(int* version) {
  *version = backend().device().driver_version;
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

// Where no driver stands behind this runtime, no symbol is found.
cudaError_t cudaGetDriverEntryPointByVersion(const char* symbol, void** function, unsigned version,
                                             unsigned long long flags,
                                             cudaDriverEntryPointQueryResult* status) {
  if (symbol == nullptr || function == nullptr) return record(cudaErrorInvalidValue);
  cudaDriverEntryPointQueryResult found = cudaDriverEntryPointSymbolNotFound;
  *function = driver_function(symbol, static_cast<int>(version), flags, found);
  if (status != nullptr) *status = found;
  return cudaSuccess;
}
cudaError_t cudaGetDriverEntryPoint(const char* symbol, void** function, unsigned long long flags,
                                    cudaDriverEntryPointQueryResult* status) {
  return cudaGetDriverEntryPointByVersion(symbol, function, CUDART_VERSION, flags, status);
}

}  // extern "C"

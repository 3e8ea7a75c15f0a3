#include "backend/emulated.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <map>

#include "backend/command_order.h"
#include "backend/host_finding.h"
#include "backend/leaks.h"
#include "memory/device_heap.h"
#include "memory/device_memory.h"
#include "support/device_model.h"
#include "support/host_process.h"
#include "support/settings.h"

namespace warpgrade::emu {
namespace {

using cudart::EventId;
using cudart::StreamId;

constexpr int kMaxGridX = 2147483647, kMaxGridYZ = 65535;

// Limits of textures and surfaces; 0 for what is none.
int image_limit(cudaDeviceAttr a) {
  switch (a) {
    case cudaDevAttrTextureAlignment:
      return 512;
    case cudaDevAttrTexturePitchAlignment:
      return 32;
    case cudaDevAttrMaxTexture1DWidth:
    case cudaDevAttrMaxTexture2DWidth:
    case cudaDevAttrMaxTexture2DLinearWidth:
    case cudaDevAttrMaxSurface2DWidth:
      return 131072;
    case cudaDevAttrMaxTexture2DHeight:
    case cudaDevAttrMaxSurface2DHeight:
      return 65536;
    case cudaDevAttrMaxTexture2DLinearHeight:
      return 65000;
    case cudaDevAttrMaxTexture2DLinearPitch:
      return 2097120;
    case cudaDevAttrMaxTexture1DLinearWidth:
      return 1 << 28;
    case cudaDevAttrMaxTexture3DWidth:
    case cudaDevAttrMaxTexture3DHeight:
    case cudaDevAttrMaxTexture3DDepth:
    case cudaDevAttrMaxSurface3DWidth:
    case cudaDevAttrMaxSurface3DHeight:
    case cudaDevAttrMaxSurface3DDepth:
      return 16384;
    case cudaDevAttrMaxTexture1DLayeredWidth:
    case cudaDevAttrMaxTexture2DLayeredWidth:
    case cudaDevAttrMaxTexture2DLayeredHeight:
    case cudaDevAttrMaxTexture2DGatherWidth:
    case cudaDevAttrMaxTexture2DGatherHeight:
    case cudaDevAttrMaxTextureCubemapWidth:
    case cudaDevAttrMaxTextureCubemapLayeredWidth:
    case cudaDevAttrMaxSurface1DWidth:
    case cudaDevAttrMaxSurface1DLayeredWidth:
    case cudaDevAttrMaxSurface2DLayeredWidth:
    case cudaDevAttrMaxSurface2DLayeredHeight:
    case cudaDevAttrMaxSurfaceCubemapWidth:
    case cudaDevAttrMaxSurfaceCubemapLayeredWidth:
      return 32768;
    case cudaDevAttrMaxTexture1DLayeredLayers:
    case cudaDevAttrMaxTexture2DLayeredLayers:
    case cudaDevAttrMaxSurface1DLayeredLayers:
    case cudaDevAttrMaxSurface2DLayeredLayers:
      return 2048;
    case cudaDevAttrMaxTextureCubemapLayeredLayers:
    case cudaDevAttrMaxSurfaceCubemapLayeredLayers:
      return 2046;
    default:
      return 0;
  }
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
    case cudaDevAttrAsyncEngineCount:
      return 2;
    case cudaDevAttrClusterLaunch:
      return m.major >= 9 ? 1 : 0;
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
      return image_limit(a);
  }
}

std::map<cudaLimit, size_t>& limits() {
  // Never destroyed: programs call the runtime in their own static destructors.
  static auto& values = *new std::map<cudaLimit, size_t>{
      {cudaLimitStackSize, 1024},           {cudaLimitPrintfFifoSize, 1 << 20},
      {cudaLimitDevRuntimeSyncDepth, 2},    {cudaLimitDevRuntimePendingLaunchCount, 2048},
      {cudaLimitMaxL2FetchGranularity, 64}, {cudaLimitPersistingL2CacheSize, 0}};
  return values;
}

cudart::DeviceFacts facts() {
  cudart::DeviceFacts f;
  f.name = device_model().name + " (emulated)";
  std::memcpy(f.uuid.data(), "warpgrade-emul\0\1", f.uuid.size());
  f.total_bytes = DeviceMemory::instance().total_bytes();
  f.driver_version = CUDART_VERSION;
  f.greatest_priority = -5;
  for (size_t a = 0; a < f.attributes.size(); ++a)
    f.attributes[a] = attribute(static_cast<cudaDeviceAttr>(a));
  return f;
}

}  // namespace

size_t stack_limit() {
  return limits()[cudaLimitStackSize];
}

Emulated& Emulated::instance() {
  // Never destroyed: programs call the runtime in their own static destructors.
  static Emulated* emulated = new Emulated;
  return *emulated;
}

const cudart::DeviceFacts& Emulated::device() {
  static const cudart::DeviceFacts* known = new cudart::DeviceFacts(facts());
  return *known;
}

int Emulated::device_count() {
  return g_host_is_elsewhere ? 1 : settings().devices;
}
bool Emulated::has_peer_access(int from, int to) {
  return (peers_[static_cast<size_t>(from)] >> to & 1) != 0;
}
void Emulated::set_peer_access(int from, int to, bool allowed) {
  const uint32_t bit = 1u << to;
  std::atomic<uint32_t>& peers = peers_[static_cast<size_t>(from)];
  allowed ? peers |= bit : peers &= ~bit;
}

void Emulated::set_sticky(cudaError_t error) {
  cudaError_t none = cudaSuccess;
  sticky_.compare_exchange_strong(none, error);
}

void Emulated::report(const cudart::HostFinding& finding) {
  add_finding(finding);
}

void Emulated::begin_nodes(cudart::StreamId stream, std::vector<std::vector<uint32_t>> after) {
  CommandOrder::instance().begin_graph(stream, std::move(after));
}
void Emulated::begin_node(size_t node) {
  CommandOrder::instance().begin_node(node);
}
void Emulated::end_nodes() {
  CommandOrder::instance().end_graph();
}

void Emulated::host_touched(uint64_t address, bool is_write, const std::string& path, uint32_t line) {
  CommandOrder::instance().host_touched(address, is_write, {path, line});
}

bool Emulated::wants_place() {
  return emu::wants_place();
}
void Emulated::place_finding(const std::string& path, uint32_t line) {
  emu::place_finding(path, line);
}

void Emulated::begin_call(uint64_t number) {
  emu::begin_call(number);
}
bool Emulated::keeps_call() {
  return emu::keeps_call();
}
uint64_t Emulated::earlier_call() {
  return emu::earlier_call();
}
void Emulated::place_earlier(const std::string& path, uint32_t line) {
  emu::place_earlier({path, line});
}

void Emulated::report_leaks() {
  report_leaks_of_program();
}

cudaError_t Emulated::create_stream(unsigned flags, int, StreamId& stream) {
  stream = next_stream_++;
  CommandOrder::instance().create_stream(stream, flags);
  return cudaSuccess;
}
cudaError_t Emulated::destroy_stream(StreamId stream) {
  CommandOrder::instance().destroy_stream(stream);
  return cudaSuccess;
}
cudaError_t Emulated::synchronize_stream(StreamId stream) {
  CommandOrder::instance().host_waited_for(stream);
  return cudaSuccess;
}
cudaError_t Emulated::query_stream(StreamId stream) {
  CommandOrder::instance().host_waited_for(stream);
  return cudaSuccess;
}
cudaError_t Emulated::synchronize_device() {
  CommandOrder::instance().host_waited_for_device();
  return cudaSuccess;
}

cudaError_t Emulated::create_event(unsigned, EventId& event) {
  std::lock_guard lock(event_mutex_);
  event = next_event_++;
  events_[event] = {};
  return cudaSuccess;
}
cudaError_t Emulated::destroy_event(EventId event) {
  CommandOrder::instance().destroy_event(event);
  std::lock_guard lock(event_mutex_);
  return events_.erase(event) == 1 ? cudaSuccess : cudaErrorInvalidResourceHandle;
}
cudaError_t Emulated::record_event(EventId event, StreamId stream) {
  CommandOrder::instance().record_event(event, stream);
  std::lock_guard lock(event_mutex_);
  const auto found = events_.find(event);
  if (found == events_.end()) return cudaErrorInvalidResourceHandle;
  found->second = std::chrono::steady_clock::now();
  return cudaSuccess;
}
cudaError_t Emulated::wait_event(StreamId stream, EventId event) {
  CommandOrder::instance().wait_event(stream, event);
  return cudaSuccess;
}
cudaError_t Emulated::synchronize_event(EventId event) {
  CommandOrder::instance().host_waited_for_event(event);
  return cudaSuccess;
}
cudaError_t Emulated::query_event(EventId event) {
  CommandOrder::instance().host_waited_for_event(event);
  return cudaSuccess;
}
cudaError_t Emulated::elapsed(EventId start, EventId end, float& milliseconds) {
  CommandOrder::instance().read_time(start, end);
  std::lock_guard lock(event_mutex_);
  const auto first = events_.find(start), last = events_.find(end);
  if (first == events_.end() || last == events_.end()) return cudaErrorInvalidResourceHandle;
  milliseconds = std::chrono::duration<float, std::milli>(last->second - first->second).count();
  return cudaSuccess;
}

cudaError_t Emulated::set_limit(cudaLimit limit, size_t value) {
  if (limit == cudaLimitMallocHeapSize)
    return DeviceHeap::instance().set_limit(value) ? cudaSuccess : cudaErrorInvalidValue;
  const auto known = limits().find(limit);
  if (known == limits().end()) return cudaErrorUnsupportedLimit;
  known->second = value;
  return cudaSuccess;
}
cudaError_t Emulated::get_limit(cudaLimit limit, size_t& value) {
  if (limit == cudaLimitMallocHeapSize) {
    value = DeviceHeap::instance().limit();
    return cudaSuccess;
  }
  const auto known = limits().find(limit);
  if (known == limits().end()) return cudaErrorUnsupportedLimit;
  value = known->second;
  return cudaSuccess;
}

}  // namespace warpgrade::emu

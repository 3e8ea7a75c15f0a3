// Streams, events and host functions. Everything runs when it is called, which is one of the orders that
// streams allow.
#include <cuda_runtime_api.h>

#include <atomic>
#include <chrono>

#include "runtime/errors.h"

namespace warpgrade::emu {
namespace {

struct Stream {
  unsigned flags;
  int priority;
  unsigned long long id;
};

struct Event {
  unsigned flags = 0;
  bool recorded = false;
  std::chrono::steady_clock::time_point time;
};

Stream* stream_of(cudaStream_t handle) {
  static Stream legacy{0, 0, 1};
  const auto value = reinterpret_cast<uintptr_t>(handle);
  return value <= 2 ? &legacy
                    : reinterpret_cast<Stream*>(handle);  // 0, cudaStreamLegacy, cudaStreamPerThread
}

Event* event_of(cudaEvent_t handle) {
  return reinterpret_cast<Event*>(handle);
}

cudaError_t synchronize() {
  return record(sticky());
}

}  // namespace
}  // namespace warpgrade::emu

using namespace warpgrade::emu;

extern "C" {

cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned flags, int priority) {
  static std::atomic<unsigned long long> next_id{2};
  WARPEMU_RETURN_IF_STICKY();
  *stream = reinterpret_cast<cudaStream_t>(new Stream{flags, priority, next_id++});
  return cudaSuccess;
}
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
  return cudaStreamCreateWithPriority(stream, flags, 0);
}
cudaError_t cudaStreamCreate(cudaStream_t* stream) {
  return cudaStreamCreateWithPriority(stream, 0, 0);
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  if (reinterpret_cast<uintptr_t>(stream) <= 2) return record(cudaErrorInvalidResourceHandle);
  delete reinterpret_cast<Stream*>(stream);
  return cudaSuccess;
}
cudaError_t cudaStreamSynchronize(cudaStream_t) {
  return synchronize();
}
cudaError_t cudaStreamQuery(cudaStream_t) {
  return synchronize();
}
cudaError_t cudaStreamWaitEvent(cudaStream_t, cudaEvent_t, unsigned) {
  return synchronize();
}
cudaError_t cudaStreamAttachMemAsync(cudaStream_t, void*, size_t, unsigned) {
  return synchronize();
}
cudaError_t cudaStreamGetFlags(cudaStream_t stream, unsigned* flags) {
  *flags = stream_of(stream)->flags;
  return cudaSuccess;
}
cudaError_t cudaStreamGetPriority(cudaStream_t stream, int* priority) {
  *priority = stream_of(stream)->priority;
  return cudaSuccess;
}
cudaError_t cudaStreamGetId(cudaStream_t stream, unsigned long long* id) {
  *id = stream_of(stream)->id;
  return cudaSuccess;
}
cudaError_t cudaStreamGetDevice(cudaStream_t, int* device) {
  *device = 0;
  return cudaSuccess;
}
cudaError_t cudaStreamIsCapturing(cudaStream_t, cudaStreamCaptureStatus* status) {
  *status = cudaStreamCaptureStatusNone;
  return cudaSuccess;
}
cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode*) {
  return cudaSuccess;
}
#if CUDART_VERSION >= 13000
cudaError_t cudaStreamGetCaptureInfo(cudaStream_t, cudaStreamCaptureStatus* status, unsigned long long* id,
                                     cudaGraph_t*, const cudaGraphNode_t**, const cudaGraphEdgeData**,
                                     size_t*) {
  *status = cudaStreamCaptureStatusNone;
  if (id != nullptr) *id = 0;
  return cudaSuccess;
}
#endif
// Access-policy windows and the like are hints here.
cudaError_t cudaStreamSetAttribute(cudaStream_t, cudaStreamAttrID, const cudaStreamAttrValue*) {
  return cudaSuccess;
}
cudaError_t cudaCtxResetPersistingL2Cache() {
  return cudaSuccess;
}

cudaError_t cudaLaunchHostFunc(cudaStream_t, cudaHostFn_t function, void* data) {
  WARPEMU_RETURN_IF_STICKY();
  function(data);
  return cudaSuccess;
}
cudaError_t cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t callback, void* data, unsigned) {
  callback(stream, sticky(), data);
  return cudaSuccess;
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags) {
  WARPEMU_RETURN_IF_STICKY();
  auto* created = new Event;
  created->flags = flags;
  *event = reinterpret_cast<cudaEvent_t>(created);
  return cudaSuccess;
}
cudaError_t cudaEventCreate(cudaEvent_t* event) {
  return cudaEventCreateWithFlags(event, cudaEventDefault);
}
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  if (event == nullptr) return record(cudaErrorInvalidResourceHandle);
  delete event_of(event);
  return cudaSuccess;
}
cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t, unsigned) {
  WARPEMU_RETURN_IF_STICKY();
  if (event == nullptr) return record(cudaErrorInvalidResourceHandle);
  event_of(event)->recorded = true;
  event_of(event)->time = std::chrono::steady_clock::now();
  return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  return cudaEventRecordWithFlags(event, stream, 0);
}
cudaError_t cudaEventSynchronize(cudaEvent_t) {
  return synchronize();
}
cudaError_t cudaEventQuery(cudaEvent_t) {
  return synchronize();
}
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t end) {
  WARPEMU_RETURN_IF_STICKY();
  if (start == nullptr || end == nullptr) return record(cudaErrorInvalidResourceHandle);
  const Event &first = *event_of(start), &last = *event_of(end);
  const bool timed = !((first.flags | last.flags) & cudaEventDisableTiming);
  if (!timed || !first.recorded || !last.recorded) return record(cudaErrorInvalidResourceHandle);
  *milliseconds = std::chrono::duration<float, std::milli>(last.time - first.time).count();
  return cudaSuccess;
}

}  // extern "C"

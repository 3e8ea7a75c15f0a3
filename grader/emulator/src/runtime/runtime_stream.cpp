// Streams, events and host functions. Everything runs when it is called, which is one of the orders that
// streams allow.
#include <cuda_runtime_api.h>

#include "runtime/capture.h"
#include "runtime/errors.h"

namespace warpgrade::emu {
namespace {

// All work is done when a call returns: waiting is a question about errors.
cudaError_t wait_for(cudaStream_t handle) {
  WARPEMU_RETURN_IF_STICKY();
  if (find_stream(handle) == nullptr) return record(cudaErrorInvalidResourceHandle);
  return record(refuse_wait_in_capture(handle));
}

cudaError_t wait_for(cudaEvent_t handle) {
  WARPEMU_RETURN_IF_STICKY();
  Event* event = find_event(handle);
  if (event == nullptr) return record(cudaErrorInvalidResourceHandle);
  return record(refuse_captured_event(*event));
}

}  // namespace
}  // namespace warpgrade::emu

using namespace warpgrade::emu;

extern "C" {

cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned flags, int priority) {
  WARPEMU_RETURN_IF_STICKY();
  if (stream == nullptr || (flags & ~static_cast<unsigned>(cudaStreamNonBlocking)) != 0)
    return record(cudaErrorInvalidValue);
  int least = 0, greatest = 0;
  cudaDeviceGetStreamPriorityRange(&least, &greatest);
  *stream = add_stream(flags, priority > least ? least : priority < greatest ? greatest : priority);
  return cudaSuccess;
}
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
  return cudaStreamCreateWithPriority(stream, flags, 0);
}
cudaError_t cudaStreamCreate(cudaStream_t* stream) {
  return cudaStreamCreateWithPriority(stream, 0, 0);
}
cudaError_t cudaStreamDestroy(cudaStream_t handle) {
  if (handle == nullptr || handle == cudaStreamLegacy || handle == cudaStreamPerThread)
    return record(cudaErrorInvalidResourceHandle);
  Stream* stream = find_stream(handle);
  if (stream == nullptr) return record(cudaErrorInvalidResourceHandle);
  leave_capture(*stream);
  remove_stream(handle);
  return cudaSuccess;
}
cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  return wait_for(stream);
}
cudaError_t cudaStreamQuery(cudaStream_t stream) {
  return wait_for(stream);
}
cudaError_t cudaStreamWaitEvent(cudaStream_t stream_handle, cudaEvent_t event_handle, unsigned flags) {
  WARPEMU_RETURN_IF_STICKY();
  Stream* stream = find_stream(stream_handle);
  Event* event = find_event(event_handle);
  if (stream == nullptr || event == nullptr) return record(cudaErrorInvalidResourceHandle);
  const bool external = (flags & cudaEventWaitExternal) != 0;
  return record(wait_in_capture(*stream, *event, external, event_handle).value_or(cudaSuccess));
}
cudaError_t cudaStreamAttachMemAsync(cudaStream_t stream, void*, size_t, unsigned) {
  return wait_for(stream);
}
cudaError_t cudaStreamGetFlags(cudaStream_t handle, unsigned* flags) {
  const Stream* stream = find_stream(handle);
  if (stream == nullptr) return record(cudaErrorInvalidResourceHandle);
  *flags = stream->flags;
  return cudaSuccess;
}
cudaError_t cudaStreamGetPriority(cudaStream_t handle, int* priority) {
  const Stream* stream = find_stream(handle);
  if (stream == nullptr) return record(cudaErrorInvalidResourceHandle);
  *priority = stream->priority;
  return cudaSuccess;
}
cudaError_t cudaStreamGetId(cudaStream_t handle, unsigned long long* id) {
  const Stream* stream = find_stream(handle);
  if (stream == nullptr) return record(cudaErrorInvalidResourceHandle);
  *id = stream->id;
  return cudaSuccess;
}
cudaError_t cudaStreamGetDevice(cudaStream_t, int* device) {
  *device = 0;
  return cudaSuccess;
}
// Access-policy windows and the like are hints here.
cudaError_t cudaStreamSetAttribute(cudaStream_t, cudaStreamAttrID, const cudaStreamAttrValue*) {
  return cudaSuccess;
}
cudaError_t cudaCtxResetPersistingL2Cache() {
  return cudaSuccess;
}

cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void* data) {
  WARPEMU_RETURN_IF_STICKY();
  if (function == nullptr) return record(cudaErrorInvalidValue);
  if (find_stream(stream) == nullptr) return record(cudaErrorInvalidResourceHandle);
  if (const auto kept = captured(stream, [&] { return cudaHostNodeParams{function, data}; }))
    return record(*kept);
  function(data);
  return cudaSuccess;
}
cudaError_t cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t callback, void* data,
                                  unsigned flags) {
  if (callback == nullptr || flags != 0) return record(cudaErrorInvalidValue);
  if (find_stream(stream) == nullptr) return record(cudaErrorInvalidResourceHandle);
  if (const cudaError_t error = refuse_wait_in_capture(stream); error != cudaSuccess) return record(error);
  callback(stream, sticky(), data);
  return cudaSuccess;
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags) {
  WARPEMU_RETURN_IF_STICKY();
  if (event == nullptr) return record(cudaErrorInvalidValue);
  *event = add_event(flags);
  return cudaSuccess;
}
cudaError_t cudaEventCreate(cudaEvent_t* event) {
  return cudaEventCreateWithFlags(event, cudaEventDefault);
}
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  return remove_event(event) ? cudaSuccess : record(cudaErrorInvalidResourceHandle);
}
cudaError_t cudaEventRecordWithFlags(cudaEvent_t event_handle, cudaStream_t stream_handle, unsigned flags) {
  WARPEMU_RETURN_IF_STICKY();
  Stream* stream = find_stream(stream_handle);
  Event* event = find_event(event_handle);
  if (stream == nullptr || event == nullptr) return record(cudaErrorInvalidResourceHandle);
  const bool external = (flags & cudaEventRecordExternal) != 0;
  if (const auto kept = record_in_capture(*stream, *event, external, event_handle)) return record(*kept);
  event->recorded = true;
  event->time = std::chrono::steady_clock::now();
  return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  return cudaEventRecordWithFlags(event, stream, 0);
}
cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  return wait_for(event);
}
cudaError_t cudaEventQuery(cudaEvent_t event) {
  return wait_for(event);
}
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t end) {
  WARPEMU_RETURN_IF_STICKY();
  if (milliseconds == nullptr) return record(cudaErrorInvalidValue);
  Event *first = find_event(start), *last = find_event(end);
  if (first == nullptr || last == nullptr) return record(cudaErrorInvalidResourceHandle);
  for (Event* event : {first, last}) {
    if (const cudaError_t error = refuse_captured_event(*event); error != cudaSuccess) return record(error);
  }
  const bool timed = !((first->flags | last->flags) & cudaEventDisableTiming);
  if (!timed || !first->recorded || !last->recorded) return record(cudaErrorInvalidResourceHandle);
  *milliseconds = std::chrono::duration<float, std::milli>(last->time - first->time).count();
  return cudaSuccess;
}

}  // extern "C"

// Streams, events and host functions.
#include <cuda_runtime_api.h>

#include <chrono>
#include <thread>

#include "cudart/capture.h"
#include "cudart/errors.h"
#include "cudart/host_functions.h"

namespace warpgrade::cudart {
namespace {

// Whether the host waits or asks.
enum class Waiting { waits, asks };

// What is held and has not reached the backend: waited for, or cudaErrorNotReady.
cudaError_t look_at_held(const Stream& stream, Waiting waiting) {
  if (waiting == Waiting::waits) return wait_for_held(stream);
  return is_held(stream) ? cudaErrorNotReady : cudaSuccess;
}
cudaError_t look_at_held(const Event& event, Waiting waiting) {
  if (waiting == Waiting::waits) return wait_for(event.held);
  return is_reached(event.held) ? cudaSuccess : cudaErrorNotReady;
}

cudaError_t look_at(cudaStream_t handle, Waiting waiting) {
  CUDART_RETURN_IF_STICKY();
  const Stream* stream = find_stream(handle);
  if (stream == nullptr) return record(cudaErrorInvalidResourceHandle);
  if (const cudaError_t error = refuse_wait_in_capture(handle); error != cudaSuccess) return record(error);
  if (const cudaError_t error = look_at_held(*stream, waiting); error != cudaSuccess) return record(error);
  return record(waiting == Waiting::waits ? backend().synchronize_stream(stream->in_backend)
                                          : backend().query_stream(stream->in_backend));
}

// Another process carries out what is before the record: nothing tells here when it has.
cudaError_t await(const SharedEvent& event, uint64_t record) {
  while (!event.has_reached(record)) std::this_thread::sleep_for(std::chrono::microseconds(200));
  return cudaSuccess;
}

cudaError_t look_at_shared(const SharedEvent& event, Waiting waiting) {
  const uint64_t last = event.recorded.load();
  if (waiting == Waiting::waits) return await(event, last);
  return event.has_reached(last) ? cudaSuccess : cudaErrorNotReady;
}

cudaError_t wait_for_shared(Stream& stream, const std::shared_ptr<SharedEvent>& event) {
  const uint64_t last = event->recorded.load();
  if (event->has_reached(last)) return cudaSuccess;
  return run_beside(stream, [event, last](StreamId) { return await(*event, last); });
}

cudaError_t look_at(cudaEvent_t handle, Waiting waiting) {
  CUDART_RETURN_IF_STICKY();
  Event* event = find_event(handle);
  if (event == nullptr) return record(cudaErrorInvalidResourceHandle);
  if (const cudaError_t error = refuse_captured_event(*event); error != cudaSuccess) return record(error);
  if (event->shared) return record(look_at_shared(*event->shared, waiting));
  if (!event->recorded) return cudaSuccess;
  if (const cudaError_t error = look_at_held(*event, waiting); error != cudaSuccess) return record(error);
  return record(waiting == Waiting::waits ? backend().synchronize_event(event->in_backend)
                                          : backend().query_event(event->in_backend));
}

// The stream holds an event that is behind a host function of another stream until that is reached.
cudaError_t wait_behind_held(Stream& stream, const Event& event) {
  return run_beside(stream, [place = event.held, id = event.in_backend](StreamId in_backend) {
    const cudaError_t error = wait_for(place);
    return error != cudaSuccess ? error : backend().wait_event(in_backend, id);
  });
}

}  // namespace
}  // namespace warpgrade::cudart

using namespace warpgrade::cudart;

extern "C" {

cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned flags, int priority) {
  CUDART_RETURN_IF_STICKY();
  if (stream == nullptr || (flags & ~static_cast<unsigned>(cudaStreamNonBlocking)) != 0)
    return record(cudaErrorInvalidValue);
  int least = 0, greatest = 0;
  cudaDeviceGetStreamPriorityRange(&least, &greatest);
  const int possible = priority > least ? least : priority < greatest ? greatest : priority;
  StreamId in_backend = 0;
  const cudaError_t error = backend().create_stream(flags, possible, in_backend);
  if (error != cudaSuccess) return record(error);
  *stream = add_stream(flags, possible, in_backend);
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
  if (const cudaError_t error = wait_for_held(*stream); error != cudaSuccess) return record(error);
  const StreamId in_backend = stream->in_backend;
  remove_stream(handle);
  return record(backend().destroy_stream(in_backend));
}
cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  return look_at(stream, Waiting::waits);
}
cudaError_t cudaStreamQuery(cudaStream_t stream) {
  return look_at(stream, Waiting::asks);
}
cudaError_t cudaStreamWaitEvent(cudaStream_t stream_handle, cudaEvent_t event_handle, unsigned flags) {
  CUDART_RETURN_IF_STICKY();
  Stream* stream = find_stream(stream_handle);
  Event* event = find_event(event_handle);
  if (stream == nullptr || event == nullptr) return record(cudaErrorInvalidResourceHandle);
  const bool external = (flags & cudaEventWaitExternal) != 0;
  if (const auto kept = wait_in_capture(*stream, *event, external, event_handle)) return record(*kept);
  if (event->shared) {
    if (const cudaError_t error = wait_for_shared(*stream, event->shared); error != cudaSuccess)
      return record(error);
  }
  if (!event->recorded) return cudaSuccess;
  if (!is_reached(event->held)) return record(wait_behind_held(*stream, *event));
  const auto wait = [id = event->in_backend](StreamId s) { return backend().wait_event(s, id); };
  return record(run_in_order(*stream, wait));
}
cudaError_t cudaStreamAttachMemAsync(cudaStream_t stream, void*, size_t, unsigned) {
  const cudaError_t error = look_at(stream, Waiting::asks);
  return error == cudaErrorNotReady ? cudaSuccess : error;
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
cudaError_t cudaStreamGetDevice(cudaStream_t handle, int* device) {
  if (device == nullptr || find_stream(handle) == nullptr) return record(cudaErrorInvalidResourceHandle);
  *device = device_of_stream(handle);
  return cudaSuccess;
}
cudaError_t cudaStreamSetAttribute(cudaStream_t handle, cudaStreamAttrID attribute,
                                   const cudaStreamAttrValue* value) {
  CUDART_RETURN_IF_STICKY();
  Stream* stream = find_stream(handle);
  if (stream == nullptr) return record(cudaErrorInvalidResourceHandle);
  if (value == nullptr) return record(cudaErrorInvalidValue);
  const cudaError_t error = backend().set_stream_attribute(stream->in_backend, attribute, *value);
  if (error == cudaSuccess) stream->attributes[attribute] = *value;
  return record(error);
}
cudaError_t cudaStreamGetAttribute(cudaStream_t handle, cudaStreamAttrID attribute,
                                   cudaStreamAttrValue* value) {
  const Stream* stream = find_stream(handle);
  if (stream == nullptr) return record(cudaErrorInvalidResourceHandle);
  if (value == nullptr) return record(cudaErrorInvalidValue);
  const auto known = stream->attributes.find(attribute);
  *value = known != stream->attributes.end() ? known->second : cudaStreamAttrValue{};
  if (known == stream->attributes.end() && attribute == cudaLaunchAttributePriority)
    value->priority = stream->priority;
  return cudaSuccess;
}
cudaError_t cudaStreamCopyAttributes(cudaStream_t to, cudaStream_t from) {
  const Stream* source = find_stream(from);
  if (source == nullptr || find_stream(to) == nullptr) return record(cudaErrorInvalidResourceHandle);
  for (const auto& [attribute, value] : std::map(source->attributes)) {
    const cudaError_t error = cudaStreamSetAttribute(to, static_cast<cudaStreamAttrID>(attribute), &value);
    if (error != cudaSuccess) return error;
  }
  return cudaSuccess;
}
cudaError_t cudaCtxResetPersistingL2Cache() {
  CUDART_RETURN_IF_STICKY();
  return record(backend().reset_persisting_l2());
}

cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void* data) {
  CUDART_RETURN_IF_STICKY();
  if (function == nullptr) return record(cudaErrorInvalidValue);
  if (find_stream(stream) == nullptr) return record(cudaErrorInvalidResourceHandle);
  if (const auto kept = captured(stream, [&] { return cudaHostNodeParams{function, data}; }))
    return record(*kept);
  return record(run_beside(*find_stream(stream), [function, data](StreamId in_backend) {
    const cudaError_t error = backend().synchronize_stream(in_backend);
    if (error == cudaSuccess) call_host_function([&] { function(data); });
    return error;
  }));
}
cudaError_t cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t callback, void* data,
                                  unsigned flags) {
  if (callback == nullptr || flags != 0) return record(cudaErrorInvalidValue);
  if (find_stream(stream) == nullptr) return record(cudaErrorInvalidResourceHandle);
  if (const cudaError_t error = refuse_wait_in_capture(stream); error != cudaSuccess) return record(error);
  return record(run_beside(*find_stream(stream), [stream, callback, data](StreamId in_backend) {
    const cudaError_t poisoned = backend().sticky();
    const cudaError_t before = poisoned != cudaSuccess ? poisoned : backend().synchronize_stream(in_backend);
    call_host_function([&] { callback(stream, before, data); });
    return cudaSuccess;
  }));
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags) {
  CUDART_RETURN_IF_STICKY();
  const bool is_shared = (flags & cudaEventInterprocess) != 0;
  if (event == nullptr || (is_shared && (flags & cudaEventDisableTiming) == 0))
    return record(cudaErrorInvalidValue);
  EventId in_backend = 0;
  const cudaError_t error = backend().create_event(flags, in_backend);
  if (error != cudaSuccess) return record(error);
  *event = add_event(flags, in_backend);
  if (is_shared) find_event(*event)->shared = backend().new_shared_event();
  return cudaSuccess;
}
cudaError_t cudaEventCreate(cudaEvent_t* event) {
  return cudaEventCreateWithFlags(event, cudaEventDefault);
}
cudaError_t cudaEventDestroy(cudaEvent_t handle) {
  const Event* event = find_event(handle);
  if (event == nullptr) return record(cudaErrorInvalidResourceHandle);
  if (const cudaError_t error = wait_for_all_held(); error != cudaSuccess) return record(error);
  const EventId in_backend = event->in_backend;
  remove_event(handle);
  return record(backend().destroy_event(in_backend));
}
cudaError_t cudaEventRecordWithFlags(cudaEvent_t event_handle, cudaStream_t stream_handle, unsigned flags) {
  CUDART_RETURN_IF_STICKY();
  Stream* stream = find_stream(stream_handle);
  Event* event = find_event(event_handle);
  if (stream == nullptr || event == nullptr) return record(cudaErrorInvalidResourceHandle);
  const bool external = (flags & cudaEventRecordExternal) != 0;
  if (const auto kept = record_in_capture(*stream, *event, external, event_handle)) return record(*kept);
  if (event->device != device_of_stream(stream_handle)) return record(cudaErrorInvalidResourceHandle);
  event->recorded = true;
  event->held.reset();
  const uint64_t number = event->shared ? ++event->shared->recorded : 0;
  const auto mark = [id = event->in_backend, shared = event->shared, number](StreamId s) {
    const cudaError_t error = backend().record_event(id, s);
    if (shared) shared->reach(number);
    return error;
  };
  return record(run_in_order(*stream, mark, &event->held));
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  return cudaEventRecordWithFlags(event, stream, 0);
}
cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  return look_at(event, Waiting::waits);
}
cudaError_t cudaEventQuery(cudaEvent_t event) {
  return look_at(event, Waiting::asks);
}
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t end) {
  CUDART_RETURN_IF_STICKY();
  if (milliseconds == nullptr) return record(cudaErrorInvalidValue);
  Event *first = find_event(start), *last = find_event(end);
  if (first == nullptr || last == nullptr) return record(cudaErrorInvalidResourceHandle);
  for (Event* event : {first, last}) {
    if (const cudaError_t error = refuse_captured_event(*event); error != cudaSuccess) return record(error);
  }
  const bool timed = !((first->flags | last->flags) & cudaEventDisableTiming);
  if (first->device != last->device) return record(cudaErrorInvalidResourceHandle);
  if (!timed || !first->recorded || !last->recorded) return record(cudaErrorInvalidResourceHandle);
  if (!is_reached(first->held) || !is_reached(last->held)) return cudaErrorNotReady;
  return record(backend().elapsed(first->in_backend, last->in_backend, *milliseconds));
}

}  // extern "C"

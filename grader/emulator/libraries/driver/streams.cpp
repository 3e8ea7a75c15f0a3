// Streams, their capture, and events. Handles are the runtime's.
#include <map>
#include <memory>
#include <mutex>

#include "driver/call.h"

namespace warpgrade::driver {
namespace {

// In which context each stream was made.
struct StreamContexts {
  std::mutex mutex;
  std::map<CUstream, Context*> by_stream;
};

StreamContexts& stream_contexts() {
  static auto* all = new StreamContexts;  // never destroyed: programs call in static destructors
  return *all;
}

struct Callback {
  CUstreamCallback function;
  void* data;
};

void CUDART_CB call_back(cudaStream_t stream, cudaError_t error, void* data) {
  const std::unique_ptr<Callback> callback(static_cast<Callback*>(data));
  callback->function(stream, result_of(error), callback->data);
}

CUresult create(CUstream* stream, unsigned flags, int priority) {
  return in_context([&](Context& context) {
    const cudaError_t error = cudaStreamCreateWithPriority(stream, flags, priority);
    if (error != cudaSuccess) return error;
    StreamContexts& all = stream_contexts();
    const std::lock_guard lock(all.mutex);
    all.by_stream[*stream] = &context;
    return cudaSuccess;
  });
}

CUresult destroy_stream(CUstream stream) {
  return in_context([&](Context&) {
    StreamContexts& all = stream_contexts();
    const std::lock_guard lock(all.mutex);
    all.by_stream.erase(stream);
    return cudaStreamDestroy(stream);
  });
}

CUresult destroy_event(CUevent event) {
  return by_runtime(cudaEventDestroy, event);
}

CUresult elapsed(float* milliseconds, CUevent start, CUevent end) {
  return by_runtime(cudaEventElapsedTime, milliseconds, start, end);
}

CUresult context_of(CUstream stream, CUcontext* handle) {
  return in_context([&](Context& current) {
    if (handle == nullptr) return CUDA_ERROR_INVALID_VALUE;
    StreamContexts& all = stream_contexts();
    const std::lock_guard lock(all.mutex);
    const auto known = all.by_stream.find(stream);
    *handle = handle_of(known != all.by_stream.end() ? known->second : &current);
    return CUDA_SUCCESS;
  });
}

cudaStreamCaptureMode mode_of(CUstreamCaptureMode mode) {
  return static_cast<cudaStreamCaptureMode>(mode);
}

}  // namespace
}  // namespace warpgrade::driver

using namespace warpgrade::driver;

extern "C" {

CUresult cuStreamCreateWithPriority(CUstream* stream, unsigned flags, int priority) {
  return create(stream, flags, priority);
}
CUresult cuStreamCreate(CUstream* stream, unsigned flags) {
  return create(stream, flags, 0);
}
CUresult cuStreamDestroy_v2(CUstream stream) {
  return destroy_stream(stream);
}
CUresult cuStreamDestroy(CUstream stream) {
  return destroy_stream(stream);
}
CUresult cuStreamSynchronize(CUstream stream) {
  return by_runtime(cudaStreamSynchronize, stream);
}
CUresult cuStreamQuery(CUstream stream) {
  return by_runtime(cudaStreamQuery, stream);
}
CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned flags) {
  return by_runtime(cudaStreamWaitEvent, stream, event, flags);
}
CUresult cuStreamAddCallback(CUstream stream, CUstreamCallback function, void* data, unsigned flags) {
  return in_context([&](Context&) {
    if (function == nullptr) return cudaErrorInvalidValue;
    auto callback = std::make_unique<Callback>(Callback{function, data});
    const cudaError_t error = cudaStreamAddCallback(stream, call_back, callback.get(), flags);
    if (error == cudaSuccess) static_cast<void>(callback.release());
    return error;
  });
}
CUresult cuStreamGetCtx(CUstream stream, CUcontext* context) {
  return context_of(stream, context);
}
CUresult cuStreamGetFlags(CUstream stream, unsigned* flags) {
  return by_runtime(cudaStreamGetFlags, stream, flags);
}
CUresult cuStreamGetPriority(CUstream stream, int* priority) {
  return by_runtime(cudaStreamGetPriority, stream, priority);
}
CUresult cuStreamGetId(CUstream stream, unsigned long long* id) {
  return by_runtime(cudaStreamGetId, stream, id);
}
#if CUDA_VERSION >= 12080
CUresult cuStreamGetDevice(CUstream stream, CUdevice* device) {
  return by_runtime(cudaStreamGetDevice, stream, device);
}
#endif
CUresult cuStreamAttachMemAsync(CUstream stream, CUdeviceptr address, size_t bytes, unsigned flags) {
  return by_runtime(cudaStreamAttachMemAsync, stream, reinterpret_cast<void*>(address), bytes, flags);
}
// Attributes have the runtime's numbers and layout.
CUresult cuStreamSetAttribute(CUstream stream, CUstreamAttrID attribute, const CUstreamAttrValue* value) {
  return by_runtime(cudaStreamSetAttribute, stream, static_cast<cudaStreamAttrID>(attribute),
                    reinterpret_cast<const cudaStreamAttrValue*>(value));
}
CUresult cuStreamGetAttribute(CUstream stream, CUstreamAttrID attribute, CUstreamAttrValue* value) {
  return by_runtime(cudaStreamGetAttribute, stream, static_cast<cudaStreamAttrID>(attribute),
                    reinterpret_cast<cudaStreamAttrValue*>(value));
}
CUresult cuStreamCopyAttributes(CUstream to, CUstream from) {
  return by_runtime(cudaStreamCopyAttributes, to, from);
}

CUresult cuStreamBeginCapture_v2(CUstream stream, CUstreamCaptureMode mode) {
  return by_runtime(cudaStreamBeginCapture, stream, mode_of(mode));
}
CUresult cuStreamEndCapture(CUstream stream, CUgraph* graph) {
  return by_runtime(cudaStreamEndCapture, stream, graph);
}
CUresult cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus* status) {
  return by_runtime(cudaStreamIsCapturing, stream, reinterpret_cast<cudaStreamCaptureStatus*>(status));
}
CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode* mode) {
  return by_runtime(cudaThreadExchangeStreamCaptureMode, reinterpret_cast<cudaStreamCaptureMode*>(mode));
}
#if CUDA_VERSION >= 13000
CUresult cuStreamGetCaptureInfo_v3(CUstream stream, CUstreamCaptureStatus* status, cuuint64_t* id,
                                   CUgraph* graph, const CUgraphNode** dependencies,
                                   const CUgraphEdgeData** edges, size_t* count) {
  static_assert(sizeof(CUgraphEdgeData) == sizeof(cudaGraphEdgeData));
  return by_runtime(cudaStreamGetCaptureInfo, stream, reinterpret_cast<cudaStreamCaptureStatus*>(status),
                    reinterpret_cast<unsigned long long*>(id), graph, dependencies,
                    reinterpret_cast<const cudaGraphEdgeData**>(edges), count);
}
CUresult cuStreamGetCaptureInfo_v2(CUstream stream, CUstreamCaptureStatus* status, cuuint64_t* id,
                                   CUgraph* graph, const CUgraphNode** dependencies, size_t* count) {
  return cuStreamGetCaptureInfo_v3(stream, status, id, graph, dependencies, nullptr, count);
}
#endif

CUresult cuEventCreate(CUevent* event, unsigned flags) {
  return by_runtime(cudaEventCreateWithFlags, event, flags);
}
CUresult cuEventDestroy_v2(CUevent event) {
  return destroy_event(event);
}
CUresult cuEventDestroy(CUevent event) {
  return destroy_event(event);
}
CUresult cuEventRecord(CUevent event, CUstream stream) {
  return by_runtime(cudaEventRecord, event, stream);
}
CUresult cuEventRecordWithFlags(CUevent event, CUstream stream, unsigned flags) {
  return by_runtime(cudaEventRecordWithFlags, event, stream, flags);
}
CUresult cuEventSynchronize(CUevent event) {
  return by_runtime(cudaEventSynchronize, event);
}
CUresult cuEventQuery(CUevent event) {
  return by_runtime(cudaEventQuery, event);
}
CUresult cuEventElapsedTime(float* milliseconds, CUevent start, CUevent end) {
  return elapsed(milliseconds, start, end);
}
CUresult cuEventElapsedTime_v2(float* milliseconds, CUevent start, CUevent end) {
  return elapsed(milliseconds, start, end);
}

}  // extern "C"

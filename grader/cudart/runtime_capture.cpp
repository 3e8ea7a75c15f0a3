// Stream capture.
#include <cuda_runtime_api.h>

#include "cudart/capture.h"
#include "cudart/errors.h"
#include "cudart/graph_handles.h"

using namespace warpgrade::cudart;

extern "C" {

cudaError_t cudaStreamBeginCapture(cudaStream_t handle, cudaStreamCaptureMode mode) {
  CUDART_RETURN_IF_STICKY();
  Stream* stream = find_stream(handle);
  if (stream == nullptr) return record(cudaErrorInvalidResourceHandle);
  return record(begin_capture(*stream, std::make_shared<Graph>(), {}, mode));
}

cudaError_t cudaStreamBeginCaptureToGraph(cudaStream_t handle, cudaGraph_t graph_handle,
                                          const cudaGraphNode_t* dependencies, const cudaGraphEdgeData*,
                                          size_t count, cudaStreamCaptureMode mode) {
  CUDART_RETURN_IF_STICKY();
  Stream* stream = find_stream(handle);
  const std::shared_ptr<Graph> graph = find_graph(graph_handle);
  if (stream == nullptr || graph == nullptr) return record(cudaErrorInvalidResourceHandle);
  const auto tail = nodes_of(*graph, dependencies, count);
  if (!tail) return record(cudaErrorInvalidValue);
  return record(begin_capture(*stream, graph, *tail, mode));
}

cudaError_t cudaStreamEndCapture(cudaStream_t handle, cudaGraph_t* graph) {
  CUDART_RETURN_IF_STICKY();
  if (graph == nullptr) return record(cudaErrorInvalidValue);
  *graph = nullptr;
  Stream* stream = find_stream(handle);
  if (stream == nullptr) return record(cudaErrorInvalidResourceHandle);
  std::shared_ptr<Graph> captured_graph;
  const cudaError_t error = end_capture(*stream, captured_graph);
  if (captured_graph) *graph = graph_handle(captured_graph);
  return record(error);
}

cudaError_t cudaStreamIsCapturing(cudaStream_t handle, cudaStreamCaptureStatus* status) {
  if (status == nullptr) return record(cudaErrorInvalidValue);
  *status = cudaStreamCaptureStatusNone;
  const Stream* stream = find_stream(handle);
  if (stream == nullptr) return record(cudaErrorInvalidResourceHandle);
  if (stream->capture)
    *status =
        stream->capture->invalidated ? cudaStreamCaptureStatusInvalidated : cudaStreamCaptureStatusActive;
  return cudaSuccess;
}

cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode* mode) {
  if (mode == nullptr) return record(cudaErrorInvalidValue);
  *mode = exchange_capture_mode(*mode);
  return cudaSuccess;
}

#if CUDART_VERSION >= 13000
cudaError_t cudaStreamGetCaptureInfo(cudaStream_t handle, cudaStreamCaptureStatus* status,
                                     unsigned long long* id, cudaGraph_t* graph,
                                     const cudaGraphNode_t** dependencies, const cudaGraphEdgeData** edges,
                                     size_t* count) {
  if (const cudaError_t error = cudaStreamIsCapturing(handle, status); error != cudaSuccess) return error;
  const Stream* stream = find_stream(handle);
  if (*status == cudaStreamCaptureStatusActive) {
    if (id != nullptr) *id = stream->capture->id;
    if (graph != nullptr) *graph = graph_handle(stream->capture->graph);
    if (dependencies != nullptr)
      *dependencies = reinterpret_cast<const cudaGraphNode_t*>(stream->tail.data());
    if (edges != nullptr) *edges = nullptr;
    if (count != nullptr) *count = stream->tail.size();
  }
  return cudaSuccess;
}
#endif

}  // extern "C"

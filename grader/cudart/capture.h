// Stream capture: calls that enqueue work add nodes to a graph instead.
#pragma once
#include <cuda_runtime_api.h>

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "cudart/graph.h"
#include "cudart/stream.h"

namespace warpgrade::cudart {

struct Capture {
  std::shared_ptr<Graph> graph;
  Stream* origin = nullptr;
  cudaStreamCaptureMode mode = cudaStreamCaptureModeGlobal;
  std::thread::id thread;
  unsigned long long id = 0;
  bool invalidated = false;
  bool ended = false;
  std::vector<Stream*> streams;               // the origin and those that joined through events
  std::vector<GraphNode*> left_by_destroyed;  // the last nodes of streams that joined and were destroyed
};

// Nothing is captured anywhere: the common case, decided without a lock.
bool no_capture();

// For a call that enqueues work: empty when the stream is not captured and the work is to be run now, else
// the call's result. `work` makes the node.
std::optional<cudaError_t> captured(cudaStream_t stream, const std::function<NodeWork()>& work);

// For calls that wait for a stream, which is not possible while it is captured (it invalidates the capture).
cudaError_t refuse_wait_in_capture(cudaStream_t stream);
// For calls that wait for the device, or act on it outside of any stream (cudaMalloc).
cudaError_t refuse_unsafe_in_capture();

cudaError_t begin_capture(Stream& stream, std::shared_ptr<Graph> graph, std::vector<GraphNode*> tail,
                          cudaStreamCaptureMode mode);
// The graph in `graph`, also empty when the capture failed; it is over in either case.
cudaError_t end_capture(Stream& stream, std::shared_ptr<Graph>& graph);

// The stream is destroyed: a capture that it began is over. If another stream began it, the nodes stay, and
// that stream must still be joined to them.
void leave_capture(Stream& stream);

// What cudaEventRecord and cudaStreamWaitEvent do to captures; empty when the call has nothing to do
// with one.
std::optional<cudaError_t> record_in_capture(Stream& stream, Event& event, bool external, cudaEvent_t handle);
std::optional<cudaError_t> wait_in_capture(Stream& stream, Event& event, bool external, cudaEvent_t handle);
// cudaErrorCapturedEvent for an event that stands for nodes.
cudaError_t refuse_captured_event(Event& event);

// The mode of the calling thread: cudaThreadExchangeStreamCaptureMode.
cudaStreamCaptureMode exchange_capture_mode(cudaStreamCaptureMode mode);

}  // namespace warpgrade::cudart

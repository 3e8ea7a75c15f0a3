#include "cudart/capture.h"

#include <algorithm>
#include <mutex>

namespace warpgrade::cudart {
namespace {

std::mutex g_captures_mutex;
std::vector<std::shared_ptr<Capture>> g_captures;  // that have not ended
std::atomic<int> g_count{0};
thread_local cudaStreamCaptureMode t_mode = cudaStreamCaptureModeGlobal;

cudaError_t invalidate(Capture& capture, cudaError_t error) {
  capture.invalidated = true;
  return error;
}

void merge(std::vector<GraphNode*>& into, const std::vector<GraphNode*>& nodes) {
  for (GraphNode* node : nodes) {
    if (std::find(into.begin(), into.end(), node) == into.end()) into.push_back(node);
  }
}

// Work in the default stream would wait for captured streams that are not cudaStreamNonBlocking.
Capture* implicitly_awaited() {
  for (const auto& capture : g_captures) {
    for (const Stream* s : capture->streams) {
      if ((s->flags & cudaStreamNonBlocking) == 0) return capture.get();
    }
  }
  return nullptr;
}

std::optional<cudaError_t> state_of(Stream& stream) {
  if (!stream.capture) {
    if (!stream.legacy) return std::nullopt;
    if (Capture* c = implicitly_awaited()) return invalidate(*c, cudaErrorStreamCaptureImplicit);
    return std::nullopt;
  }
  return stream.capture->invalidated ? cudaErrorStreamCaptureInvalidated : cudaSuccess;
}

bool forbids_unsafe_calls(const Capture& capture) {
  const bool mine = capture.thread == std::this_thread::get_id();
  if (t_mode == cudaStreamCaptureModeRelaxed || capture.mode == cudaStreamCaptureModeRelaxed) return false;
  if (mine) return true;
  return t_mode == cudaStreamCaptureModeGlobal && capture.mode == cudaStreamCaptureModeGlobal;
}

// Every stream that was forked must have been joined.
bool is_joined(const Capture& capture) {
  const auto reached = ancestors(capture.origin->tail);
  const auto all_reached = [&](const std::vector<GraphNode*>& nodes) {
    return std::all_of(nodes.begin(), nodes.end(), [&](const GraphNode* n) { return reached.count(n) != 0; });
  };
  return all_reached(capture.left_by_destroyed) &&
         std::all_of(capture.streams.begin(), capture.streams.end(),
                     [&](const Stream* s) { return all_reached(s->tail); });
}

void end(const std::shared_ptr<Capture>& capture) {
  capture->ended = true;
  for (Stream* s : capture->streams) {
    s->capture.reset();
    s->tail.clear();
  }
  std::erase(g_captures, capture);
  --g_count;
}

}  // namespace

bool no_capture() {
  return g_count.load(std::memory_order_acquire) == 0;
}

std::optional<cudaError_t> captured(cudaStream_t handle, const std::function<NodeWork()>& work) {
  if (no_capture()) return std::nullopt;
  std::lock_guard lock(g_captures_mutex);
  Stream* stream = find_stream(handle);
  if (stream == nullptr) return cudaErrorInvalidResourceHandle;
  const auto state = state_of(*stream);
  if (!state || *state != cudaSuccess) return state;
  stream->tail = {stream->capture->graph->add(work(), stream->tail)};
  return cudaSuccess;
}

cudaError_t refuse_wait_in_capture(cudaStream_t handle) {
  if (no_capture()) return cudaSuccess;
  std::lock_guard lock(g_captures_mutex);
  Stream* stream = find_stream(handle);
  const auto state = stream != nullptr ? state_of(*stream) : std::nullopt;
  if (!state) return cudaSuccess;
  if (*state != cudaSuccess && *state != cudaErrorStreamCaptureInvalidated) return *state;
  return invalidate(*stream->capture, cudaErrorStreamCaptureUnsupported);
}

cudaError_t refuse_unsafe_in_capture() {
  if (no_capture()) return cudaSuccess;
  std::lock_guard lock(g_captures_mutex);
  for (const auto& capture : g_captures) {
    if (forbids_unsafe_calls(*capture)) return invalidate(*capture, cudaErrorStreamCaptureUnsupported);
  }
  return cudaSuccess;
}

cudaError_t begin_capture(Stream& stream, std::shared_ptr<Graph> graph, std::vector<GraphNode*> tail,
                          cudaStreamCaptureMode mode) {
  static unsigned long long next_id = 1;
  std::lock_guard lock(g_captures_mutex);
  if (stream.legacy) return cudaErrorStreamCaptureUnsupported;
  if (stream.capture) return cudaErrorIllegalState;
  auto capture = std::make_shared<Capture>();
  capture->graph = std::move(graph);
  capture->origin = &stream;
  capture->mode = mode;
  capture->thread = std::this_thread::get_id();
  capture->id = next_id++;
  capture->streams = {&stream};
  stream.capture = capture;
  stream.tail = std::move(tail);
  g_captures.push_back(std::move(capture));
  ++g_count;
  return cudaSuccess;
}

cudaError_t end_capture(Stream& stream, std::shared_ptr<Graph>& graph) {
  std::lock_guard lock(g_captures_mutex);
  const std::shared_ptr<Capture> capture = stream.capture;
  if (!capture) return cudaErrorIllegalState;
  if (capture->mode != cudaStreamCaptureModeRelaxed && capture->thread != std::this_thread::get_id())
    return cudaErrorStreamCaptureWrongThread;
  if (capture->origin != &stream) return invalidate(*capture, cudaErrorStreamCaptureUnmatched);
  const cudaError_t result = capture->invalidated  ? cudaErrorStreamCaptureInvalidated
                             : is_joined(*capture) ? cudaSuccess
                                                   : cudaErrorStreamCaptureUnjoined;
  end(capture);
  if (result == cudaSuccess) graph = capture->graph;
  return result;
}

void leave_capture(Stream& stream) {
  std::lock_guard lock(g_captures_mutex);
  const std::shared_ptr<Capture> capture = stream.capture;
  if (!capture) return;
  if (capture->origin == &stream) return end(capture);
  merge(capture->left_by_destroyed, stream.tail);
  std::erase(capture->streams, &stream);
}

std::optional<cudaError_t> record_in_capture(Stream& stream, Event& event, bool external,
                                             cudaEvent_t handle) {
  std::lock_guard lock(g_captures_mutex);
  const auto state = state_of(stream);
  if (!state) {
    event.capture.reset();
    event.nodes.clear();
    return std::nullopt;
  }
  if (*state != cudaSuccess) return state;
  if (external) {
    stream.tail = {stream.capture->graph->add(EventRecordNode{handle}, stream.tail)};
    return cudaSuccess;
  }
  event.capture = stream.capture;
  event.nodes = stream.tail;
  return cudaSuccess;
}

std::optional<cudaError_t> wait_in_capture(Stream& stream, Event& event, bool external, cudaEvent_t handle) {
  std::lock_guard lock(g_captures_mutex);
  const bool from_capture = event.capture && !event.capture->ended;
  if (!from_capture && !stream.capture) return std::nullopt;
  if (stream.capture && stream.capture->invalidated) return cudaErrorStreamCaptureInvalidated;
  if (!from_capture) {
    if (external) {
      stream.tail = {stream.capture->graph->add(EventWaitNode{handle}, stream.tail)};
      return cudaSuccess;
    }
    if (!event.recorded) return cudaSuccess;
    return invalidate(*stream.capture, cudaErrorStreamCaptureIsolation);
  }
  if (event.capture->invalidated) return cudaErrorStreamCaptureInvalidated;
  if (stream.legacy) return invalidate(*event.capture, cudaErrorStreamCaptureImplicit);
  if (stream.capture && stream.capture != event.capture) {
    invalidate(*event.capture, cudaErrorStreamCaptureMerge);
    return invalidate(*stream.capture, cudaErrorStreamCaptureMerge);
  }
  if (!stream.capture) {
    stream.capture = event.capture;
    stream.tail.clear();
    event.capture->streams.push_back(&stream);
  }
  merge(stream.tail, event.nodes);
  return cudaSuccess;
}

cudaError_t refuse_captured_event(Event& event) {
  std::lock_guard lock(g_captures_mutex);
  if (!event.capture) return cudaSuccess;
  if (event.capture->ended || event.capture->invalidated) return cudaErrorInvalidValue;
  return invalidate(*event.capture, cudaErrorCapturedEvent);
}

cudaStreamCaptureMode exchange_capture_mode(cudaStreamCaptureMode mode) {
  return std::exchange(t_mode, mode);
}

}  // namespace warpgrade::cudart

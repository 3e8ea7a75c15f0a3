// Streams and events.
#include <cstring>

#include "judge/executor/server_call.h"

namespace warpgrade::executor {

using cudart::EventId;
using cudart::StreamId;
using wire::Op;

bool CallServer::stream_of(uint64_t number, StreamId& stream) const {
  if (number >= streams_.size() || !streams_[number]) return false;
  stream = *streams_[number];
  return true;
}

bool CallServer::event_of(uint64_t number, EventId& event) const {
  if (number >= events_.size() || !events_[number]) return false;
  event = *events_[number];
  return true;
}

std::vector<StreamId> CallServer::streams() const {
  std::vector<StreamId> all;
  for (size_t k = kFirstStream; k < streams_.size(); ++k) {
    if (streams_[k]) all.push_back(*streams_[k]);
  }
  return all;
}

// Whether its work is done: then the program knows.
cudaError_t CallServer::ask_stream(StreamId stream) {
  const cudaError_t error = backend_.query_stream(stream);
  if (error == cudaSuccess) work_.host_waited_for(stream);
  return error;
}

cudaError_t CallServer::ask_event(EventId event) {
  const cudaError_t error = backend_.query_event(event);
  if (error == cudaSuccess) work_.host_waited_for_event(event);
  return error;
}

void CallServer::wait_for_stream(const Call& call, StreamId stream) {
  wait_for(call, [this, stream] { return ask_stream(stream); });
}

cudaError_t CallServer::carry_out_streams(const Call& call) {
  StreamId stream = 0;
  switch (call.op()) {
    case Op::create_stream: {
      const auto place = place_for(streams_, kFirstStream, limits_.streams);
      if (!place) return cudaErrorMemoryAllocation;
      const cudaError_t error =
          backend_.create_stream(static_cast<unsigned>(call.argument(0)) & cudaStreamNonBlocking,
                                 static_cast<int32_t>(call.argument(1)), stream);
      if (error != cudaSuccess) return error;
      streams_[*place] = stream;
      work_.create_stream(stream, (call.argument(0) & cudaStreamNonBlocking) == 0);
      values_[0] = *place;
      if (on_stream_) on_stream_(stream, true);
      return cudaSuccess;
    }
    case Op::destroy_stream:
      if (call.argument(0) < kFirstStream || !stream_of(call.argument(0), stream))
        return cudaErrorInvalidResourceHandle;
      if (on_stream_) on_stream_(stream, false);
      streams_[call.argument(0)].reset();
      work_.destroy_stream(stream);
      return backend_.destroy_stream(stream);
    case Op::synchronize_stream:
      if (!stream_of(call.argument(0), stream)) return cudaErrorInvalidResourceHandle;
      wait_for_stream(call, stream);
      return cudaSuccess;
    case Op::query_stream:
      if (!stream_of(call.argument(0), stream)) return cudaErrorInvalidResourceHandle;
      before_waiting("query_stream");
      return ask_stream(stream);
    case Op::synchronize_device:
      wait_for(call, [this] { return ask_device(); });
      return cudaSuccess;
    default:
      return carry_out_events(call);
  }
}

cudaError_t CallServer::carry_out_events(const Call& call) {
  StreamId stream = 0;
  EventId event = 0, second = 0;
  switch (call.op()) {
    case Op::create_event: {
      const auto place = place_for(events_, 0, limits_.events);
      if (!place) return cudaErrorMemoryAllocation;
      constexpr unsigned kKnown = cudaEventBlockingSync | cudaEventDisableTiming;
      const cudaError_t error =
          backend_.create_event(static_cast<unsigned>(call.argument(0)) & kKnown, event);
      if (error != cudaSuccess) return error;
      events_[*place] = event;
      values_[0] = *place;
      return cudaSuccess;
    }
    case Op::destroy_event:
      if (!event_of(call.argument(0), event)) return cudaErrorInvalidResourceHandle;
      events_[call.argument(0)].reset();
      return backend_.destroy_event(event);
    case Op::record_event:
      if (!event_of(call.argument(0), event) || !stream_of(call.argument(1), stream))
        return cudaErrorInvalidResourceHandle;
      if (on_work_) on_work_(call.op());
      work_.record_event(event, stream);
      return backend_.record_event(event, stream);
    case Op::wait_event:
      if (!stream_of(call.argument(0), stream) || !event_of(call.argument(1), event))
        return cudaErrorInvalidResourceHandle;
      if (on_work_) on_work_(call.op());
      work_.wait_event(stream, event);
      return backend_.wait_event(stream, event);
    case Op::synchronize_event:
      if (!event_of(call.argument(0), event)) return cudaErrorInvalidResourceHandle;
      wait_for(call, [this, event] { return ask_event(event); });
      return cudaSuccess;
    case Op::query_event:
      if (!event_of(call.argument(0), event)) return cudaErrorInvalidResourceHandle;
      before_waiting("query_event");
      return ask_event(event);
    case Op::elapsed: {
      if (!event_of(call.argument(0), event) || !event_of(call.argument(1), second))
        return cudaErrorInvalidResourceHandle;
      float milliseconds = 0;
      const cudaError_t error = backend_.elapsed(event, second, milliseconds);
      uint32_t bits = 0;
      std::memcpy(&bits, &milliseconds, sizeof bits);
      values_[0] = bits;
      return error;
    }
    default:
      return carry_out_limits(call);
  }
}

}  // namespace warpgrade::executor

// Streams and events: which handles are valid, and what each is.
#pragma once
#include <cuda_runtime_api.h>

#include <map>
#include <memory>
#include <vector>

#include "cudart/backend.h"

namespace warpgrade::cudart {

struct Capture;
struct GraphNode;
class HeldPlace;
class HeldWork;

struct Stream {
  unsigned flags = 0;
  int priority = 0;
  unsigned long long id = 0;
  StreamId in_backend = kLegacyStream;
  int device = 0;  // of other streams than the default ones, which every device has
  std::map<int, cudaStreamAttrValue> attributes{};  // that were set
  bool legacy = false;  // the default stream, which waits for all that are not cudaStreamNonBlocking

  // While the stream is captured: the capture, and the nodes that its next work depends on.
  std::shared_ptr<Capture> capture{};
  std::vector<GraphNode*> tail{};

  std::shared_ptr<HeldWork> held{};  // behind a host function (host_functions.h)

  Stream() = default;
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  ~Stream();
};

struct Event {
  unsigned flags = 0;
  bool recorded = false;
  EventId in_backend = 0;
  int device = 0;

  // Recorded in a captured stream: it stands for these nodes, until it is recorded again.
  std::shared_ptr<Capture> capture;
  std::vector<GraphNode*> nodes;

  std::shared_ptr<HeldPlace> held;  // the record is behind a host function

  std::shared_ptr<SharedEvent> shared;  // of cudaEventInterprocess
};

// nullptr for a handle that was destroyed or never was one. 0 and cudaStreamLegacy are the default stream,
// cudaStreamPerThread is the calling thread's.
Stream* find_stream(cudaStream_t handle);
cudaStream_t add_stream(unsigned flags, int priority, StreamId in_backend);
bool remove_stream(cudaStream_t handle);
// The device of a handle that find_stream() knows.
int device_of_stream(cudaStream_t handle);

Event* find_event(cudaEvent_t handle);
cudaEvent_t add_event(unsigned flags, EventId in_backend);
bool remove_event(cudaEvent_t handle);

}  // namespace warpgrade::cudart

#include "cudart/library_nodes.h"

#include "cudart/capture.h"
#include "cudart/current_device.h"

namespace warpgrade::cudart {

cudaError_t run(const LibraryNode& node, StreamId stream) {
  const ScopedDevice device(node.device);
  // Not the program's handle: that stream may hold this very work, or be destroyed by now.
  const cudaStream_t handle = add_stream(cudaStreamNonBlocking, 0, stream);
  const cudaError_t error = node.work(handle);
  remove_stream(handle);
  return error;
}

}  // namespace warpgrade::cudart

using namespace warpgrade::cudart;

extern "C" cudaError_t warpgrade_capture_work(cudaStream_t stream,
                                              const std::function<cudaError_t(cudaStream_t)>& work,
                                              bool waits) {
  const auto kept = captured(stream, [&] { return LibraryNode{work, waits, device_of_stream(stream)}; });
  return kept ? *kept : cudaErrorIllegalState;
}

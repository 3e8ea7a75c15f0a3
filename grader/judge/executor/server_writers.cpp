// What the server tells of who writes outputs.
#include "judge/executor/server.h"

namespace warpgrade::executor {

using cudart::MemoryKind;
using cudart::RowsCopy;
using cudart::StreamId;

// The source is host memory that no kernel was given: the host wrote what is there.
bool CallServer::is_host_data(const RowsCopy& copy) const {
  const auto from = owned_.around(copy.from.address);
  if (!from) return false;
  const bool is_host = from->kind == MemoryKind::pinned || from->kind == MemoryKind::managed ||
                       from->kind == MemoryKind::registered;
  return is_host && !writers_.is_named(from->begin);
}

cudaError_t CallServer::follow_copy(cudaError_t error, const RowsCopy& copy, bool is_host, StreamId stream) {
  if (error != cudaSuccess) return error;
  is_host ? writers_.copy_from_host(copy) : writers_.copy_on_device(copy);
  return probe_told(error, stream);
}

// In a probe the host's data is replaced where it has arrived in an output.
cudaError_t CallServer::probe_told(cudaError_t error, StreamId stream) {
  const std::vector<Range> told = writers_.take_told();
  if (!writers_.probe()) return error;
  for (const Range& range : told) {
    if (error != cudaSuccess) break;
    error = backend_.fill({range.begin, range.bytes(), *writers_.probe(), 1, range.bytes(), 1}, stream);
  }
  return error;
}

OutputWriters::Written CallServer::written() {
  return writers_.written([this](uint64_t address, std::span<uint8_t> to) {
    return backend_.copy(to.data(), reinterpret_cast<const void*>(address), to.size(), cudart::kLegacyStream,
                         true) == cudaSuccess;
  });
}

}  // namespace warpgrade::executor

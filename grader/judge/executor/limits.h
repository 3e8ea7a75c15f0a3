// What one submission may have of the device and of its executor.
#pragma once
#include <cstddef>
#include <cstdint>

namespace warpgrade::executor {

struct Limits {
  static constexpr uint64_t kNoLimit = ~uint64_t{0};

  // Device and managed memory together, with what modules, stacks and the heap of the device take. 0:
  // no limit.
  uint64_t device_bytes = kNoLimit;
  size_t allocations = 1 << 20;
  size_t streams = 4096, events = 1 << 16, kernels = 1 << 14, modules = 256;
  size_t graphs = 4096, graph_nodes = 1 << 18;  // nodes of all graphs together
  uint64_t module_bytes = uint64_t{512} << 20;  // all fat binaries together
  size_t reports = 1000;                        // lines of what the host process could not have
  // A call that waits for the device longer than this, and a call of the driver that does not return, end the
  // executor's service (ending.h). 0: no limit.
  double wait_seconds = 0;
};

}  // namespace warpgrade::executor

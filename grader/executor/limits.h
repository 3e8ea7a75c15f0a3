// What one submission may have of the device and of its executor.
#pragma once
#include <cstddef>
#include <cstdint>

namespace warpgrade::executor {

struct Limits {
  uint64_t device_bytes = ~uint64_t{0};  // device and managed memory together
  size_t allocations = 1 << 20;
  size_t streams = 4096, events = 1 << 16, kernels = 1 << 14, modules = 256;
  uint64_t module_bytes = uint64_t{512} << 20;  // all fat binaries together
  size_t reports = 1000;                        // lines of what the host process could not have
};

}  // namespace warpgrade::executor

// __managed__ variables: the host's code has a copy of each, in pages that kernels reach as well. What the
// host changed goes to the device before each launch, what kernels changed comes back when the host has
// waited. Bytes that neither changed since are left alone.
#pragma once
#include <cuda_runtime_api.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <vector>

namespace warpgrade::executor {

class ManagedVariables {
 public:
  using Write = std::function<cudaError_t(uint64_t address, const uint8_t* bytes, uint64_t count)>;
  using Read = std::function<cudaError_t(uint64_t address, uint8_t* bytes, uint64_t count)>;

  static constexpr uint64_t kMostBytes = uint64_t{16} << 20;  // each is compared at every launch and wait

  // A variable at `device`, which the host's code sees at `host`. `read` brings its first value.
  cudaError_t add(uint64_t device, uint8_t* host, uint64_t bytes, const Read& read);
  bool is_empty() const { return count_.load(std::memory_order_relaxed) == 0; }
  cudaError_t to_device(const Write& write);
  cudaError_t to_host(const Read& read);

 private:
  struct Variable {
    uint64_t device = 0;
    uint8_t* host = nullptr;
    std::vector<uint8_t> known;  // what both sides had last
  };
  std::mutex mutex_;
  std::atomic<size_t> count_{0};
  std::vector<Variable> all_;
};

}  // namespace warpgrade::executor

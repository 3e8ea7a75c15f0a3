// What the emulator's libnccl.so.2 asks of its libcudart beyond the runtime's functions. The two libraries are
// built together and lie side by side.
#pragma once
#include <cuda_runtime_api.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "backend/host_finding.h"

namespace warpgrade::emu {

class CollectiveBridge {
 public:
  struct Bytes {
    uint64_t address = 0, bytes = 0;
  };
  // What one call of a rank does in a stream of its device.
  struct Part {
    cudaStream_t stream = nullptr;
    int device = 0;
    std::string what;  // "ncclAllReduce of rank 1"
    CallPlace called;
    std::vector<Bytes> reads, writes;
  };
  // The calls that a rank gave together: they run when those that they meet have begun as well.
  class Calls;

  virtual CallPlace here() = 0;
  virtual std::string place(const CallPlace& called) = 0;  // "jacobi.cu:31"; empty when it cannot be told

  // An error when a kernel has failed, or when the stream is not there or another device's. Waits until work
  // can be put into it at once.
  virtual cudaError_t prepare(cudaStream_t stream, int device) = 0;
  // Where the host finds memory that kernels of the device can use. What is not such memory is reported.
  virtual cudaError_t view(const Bytes& memory, int device, const std::string& call, uint8_t*& host) = 0;
  virtual void written(const Bytes& memory) = 0;

  virtual std::shared_ptr<Calls> begin(std::span<const Part> parts) = 0;
  virtual void meet(Calls& one, Calls& other) = 0;
  virtual void end(const Calls& calls) = 0;

  enum class Mistake : uint8_t { mismatch, hang };
  virtual void report(Mistake mistake, const CallPlace& called, const std::string& message,
                      const std::string& advice) = 0;

 protected:
  ~CollectiveBridge() = default;
};

}  // namespace warpgrade::emu

extern "C" warpgrade::emu::CollectiveBridge& warpemu_collective_bridge();

#include "backend/collective_bridge.h"

#include <utility>

#include "backend/command_order.h"
#include "backend/emulated.h"
#include "cudart/current_device.h"
#include "cudart/host_functions.h"
#include "memory/device_memory.h"
#include "support/base_name.h"

namespace warpgrade::emu {

class CollectiveBridge::Calls {
 public:
  explicit Calls(CommandOrder::Collective begun) : order(std::move(begun)) {}
  CommandOrder::Collective order;
};

namespace {

ByteRanges ranges_of(const std::vector<CollectiveBridge::Bytes>& all) {
  ByteRanges ranges;
  for (const auto& [address, bytes] : all) {
    if (bytes != 0) ranges.add(address, address + bytes);
  }
  return ranges;
}

class OwnCollectiveBridge final : public CollectiveBridge {
 public:
  CallPlace here() override { return this_call(); }
  std::string place(const CallPlace& called) override {
    const cudart::HostPlace place = host_place(called.stack);
    return place.line == 0 ? "" : base_name(place.path) + ":" + std::to_string(place.line);
  }

  cudaError_t prepare(cudaStream_t handle, int device) override {
    if (const cudaError_t poisoned = Emulated::instance().sticky(); poisoned != cudaSuccess) return poisoned;
    const cudart::ScopedDevice on_device(device);
    const cudart::Stream* stream = cudart::find_stream(handle);
    if (stream == nullptr || cudart::device_of_stream(handle) != device)
      return cudaErrorInvalidResourceHandle;
    return cudart::wait_to_enqueue(*stream);
  }

  cudaError_t view(const Bytes& memory, int device, const std::string& call, uint8_t*& host) override {
    const auto a = DeviceMemory::instance().find(memory.address);
    if (memory.bytes != 0 && a && a->is_of_one_device() && a->device != device) {
      refuse(Finding::other_device, memory.address,
             call + " is given " + a->name + ", memory of device " + std::to_string(a->device) +
                 ", and the communicator's rank is on device " + std::to_string(device),
             "Allocate the buffers of each rank on its own device: call cudaSetDevice before cudaMalloc.");
      return cudaErrorInvalidValue;
    }
    if (memory.bytes != 0 && !a && !DeviceMemory::instance().is_device_range(memory.address)) {
      refuse(Finding::invalid_copy, memory.address,
             call + " is given an address that is no memory of the device: ordinary host memory",
             "Its buffers are what cudaMalloc returned, or managed or pinned memory.");
      return cudaErrorInvalidValue;
    }
    return Emulated::view(memory.address, memory.bytes, call.c_str(), host);
  }
  void written(const Bytes& memory) override {
    DeviceMemory::instance().mark_initialized(memory.address, memory.bytes);
  }

  std::shared_ptr<Calls> begin(std::span<const Part> parts) override {
    std::vector<CommandOrder::CollectivePart> all;
    for (const Part& part : parts) {
      const cudart::ScopedDevice on_device(part.device);
      CommandOrder::CollectivePart& one = all.emplace_back();
      one.stream = cudart::find_stream(part.stream)->in_backend;
      one.device = part.device;
      one.what = part.what;
      one.called = part.called;
      one.touched.bytes[static_cast<size_t>(Touch::load)] = ranges_of(part.reads);
      one.touched.bytes[static_cast<size_t>(Touch::store)] = ranges_of(part.writes);
    }
    return std::make_shared<Calls>(CommandOrder::instance().begin_collective(std::move(all)));
  }
  void meet(Calls& one, Calls& other) override { CommandOrder::meet(one.order, other.order); }
  void end(const Calls& calls) override { CommandOrder::instance().end_collective(calls.order); }

  void report(Mistake mistake, const CallPlace& called, const std::string& message,
              const std::string& advice) override {
    Diagnostic d;
    d.kind = mistake == Mistake::hang ? Finding::barrier_deadlock : Finding::invalid_launch;
    d.message = message;
    d.advice = advice;
    add_host_diagnostic(std::move(d), called);
  }

 private:
  static void refuse(Finding kind, uint64_t address, std::string message, std::string advice) {
    Diagnostic d;
    d.kind = kind;
    d.address = address;
    d.message = std::move(message);
    d.advice = std::move(advice);
    add_host_diagnostic(std::move(d));
  }
};

}  // namespace
}  // namespace warpgrade::emu

extern "C" warpgrade::emu::CollectiveBridge& warpemu_collective_bridge() {
  // Never destroyed: programs call NCCL in their own static destructors.
  static auto* bridge = new warpgrade::emu::OwnCollectiveBridge;
  return *bridge;
}

// A device that does nothing at once, for what the executor's own code costs; tests replace single calls
// of it.
#pragma once
#include <cstring>

#include "cudart/backend.h"

namespace warpgrade::executor {

class NullBackend : public cudart::Backend {
 public:
  NullBackend() {
    facts_.name = "nothing";
    facts_.attributes[cudaDevAttrMultiProcessorCount] = 132;
    facts_.attributes[cudaDevAttrMaxThreadsPerMultiProcessor] = 2048;
    facts_.total_bytes = uint64_t{1} << 36;
  }
  const cudart::DeviceFacts& device() override { return facts_; }
  cudaError_t sticky() override { return cudaSuccess; }
  void report(const cudart::HostFinding&) override {}

  cudaError_t add_module(std::span<const std::span<const uint8_t>>, cudart::ModuleId& module) override {
    module = 0;
    return cudaSuccess;
  }
  cudaError_t add_managed(cudart::ModuleId, const std::string&, cudart::MemoryRange&) override {
    return cudaErrorNotSupported;
  }
  cudaError_t find_variable(cudart::ModuleId, const std::string&, cudart::MemoryRange&) override {
    return cudaErrorInvalidSymbol;
  }
  cudaError_t find_kernel(cudart::ModuleId, const std::string&, cudart::KernelId& kernel,
                          cudart::KernelFacts& facts) override {
    kernel = 0;
    facts.parameters = {{0, 8}, {8, 8}};
    facts.parameter_bytes = 16;
    facts.max_threads = 1024;
    facts.max_dynamic_shared = 48 << 10;
    return cudaSuccess;
  }
  cudaError_t set_attribute(cudart::KernelId, cudaFuncAttribute, int, cudart::KernelFacts&) override {
    return cudaSuccess;
  }
  cudaError_t occupancy(cudart::KernelId, int, size_t, unsigned, int& blocks) override {
    blocks = 2;
    return cudaSuccess;
  }
  cudaError_t available_shared(cudart::KernelId, int, int, size_t& bytes) override {
    bytes = 0;
    return cudaSuccess;
  }
  cudaError_t active_clusters(const cudart::LaunchCall&, int& clusters) override {
    clusters = 66;
    return cudaSuccess;
  }
  cudaError_t largest_cluster(const cudart::LaunchCall&, int& blocks) override {
    blocks = 8;
    return cudaSuccess;
  }
  cudaError_t launch(const cudart::LaunchCall&, std::span<const uint8_t>) override {
    ++launches;
    return cudaSuccess;
  }

  cudaError_t allocate(cudart::MemoryKind, uint64_t bytes, uint64_t& address) override {
    address = next_;
    next_ += (bytes + 0xffff) / 0x10000 * 0x10000;
    return cudaSuccess;
  }
  cudaError_t allocate_async(uint64_t bytes, cudart::StreamId, uint64_t& address) override {
    return allocate(cudart::MemoryKind::device, bytes, address);
  }
  cudaError_t release(uint64_t, std::span<const cudart::MemoryKind>, const char*) override {
    return cudaSuccess;
  }
  cudaError_t release_async(uint64_t, cudart::StreamId) override { return cudaSuccess; }
  cudaError_t release_all() override { return cudaSuccess; }
  cudaError_t register_host(void*, uint64_t) override { return cudaSuccess; }
  cudaError_t unregister_host(void*) override { return cudaSuccess; }
  std::optional<cudart::MemoryRange> find(uint64_t) override { return std::nullopt; }
  bool is_device_address(uint64_t) override { return false; }
  cudaError_t memory_info(uint64_t& free_bytes, uint64_t& total_bytes) override {
    free_bytes = total_bytes = facts_.total_bytes;
    return cudaSuccess;
  }
  cudaError_t copy(void*, const void*, uint64_t, cudart::StreamId, bool) override { return cudaSuccess; }
  cudaError_t fill(const cudart::Fill&, cudart::StreamId) override { return cudaSuccess; }

  cudaError_t create_image(const cudart::Image&, uint64_t& object) override {
    object = ++images_;
    return cudaSuccess;
  }
  cudaError_t destroy_image(uint64_t, bool) override { return cudaSuccess; }

  cudaError_t create_stream(unsigned, int, cudart::StreamId& stream) override {
    stream = streams_++;
    return cudaSuccess;
  }
  cudaError_t destroy_stream(cudart::StreamId) override { return cudaSuccess; }
  cudaError_t synchronize_stream(cudart::StreamId) override { return cudaSuccess; }
  cudaError_t query_stream(cudart::StreamId) override { return cudaSuccess; }
  cudaError_t synchronize_device() override { return cudaSuccess; }
  cudaError_t create_event(unsigned, cudart::EventId& event) override {
    event = events_++;
    return cudaSuccess;
  }
  cudaError_t destroy_event(cudart::EventId) override { return cudaSuccess; }
  cudaError_t record_event(cudart::EventId, cudart::StreamId) override { return cudaSuccess; }
  cudaError_t wait_event(cudart::StreamId, cudart::EventId) override { return cudaSuccess; }
  cudaError_t synchronize_event(cudart::EventId) override { return cudaSuccess; }
  cudaError_t query_event(cudart::EventId) override { return cudaSuccess; }
  cudaError_t elapsed(cudart::EventId, cudart::EventId, float& milliseconds) override {
    milliseconds = 0;
    return cudaSuccess;
  }
  cudaError_t set_limit(cudaLimit, size_t) override { return cudaSuccess; }
  cudaError_t get_limit(cudaLimit, size_t& value) override {
    value = 0;
    return cudaSuccess;
  }

  uint64_t launches = 0;

 private:
  cudart::DeviceFacts facts_;
  uint64_t next_ = 0x7000'0000'0000;
  cudart::StreamId streams_ = 2;
  cudart::EventId events_ = 0;
  uint64_t images_ = 0;
};

}  // namespace warpgrade::executor

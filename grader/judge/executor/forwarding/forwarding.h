// The backend of a host process: every call becomes a record for the executor (wire.h). What can be answered
// here is: where allocations lie, what the device is, whether a fault has come.
#pragma once
#include <map>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>
#include <vector>

#include "cudart/backend.h"
#include "judge/executor/forwarding/channel.h"
#include "judge/executor/forwarding/managed_variables.h"

namespace warpgrade::executor {

class Forwarding final : public cudart::Backend {
 public:
  static Forwarding& instance();
  // nullptr without an executor.
  Channel* channel() { return channel_.get(); }

  const cudart::DeviceFacts& device() override { return device_; }
  cudaError_t sticky() override;
  cudaError_t take_late_error() override;
  void report(const cudart::HostFinding& finding) override;

  cudaError_t add_module(std::span<const std::span<const uint8_t>> containers,
                         cudart::ModuleId& module) override;
  cudaError_t add_managed(cudart::ModuleId module, const std::string& name,
                          cudart::MemoryRange& variable) override;
  cudaError_t find_variable(cudart::ModuleId module, const std::string& name,
                            cudart::MemoryRange& variable) override;
  cudaError_t find_kernel(cudart::ModuleId module, const std::string& name, cudart::KernelId& kernel,
                          cudart::KernelFacts& facts) override;
  cudaError_t set_attribute(cudart::KernelId kernel, cudaFuncAttribute attribute, int value,
                            cudart::KernelFacts& facts) override;
  cudaError_t occupancy(cudart::KernelId kernel, int threads, size_t dynamic_shared, unsigned flags,
                        int& blocks) override;
  cudaError_t available_shared(cudart::KernelId kernel, int blocks, int threads, size_t& bytes) override;
  cudaError_t active_clusters(const cudart::LaunchCall& call, int& clusters) override;
  cudaError_t largest_cluster(const cudart::LaunchCall& call, int& blocks) override;
  cudaError_t launch(const cudart::LaunchCall& call, std::span<const uint8_t> parameters) override;

  cudaError_t allocate(cudart::MemoryKind kind, uint64_t bytes, uint64_t& address) override;
  cudaError_t allocate_async(uint64_t bytes, cudart::StreamId stream, uint64_t& address) override;
  cudaError_t release(uint64_t address, std::span<const cudart::MemoryKind> kinds, const char* call) override;
  cudaError_t release_async(uint64_t address, cudart::StreamId stream) override;
  cudaError_t release_all() override;
  cudaError_t register_host(void* pointer, uint64_t bytes) override;
  cudaError_t unregister_host(void* pointer) override;
  cudaError_t keep_pool(uint64_t bytes) override;
  cudaError_t reset_persisting_l2() override;
  cudaError_t set_stream_attribute(cudart::StreamId stream, cudaStreamAttrID attribute,
                                   const cudaStreamAttrValue& value) override;
  uint64_t device_address(uint64_t address) override;
  std::optional<cudart::MemoryRange> find(uint64_t address) override;
  bool is_device_address(uint64_t address) override;
  cudaError_t memory_info(uint64_t& free_bytes, uint64_t& total_bytes) override;
  cudaError_t copy(void* to, const void* from, uint64_t bytes, cudart::StreamId stream, bool waits) override;
  cudaError_t copy_rows(const cudart::RowsCopy& rows, cudart::StreamId stream, bool waits) override;
  cudaError_t fill(const cudart::Fill& fill, cudart::StreamId stream) override;

  cudaError_t create_stream(unsigned flags, int priority, cudart::StreamId& stream) override;
  cudaError_t destroy_stream(cudart::StreamId stream) override;
  cudaError_t synchronize_stream(cudart::StreamId stream) override;
  cudaError_t query_stream(cudart::StreamId stream) override;
  cudaError_t synchronize_device() override;
  cudaError_t create_event(unsigned flags, cudart::EventId& event) override;
  cudaError_t destroy_event(cudart::EventId event) override;
  cudaError_t record_event(cudart::EventId event, cudart::StreamId stream) override;
  cudaError_t wait_event(cudart::StreamId stream, cudart::EventId event) override;
  cudaError_t synchronize_event(cudart::EventId event) override;
  cudaError_t query_event(cudart::EventId event) override;
  cudaError_t elapsed(cudart::EventId start, cudart::EventId end, float& milliseconds) override;

  // Memory that the judge lends, and takes back with 0 bytes.
  void lent(uint64_t address, uint64_t bytes);
  // Where these allocations were made, told to the executor.
  void send_places(std::span<const uint64_t> addresses);

  bool has_graphs() const override { return channel_ != nullptr; }
  cudaError_t create_graph(std::span<const cudart::GraphPart> parts, cudart::GraphId& graph) override;
  cudaError_t update_graph(cudart::GraphId graph, std::span<const cudart::GraphPart> parts) override;
  cudaError_t upload_graph(cudart::GraphId graph, cudart::StreamId stream) override;
  cudaError_t launch_graph(cudart::GraphId graph, cudart::StreamId stream) override;
  cudaError_t destroy_graph(cudart::GraphId graph) override;

  cudaError_t create_image(const cudart::Image& image, uint64_t& object) override;
  cudaError_t destroy_image(uint64_t object, bool is_surface) override;
  cudaError_t set_limit(cudaLimit limit, size_t value) override;
  cudaError_t get_limit(cudaLimit limit, size_t& value) override;

 private:
  Forwarding();
  void read_device();
  cudaError_t stage(std::span<const uint8_t> bytes);
  cudaError_t check_attributes(std::span<const cudaLaunchAttribute> attributes);
  wire::Rows rows_of(const cudart::RowsCopy& copy);
  cudaError_t pack(std::span<const cudart::GraphPart> parts, std::vector<uint8_t>& bytes);
  // The name of what a launch asks for and a backend elsewhere cannot be given; nullptr when all is well.
  static const char* refused_attribute(const cudaLaunchAttribute& attribute);
  cudaError_t call(wire::Op op, Channel::Arguments arguments, Reply& reply,
                   std::span<const uint8_t> data = {});
  cudaError_t call(wire::Op op, Channel::Arguments arguments);
  cudaError_t refuse(const std::string& what, const std::string& advice);
  cudaError_t take_kernel(const Reply& reply, cudart::KernelId& kernel, cudart::KernelFacts& facts);
  cudart::HostPlace place_behind(uint64_t address);
  std::string name_of_kernel(cudart::KernelId kernel);
  cudaError_t tell_that_it_waits(cudart::StreamId stream);
  cudaError_t copy_in(uint64_t to, const uint8_t* from, uint64_t bytes, cudart::StreamId stream);
  cudaError_t copy_out(uint8_t* to, uint64_t from, uint64_t bytes, cudart::StreamId stream);
  cudaError_t copy_between(uint64_t to, uint64_t from, uint64_t bytes, cudart::StreamId stream, bool waits);
  // Rows of one slice that fit into the bulk area together.
  cudaError_t copy_rows_in(const cudart::RowsCopy& rows, cudart::StreamId stream);
  cudaError_t copy_rows_out(const cudart::RowsCopy& rows, cudart::StreamId stream);
  cudaError_t copy_rows_between(const cudart::RowsCopy& rows, cudart::StreamId stream, bool waits);
  bool is_on_device(uint64_t address);
  void watch(uint64_t begin, uint64_t end);
  void watch_memory_of(std::span<const uint8_t> parameters);
  bool is_of_host(uint64_t address);
  bool is_inside(uint64_t address, uint64_t bytes);
  bool forbid_host_access(uint64_t address, uint64_t bytes);
  void note(const cudart::MemoryRange& range);
  void note_allocation(const cudart::MemoryRange& range);
  void forget(uint64_t address);

  std::unique_ptr<Channel> channel_;
  cudart::DeviceFacts device_;
  cudaError_t after_waiting(cudaError_t error);
  cudaError_t before_launch(cudart::StreamId stream);
  cudaError_t ask_of_clusters(wire::Op op, const cudart::LaunchCall& launch, int& answer);

  struct Registered {
    uint64_t begin = 0, bytes = 0;  // pages
    uint64_t window = 0;
    uint64_t on_device = 0;  // the pages' address there: `begin`, or the window's when that was taken
  };
  std::atomic<size_t> moved_{0};  // how many have another address on the device
  std::mutex registered_mutex_;
  std::map<uint64_t, Registered> registered_;  // by the pointer that was named
  ManagedVariables managed_;
  std::mutex stage_mutex_;  // what is staged belongs to the call that follows
  std::shared_mutex ranges_mutex_;
  std::map<uint64_t, cudart::MemoryRange> ranges_;        // by first address
  std::map<uint64_t, std::vector<void*>> made_at_;        // by address: the calls that led to cudaMalloc
  std::map<cudart::KernelId, std::string> kernel_names_;  // mangled
  std::atomic<bool> was_lent_{false};
  std::map<uint64_t, uint64_t> reserved_;  // by first address: pages that host memory is kept out of
};

}  // namespace warpgrade::executor

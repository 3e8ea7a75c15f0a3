// The backend that interprets PTX in this process. Everything is done when a call returns, which is one of
// the orders that streams allow.
#pragma once
#include <array>
#include <atomic>
#include <chrono>
#include <map>
#include <mutex>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "backend/modules.h"
#include "cudart/backend.h"
#include "cudart/current_device.h"

namespace warpgrade::emu {

// cudaLimitStackSize: bytes of stack a thread has.
size_t stack_limit();

class Emulated : public cudart::Backend {
 public:
  static Emulated& instance();

  const cudart::DeviceFacts& device() override;
  int device_count() override;
  bool has_peer_access(int from, int to) override;
  void set_peer_access(int from, int to, bool allowed) override;
  cudaError_t sticky() override { return sticky_.load(); }
  void report(const cudart::HostFinding& finding) override;
  bool report_overrun(uint64_t address, uint64_t bytes, const char* what) override;
  bool report_invalid_free(uint64_t address, const std::string& call) override;
  bool wants_place() override;
  void place_finding(const std::string& path, uint32_t line) override;
  void begin_call(uint64_t number) override;
  bool keeps_call() override;
  uint64_t earlier_call() override;
  void place_earlier(const std::string& path, uint32_t line) override;
  bool is_interpreted() const override { return true; }
  void begin_nodes(cudart::StreamId stream, std::vector<std::vector<uint32_t>> after) override;
  void begin_node(size_t node) override;
  void end_nodes() override;
  void host_touched(uint64_t address, bool is_write, const std::string& path, uint32_t line) override;
  void report_leaks() override;

  cudaError_t add_module(std::span<const std::span<const uint8_t>> containers,
                         cudart::ModuleId& module) override;
  bool loads_code_when_used() const override { return true; }
  // Of a module that the program loads while it runs: loads it now. Empty when it can be used, else what is
  // wrong. `whole`: function bodies that cannot be read count as well.
  std::string load_now(cudart::ModuleId module, bool whole);
  std::vector<std::string> kernels_of(cudart::ModuleId module);
  // Its variables' memory goes back, on all devices. Its kernels must not be launched any more.
  void unload(cudart::ModuleId module);
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
  std::optional<cudart::MemoryRange> find(uint64_t address) override;
  std::string name_of(uint64_t address) override;
  bool is_device_address(uint64_t address) override;
  cudart::MemoryRange device_range() override;
  cudaError_t memory_info(uint64_t& free_bytes, uint64_t& total_bytes) override;
  cudaError_t copy(void* to, const void* from, uint64_t bytes, cudart::StreamId stream, bool waits) override;
  cudaError_t copy_rows(const cudart::RowsCopy& copy, cudart::StreamId stream, bool waits) override;
  cudaError_t fill(const cudart::Fill& fill, cudart::StreamId stream) override;

  // Where the host finds memory that a library's call names; one that leaves its allocation is reported.
  static cudaError_t view(uint64_t address, uint64_t bytes, const char* call, uint8_t*& host);

  // The same as a part of a kernel, which has its place in a stream.
  static cudaError_t transfer(const cudart::RowsCopy& copy);
  static cudaError_t transfer(const cudart::Fill& fill);

  cudaError_t create_image(const cudart::Image& image, uint64_t& object) override;
  cudaError_t destroy_image(uint64_t object, bool is_surface) override;

  cudaError_t create_condition(uint64_t& handle) override;
  cudaError_t set_condition(uint64_t handle, uint32_t value) override;
  cudaError_t read_condition(uint64_t handle, uint32_t& value) override;

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

  bool has_ipc() const override { return true; }
  cudaError_t share_memory(uint64_t address, cudart::IpcHandle& handle) override;
  cudaError_t open_memory(const cudart::IpcHandle& handle, uint64_t& address) override;
  cudaError_t close_memory(uint64_t address) override;
  std::shared_ptr<cudart::SharedEvent> new_shared_event() override;
  cudaError_t share_event(const cudart::SharedEvent& event, cudart::IpcHandle& handle) override;
  cudaError_t open_event(const cudart::IpcHandle& handle,
                         std::shared_ptr<cudart::SharedEvent>& event) override;

  cudaError_t set_limit(cudaLimit limit, size_t value) override;
  cudaError_t get_limit(cudaLimit limit, size_t& value) override;

  // A kernel of a module, built if it is new; it may have no program. `id` is its number.
  void list_mutants_at_end();
  Kernel& kernel_named(cudart::ModuleId module, const std::string& name, cudart::KernelId& id);

 private:
  LoadedModule* module_of(cudart::ModuleId module);
  // nullptr for a number that is none, or a kernel that cannot run.
  Kernel* kernel_of(cudart::KernelId kernel);
  void set_sticky(cudaError_t error);
  // Of release(), whatever still uses the memory.
  static cudaError_t give_back(uint64_t address, std::span<const cudart::MemoryKind> kinds, const char* call);

  std::atomic<cudaError_t> sticky_{cudaSuccess};
  std::recursive_mutex code_mutex_;
  std::vector<std::vector<std::unique_ptr<LoadedModule>>> modules_;  // by device
  std::vector<std::unique_ptr<Kernel>> kernels_;
  std::map<std::tuple<cudart::ModuleId, int, std::string>, cudart::KernelId> kernel_ids_;  // and device
  std::array<std::atomic<uint32_t>, cudart::kMostDevices> peers_{};  // of each device, a bit a device
  std::mutex event_mutex_;
  cudart::EventId next_event_ = 0;
  std::unordered_map<cudart::EventId, std::chrono::steady_clock::time_point> events_;
  std::atomic<cudart::StreamId> next_stream_{2};
};

}  // namespace warpgrade::emu

// The backend on a GPU. It belongs to one thread, which serves, and waits for nothing that a stream holds:
// the server asks again. What waits all the same (cuMemFree, a first load) the server announces before.
#pragma once
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "cudart/backend.h"
#include "judge/executor/driver/driver_api.h"

namespace warpgrade::executor {

class Driver final : public cudart::Backend {
 public:
  // Takes device 0 (CUDA_VISIBLE_DEVICES says which) and makes its primary context. Throws
  // std::runtime_error.
  Driver();
  ~Driver() override;

  const cudart::DeviceFacts& device() override { return facts_; }
  cudaError_t sticky() override { return sticky_; }
  void report(const cudart::HostFinding& finding) override;

  cudaError_t add_module(std::span<const std::span<const uint8_t>> containers,
                         cudart::ModuleId& module) override;
  void remove_module(cudart::ModuleId module) override;
  bool loads_code_when_used() const override { return true; }
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
  cudaError_t release_all() override { return cudaSuccess; }  // the server knows what there is
  uint64_t pool_bytes() override;
  void trim_pool() override;
  cudaError_t keep_pool(uint64_t bytes) override;
  cudaError_t register_host(void* pointer, uint64_t bytes) override;
  cudaError_t unregister_host(void* pointer) override;
  std::optional<cudart::MemoryRange> find(uint64_t) override { return std::nullopt; }
  bool is_device_address(uint64_t) override { return false; }
  cudaError_t memory_info(uint64_t& free_bytes, uint64_t& total_bytes) override;
  cudaError_t copy(void* to, const void* from, uint64_t bytes, cudart::StreamId stream, bool waits) override;
  cudaError_t copy_rows(const cudart::RowsCopy& rows, cudart::StreamId stream, bool waits) override;
  cudaError_t fill(const cudart::Fill& fill, cudart::StreamId stream) override;
  cudaError_t create_image(const cudart::Image& image, uint64_t& object) override;
  cudaError_t destroy_image(uint64_t object, bool is_surface) override;

  cudaError_t create_stream(unsigned flags, int priority, cudart::StreamId& stream) override;
  cudaError_t destroy_stream(cudart::StreamId stream) override;
  cudaError_t set_stream_attribute(cudart::StreamId stream, cudaStreamAttrID attribute,
                                   const cudaStreamAttrValue& value) override;
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

  bool has_graphs() const override { return true; }
  cudaError_t create_graph(std::span<const cudart::GraphPart> parts, cudart::GraphId& graph) override;
  cudaError_t update_graph(cudart::GraphId graph, std::span<const cudart::GraphPart> parts) override;
  cudaError_t upload_graph(cudart::GraphId graph, cudart::StreamId stream) override;
  cudaError_t launch_graph(cudart::GraphId graph, cudart::StreamId stream) override;
  cudaError_t destroy_graph(cudart::GraphId graph) override;

  cudaError_t set_limit(cudaLimit limit, size_t value) override;
  cudaError_t get_limit(cudaLimit limit, size_t& value) override;

  cudaError_t reset_persisting_l2() override;
  // Stack, heap and printf sizes, persisting L2, and what else the submission set.
  void reset_limits() override;
  // How much of L2 the submission sets aside, and how it is filled, hold for the device: outside of its own
  // commands they are as they were, so that nothing else is slowed down.
  void use_submissions_limits();
  void put_limits_aside();
  // For the timed run.
  CUstream stream_of(cudart::StreamId stream) const;

 private:
  struct StreamKind {
    unsigned flags;
    int priority;
    bool operator==(const StreamKind&) const = default;
  };
  struct Kernel {
    CUfunction function = nullptr;
    cudart::KernelFacts facts;
    std::vector<void*> arguments;  // room for a launch's
  };

  // A CUDA array that stands for the plain memory of an allocation, from the first texture or surface
  // object on.
  struct DeviceArray {
    uint64_t end = 0;  // of the memory that it stands for
    uint64_t pitch = 0, slice = 0;
    CUarray array = nullptr;
  };

  // The runtime's codes are the driver's; a fault is kept.
  cudaError_t result_of(CUresult result);
  void read_facts(CUdevice device);
  void read_kernel(Kernel& kernel);
  void read_attributes(const cudart::LaunchCall& call);
  // It refers to `attributes_`, until the next one is made.
  CUlaunchConfig configuration_of(const cudart::LaunchCall& call);
  CUresult build_graph(std::span<const cudart::GraphPart> parts, CUgraph graph);
  CUresult add_part(const cudart::GraphPart& part, std::span<const cudart::GraphPart> parts, CUgraph graph,
                    const std::vector<CUgraphNode>& nodes, CUgraphNode& node);
  CUresult add_launch(const cudart::GraphPart::Launch& launch, CUgraph graph,
                      std::span<const CUgraphNode> after, CUgraphNode& node);
  CUDA_MEMCPY3D memcpy_of(const cudart::RowsCopy& rows) const;
  // The array that stands for the memory at an address, and where that memory begins; null where there
  // is none.
  const DeviceArray* array_at(uint64_t address, uint64_t* begin = nullptr) const;
  void name_arrays(const cudart::RowsCopy& rows, CUDA_MEMCPY3D& copy) const;
  CUresult array_of(const cudart::Image& image, CUarray& array);
  CUresult fill_array(const cudart::Image& image, CUarray array);
  void destroy_array(uint64_t address);
  bool is_registered(uint64_t address) const;
  bool is_device_or_registered(const void* pointer) const;
  uint8_t* bounce(uint64_t bytes);

  const DriverApi& api_;
  CUcontext context_ = nullptr;
  CUmemoryPool pool_ = nullptr;  // of stream-ordered allocations; null where the device has none
  cudart::DeviceFacts facts_;
  cudaError_t sticky_ = cudaSuccess;
  std::vector<CUlibrary> libraries_;
  std::vector<CUresult> load_results_;
  std::vector<Kernel> kernels_;
  std::vector<CUlaunchAttribute> attributes_;            // of the launch in hand
  static constexpr size_t kMostKeptStreams = 16;         // a program may make and destroy them without end
  std::map<cudart::StreamId, StreamKind> stream_kinds_;  // of those as they were made
  std::vector<std::pair<CUstream, StreamKind>> kept_streams_;
  std::vector<CUstream> streams_;  // those of the default ones, too; null where one was destroyed
  std::vector<CUevent> events_;
  std::vector<CUgraphExec> graphs_;
  std::map<uint64_t, DeviceArray> arrays_;   // by the address of the memory that they stand for
  std::map<uint64_t, uint64_t> small_;       // allocations of less than a page: their bytes
  std::map<uint64_t, uint64_t> registered_;  // first address and end of host memory
  std::map<CUlimit, size_t> first_limits_, asked_limits_;
  static constexpr uint64_t kBounceBytes = uint64_t{64} << 20;
  // Where small copies from the host wait for their turn: theirs to keep until the device has been idle.
  uint8_t* bounce_ = nullptr;
  uint64_t bounce_at_ = 0;
};

}  // namespace warpgrade::executor

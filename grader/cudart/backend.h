// What the CUDA runtime's front end needs of a device. There are three: the interpreter in this process
// (grader/emulator/src/backend), a ring to another process (grader/judge/executor/forwarding) and NVIDIA's
// driver (grader/judge/executor/driver). The front end knows handles, captures, graphs, launch configurations
// and last errors; a backend knows memory, device code, streams and events.
//
// Calls return the runtime's error codes. Backends are used by several threads at once. Addresses are what
// kernels see; memory of the host is named by pointers of the process that the backend lives in.
#pragma once
#include <cuda_runtime_api.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "cudart/image.h"
#include "cudart/older_toolkits.h"

namespace warpgrade::cudart {

using ModuleId = uint32_t;
using KernelId = uint32_t;
using StreamId = uint32_t;
using EventId = uint32_t;
using GraphId = uint32_t;

inline constexpr StreamId kLegacyStream = 0;     // the default stream, which waits for blocking streams
inline constexpr StreamId kPerThreadStream = 1;  // the default stream of the calling thread

enum class MemoryKind : uint8_t {
  device,
  managed,
  pinned,
  registered,
  other  // variables, memory that the judge lent
};

struct MemoryRange {
  uint64_t begin = 0, end = 0;
  MemoryKind kind = MemoryKind::device;
  bool freed = false;
  int device = 0;  // that it belongs to

  // Managed, pinned and registered memory is host memory, too, at the same address.
  bool is_on_both_sides() const {
    return kind == MemoryKind::managed || kind == MemoryKind::pinned || kind == MemoryKind::registered;
  }
};

struct DeviceFacts {
  std::string name;
  std::array<uint8_t, 16> uuid{};
  uint64_t total_bytes = 0;
  int driver_version = 0;
  int least_priority = 0, greatest_priority = 0;
  std::array<int32_t, 256> attributes{};  // by cudaDeviceAttr
};

// Where an argument lies in the parameter buffer of a kernel.
struct Parameter {
  uint32_t offset = 0, bytes = 0;
};

struct KernelFacts {
  std::vector<Parameter> parameters;
  uint32_t parameter_bytes = 0;  // of the whole buffer
  int32_t max_threads = 0;       // a block
  int32_t static_shared = 0, constant_bytes = 0, local_bytes = 0, registers = 0;
  int32_t ptx_version = 0, binary_version = 0;
  int32_t max_dynamic_shared = 0, preferred_carveout = -1;
  std::array<int32_t, 3> cluster{};  // blocks that the kernel asks for; zeros: the launch says it
  int32_t wide_clusters = 0;         // more than 8 blocks a cluster are allowed
};

struct LaunchCall {
  KernelId kernel = 0;
  std::array<uint32_t, 3> grid{1, 1, 1}, block{1, 1, 1};
  uint32_t dynamic_shared = 0;
  StreamId stream = kLegacyStream;
  bool cooperative = false;
  std::span<const cudaLaunchAttribute> attributes{};  // beside `cooperative`
};

// Rows of elements of 1, 2 or 4 bytes.
struct Fill {
  uint64_t address = 0;
  uint64_t pitch = 0;  // bytes from row to row
  uint32_t value = 0, element_bytes = 1;
  uint64_t width = 0, height = 1;  // elements a row, rows
};

// A box of bytes in pitched memory: `width` bytes of each of `height` rows of each of `depth` slices. Rows
// begin every `pitch` bytes, a slice of the memory has `slice` rows.
struct RowsCopy {
  struct Side {
    uint64_t address = 0, pitch = 0, slice = 0;
    uint64_t row(uint64_t y, uint64_t z) const { return address + (z * slice + y) * pitch; }
  };
  Side to, from;
  uint64_t width = 0, height = 1, depth = 1;
};

// What one process gives to another, by whatever way it has.
using IpcHandle = std::array<char, CUDA_IPC_HANDLE_SIZE>;

// An event's state in memory that several processes share: how often it was recorded, and which of these
// records is the last that was reached.
struct SharedEvent {
  std::atomic<uint64_t> recorded{0}, reached{0};

  // `record` or a later one.
  bool has_reached(uint64_t record) const { return reached.load() >= record; }
  void reach(uint64_t record) {
    uint64_t last = reached.load();
    while (last < record && !reached.compare_exchange_weak(last, record)) {
    }
  }
};

// A node of a graph that a backend launches as a whole.
struct GraphPart {
  struct Nothing {};
  struct Launch {
    LaunchCall call;  // its stream and attributes are not used
    std::vector<uint8_t> parameters;
    std::vector<cudaLaunchAttribute> attributes;
  };
  std::variant<Nothing, Launch, RowsCopy, Fill> work;
  std::vector<uint32_t> after;  // the parts that it waits for: smaller numbers than its own
};

// What the host's code did wrong or cannot have: told to people, and to the judge.
struct HostFinding {
  enum class Kind : uint8_t { unsupported, invalid_launch, invalid_copy, invalid_free };
  Kind kind = Kind::unsupported;
  std::string kernel;   // mangled; empty when no kernel is concerned
  std::string message;  // "unsupported call of cudaMallocArray"
  std::string advice;
  uint64_t bytes = 0;  // of a copy
  std::string path{};  // of the call, when the finding comes from another process; empty: not told
  uint32_t line = 0;
};

class Backend {
 public:
  virtual ~Backend() = default;

  virtual const DeviceFacts& device() = 0;
  // Devices alike; calls mean the one of current_device.h.
  virtual int device_count() { return 1; }
  // Whether kernels of device `from` may access the memory of device `to`.
  virtual bool has_peer_access(int /*from*/, int /*to*/) { return false; }
  virtual void set_peer_access(int /*from*/, int /*to*/, bool /*allowed*/) {}
  // A kernel's fault: from then on every call fails with it.
  virtual cudaError_t sticky() = 0;
  // The error of a call that had returned before it was carried out; reading it clears it.
  virtual cudaError_t take_late_error() { return cudaSuccess; }
  virtual void report(const HostFinding& finding) = 0;
  // An executor found that a call names memory that is not the program's: a range that leaves its allocation
  // (`what`: "a copy"), an address that is not there to be freed (`call`: "cudaFree"). False when the
  // backend tells nobody.
  virtual bool report_overrun(uint64_t /*address*/, uint64_t /*bytes*/, const char* /*what*/) {
    return false;
  }
  virtual bool report_invalid_free(uint64_t /*address*/, const std::string& /*call*/) { return false; }
  // A finding waits to be told where in the program the call was that is going on: place_finding() tells,
  // with an empty path when nobody knows.
  virtual bool wants_place() { return false; }
  virtual void place_finding(const std::string& /*path*/, uint32_t /*line*/) {}
  // Calls of another process have numbers. A finding may name an earlier call as well: what keeps_call() says
  // of a call, when it has been carried out, is whether its place may be asked for later; earlier_call() is
  // the number of the one that the waiting finding names (0: none), place_earlier() tells where it was.
  virtual void begin_call(uint64_t /*number*/) {}
  virtual bool keeps_call() { return false; }
  virtual uint64_t earlier_call() { return 0; }
  virtual void place_earlier(const std::string& /*path*/, uint32_t /*line*/) {}
  // The host's code touched memory of both sides, at that line, without having waited for all that may use it.
  virtual void host_touched(uint64_t /*address*/, bool /*is_write*/, const std::string& /*path*/,
                            uint32_t /*line*/) {}
  // Each call is carried out before the next line of the program: none travels ahead of its answer.
  virtual bool is_interpreted() const { return false; }
  // Device memory that was not freed, where such mistakes are looked for.
  virtual void report_leaks() {}

  // --- device code. `containers`: the fat binary's, which stay where they are; more than one with
  // -rdc=true. ---
  virtual cudaError_t add_module(std::span<const std::span<const uint8_t>> containers, ModuleId& module) = 0;
  // Its device memory goes back; nothing of it is used any more.
  virtual void remove_module(ModuleId) {}
  // The memory of its variables is taken at their first use, not by add_module.
  virtual bool loads_code_when_used() const { return false; }
  // The host reads and writes the variable through its address, which is given.
  virtual cudaError_t add_managed(ModuleId module, const std::string& name, MemoryRange& variable) = 0;
  virtual cudaError_t find_variable(ModuleId module, const std::string& name, MemoryRange& variable) = 0;
  // cudaErrorNotSupported, after a report, when the kernel cannot run.
  virtual cudaError_t find_kernel(ModuleId module, const std::string& name, KernelId& kernel,
                                  KernelFacts& facts) = 0;
  virtual cudaError_t set_attribute(KernelId kernel, cudaFuncAttribute attribute, int value,
                                    KernelFacts& facts) = 0;
  virtual cudaError_t occupancy(KernelId kernel, int threads, size_t dynamic_shared, unsigned flags,
                                int& blocks) = 0;
  virtual cudaError_t available_shared(KernelId kernel, int blocks, int threads, size_t& bytes) = 0;
  // Of a launch's configuration, without its stream: how many of its clusters the device holds at a time, and
  // how many blocks a cluster may have.
  virtual cudaError_t active_clusters(const LaunchCall& call, int& clusters) = 0;
  virtual cudaError_t largest_cluster(const LaunchCall& call, int& blocks) = 0;
  // `parameters` has facts.parameter_bytes. Returns before the kernel has run; its faults are sticky.
  virtual cudaError_t launch(const LaunchCall& call, std::span<const uint8_t> parameters) = 0;

  // --- memory ---
  virtual cudaError_t allocate(MemoryKind kind, uint64_t bytes, uint64_t& address) = 0;
  virtual cudaError_t allocate_async(uint64_t bytes, StreamId stream, uint64_t& address) = 0;
  // `call`: the runtime's function, for the report of an address that no allocation of these kinds returned.
  virtual cudaError_t release(uint64_t address, std::span<const MemoryKind> kinds, const char* call) = 0;
  virtual cudaError_t release_async(uint64_t address, StreamId stream) = 0;
  virtual cudaError_t release_all() = 0;
  // Bytes that stream-ordered allocation keeps of the device, in use or not; and giving back what is not.
  virtual uint64_t pool_bytes() { return 0; }
  virtual void trim_pool() {}
  // How much of it stays when nobody uses it.
  virtual cudaError_t keep_pool(uint64_t) { return cudaSuccess; }
  virtual cudaError_t register_host(void* pointer, uint64_t bytes) = 0;
  virtual cudaError_t unregister_host(void* pointer) = 0;
  // What kernels call the host's memory at an address: the same, but perhaps for registered memory.
  virtual uint64_t device_address(uint64_t address) { return address; }
  // The range that holds an address or ends there.
  virtual std::optional<MemoryRange> find(uint64_t address) = 0;
  // What the allocation at an address is called for people; empty where nobody knows.
  virtual std::string name_of(uint64_t) { return {}; }
  // No host memory can lie there.
  virtual bool is_device_address(uint64_t address) = 0;
  // The one range that all device addresses lie in; empty when there is none.
  virtual MemoryRange device_range() { return {}; }
  virtual cudaError_t memory_info(uint64_t& free_bytes, uint64_t& total_bytes) = 0;
  // Either side may be host memory; `waits`: the host goes on when the copy is done.
  virtual cudaError_t copy(void* to, const void* from, uint64_t bytes, StreamId stream, bool waits) = 0;
  // The same of rows; one by one where the backend knows no better.
  virtual cudaError_t copy_rows(const RowsCopy& copy, StreamId stream, bool waits);
  virtual cudaError_t fill(const Fill& fill, StreamId stream) = 0;

  // --- texture and surface objects. cudaErrorNotSupported where the backend has none. ---
  virtual cudaError_t create_image(const Image&, uint64_t& /*object*/) { return cudaErrorNotSupported; }
  // Numbers of texture objects and of surface objects may be the same.
  virtual cudaError_t destroy_image(uint64_t /*object*/, bool /*is_surface*/) {
    return cudaErrorInvalidValue;
  }

  // --- streams and events. The front end checks handles; a backend gets what it gave. ---
  virtual cudaError_t create_stream(unsigned flags, int priority, StreamId& stream) = 0;
  virtual cudaError_t destroy_stream(StreamId stream) = 0;
  // Access-policy windows and the like, which are hints.
  virtual cudaError_t set_stream_attribute(StreamId, cudaStreamAttrID, const cudaStreamAttrValue&) {
    return cudaSuccess;
  }
  virtual cudaError_t synchronize_stream(StreamId stream) = 0;
  virtual cudaError_t query_stream(StreamId stream) = 0;  // cudaErrorNotReady while there is work
  virtual cudaError_t synchronize_device() = 0;
  virtual cudaError_t create_event(unsigned flags, EventId& event) = 0;
  virtual cudaError_t destroy_event(EventId event) = 0;
  virtual cudaError_t record_event(EventId event, StreamId stream) = 0;
  virtual cudaError_t wait_event(StreamId stream, EventId event) = 0;
  virtual cudaError_t synchronize_event(EventId event) = 0;
  virtual cudaError_t query_event(EventId event) = 0;
  virtual cudaError_t elapsed(EventId start, EventId end, float& milliseconds) = 0;

  // --- memory and events of several processes (runtime_ipc.cpp). Errors other than of arguments are told by
  // the backend. ---
  virtual bool has_ipc() const { return false; }
  virtual cudaError_t share_memory(uint64_t /*address*/, IpcHandle&) { return cudaErrorNotSupported; }
  virtual cudaError_t open_memory(const IpcHandle&, uint64_t& /*address*/) { return cudaErrorNotSupported; }
  virtual cudaError_t close_memory(uint64_t /*address*/) { return cudaErrorNotSupported; }
  // Of a new event, or of one that another process has.
  virtual std::shared_ptr<SharedEvent> new_shared_event() { return nullptr; }
  virtual cudaError_t share_event(const SharedEvent&, IpcHandle&) { return cudaErrorNotSupported; }
  virtual cudaError_t open_event(const IpcHandle&, std::shared_ptr<SharedEvent>&) {
    return cudaErrorNotSupported;
  }

  // --- graphs: parts that are launched together. Copies name no pageable memory of the host. ---
  virtual bool has_graphs() const { return false; }
  virtual cudaError_t create_graph(std::span<const GraphPart>, GraphId&) { return cudaErrorNotSupported; }
  // The same parts with other work or order; a graph that runs is not changed by it.
  virtual cudaError_t update_graph(GraphId, std::span<const GraphPart>) { return cudaErrorNotSupported; }
  virtual cudaError_t upload_graph(GraphId, StreamId) { return cudaSuccess; }
  virtual cudaError_t launch_graph(GraphId, StreamId) { return cudaErrorNotSupported; }
  virtual cudaError_t destroy_graph(GraphId) { return cudaSuccess; }

  // Where nodes go into a stream one by one: that they are a graph's, each behind those that it waits for
  // (smaller numbers than its own), and which of them comes now.
  virtual void begin_nodes(StreamId, std::vector<std::vector<uint32_t>> /*after*/) {}
  virtual void begin_node(size_t /*node*/) {}
  virtual void end_nodes() {}

  // --- handles of conditional nodes: values that kernels set. cudaErrorNotSupported where there are
  // none. ---
  virtual cudaError_t create_condition(uint64_t& /*handle*/) { return cudaErrorNotSupported; }
  virtual cudaError_t set_condition(uint64_t /*handle*/, uint32_t /*value*/) { return cudaErrorNotSupported; }
  virtual cudaError_t read_condition(uint64_t /*handle*/, uint32_t& /*value*/) {
    return cudaErrorNotSupported;
  }

  // --- limits: cudaDeviceSetLimit ---
  virtual cudaError_t set_limit(cudaLimit limit, size_t value) = 0;
  virtual cudaError_t get_limit(cudaLimit limit, size_t& value) = 0;
  virtual cudaError_t reset_persisting_l2() { return cudaSuccess; }
  // As they were before the first set_limit.
  virtual void reset_limits() {}
};

// While it lives, this thread's commands of the stream are nodes of a graph.
class NodesOfGraph {
 public:
  NodesOfGraph(Backend& backend, StreamId stream, std::vector<std::vector<uint32_t>> after)
      : backend_(backend) {
    backend_.begin_nodes(stream, std::move(after));
  }
  ~NodesOfGraph() { backend_.end_nodes(); }
  NodesOfGraph(const NodesOfGraph&) = delete;
  NodesOfGraph& operator=(const NodesOfGraph&) = delete;

 private:
  Backend& backend_;
};

inline cudaError_t Backend::copy_rows(const RowsCopy& rows, StreamId stream, bool waits) {
  for (uint64_t z = 0; z < rows.depth; ++z) {
    for (uint64_t y = 0; y < rows.height; ++y) {
      const cudaError_t error =
          copy(reinterpret_cast<void*>(rows.to.row(y, z)), reinterpret_cast<const void*>(rows.from.row(y, z)),
               rows.width, stream, waits);
      if (error != cudaSuccess) return error;
    }
  }
  return cudaSuccess;
}

// Each library that holds the front end defines these. The backend of this process:
Backend& backend();
// A function of the CUDA driver (cuda.h) as of a version of CUDA (12040 for 12.4); nullptr when there
// is none.
void* driver_function(const char* symbol, int version, unsigned long long flags,
                      cudaDriverEntryPointQueryResult& status);

}  // namespace warpgrade::cudart

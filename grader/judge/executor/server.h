// The executor's end: takes records from the ring, checks them as hostile input, has its backend carry them
// out and writes replies. One thread serves; a call that waits for the device is asked about again and again,
// so that other threads of the host process go on meanwhile.
#pragma once
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "cudart/backend.h"
#include "judge/executor/ending.h"
#include "judge/executor/limits.h"
#include "judge/executor/output_writers.h"
#include "judge/executor/owned_memory.h"
#include "judge/executor/shared_memory.h"
#include "judge/executor/work_of_run.h"

namespace warpgrade::executor {

// Turns that a thread waits for the other side before it sleeps: many where cores are plenty, because waking
// takes longer than a call.
unsigned turns_before_sleep();

// The host process wrote what its runtime library never writes. It is to be ended.
class ProtocolError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// What the host process says at the end of a command.
struct CommandResult {
  uint32_t number = 0;
  int64_t status = 0;
  std::string message;
};

class CallServer {
 public:
  // `memory` and `backend` outlive the server.
  CallServer(cudart::Backend& backend, SharedMemory& memory, const Limits& limits);
  ~CallServer();
  CallServer(const CallServer&) = delete;

  // Carries out at most `most` records and looks after calls that wait. Returns how many records were
  // taken. Throws ProtocolError.
  size_t serve(size_t most);
  // Sleeps until there may be something to do, at most for a while.
  void sleep(unsigned microseconds);
  bool has_waiting_calls() const { return !waiting_.empty(); }
  // Called before something that may wait for the device (`name` of the call): the timed run opens its gate.
  void on_waiting(std::function<void(const char* name)> hook) { on_waiting_ = std::move(hook); }
  // Called after each launch, copy or other work that was put into a stream.
  void on_work(std::function<void(wire::Op)> hook) { on_work_ = std::move(hook); }
  // Called for each new stream, before it has work, and before one is destroyed.
  void on_stream(std::function<void(cudart::StreamId, bool is_new)> hook) { on_stream_ = std::move(hook); }

  // Where an allocation was made, as the host process told.
  struct Place {
    std::string path;
    uint32_t line = 0;
  };
  // The places told since the last call, by address.
  std::map<uint64_t, Place> take_places();

  // Memory that the judge lends to the submission.
  void lend(uint64_t address, uint64_t bytes, bool is_output = false);
  void take_back(uint64_t address);

  // Who writes the outputs: followed while the judge asks for it.
  OutputWriters& writers() { return writers_; }
  OutputWriters::Written written();
  // What orders the work of a run before its end.
  WorkOfRun& work() { return work_; }

  void send_command(const wire::Command& command);
  std::optional<CommandResult> take_result();

  // All streams of the submission but the two default ones.
  std::vector<cudart::StreamId> streams() const;
  const std::vector<std::string>& reports() const { return reports_; }
  // What the host process found of itself, for backends that keep nothing.
  const std::vector<cudart::HostFinding>& findings() const { return findings_; }
  uint64_t records() const { return records_; }
  uint64_t launches() const { return launches_; }
  // The first error of a call that had not been waited for; cleared.
  cudaError_t take_late_error();
  // What costs this program time through the executor: managed memory. Bits of protocol::Reply::notes.
  uint32_t notes() const { return notes_; }

  // Set once the device or the driver did not answer in time. Every later call fails; the executor is to
  // be replaced.
  const std::optional<GaveUp>& gave_up() const { return gave_up_; }
  void give_up(const GaveUp& why);
  // Waits until no stream has work. cudaErrorLaunchTimeout, and gave_up(), when that takes longer.
  cudaError_t wait_until_idle(double seconds, const char* name);
  // For the watchdog: odd while a call is being carried out; and which.
  uint64_t activity() const { return activity_.load(std::memory_order_relaxed); }
  const char* call_in_hand() const;
  // Whether this server's end leaves the context as its beginning found it. Device code that may call
  // malloc() leaves what it has not freed, and nothing but the context's end clears that heap.
  bool leaves_context_clean() const { return !gave_up_ && !may_use_heap_; }
  // Device memory in allocations of the submission that it has not freed.
  uint64_t allocated_bytes() const { return owned_.device_bytes(); }
  // What the submission has of the device's memory, with modules, stacks and heap.
  uint64_t device_bytes() const { return owned_.device_bytes() + other_bytes(); }

 private:
  struct KernelEntry {
    cudart::KernelId id = 0;
    cudart::KernelFacts facts;
    uint64_t module = 0;
    std::string name;
  };
  struct Image {
    std::unique_ptr<std::vector<uint8_t>> bytes;  // backends may keep pointers into them
    cudart::ModuleId id = 0;
    uint64_t device_bytes = 0;  // that loading it took
    bool is_used = false;
  };
  struct GraphEntry {
    std::optional<cudart::GraphId> in_backend;
    std::vector<cudart::GraphPart> parts;
    size_t nodes = 0, kernels = 0;
    uint64_t removals = 0;  // of memory, when the parts were last checked
  };
  struct Call;     // a record that was copied and checked
  struct Waiting;  // a call whose reply depends on the device

  std::optional<Call> take_record();
  bool has_record();
  void publish_tail();
  void check(const Call& call) const;
  void dispatch(const Call& call);
  cudaError_t sticky() const;
  void publish_sticky_error();
  cudaError_t carry_out(const Call& call);
  cudaError_t carry_out_code(const Call& call);
  cudaError_t carry_out_memory(const Call& call);
  cudaError_t carry_out_streams(const Call& call);
  cudaError_t carry_out_events(const Call& call);
  cudaError_t carry_out_limits(const Call& call);
  cudaError_t carry_out_registration(const Call& call);
  cudaError_t register_host(const Call& call);
  bool map_at(uint64_t begin, uint64_t bytes, uint64_t window);
  cudaError_t unregister_host(uint64_t begin);
  cudaError_t add_managed(const Call& call);
  cudaError_t set_stream_attribute(const Call& call);
  cudaError_t create_image(const Call& call);
  cudaError_t destroy_image(const Call& call);
  void finish(uint16_t slot, uint32_t sequence, cudaError_t error);
  void poll_waiting();
  void wait_for(const Call& call, std::function<cudaError_t()> ask);
  void wait_for_stream(const Call& call, cudart::StreamId stream);
  cudaError_t ask_stream(cudart::StreamId stream);
  cudaError_t ask_event(cudart::EventId event);
  cudaError_t ask_device();
  void look_for_late_answers();

  cudaError_t stage(const Call& call);
  cudaError_t add_module(const Call& call);
  cudaError_t find_kernel(const Call& call);
  cudaError_t reply_kernel(const KernelEntry& kernel, uint32_t number);
  cudaError_t set_attribute(const Call& call);
  cudaError_t launch(const Call& call);
  cudaError_t read_configuration(const uint64_t* arguments, std::span<const uint8_t> data,
                                 cudart::LaunchCall& launch, std::vector<cudaLaunchAttribute>& attributes,
                                 size_t& parameter_bytes);
  cudaError_t read_launch(const uint64_t* arguments, std::span<const uint8_t> data,
                          cudart::LaunchCall& launch, std::vector<cudaLaunchAttribute>& attributes,
                          size_t& parameter_bytes);
  cudaError_t ask_of_clusters(const Call& call);
  cudaError_t carry_out_graphs(const Call& call);
  cudaError_t make_graph(const Call& call);
  cudaError_t update_graph(const Call& call);
  cudaError_t launch_graph(GraphEntry& graph, cudart::StreamId stream);
  cudaError_t read_graph(std::span<const uint8_t> bytes, std::vector<cudart::GraphPart>& parts);
  cudaError_t read_work(const wire::GraphPart& header, std::span<const uint8_t> work,
                        cudart::GraphPart& part);
  cudaError_t check_memory(const cudart::GraphPart& part);
  void keep(GraphEntry& graph, std::vector<cudart::GraphPart> parts);
  GraphEntry* graph_of(uint64_t number);
  std::vector<uint8_t> take_staged(uint64_t bytes, const char* what);
  bool holds_fill(const cudart::Fill& fill) const;
  cudaError_t check_launch(const KernelEntry& kernel, const cudart::LaunchCall& launch);
  cudaError_t allocate(const Call& call);
  cudaError_t allocate_window(cudart::MemoryKind kind, uint64_t bytes, uint64_t& address);
  cudaError_t release(const Call& call);
  cudaError_t release_async(const Call& call);
  cudaError_t release_range(const cudart::MemoryRange& range);
  cudaError_t release_all();
  cudaError_t memory_info();
  cudaError_t copy_in(const Call& call);
  cudaError_t copy_in_bulk(const Call& call);
  cudaError_t copy_out(const Call& call, bool is_bulk);
  cudaError_t copy_device(const Call& call);
  cudaError_t fill(const Call& call);
  cudaError_t carry_out_rows(const Call& call);
  cudaError_t copy_rows(const Call& call);
  cudaError_t copy_side(const Call& call);
  bool holds_rows(const cudart::RowsCopy::Side& side, const cudart::RowsCopy& box) const;
  cudaError_t refuse_range(const char* what, uint64_t address, uint64_t bytes);
  // For `writers_`; with the copy's error, which it returns.
  cudaError_t follow_copy(cudaError_t error, const cudart::RowsCopy& copy, bool is_host,
                          cudart::StreamId stream);
  cudaError_t probe_told(cudaError_t error, cudart::StreamId stream);
  void follow_part(const cudart::GraphPart& part);
  bool is_host_data(const cudart::RowsCopy& copy) const;
  void say(const std::string& text);
  cudaError_t report(const Call& call);
  cudaError_t place(const Call& call);

  // Memory that is no allocation of the submission's: globals of its modules, stacks, heap, freed parts
  // of the pool.
  uint64_t other_bytes() const {
    return module_memory_ + array_memory_ + stack_memory_ + heap_memory_ + stack_limit_memory_ +
           printf_memory_ + pending_launch_memory_ + pool_memory_;
  }
  bool is_over_limit() const;
  bool has_room_for(cudart::MemoryKind kind, uint64_t bytes);
  void look_at_pool();
  uint64_t resident_threads() const;
  uint64_t free_bytes();
  cudaError_t load_measured(Image& image);
  cudaError_t use_measured(Image& image, const std::function<cudaError_t()>& use);
  void count_array(uint64_t address, uint64_t free_before);
  void count_stack(uint64_t bytes_a_thread);
  cudaError_t set_limit(cudaLimit limit, uint64_t value);

  bool stream_of(uint64_t number, cudart::StreamId& stream) const;
  bool event_of(uint64_t number, cudart::EventId& event) const;
  const KernelEntry* kernel_of(uint64_t number) const;
  void before_waiting(const char* name);

  cudart::Backend& backend_;
  SharedMemory& memory_;
  const Limits limits_;
  OwnedMemory owned_;
  OutputWriters writers_;
  WorkOfRun work_;
  uint64_t tail_ = 0;  // ours: the shared one is only told
  uint64_t head_ = 0;  // as last read
  uint64_t published_tail_ = 0;
  std::vector<uint8_t> record_;  // the record that is being carried out
  uint64_t values_[4] = {};
  std::vector<uint8_t> reply_;  // data of the reply
  uint32_t reply_in_slot_ = 0;  // bytes that the backend has written into the slot itself
  std::vector<uint8_t> staged_;
  uint64_t module_bytes_ = 0;
  std::vector<Image> images_;  // by the host process's number of a module
  std::vector<KernelEntry> kernels_;
  std::vector<std::optional<cudart::StreamId>> streams_;
  std::vector<std::optional<cudart::EventId>> events_;
  std::set<std::pair<uint64_t, bool>> images_in_use_;  // texture objects, and surface objects (true)
  std::map<uint64_t, uint64_t> array_bytes_;           // what objects took for the array at an address
  std::vector<std::optional<GraphEntry>> graphs_;
  size_t graph_nodes_ = 0;
  std::map<uint64_t, uint64_t>
      registered_;               // first address of the host process' memory, and its place in the window
  std::set<uint64_t> detached_;  // places whose pages the host process still has
  std::vector<Waiting> waiting_;
  bool is_waiting_call_ = false;
  std::optional<CommandResult> result_;
  std::vector<std::string> reports_;
  std::vector<cudart::HostFinding> findings_;
  std::map<uint64_t, Place> places_;
  uint64_t records_ = 0, launches_ = 0;
  cudaError_t late_error_ = cudaSuccess, published_sticky_ = cudaSuccess;
  uint64_t module_memory_ = 0, array_memory_ = 0, stack_memory_ = 0, heap_memory_ = 0,
           stack_limit_memory_ = 0, printf_memory_ = 0, pending_launch_memory_ = 0, pool_memory_ = 0,
           uncounted_ = 0;
  uint64_t first_heap_bytes_ = 0;
  uint32_t notes_ = 0;
  uint64_t touches_ = 0;
  bool may_use_heap_ = false;
  std::optional<GaveUp> gave_up_;
  std::atomic<uint64_t> activity_{0};
  std::atomic<uint16_t> in_hand_{0};
  unsigned turns_of_waiting_ = 0;
  std::function<void(const char*)> on_waiting_;
  std::function<void(wire::Op)> on_work_;
  std::function<void(cudart::StreamId, bool)> on_stream_;
};

}  // namespace warpgrade::executor

// Commands that use the same memory without an order: kernels, copies, fills and frees of several streams,
// and what the host does while they may still run (racecheck).
//
// Everything is carried out when it is called, so that a missing order never shows in the results here. So
// each command is kept with the bytes that it touched until the host has seen it end, and compared with the
// later ones that nothing orders behind it (cudart/stream_clocks.h).
#pragma once
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "backend/host_finding.h"
#include "cudart/backend.h"
#include "cudart/stream_clocks.h"
#include "findings/diagnostics.h"
#include "order/touched_memory.h"

namespace warpgrade::emu {

using cudart::Clock;
using cudart::Moment;
using cudart::StreamClocks;

class CommandOrder {
 public:
  static CommandOrder& instance();

  void create_stream(cudart::StreamId stream, unsigned flags);
  void destroy_stream(cudart::StreamId stream);
  void host_waited_for(cudart::StreamId stream);
  void host_waited_for_device();  // the current one
  void host_waited_for_all();
  void record_event(cudart::EventId event, cudart::StreamId stream);
  void wait_event(cudart::StreamId stream, cudart::EventId event);
  void host_waited_for_event(cudart::EventId event);
  void destroy_event(cudart::EventId event);
  // The time between two events is asked for.
  void read_time(cudart::EventId start, cudart::EventId end);

  // A kernel takes its place in the stream. `recorder`: where it notes what it touches; nullptr when nothing
  // is looked at. launched() follows when it has run, with the kernel's mangled name and title.
  struct Launching {
    std::optional<StreamClocks::Command> command;
    TouchedMemory* recorder = nullptr;
  };
  Launching begin_launch(cudart::StreamId stream);
  void launched(Launching launching, const std::string& kernel, const std::string& title);

  // Commands that this thread puts into the stream from here on are nodes of a graph.
  void begin_graph(cudart::StreamId stream, std::vector<std::vector<uint32_t>> after);
  void begin_node(size_t node);
  void end_graph();

  // The calls that a rank gives a communicator together: each is a command of its stream, and all wait for each
  // other and for those of the ranks that they meet, as one kernel on each device would.
  struct CollectivePart {
    cudart::StreamId stream = 0;
    int device = 0;
    std::string what;
    CallPlace called;
    Touched touched;
  };
  struct Collective {
    std::vector<std::pair<cudart::StreamId, int>> streams;  // and their devices
    Clock begun, ended;
  };
  Collective begin_collective(std::vector<CollectivePart> parts);
  static void meet(Collective& one, Collective& other);
  // What comes later in its streams comes behind all that it met.
  void end_collective(const Collective& collective);

  void copied(const cudart::RowsCopy& copy, cudart::StreamId stream, bool waits);
  void filled(const cudart::Fill& fill, cudart::StreamId stream);
  void allocated(uint64_t address, uint64_t bytes, cudart::StreamId stream);
  // A host process elsewhere reaches memory of kernels: its touches come here.
  void follow_host_memory();
  void host_touched(uint64_t address, bool is_write, const cudart::HostPlace& place);
  // Before the memory is given back: by cudaFreeAsync, and by a call without a stream.
  void free_in_stream(uint64_t address, cudart::StreamId stream);
  void free(uint64_t address, const char* call);

  // A command of the judge's, a run or another, has ended, and the judge waits for the device. Of a run the
  // work on the judge's memory that nothing orders before the end of the stream which the run was given: the
  // first that the program has made.
  struct Unfinished {
    uint64_t call = 0;  // its number
    Diagnostic diagnostic;
  };
  std::optional<Unfinished> end_command(bool is_run);
  void name_first_stream_as_argument() { clocks_.name_first_as_argument(); }

 private:
  struct Command {
    StreamClocks::Command place;
    std::string what;            // "kernel `fill`", "a copy"
    const char* does = nullptr;  // in place of "reads" or "writes"
    CallPlace called;
    Touched touched;
    uint64_t graph = 0;  // the launch of a graph that it is a node of; 0: of none
  };
  // What a copy reads of the host's memory, as it was when it was called.
  struct Source {
    StreamClocks::Command place;
    uint64_t address = 0;
    std::vector<uint8_t> bytes;
    CallPlace called;
  };
  struct Recorded {
    Moment moment;
    Clock behind;      // what has ended when the event has
    std::string name;  // of its stream
  };
  struct Conflict {
    uint64_t address = 0;
    Touch earlier = Touch::load, later = Touch::load;
  };

  bool is_on() const;
  // The next command's place, and what has ended when the stream's work until now has.
  StreamClocks::Command take_place(cudart::StreamId stream);
  Clock ended_by(cudart::StreamId stream);
  // Work of the stream, or behind the node of a graph that is under way, comes behind all of the clock.
  void wait_for(cudart::StreamId stream, const Clock& clock);
  bool is_followed() const;
  void add(Command command);
  // True when the two conflict, which is then told.
  bool compare(const Command& earlier, const Command& later);
  void compare_with_pending(const Command& later);
  static std::optional<Conflict> conflict_of(const Touched& earlier, const Touched& later);
  void report_host(const Command& earlier, const Conflict& conflict, const cudart::HostPlace& place);
  void report(const Command& earlier, const Command& later, const Conflict& conflict);
  std::optional<Unfinished> unfinished(const Command& command, const Clock& ended) const;
  void keep_source(const cudart::RowsCopy& copy, const StreamClocks::Command& place);
  void look_at_sources();
  void report_changed(const Source& source, uint64_t offset);
  void host_saw(const Clock& clock);
  void host_saw_everything();
  void forget_ended();

  std::mutex mutex_;
  StreamClocks clocks_;
  std::map<cudart::EventId, Recorded> events_;
  std::deque<Command> pending_;
  std::vector<Source> sources_;
  uint64_t source_bytes_ = 0;
  bool host_is_followed_ = false;
  std::set<uint64_t> stream_ordered_;  // memory of cudaMallocAsync
  TouchedMemory recorder_;             // launches run one at a time
};

}  // namespace warpgrade::emu

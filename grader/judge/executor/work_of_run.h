// Which work of a run nothing orders before its end: the end of all work in `stream`, the argument. README.md,
// "What a run leaves behind". It follows from the commands that the server carries out, and so it is the same
// on the emulator and on a GPU.
#pragma once
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "cudart/stream_clocks.h"
#include "judge/protocol/protocol.h"

namespace warpgrade::executor {

class WorkOfRun {
 public:
  using StreamId = cudart::StreamId;
  using EventId = cudart::EventId;

  void create_stream(StreamId stream, bool blocking);
  void destroy_stream(StreamId stream);

  // All work from before has ended.
  void begin_run();
  // The run has returned, or failed.
  void end_run();
  const protocol::Unordered& left() const { return left_; }
  bool is_following() const { return is_following_; }

  // These do nothing while no run is followed.
  void add(StreamId stream, const char* what, const std::string& kernel = {});
  void record_event(EventId event, StreamId stream);
  void wait_event(StreamId stream, EventId event);
  void host_waited_for(StreamId stream);
  void host_waited_for_event(EventId event);
  void host_waited_for_all();

 private:
  struct Last {
    cudart::StreamClocks::Command command;
    std::string what;
    uint32_t count = 0;  // of the stream's commands that the host has not seen to end
  };

  std::vector<std::pair<StreamId, bool>> streams_;  // with whether they block, in the order of their making
  bool is_following_ = false;
  protocol::Unordered left_;
  cudart::StreamClocks clocks_;
  std::map<EventId, cudart::Clock> events_;  // what has ended when the event has
  size_t event_ticks_ = 0;                   // of their clocks
  std::map<uint32_t, Last> last_;            // of each line of commands
};

// The last name in what a compiler made of a function's ("_Z11spmm_kernelPKiS0_Pf": "spmm_kernel").
std::string name_in_mangled(const std::string& mangled);

}  // namespace warpgrade::executor

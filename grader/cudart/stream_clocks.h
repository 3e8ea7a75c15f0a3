// What is ordered before what among the commands of streams and the host: vector clocks.
//
// The rules are those of NVIDIA's runtime API ("Stream synchronization behavior", "API synchronization
// behavior") and of the CUDA programming guide ("Asynchronous concurrent execution", "Stream-ordered memory
// allocator"). A command comes behind the earlier ones of its stream and behind what the host had seen to end
// when it called. A command of the legacy default stream comes behind all that is in blocking streams, and
// what blocking streams get later comes behind it. Non-blocking streams take no part in that. Each device has
// a default stream of its own, for its own blocking streams (current_device.h says which is meant).
//
// Threads of the host count as one: who waits in one thread orders what any thread calls later. So some
// mistakes are not seen, and no order is denied that a lock between threads makes.
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "cudart/backend.h"

namespace warpgrade::cudart {

// Of each line of commands (a stream) how many are known to come before.
class Clock {
 public:
  void join(const Clock& other);
  void raise(uint32_t line, uint64_t tick);
  size_t size() const { return ticks_.size(); }
  bool covers(uint32_t line, uint64_t tick) const { return line < ticks_.size() && ticks_[line] >= tick; }

 private:
  std::vector<uint64_t> ticks_;
};

// Which command of which line.
struct Moment {
  uint32_t line = 0;
  uint64_t tick = 0;

  bool is_in(const Clock& clock) const { return clock.covers(line, tick); }
};

class StreamClocks {
 public:
  StreamClocks();

  struct Command {
    Moment moment;
    Clock before;      // what comes before it
    std::string name;  // of its stream, for people
    bool is_default = false;
  };

  // The nodes of a graph that is put into a stream: each comes behind those that it waits for, and all behind
  // what is in the stream. What comes later in the stream waits for all of them.
  struct Graph {
    StreamId stream = 0;
    std::vector<std::vector<uint32_t>> after;  // by node
    std::vector<uint32_t> chain;               // by node: those of a chain wait for each other
    std::vector<Clock> ends;                   // by node: what has ended when the node has
    Clock base;
    size_t current = 0;

    bool has_branches() const { return chains > 1; }
    uint32_t chains = 0;
  };
  Graph begin_graph(StreamId stream, std::vector<std::vector<uint32_t>> after);
  void choose_node(Graph& graph, size_t node);
  Command begin_in(Graph& graph);  // a command of the node
  void end_graph(const Graph& graph);

  void create(StreamId stream, bool blocking);
  void destroy(StreamId stream);
  // A command, or anything else that takes a place in a stream.
  Command begin(StreamId stream);
  // Work of the stream that is called later comes behind all of the clock.
  void wait(StreamId stream, const Clock& clock);
  // From now on as if that line's commands came behind the earlier one: what was told is not told again.
  void assume(const Command& earlier, uint32_t line);
  // All that has ended when the stream has; the default stream ends with all blocking ones.
  Clock now(StreamId stream);

  // The host has seen these end.
  void host_saw(const Clock& clock);
  void host_saw_stream(StreamId stream) { host_saw(now(stream)); }
  void host_saw_device();  // the current one
  void host_saw_all();
  const Clock& host() const { return host_; }

  // Whether two commands may be without order: not with the default stream and one blocking stream alone.
  bool may_be_concurrent() const { return created_ > 1 || has_independent_ || has_devices_; }
  std::string name(StreamId stream);
  // The first one that is created is the argument of the program's functions, not one of its own.
  void name_first_as_argument() { first_is_argument_ = true; }
  // The first that was created of those that are there; the default stream when there is none.
  StreamId first() const;
  bool is_blocking(StreamId stream) { return line_of(stream).blocking; }

 private:
  struct Line {
    uint32_t index = 0;
    uint64_t tick = 0;
    bool blocking = true;
    int device = 0;
    uint32_t number = 0;  // of created streams, from 1
    Clock clock;
    std::vector<Line> chains = {};  // of graphs in the stream
  };
  using Key = uint64_t;

  Key key_of(StreamId stream) const;
  Line& line_of(StreamId stream);
  Line new_line(bool blocking);
  void join_others(StreamId stream, const Line& line, Clock& clock) const;
  template <class Chosen>
  void host_saw_lines(const Chosen& chosen);
  void reuse_ended();

  std::map<Key, Line> lines_;
  std::vector<Line> gone_;  // destroyed, and perhaps still at work
  std::vector<Line> free_;  // destroyed, and all their work has ended
  uint32_t next_index_ = 0, created_ = 0;
  bool has_independent_ = false, first_is_argument_ = false, has_devices_ = false;
  Clock host_;
};

}  // namespace warpgrade::cudart

// Random programs of streams, events, waits and synchronizations: "A is before B" by the clocks
// (cudart/stream_clocks.h) against a search in a graph whose edges are written down from NVIDIA's rules: the
// CUDA runtime API reference ("Stream synchronization behavior", cudaStreamWaitEvent, cudaStreamSynchronize,
// cudaEventSynchronize, cudaDeviceSynchronize, cudaStreamDestroy).
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "cudart/stream_clocks.h"

namespace warpgrade::cudart {
namespace {

// What a program has done, as nodes with edges from what comes before. Nothing is taken over from the clocks:
// an edge stands here for each pair that a rule names.
class OrderGraph {
 public:
  struct Stream {
    bool is_legacy = false, is_blocking = true;
    std::vector<size_t> commands;
  };

  size_t add_stream(bool is_blocking) {
    streams_.push_back({streams_.empty(), is_blocking, {}});
    return streams_.size() - 1;
  }

  // A stream is a sequence of commands that execute in order, and none begins before the host has called it.
  // The legacy stream first waits on all blocking streams, and then all blocking streams wait on it.
  size_t add_command(size_t stream) {
    const size_t node = add_node(host_);
    for (const Stream& other : streams_) {
      const bool is_same = &other == &streams_[stream];
      const bool meets = other.is_blocking && streams_[stream].is_blocking &&
                         (other.is_legacy || streams_[stream].is_legacy);
      if (is_same || meets) add_edges(other.commands, node);
    }
    streams_[stream].commands.push_back(node);
    return node;
  }

  // All future work of the stream waits for what the event captured.
  void add_wait(size_t stream, size_t event) { add_edges({event}, add_command(stream)); }

  // Blocks until the stream has completed all operations; of the legacy stream that is an action, too.
  void synchronize(size_t stream) {
    host_ = add_node(host_);
    for (const Stream& other : streams_) {
      const bool meets = streams_[stream].is_legacy && other.is_blocking;
      if (meets || &other == &streams_[stream]) add_edges(other.commands, host_);
    }
  }
  void synchronize_event(size_t event) {
    host_ = add_node(host_);
    add_edges({event}, host_);
  }
  void synchronize_all() {
    host_ = add_node(host_);
    for (const Stream& stream : streams_) add_edges(stream.commands, host_);
  }

  size_t host() const { return host_; }

  // Of each node whether it comes before this one.
  std::vector<bool> all_before(size_t node) const {
    std::vector<bool> seen(before_.size());
    std::vector<size_t> open = {node};
    while (!open.empty()) {
      const size_t at = open.back();
      open.pop_back();
      for (const size_t k : before_[at]) {
        if (!seen[k]) open.push_back(k);
        seen[k] = true;
      }
    }
    return seen;
  }

 private:
  size_t add_node(size_t before) {
    before_.push_back({before});
    return before_.size() - 1;
  }
  void add_edges(const std::vector<size_t>& from, size_t to) {
    before_[to].insert(before_[to].end(), from.begin(), from.end());
  }

  std::vector<std::vector<size_t>> before_{{}};  // the first node: the program begins
  std::vector<Stream> streams_;
  size_t host_ = 0;
};

struct Tally {
  size_t ordered = 0, unordered = 0, reused = 0;
};

class RandomProgram {
 public:
  explicit RandomProgram(unsigned seed) : random_(seed) {
    streams_.push_back({kLegacyStream, graph_.add_stream(true)});
    streams_.push_back({kPerThreadStream, graph_.add_stream(true)});
  }

  void run(Tally& tally) {
    const int steps = 20 + draw(60);
    for (int k = 0; k < steps; ++k) {
      step();
      compare_host();
    }
    compare(tally);
  }

 private:
  struct Stream {
    StreamId id = 0;
    size_t node = 0;
  };
  struct Event {
    size_t node = 0;
    Clock captured;
  };
  struct Command {
    size_t node = 0;
    StreamClocks::Command place;
    bool may_be_concurrent = false;
  };

  int draw(int bound) { return static_cast<int>(random_() % static_cast<unsigned>(bound)); }
  const Stream& any_stream() {
    return streams_[static_cast<size_t>(draw(static_cast<int>(streams_.size())))];
  }

  void step() {
    switch (draw(16)) {
      case 0:
      case 1:
        return create();
      case 2:
        return destroy();
      case 3:
        return record();
      case 4:
      case 5:
        return wait();
      case 6:
        return synchronize();
      case 7:
        return command_of_another_thread();
      case 8:
        return draw(4) == 0 ? synchronize_all() : record();
      default:
        return command(any_stream());
    }
  }

  // Handles may come again, as the runtime's do.
  void create() {
    const bool is_blocking = draw(3) != 0;
    StreamId id = kPerThreadStream + 1;
    while (std::any_of(streams_.begin(), streams_.end(), [&](const Stream& s) { return s.id == id; })) ++id;
    clocks_.create(id, is_blocking);
    streams_.push_back({id, graph_.add_stream(is_blocking)});
  }

  void destroy() {
    if (streams_.size() == 2) return;
    const auto gone = streams_.begin() + 2 + draw(static_cast<int>(streams_.size()) - 2);
    clocks_.destroy(gone->id);
    streams_.erase(gone);
  }

  void command(const Stream& stream) {
    StreamClocks::Command place = clocks_.begin(stream.id);
    commands_.push_back({graph_.add_command(stream.node), std::move(place), clocks_.may_be_concurrent()});
  }

  // Each of these threads has a default stream of its own.
  void command_of_another_thread() {
    const Stream stream{kPerThreadStream, graph_.add_stream(true)};
    std::thread([&] { command(stream); }).join();
  }

  void record() {
    const Stream& stream = any_stream();
    command(stream);
    events_.push_back({commands_.back().node, clocks_.now(stream.id)});
  }

  void wait() {
    if (events_.empty()) return;
    const Stream& stream = any_stream();
    const Event& event = events_[static_cast<size_t>(draw(static_cast<int>(events_.size())))];
    clocks_.wait(stream.id, event.captured);
    graph_.add_wait(stream.node, event.node);
  }

  void synchronize() {
    if (!events_.empty() && draw(2) == 0) {
      clocks_.host_saw(events_.back().captured);
      return graph_.synchronize_event(events_.back().node);
    }
    const Stream& stream = any_stream();
    clocks_.host_saw_stream(stream.id);
    graph_.synchronize(stream.node);
  }

  void synchronize_all() {
    clocks_.host_saw_all();
    graph_.synchronize_all();
  }

  void compare_host() const {
    const std::vector<bool> ended = graph_.all_before(graph_.host());
    for (const Command& c : commands_) EXPECT_EQ(c.place.moment.is_in(clocks_.host()), ended[c.node]);
  }

  void compare(Tally& tally) const {
    for (size_t later = 0; later < commands_.size(); ++later) {
      const Command& second = commands_[later];
      const std::vector<bool> before = graph_.all_before(second.node);
      for (size_t k = 0; k < commands_.size(); ++k) {
        const Command& first = commands_[k];
        const bool is_before = first.place.moment.is_in(second.place.before);
        EXPECT_EQ(is_before, before[first.node]) << "command " << k << " of " << first.place.name
                                                 << ", command " << later << " of " << second.place.name;
        if (k >= later) continue;
        ++(is_before ? tally.ordered : tally.unordered);
        EXPECT_TRUE(is_before || second.may_be_concurrent);
        tally.reused +=
            first.place.moment.line == second.place.moment.line && first.place.name != second.place.name;
      }
    }
  }

  std::mt19937 random_;
  StreamClocks clocks_;
  OrderGraph graph_;
  std::vector<Stream> streams_;  // that are there; the first is the legacy one, the second the thread's own
  std::vector<Event> events_;
  std::vector<Command> commands_;
};

// A seed is printed where something fails; WARPGRADE_SEED runs one alone.
TEST(StreamClocks, order_what_the_rules_order_and_nothing_else_in_random_programs) {
  const char* one = std::getenv("WARPGRADE_SEED");
  const unsigned first = one != nullptr ? static_cast<unsigned>(std::atoi(one)) : 1,
                 count = one != nullptr ? 1 : 400;
  Tally tally;
  for (unsigned seed = first; seed < first + count; ++seed) {
    SCOPED_TRACE("WARPGRADE_SEED=" + std::to_string(seed));
    RandomProgram(seed).run(tally);
    if (testing::Test::HasFailure()) return;
  }
  if (one != nullptr) return;
  EXPECT_GT(tally.ordered, 10000u);
  EXPECT_GT(tally.unordered, 10000u);
  EXPECT_GT(tally.reused, 100u);  // lines that a later stream got
}

}  // namespace
}  // namespace warpgrade::cudart

#include "cudart/stream_clocks.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "cudart/current_device.h"

namespace warpgrade::cudart {
namespace {

// Numbers of threads that have a default stream of their own, from 1.
uint64_t number_of_thread() {
  static std::atomic<uint64_t> next{1};
  thread_local const uint64_t mine = next++;
  return mine;
}

}  // namespace

void Clock::join(const Clock& other) {
  if (ticks_.size() < other.ticks_.size()) ticks_.resize(other.ticks_.size());
  for (size_t k = 0; k < other.ticks_.size(); ++k) ticks_[k] = std::max(ticks_[k], other.ticks_[k]);
}

void Clock::raise(uint32_t line, uint64_t tick) {
  if (ticks_.size() <= line) ticks_.resize(line + 1);
  ticks_[line] = std::max(ticks_[line], tick);
}

StreamClocks::StreamClocks() {
  lines_[kLegacyStream] = new_line(true);
}

// Default streams are the current device's.
StreamClocks::Key StreamClocks::key_of(StreamId stream) const {
  if (stream > kPerThreadStream) return stream;
  const auto device = static_cast<uint64_t>(current_device());
  return device << 56 | (stream == kPerThreadStream ? number_of_thread() << 32 : 0) | stream;
}

// A line whose commands have all ended begins anew: its later ones have greater numbers.
StreamClocks::Line StreamClocks::new_line(bool blocking) {
  Line line;
  if (free_.empty()) {
    line.index = next_index_++;
  } else {
    line = std::move(free_.back());
    free_.pop_back();
    line.clock = {};
  }
  line.blocking = blocking;
  line.device = current_device();
  has_devices_ |= line.device != 0;
  return line;
}

void StreamClocks::create(StreamId stream, bool blocking) {
  Line line = new_line(blocking);
  line.number = ++created_;
  has_independent_ |= !blocking;
  lines_[stream] = std::move(line);
}

void StreamClocks::destroy(StreamId stream) {
  const auto found = lines_.find(stream);
  if (found == lines_.end()) return;
  for (Line& chain : found->second.chains) gone_.push_back(std::move(chain));
  found->second.chains.clear();
  gone_.push_back(std::move(found->second));
  lines_.erase(found);
  reuse_ended();
}

void StreamClocks::reuse_ended() {
  for (size_t k = 0; k < gone_.size();) {
    if (!host_.covers(gone_[k].index, gone_[k].tick) && gone_[k].tick != 0) {
      ++k;
      continue;
    }
    free_.push_back(std::move(gone_[k]));
    gone_.erase(gone_.begin() + static_cast<std::ptrdiff_t>(k));
  }
}

// A thread's default stream and streams that are not known come up when they are named.
StreamClocks::Line& StreamClocks::line_of(StreamId stream) {
  const auto [found, is_new] = lines_.try_emplace(key_of(stream));
  if (is_new) {
    found->second = new_line(true);
    has_independent_ |= stream == kPerThreadStream;
  }
  return found->second;
}

// Destroyed streams finish their work: the default stream waits for them as well.
void StreamClocks::join_others(StreamId stream, const Line& line, Clock& clock) const {
  if (!line.blocking) return;
  if (stream != kLegacyStream) {
    const auto legacy = lines_.find(static_cast<Key>(line.device) << 56);
    return legacy == lines_.end() ? void() : clock.join(legacy->second.clock);
  }
  for (const auto& [key, other] : lines_) {
    if (other.blocking && other.device == line.device) clock.join(other.clock);
  }
  for (const Line& other : gone_) {
    if (other.blocking && other.device == line.device) clock.join(other.clock);
  }
}

StreamClocks::Command StreamClocks::begin(StreamId stream) {
  Line& line = line_of(stream);
  line.clock.join(host_);
  join_others(stream, line, line.clock);
  Command command{{line.index, ++line.tick}, line.clock, name(stream), stream == kLegacyStream};
  line.clock.raise(line.index, line.tick);
  return command;
}

void StreamClocks::wait(StreamId stream, const Clock& clock) {
  begin(stream);
  line_of(stream).clock.join(clock);
}

StreamClocks::Graph StreamClocks::begin_graph(StreamId stream, std::vector<std::vector<uint32_t>> after) {
  Graph graph;
  graph.stream = stream;
  graph.base = begin(stream).before;
  graph.base.raise(line_of(stream).index, line_of(stream).tick);
  graph.ends.resize(after.size());
  std::vector<bool> goes_on(after.size(), false);
  for (size_t node = 0; node < after.size(); ++node) {
    uint32_t chain = graph.chains;
    for (const uint32_t d : after[node]) {
      if (chain != graph.chains || goes_on[d]) continue;
      chain = graph.chain[d];
      goes_on[d] = true;
    }
    graph.chain.push_back(chain);
    graph.chains = std::max(graph.chains, chain + 1);
  }
  graph.after = std::move(after);
  if (graph.has_branches()) {
    Line& line = line_of(stream);
    while (line.chains.size() < graph.chains) line.chains.push_back(new_line(false));
  }
  return graph;
}

void StreamClocks::choose_node(Graph& graph, size_t node) {
  graph.current = node;
  Clock& clock = graph.ends[node];
  clock = graph.base;
  for (const uint32_t d : graph.after[node]) clock.join(graph.ends[d]);
}

// A graph that is one chain has the stream's own line.
StreamClocks::Command StreamClocks::begin_in(Graph& graph) {
  Line& of_stream = line_of(graph.stream);
  Line& line = graph.has_branches() ? of_stream.chains[graph.chain[graph.current]] : of_stream;
  Clock& clock = graph.ends[graph.current];
  Command command{{line.index, ++line.tick}, clock, name(graph.stream), graph.stream == kLegacyStream};
  clock.raise(line.index, line.tick);
  return command;
}

void StreamClocks::end_graph(const Graph& graph) {
  Clock& clock = line_of(graph.stream).clock;
  for (const Clock& end : graph.ends) clock.join(end);
}

void StreamClocks::assume(const Command& earlier, uint32_t line) {
  for (auto& [key, other] : lines_) {
    if (other.index != line) continue;
    other.clock.join(earlier.before);
    other.clock.raise(earlier.moment.line, earlier.moment.tick);
  }
}

Clock StreamClocks::now(StreamId stream) {
  const Line& line = line_of(stream);
  Clock clock = line.clock;
  clock.join(host_);
  if (stream == kLegacyStream) join_others(stream, line, clock);
  return clock;
}

void StreamClocks::host_saw(const Clock& clock) {
  host_.join(clock);
  reuse_ended();
}

template <class Chosen>
void StreamClocks::host_saw_lines(const Chosen& chosen) {
  for (const auto& [key, line] : lines_) {
    if (chosen(line)) host_.join(line.clock);
  }
  for (const Line& line : gone_) {
    if (chosen(line)) host_.join(line.clock);
  }
  reuse_ended();
}

void StreamClocks::host_saw_device() {
  if (!has_devices_) return host_saw_all();
  host_saw_lines([](const Line& line) { return line.device == current_device(); });
}

void StreamClocks::host_saw_all() {
  host_saw_lines([](const Line&) { return true; });
  if (lines_.size() > 1 || !gone_.empty()) return;
  created_ = 0;  // as if the program had just begun
  has_independent_ = false;
}

StreamId StreamClocks::first() const {
  const auto created = lines_.upper_bound(kPerThreadStream);
  const bool is_there = created != lines_.end() && created->first >> 32 == 0;
  return is_there ? static_cast<StreamId>(created->first) : kLegacyStream;
}

std::string StreamClocks::name(StreamId stream) {
  const Line& line = line_of(stream);
  const std::string device = has_devices_ ? " of device " + std::to_string(line.device) : "";
  if (stream == kLegacyStream) return "the default stream" + device;
  if (stream == kPerThreadStream) return "the thread's default stream" + device;
  if (!first_is_argument_) return "stream #" + std::to_string(line.number) + device;
  return line.number == 1 ? "`stream`, the argument," : "own stream #" + std::to_string(line.number - 1);
}

}  // namespace warpgrade::cudart

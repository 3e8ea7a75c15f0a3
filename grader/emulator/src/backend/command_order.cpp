#include "backend/command_order.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "cudart/current_device.h"
#include "cudart/host_place.h"
#include "memory/device_memory.h"
#include "support/base_name.h"
#include "support/host_process.h"
#include "support/settings.h"

namespace warpgrade::emu {
namespace {

using cudart::EventId;
using cudart::kLegacyStream;
using cudart::StreamId;

constexpr size_t kMostPending = 512;  // the oldest are forgotten: they are the ones that most is behind
constexpr uint64_t kMostSourceBytes = uint64_t{64} << 20;

bool is_host_memory(uint64_t address) {
  const auto a = DeviceMemory::instance().find(address);
  if (!a || a->freed) return true;
  return a->kind == MemoryKind::managed || a->kind == MemoryKind::pinned || a->kind == MemoryKind::registered;
}

// Another process has a copy of its own of managed variables, and both are kept alike by copies that the
// program knows nothing of.
bool is_kept_alike(uint64_t address) {
  const auto a = DeviceMemory::instance().find(address);
  return g_host_is_elsewhere && a && a->kind == MemoryKind::managed;
}

// Memory that the runtime has never been told of.
bool is_pageable(uint64_t address) {
  const auto a = DeviceMemory::instance().find(address);
  return !a || a->freed;
}

// A copy between two devices in the default stream starts when all that was called before on either has ended,
// and ends before what is called later (the programming guide, "Peer-to-Peer Memory Copy"). How the default
// stream of one device orders work on the memory of another one alone is not documented: as such a copy.
bool waits_for_devices(StreamId stream, std::initializer_list<uint64_t> addresses) {
  return stream == kLegacyStream && std::any_of(addresses.begin(), addresses.end(), [](uint64_t address) {
           const auto a = DeviceMemory::instance().find(address);
           return a && a->is_of_one_device() && a->device != cudart::current_device();
         });
}

void add_rows(const cudart::RowsCopy& copy, const cudart::RowsCopy::Side& side, ByteRanges& ranges) {
  if (is_pageable(side.address) || is_kept_alike(side.address)) return;
  for (uint64_t z = 0; z < copy.depth; ++z) {
    for (uint64_t y = 0; y < copy.height; ++y) {
      const uint64_t row = side.row(y, z);
      ranges.add(row, row + copy.width);
    }
  }
}

ByteRanges& bytes_of(Touched& touched, Touch kind) {
  return touched.bytes[static_cast<size_t>(kind)];
}
const ByteRanges& bytes_of(const Touched& touched, Touch kind) {
  return touched.bytes[static_cast<size_t>(kind)];
}

bool is_a_write(Touch kind) {
  return kind == Touch::store || kind == Touch::same_store;
}

// Two kernels that write one value to a place leave it there in either order. Neither updates nor flags are a
// conflict among each other.
bool conflicts(Touch earlier, Touch later) {
  if (later == Touch::same_store) return !is_a_write(earlier);
  if (is_a_write(earlier) || is_a_write(later)) return true;
  return (earlier == Touch::atomic && later == Touch::load) ||
         (earlier == Touch::load && later == Touch::atomic);
}

// Threads of a kernel may wait for another kernel's by flags that both use.
bool may_order_themselves(const Touched& first, const Touched& second) {
  if (first.by.empty() || second.by.empty()) return false;
  const ByteRanges& flags = first.bytes[static_cast<size_t>(Touch::flag)];
  return std::any_of(second.bytes.begin() + 1, second.bytes.end(),  // but loads
                     [&](const ByteRanges& touched) { return flags.first_common(touched).has_value(); });
}

const char* verb_of(Touch kind) {
  return kind == Touch::load ? "reads" : is_a_write(kind) ? "writes" : "updates";
}
const char* access_of(Touch kind) {
  return kind == Touch::load ? "load" : is_a_write(kind) ? "store" : "atomic";
}

// The instruction of a kernel that touched a byte; of several the one that touched least.
cudart::HostPlace place_in_kernel(const Touched& touched, Touch kind, uint64_t address) {
  const TouchedBy* best = nullptr;
  for (const TouchedBy& by : touched.by) {
    const bool fits = by.kind == kind || (is_a_write(by.kind) && is_a_write(kind));
    if (!fits || address < by.begin || address >= by.end) continue;
    if (best == nullptr || by.end - by.begin < best->end - best->begin) best = &by;
  }
  if (best == nullptr) return {};
  const Program::Place place = best->program->place(best->program->code[best->instruction]);
  return {place.path, place.line};
}

constexpr const char* kHost = "the host";

// What this thread puts into a stream as nodes of a graph.
struct InGraph {
  StreamClocks::Graph graph;
  uint64_t number = 0;
  int depth = 0;  // a graph inside of a graph is one node
};
thread_local std::optional<InGraph> t_graph;

constexpr const char* kCureOfNodes =
    "They are nodes of one graph. Let one wait for the other: give it as a dependency where the node is "
    "added "
    "(cudaGraphAddKernelNode, cudaGraphAddDependencies). Where streams are captured, record an event behind "
    "the "
    "first (cudaEventRecord) and let the second's stream wait for it (cudaStreamWaitEvent).";

std::string cure_of(const StreamClocks::Command& earlier, const StreamClocks::Command& later) {
  if (later.name == kHost)
    return "cudaFree does not wait for work that uses memory of cudaMallocAsync. Call cudaFreeAsync in the "
           "stream that uses the memory last, or cudaStreamSynchronize before cudaFree.";
  std::string text;
  if (earlier.is_default || later.is_default)
    text =
        "A stream that was made with cudaStreamNonBlocking does not wait for the default stream, nor the "
        "default stream for it. ";
  return text + "Record an event behind the first in " + earlier.name + " (cudaEventRecord) and let " +
         later.name +
         " wait for it before the second (cudaStreamWaitEvent). Or let the host wait between the two: "
         "cudaStreamSynchronize.";
}

std::string place_text(const char* before, const cudart::HostPlace& place, const char* behind = "") {
  if (place.line == 0) return {};
  return before + base_name(place.path) + ":" + std::to_string(place.line) + behind;
}

}  // namespace

CommandOrder& CommandOrder::instance() {
  // Never destroyed: programs call the runtime in their own static destructors.
  static auto* order = new CommandOrder;
  return *order;
}

bool CommandOrder::is_on() const {
  return settings().race_check;
}

bool CommandOrder::is_followed() const {
  return clocks_.may_be_concurrent() || !sources_.empty() || host_is_followed_ ||
         (t_graph && t_graph->graph.has_branches());
}

StreamClocks::Command CommandOrder::take_place(StreamId stream) {
  const bool is_node = t_graph && t_graph->graph.stream == stream;
  return is_node ? clocks_.begin_in(t_graph->graph) : clocks_.begin(stream);
}

Clock CommandOrder::ended_by(StreamId stream) {
  Clock clock = clocks_.now(stream);
  if (t_graph && t_graph->graph.stream == stream) clock.join(t_graph->graph.ends[t_graph->graph.current]);
  return clock;
}

void CommandOrder::begin_graph(StreamId stream, std::vector<std::vector<uint32_t>> after) {
  if (t_graph) {
    ++t_graph->depth;
    return;
  }
  if (!is_on() || after.empty()) return;
  static uint64_t launches = 0;
  const std::lock_guard lock(mutex_);
  t_graph = InGraph{clocks_.begin_graph(stream, std::move(after)), ++launches, 0};
  clocks_.choose_node(t_graph->graph, 0);
}

void CommandOrder::begin_node(size_t node) {
  if (!t_graph || t_graph->depth > 0) return;
  const std::lock_guard lock(mutex_);
  clocks_.choose_node(t_graph->graph, node);
}

void CommandOrder::end_graph() {
  if (!t_graph || t_graph->depth-- > 0) return;
  const std::lock_guard lock(mutex_);
  clocks_.end_graph(t_graph->graph);
  t_graph.reset();
}

void CommandOrder::create_stream(StreamId stream, unsigned flags) {
  if (!is_on()) return;
  const std::lock_guard lock(mutex_);
  clocks_.create(stream, (flags & cudaStreamNonBlocking) == 0);
}

void CommandOrder::destroy_stream(StreamId stream) {
  if (!is_on()) return;
  const std::lock_guard lock(mutex_);
  clocks_.destroy(stream);
}

void CommandOrder::host_saw(const Clock& clock) {
  clocks_.host_saw(clock);
  forget_ended();
}

void CommandOrder::host_saw_everything() {
  clocks_.host_saw_all();
  forget_ended();
}

void CommandOrder::forget_ended() {
  look_at_sources();
  std::erase_if(pending_, [&](const Command& c) { return c.place.moment.is_in(clocks_.host()); });
}

void CommandOrder::host_waited_for(StreamId stream) {
  if (!is_on()) return;
  const std::lock_guard lock(mutex_);
  host_saw(ended_by(stream));
}

void CommandOrder::host_waited_for_device() {
  if (!is_on()) return;
  const std::lock_guard lock(mutex_);
  clocks_.host_saw_device();
  forget_ended();
}

void CommandOrder::host_waited_for_all() {
  if (!is_on()) return;
  const std::lock_guard lock(mutex_);
  host_saw_everything();
}

void CommandOrder::record_event(EventId event, StreamId stream) {
  if (!is_on()) return;
  const std::lock_guard lock(mutex_);
  const StreamClocks::Command place = take_place(stream);
  events_[event] = {place.moment, ended_by(stream), place.name};
}

void CommandOrder::wait_event(StreamId stream, EventId event) {
  if (!is_on()) return;
  const std::lock_guard lock(mutex_);
  const auto found = events_.find(event);
  if (found == events_.end()) return;
  wait_for(stream, found->second.behind);
}

void CommandOrder::wait_for(StreamId stream, const Clock& clock) {
  if (t_graph && t_graph->graph.stream == stream)
    t_graph->graph.ends[t_graph->graph.current].join(clock);
  else
    clocks_.wait(stream, clock);
}

void CommandOrder::host_waited_for_event(EventId event) {
  if (!is_on()) return;
  const std::lock_guard lock(mutex_);
  if (const auto found = events_.find(event); found != events_.end()) host_saw(found->second.behind);
}

// Each is in a stream of its own device, and waits for all streams of the rank's group.
CommandOrder::Collective CommandOrder::begin_collective(std::vector<CollectivePart> parts) {
  Collective collective;
  if (!is_on()) return collective;
  const std::lock_guard lock(mutex_);
  std::vector<StreamClocks::Command> places;
  for (const CollectivePart& part : parts) {
    const cudart::ScopedDevice on_device(part.device);
    places.push_back(take_place(part.stream));
    collective.begun.join(places.back().before);
    collective.streams.emplace_back(part.stream, part.device);
  }
  const Clock before = collective.begun;
  for (size_t k = 0; k < parts.size(); ++k) {
    places[k].before = before;
    collective.begun.raise(places[k].moment.line, places[k].moment.tick);
    if (is_followed())
      add({std::move(places[k]), std::move(parts[k].what), nullptr, std::move(parts[k].called),
           std::move(parts[k].touched)});
  }
  collective.ended = collective.begun;
  return collective;
}

void CommandOrder::meet(Collective& one, Collective& other) {
  one.ended.join(other.begun);
  other.ended.join(one.begun);
}

void CommandOrder::end_collective(const Collective& collective) {
  if (!is_on()) return;
  const std::lock_guard lock(mutex_);
  for (const auto& [stream, device] : collective.streams) {
    const cudart::ScopedDevice on_device(device);
    wait_for(stream, collective.ended);
  }
}

void CommandOrder::destroy_event(EventId event) {
  if (!is_on()) return;
  const std::lock_guard lock(mutex_);
  events_.erase(event);
}

CommandOrder::Launching CommandOrder::begin_launch(StreamId stream) {
  if (!is_on()) return {};
  const std::lock_guard lock(mutex_);
  return {take_place(stream), is_followed() ? &recorder_ : nullptr};
}

void CommandOrder::launched(Launching launching, const std::string& kernel, const std::string& title) {
  if (launching.recorder == nullptr) return;
  Touched touched = launching.recorder->take();
  const std::lock_guard lock(mutex_);
  add({std::move(*launching.command), "kernel `" + title + "`", nullptr, this_call(kernel),
       std::move(touched)});
}

// A copy that the host waits for is one with its memory: what the runtime's documentation calls synchronous.
// One between the device and itself is not, nor is one to the device from pinned memory in a stream.
void CommandOrder::copied(const cudart::RowsCopy& copy, StreamId stream, bool waits) {
  if (!is_on()) return;
  const bool to_host = is_host_memory(copy.to.address), from_host = is_host_memory(copy.from.address);
  const bool is_synchronous =
      waits ? to_host || from_host : is_pageable(copy.to.address) || (to_host && from_host);
  const bool waits_for_all = waits_for_devices(stream, {copy.to.address, copy.from.address});
  const std::lock_guard lock(mutex_);
  if (waits_for_all) host_saw_everything();
  StreamClocks::Command place = take_place(stream);
  if (!is_synchronous && from_host) keep_source(copy, place);
  if (is_followed()) {
    Touched touched;
    add_rows(copy, copy.from, bytes_of(touched, Touch::load));
    add_rows(copy, copy.to, bytes_of(touched, Touch::store));
    add({place, "a copy", nullptr, this_call(), std::move(touched)});
  }
  if (is_synchronous || waits_for_all) host_saw(ended_by(stream));
}

// cudaMemset returns before it is done, but for memory that the host reaches.
void CommandOrder::filled(const cudart::Fill& fill, StreamId stream) {
  if (!is_on()) return;
  const bool waits_for_all = waits_for_devices(stream, {fill.address});
  const std::lock_guard lock(mutex_);
  if (waits_for_all) host_saw_everything();
  StreamClocks::Command place = take_place(stream);
  if (is_followed()) {
    Touched touched;
    for (uint64_t row = 0; row < fill.height; ++row) {
      const uint64_t begin = fill.address + row * fill.pitch;
      bytes_of(touched, Touch::store).add(begin, begin + fill.width * fill.element_bytes);
    }
    add({std::move(place), "a memset", nullptr, this_call(), std::move(touched)});
  }
  if (is_host_memory(fill.address) || waits_for_all) host_saw(ended_by(stream));
}

void CommandOrder::allocated(uint64_t address, uint64_t bytes, StreamId stream) {
  if (!is_on()) return;
  const std::lock_guard lock(mutex_);
  stream_ordered_.insert(address);
  StreamClocks::Command place = take_place(stream);
  if (!is_followed()) return;
  Touched touched;
  bytes_of(touched, Touch::store).add(address, address + bytes);
  add({std::move(place), "cudaMallocAsync", "allocates", this_call(), std::move(touched)});
}

void CommandOrder::free_in_stream(uint64_t address, StreamId stream) {
  if (!is_on()) return;
  const auto a = DeviceMemory::instance().find(address);
  const std::lock_guard lock(mutex_);
  StreamClocks::Command place = take_place(stream);
  if (!a || !is_followed()) return;
  Touched touched;
  bytes_of(touched, Touch::store).add(a->begin, a->end);
  add({std::move(place), "cudaFreeAsync", "frees", this_call(), std::move(touched)});
}

// cudaFree waits for the device, but not for the sake of memory from cudaMallocAsync.
void CommandOrder::free(uint64_t address, const char* call) {
  if (!is_on()) return;
  const auto a = DeviceMemory::instance().find(address);
  const std::lock_guard lock(mutex_);
  if (a && stream_ordered_.contains(address)) {
    Command command{{{0, ~uint64_t{0}}, clocks_.host(), kHost, false}, call, "frees", this_call(), {}};
    bytes_of(command.touched, Touch::store).add(a->begin, a->end);
    compare_with_pending(command);
  }
  host_saw_everything();
}

void CommandOrder::follow_host_memory() {
  if (!is_on()) return;
  const std::lock_guard lock(mutex_);
  host_is_followed_ = g_host_is_elsewhere;
}

// A kernel and the host may wait for each other by flags in memory that both reach: such kernels are left out.
void CommandOrder::host_touched(uint64_t address, bool is_write, const cudart::HostPlace& place) {
  if (!is_on()) return;
  const std::lock_guard lock(mutex_);
  Command host{{{0, ~uint64_t{0}}, clocks_.host(), kHost, false}, kHost, nullptr, {}, {}};
  bytes_of(host.touched, is_write ? Touch::store : Touch::load).add(address, address + 1);
  for (auto earlier = pending_.rbegin(); earlier != pending_.rend(); ++earlier) {
    const bool has_flags = !bytes_of(earlier->touched, Touch::flag).empty() ||
                           !bytes_of(earlier->touched, Touch::atomic).empty();
    if (has_flags || earlier->place.moment.is_in(clocks_.host())) continue;
    const auto conflict = conflict_of(earlier->touched, host.touched);
    if (conflict) return report_host(*earlier, *conflict, place);
  }
}

void CommandOrder::report_host(const Command& earlier, const Conflict& conflict,
                               const cudart::HostPlace& place) {
  const auto a = DeviceMemory::instance().find(conflict.address);
  const std::string name = a ? a->name : "memory";
  const uint64_t begin = a ? a->begin : conflict.address, bytes = a ? a->bytes() : 0;
  const cudart::HostPlace there = place_in_kernel(earlier.touched, conflict.earlier, conflict.address);
  Diagnostic d;
  d.kind = Finding::unordered;
  d.access = access_of(conflict.later);
  d.address = conflict.address;
  d.allocation = DiagnosedAllocation{name, bytes, static_cast<int64_t>(conflict.address - begin)};
  d.path = place.path;
  d.line = place.line;
  d.message = std::string("the host ") + verb_of(conflict.later) + " byte " +
              std::to_string(conflict.address - begin) + " of " + name + " (" + std::to_string(bytes) +
              " bytes) without having waited for " + earlier.what + " in " + earlier.place.name + ", which " +
              verb_of(conflict.earlier) + " it" + place_text(" at ", there);
  d.advice =
      "On a GPU the call returns while its work still runs. Wait before the host touches that memory: "
      "cudaStreamSynchronize, cudaEventSynchronize of an event behind the work, or cudaDeviceSynchronize.";
  d.other = DiagnosedParty{there.path, there.line, access_of(conflict.earlier), "", ""};
  Diagnostics::instance().add(std::move(d));
}

void CommandOrder::add(Command command) {
  if (t_graph) command.graph = t_graph->number;
  compare_with_pending(command);
  const ByteRanges& written = bytes_of(command.touched, Touch::store);
  std::erase_if(sources_, [&](const Source& source) {
    ByteRanges range;
    range.add(source.address, source.address + source.bytes.size());
    const bool is_overwritten = written.first_common(range).has_value();
    if (is_overwritten) source_bytes_ -= source.bytes.size();
    return is_overwritten;
  });
  if (pending_.size() >= kMostPending) pending_.pop_front();
  pending_.push_back(std::move(command));
}

std::optional<CommandOrder::Conflict> CommandOrder::conflict_of(const Touched& earlier,
                                                                const Touched& later) {
  for (const Touch first : {Touch::store, Touch::same_store, Touch::atomic, Touch::load, Touch::flag}) {
    for (const Touch second : {Touch::load, Touch::store, Touch::same_store, Touch::atomic, Touch::flag}) {
      if (!conflicts(first, second)) continue;
      const auto address = bytes_of(earlier, first).first_common(bytes_of(later, second));
      if (address) return Conflict{*address, first, second};
    }
  }
  return std::nullopt;
}

// The latest one that conflicts is told.
void CommandOrder::compare_with_pending(const Command& later) {
  for (auto earlier = pending_.rbegin(); earlier != pending_.rend(); ++earlier) {
    if (!compare(*earlier, later)) continue;
    clocks_.assume(earlier->place, later.place.moment.line);
    return;
  }
}

bool CommandOrder::compare(const Command& earlier, const Command& later) {
  // Two threads of the host may have called them: either may be the first.
  if (earlier.place.moment.is_in(later.place.before) || later.place.moment.is_in(earlier.place.before))
    return false;
  if (may_order_themselves(earlier.touched, later.touched) ||
      may_order_themselves(later.touched, earlier.touched))
    return false;
  const auto conflict = conflict_of(earlier.touched, later.touched);
  if (conflict) report(earlier, later, *conflict);
  return conflict.has_value();
}

void CommandOrder::report(const Command& earlier, const Command& later, const Conflict& conflict) {
  const auto a = DeviceMemory::instance().find(conflict.address);
  const std::string name = a ? a->name : "memory";
  const uint64_t begin = a ? a->begin : conflict.address, bytes = a ? a->bytes() : 0;
  const cudart::HostPlace there = place_in_kernel(earlier.touched, conflict.earlier, conflict.address);
  const cudart::HostPlace here = place_in_kernel(later.touched, conflict.later, conflict.address);
  Diagnostic d;
  d.kind = Finding::unordered;
  d.access = access_of(conflict.later);
  d.address = conflict.address;
  d.allocation = DiagnosedAllocation{name, bytes, static_cast<int64_t>(conflict.address - begin)};
  d.path = here.path;
  d.line = here.line;
  const std::string whole = name + " (" + std::to_string(bytes) + " bytes)";
  const std::string used =
      later.does != nullptr
          ? later.does + (" " + whole)
          : verb_of(conflict.later) + (" byte " + std::to_string(conflict.address - begin)) + " of " + whole;
  d.message = later.what + " in " + later.place.name + " " + used + place_text(" at ", here) +
              ". Nothing orders it behind " + earlier.what + " in " + earlier.place.name;
  const bool are_nodes = later.graph != 0 && later.graph == earlier.graph;
  d.advice = "On a GPU they run in any order, or at once. " +
             (are_nodes ? std::string(kCureOfNodes) : cure_of(earlier.place, later.place));
  const std::string use = std::string(", which ") +
                          (earlier.does != nullptr ? earlier.does : verb_of(conflict.earlier)) + " it" +
                          place_text(" at ", there);
  const char* access = access_of(conflict.earlier);
  add_host_diagnostic(std::move(d), later.called, earlier.called,
                      [=](Diagnostic& told, const cudart::HostPlace& called) {
                        told.message += place_text(" (called at ", called, ")") + use;
                        const cudart::HostPlace& place = called.line != 0 ? called : there;
                        told.other = DiagnosedParty{place.path, place.line, access, "", ""};
                      });
}

std::optional<CommandOrder::Unfinished> CommandOrder::unfinished(const Command& command,
                                                                 const Clock& ended) const {
  if (command.place.moment.is_in(ended)) return std::nullopt;
  for (const Touch kind : {Touch::store, Touch::same_store, Touch::atomic, Touch::flag, Touch::load}) {
    for (const ByteRanges::Range& range : bytes_of(command.touched, kind).ranges()) {
      const auto a = DeviceMemory::instance().find(range.begin);
      if (!a || a->kind != MemoryKind::imported) continue;
      const cudart::HostPlace here = place_in_kernel(command.touched, kind, range.begin);
      Unfinished found{command.called.number, {}};
      Diagnostic& d = found.diagnostic;
      d.kind = Finding::unordered;
      d.access = access_of(kind);
      d.address = range.begin;
      d.allocation = DiagnosedAllocation{a->name, a->bytes(), static_cast<int64_t>(range.begin - a->begin)};
      d.path = here.path;
      d.line = here.line;
      d.message = command.what + " in " + command.place.name + " " + verb_of(kind) + " " + a->name +
                  place_text(" at ", here) + ", and nothing orders it before the end of the run";
      d.advice =
          "The result has to be there when all work in `stream`, the argument, is done. Launch in `stream`, "
          "or "
          "record an event behind the last work in a stream of your own (cudaEventRecord) and let `stream` "
          "wait for it (cudaStreamWaitEvent).";
      return found;
    }
  }
  return std::nullopt;
}

std::optional<CommandOrder::Unfinished> CommandOrder::end_command(bool is_run) {
  if (!is_on()) return std::nullopt;
  const std::lock_guard lock(mutex_);
  std::optional<Unfinished> found;
  if (is_run && !pending_.empty()) {
    const Clock ended = clocks_.begin(clocks_.first()).before;
    for (auto command = pending_.rbegin(); command != pending_.rend() && !found; ++command)
      found = unfinished(*command, ended);
  }
  host_saw_everything();
  return found;
}

// Pageable memory is read before the call returns.
void CommandOrder::keep_source(const cudart::RowsCopy& copy, const StreamClocks::Command& place) {
  const uint64_t bytes = copy.width;
  if (is_pageable(copy.from.address) || copy.height * copy.depth != 1) return;
  if (source_bytes_ + bytes > kMostSourceBytes) return;
  const auto* from = reinterpret_cast<const uint8_t*>(copy.from.address);
  sources_.push_back({place, copy.from.address, {from, from + bytes}, this_call()});
  source_bytes_ += bytes;
}

void CommandOrder::look_at_sources() {
  std::erase_if(sources_, [&](const Source& source) {
    if (!source.place.moment.is_in(clocks_.host())) return false;
    const auto* now = reinterpret_cast<const uint8_t*>(source.address);
    const auto changed = std::mismatch(source.bytes.begin(), source.bytes.end(), now);
    if (changed.first != source.bytes.end())
      report_changed(source, static_cast<uint64_t>(changed.first - source.bytes.begin()));
    source_bytes_ -= source.bytes.size();
    return true;
  });
}

void CommandOrder::report_changed(const Source& source, uint64_t offset) {
  const auto a = DeviceMemory::instance().find(source.address);
  const std::string name = a ? a->name : "the host's memory";
  Diagnostic d;
  d.kind = Finding::unordered;
  d.access = "store";
  d.address = source.address + offset;
  if (a) d.allocation = DiagnosedAllocation{name, a->bytes(), static_cast<int64_t>(*d.address - a->begin)};
  d.message = "the host waits here for the first time for a copy from " + name + " in " + source.place.name;
  d.advice =
      "On a GPU such a copy runs beside the host, and may copy the new bytes. Wait before the memory is "
      "changed (cudaStreamSynchronize, or cudaEventSynchronize of an event behind the copy), or use two "
      "buffers in turn.";
  const std::string changed = ". It has changed byte " + std::to_string(*d.address - (a ? a->begin : 0)) +
                              " of that memory before, when the copy may not have ended";
  add_host_diagnostic(std::move(d), call_here(), source.called,
                      [=](Diagnostic& told, const cudart::HostPlace& called) {
                        told.message += place_text(" (called at ", called, ")") + changed;
                        told.other = DiagnosedParty{called.path, called.line, "load", "", ""};
                      });
}

void CommandOrder::read_time(EventId start, EventId end) {
  if (!is_on()) return;
  const std::lock_guard lock(mutex_);
  for (const EventId event : {end, start}) {
    const auto found = events_.find(event);
    if (found == events_.end() || found->second.moment.is_in(clocks_.host())) continue;
    Diagnostic d;
    d.kind = Finding::unordered;
    d.access = "load";
    d.message = std::string("cudaEventElapsedTime asks for the time of ") +
                (event == end ? "the second" : "the first") + " event, recorded in " + found->second.name +
                ", and nothing has waited for it";
    d.advice =
        "On a GPU the call returns cudaErrorNotReady while the work before the event runs, and gives no "
        "time. "
        "Call cudaEventSynchronize(event) first.";
    add_host_diagnostic(std::move(d));
    return;
  }
}

}  // namespace warpgrade::emu

#include "judge/executor/server.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <new>
#include <thread>
#include <utility>

#include "judge/executor/server_call.h"
#include "judge/executor/told_facts.h"

namespace warpgrade::executor {

using cudart::EventId;
using cudart::StreamId;
using wire::Data;
using wire::Op;

namespace {

constexpr size_t kFirstStream = 2;  // after the default ones
constexpr std::chrono::seconds kLastWait{2};
constexpr uint64_t kTellTail = wire::kRingBytes / 8;  // the host process needs to know seldom
constexpr unsigned kTurnsBetweenClocks = 64;          // of calls that wait

using Clock = std::chrono::steady_clock;

Limits normalized(Limits limits) {
  if (limits.device_bytes == 0) limits.device_bytes = Limits::kNoLimit;
  return limits;
}

double seconds_since(Clock::time_point then) {
  return std::chrono::duration<double>(Clock::now() - then).count();
}

void publish_device(wire::Control& c, cudart::Backend& backend) {
  const cudart::DeviceFacts& facts = backend.device();
  std::snprintf(c.device_name, sizeof c.device_name, "%s", facts.name.c_str());
  std::memcpy(c.uuid, facts.uuid.data(), sizeof c.uuid);
  c.device_bytes = facts.total_bytes;
  c.driver_version = facts.driver_version;
  c.least_priority = facts.least_priority;
  c.greatest_priority = facts.greatest_priority;
  const auto attributes = told_attributes(facts);
  std::copy(attributes.begin(), attributes.end(), c.attributes);
  const cudart::MemoryRange range = backend.device_range();
  c.device_begin = range.begin;
  c.device_end = range.end;
  c.is_interpreted = backend.is_interpreted() ? 1 : 0;
}

}  // namespace

Server::Server(cudart::Backend& backend, SharedMemory& memory, const Limits& limits)
    : backend_(backend),
      memory_(memory),
      limits_(normalized(limits)),
      owned_(limits_),
      record_(wire::kMostRecord) {
  auto* control = new (memory.calls()) wire::Control{};
  control->spins = turns_before_sleep();
  publish_device(*control, backend);
  for (size_t k = 0; k < wire::kSlots; ++k) {
    memory.slot(k).done.store(0);
    memory.slot(k).sleeps.store(0);
  }
  control->magic = wire::kMagic;
  control->version = wire::kVersion;
  streams_.resize(kFirstStream);
  streams_[cudart::kLegacyStream] = cudart::kLegacyStream;
  streams_[cudart::kPerThreadStream] = cudart::kPerThreadStream;
  size_t heap = 0;
  if (backend.get_limit(cudaLimitMallocHeapSize, heap) == cudaSuccess) first_heap_bytes_ = heap;
}

// The device has what the submission had of it back, whatever state its process left; unless a kernel does
// not end: then the executor's own end is all that helps.
Server::~Server() {
  on_waiting_ = {};
  on_stream_ = {};
  if (gave_up_) return;
  const auto limit = Clock::now() + kLastWait;
  while (ask_device() == cudaErrorNotReady) {
    if (Clock::now() > limit) return;
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
  for (const auto& [object, is_surface] : images_in_use_) backend_.destroy_image(object, is_surface);
  release_all();
  backend_.keep_pool(0);
  backend_.trim_pool();
  backend_.reset_limits();
  for (const auto& graph : graphs_) {
    if (graph && graph->in_backend) backend_.destroy_graph(*graph->in_backend);
  }
  for (const auto& event : events_) {
    if (event) backend_.destroy_event(*event);
  }
  for (const StreamId stream : streams()) backend_.destroy_stream(stream);
  for (const Image& image : images_) backend_.remove_module(image.id);
}

size_t Server::serve(size_t most) {
  size_t taken = 0;
  for (; taken < most; ++taken) {
    const auto call = take_record();
    if (!call) break;
    dispatch(*call);
  }
  publish_tail();
  if (!waiting_.empty()) poll_waiting();
  return taken;
}

void Server::sleep(unsigned microseconds) {
  wire::Control& c = memory_.control();
  publish_tail();
  c.executor_sleeps.store(1);
  if (c.head.load() == tail_) wait_for_change(c.executor_sleeps, 1, microseconds);
  c.executor_sleeps.store(0);
}

// The host process looks at the tail when the ring seems full: telling it each record would pull the line of
// the cache to and fro.
void Server::publish_tail() {
  if (told_tail_ == tail_) return;
  told_tail_ = tail_;
  memory_.control().tail.store(tail_, std::memory_order_release);
}

bool Server::has_record() {
  if (head_ == tail_) {
    head_ = memory_.control().head.load(std::memory_order_acquire);
    if (head_ - tail_ > wire::kRingBytes) throw ProtocolError("the ring's head is beyond its end");
  }
  return head_ != tail_;
}

// Copies the next record, and steps over padding. The host process may change the ring at any time: what is
// looked at has been copied.
std::optional<Server::Call> Server::take_record() {
  while (has_record()) {
    const size_t at = tail_ % wire::kRingBytes;
    const size_t there = std::min<size_t>(head_ - tail_, wire::kRingBytes - at);
    if (there < wire::kAlign || at % wire::kAlign != 0) throw ProtocolError("half a record");
    const uint8_t* from = memory_.ring() + at;
    __builtin_prefetch(memory_.ring() + (at + 2 * sizeof(wire::Record)) % wire::kRingBytes);
    Call call;
    std::memcpy(&call.record, from, std::min(there, sizeof call.record));
    const uint32_t bytes = call.record.bytes;
    if (bytes < wire::kAlign || bytes % wire::kAlign != 0 || bytes > there)
      throw ProtocolError("a record of " + std::to_string(bytes) + " bytes");
    const bool is_pad = call.record.op == static_cast<uint16_t>(Op::pad);
    if (!is_pad && (bytes < sizeof call.record || bytes > wire::kMostRecord))
      throw ProtocolError("a record of " + std::to_string(bytes) + " bytes");
    tail_ += bytes;
    if (!is_pad) {
      const size_t data = bytes - sizeof call.record;
      std::memcpy(record_.data(), from + sizeof call.record, data);
      call.data = {record_.data(), call.record.data_bytes};
    }
    if (tail_ - told_tail_ >= kTellTail) publish_tail();
    if (is_pad) continue;
    check(call);
    ++records_;
    return call;
  }
  return std::nullopt;
}

// What no host process with our library writes.
void Server::check(const Call& call) const {
  const wire::Record& r = call.record;
  if (r.op >= wire::kOpCount) throw ProtocolError("unknown call " + std::to_string(r.op));
  const wire::OpFacts& facts = wire::kOps[r.op];
  if (r.data_bytes > r.bytes - sizeof r)
    throw ProtocolError(std::string(facts.name) + ": data beyond the record");
  if (facts.data == Data::none && r.data_bytes != 0) throw ProtocolError(std::string(facts.name) + ": data");
  if (facts.data == Data::name &&
      (r.data_bytes > wire::kMostName || std::memchr(call.data.data(), 0, call.data.size()) != nullptr))
    throw ProtocolError(std::string(facts.name) + ": no name");
  if (r.slot == wire::kNoSlot ? !facts.posts : r.slot >= wire::kSlots)
    throw ProtocolError(std::string(facts.name) + ": slot " + std::to_string(r.slot));
}

cudaError_t Server::sticky() const {
  return gave_up_ ? cudaErrorLaunchTimeout : backend_.sticky();
}

void Server::publish_sticky_error() {
  const cudaError_t now = sticky();
  if (now == told_sticky_) return;
  told_sticky_ = now;
  memory_.control().sticky.store(now, std::memory_order_relaxed);
}

const char* Server::call_in_hand() const {
  const uint16_t op = in_hand_.load(std::memory_order_relaxed);
  return op < wire::kOpCount ? wire::kOps[op].name : "a call";
}

void Server::dispatch(const Call& call) {
  std::fill(std::begin(values_), std::end(values_), 0);
  reply_.clear();
  reply_in_slot_ = 0;
  is_waiting_call_ = false;
  cudaError_t error = cudaSuccess;
  const bool touches_device = call.op() != Op::ping && call.op() != Op::report && call.op() != Op::place &&
                              call.op() != Op::command_done;
  in_hand_.store(call.record.op, std::memory_order_relaxed);
  activity_.store(activity_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  if (touches_device) error = sticky();
  if (error == cudaSuccess) error = carry_out(call);
  activity_.store(activity_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  publish_sticky_error();
  if (is_waiting_call_) return;
  if (call.record.slot != wire::kNoSlot) return finish(call.record.slot, call.record.sequence, error);
  if (backend_.wants_place()) backend_.place_finding({}, 0);
  if (error == cudaSuccess || sticky() != cudaSuccess) return;
  if (late_error_ == cudaSuccess) late_error_ = error;
  memory_.control().late_error.store(error);
}

void Server::finish(uint16_t number, uint32_t sequence, cudaError_t error) {
  wire::Slot& slot = memory_.slot(number);
  slot.error = error;
  std::copy(std::begin(values_), std::end(values_), slot.values);
  slot.data_bytes = reply_in_slot_;
  slot.wants_place = backend_.wants_place() ? 1 : 0;
  if (!reply_.empty()) {
    std::memcpy(slot.data, reply_.data(), reply_.size());
    slot.data_bytes = static_cast<uint32_t>(reply_.size());
  }
  slot.done.store(sequence, std::memory_order_seq_cst);
  if (slot.sleeps.load(std::memory_order_seq_cst) != 0) wake_all(slot.done);
}

cudaError_t Server::carry_out(const Call& call) {
  switch (call.op()) {
    case Op::pad:
    case Op::ping:
      return cudaSuccess;
    case Op::report:
      return report(call);
    case Op::place:
      return place(call);
    case Op::command_done:
      result_ = CommandResult{memory_.control().command_sequence.load(),
                              static_cast<int64_t>(call.argument(0)), call.text()};
      return cudaSuccess;
    case Op::stage:
    case Op::add_module:
    case Op::find_variable:
    case Op::find_kernel:
    case Op::set_attribute:
    case Op::occupancy:
    case Op::available_shared:
    case Op::launch:
      return carry_out_code(call);
    case Op::allocate:
    case Op::allocate_async:
    case Op::release:
    case Op::release_async:
    case Op::release_all:
    case Op::memory_info:
    case Op::copy_in:
    case Op::copy_in_bulk:
    case Op::copy_out:
    case Op::copy_out_bulk:
    case Op::copy_device:
    case Op::fill:
    case Op::copy_in_rows:
    case Op::copy_in_rows_bulk:
    case Op::copy_out_rows:
    case Op::copy_out_rows_bulk:
    case Op::copy_rows:
      return carry_out_memory(call);
    case Op::create_image:
      return create_image(call);
    case Op::destroy_image:
      return destroy_image(call);
    case Op::make_graph:
    case Op::update_graph:
    case Op::upload_graph:
    case Op::launch_graph:
    case Op::destroy_graph:
      return carry_out_graphs(call);
    case Op::set_stream_attribute:
    case Op::keep_pool:
    case Op::reset_persisting_l2:
    case Op::register_host:
    case Op::unregister_host:
    case Op::give_window:
    case Op::add_managed:
      return carry_out_registration(call);
    default:
      return carry_out_streams(call);
  }
}

// --- calls that wait ---

void Server::before_waiting(const char* name) {
  if (on_waiting_) on_waiting_(name);
}

void Server::wait_for(const Call& call, std::function<cudaError_t()> ask) {
  before_waiting(wire::kOps[call.record.op].name);
  Waiting waiting{call.record.slot, call.record.sequence, reply_in_slot_, call.op(), {}, std::move(ask)};
  is_waiting_call_ = true;
  const cudaError_t error = waiting.ask();
  if (error != cudaErrorNotReady) return finish(waiting.slot, waiting.sequence, error);
  waiting.since = Clock::now();
  waiting_.push_back(std::move(waiting));
}

void Server::poll_waiting() {
  std::fill(std::begin(values_), std::end(values_), 0);
  reply_.clear();
  for (size_t k = 0; k < waiting_.size();) {
    const cudaError_t error = waiting_[k].ask();
    if (error == cudaErrorNotReady) {
      ++k;
      continue;
    }
    publish_sticky_error();
    reply_in_slot_ = waiting_[k].reply_in_slot;
    finish(waiting_[k].slot, waiting_[k].sequence, error);
    waiting_.erase(waiting_.begin() + static_cast<std::ptrdiff_t>(k));
  }
  if (limits_.wait_seconds > 0 && ++turns_of_waiting_ % kTurnsBetweenClocks == 0) look_for_late_answers();
}

void Server::look_for_late_answers() {
  for (const Waiting& waiting : waiting_) {
    const double waited = seconds_since(waiting.since);
    if (waited < limits_.wait_seconds) continue;
    return give_up({Ending::device_did_not_finish, wire::kOps[static_cast<size_t>(waiting.op)].name, waited});
  }
}

// All who wait are told, and every later call fails.
void Server::give_up(const GaveUp& why) {
  if (gave_up_) return;
  gave_up_ = why;
  say(why.text());
  publish_sticky_error();
  reply_.clear();
  reply_in_slot_ = 0;
  for (const Waiting& waiting : waiting_) finish(waiting.slot, waiting.sequence, cudaErrorLaunchTimeout);
  waiting_.clear();
}

cudaError_t Server::wait_until_idle(double seconds, const char* name) {
  if (gave_up_) return cudaErrorLaunchTimeout;
  const auto begin = Clock::now();
  for (unsigned turn = 1;; ++turn) {
    const cudaError_t error = ask_device();
    if (error != cudaErrorNotReady) return error;
    if (turn % kTurnsBetweenClocks != 0 || seconds_since(begin) < seconds) continue;
    give_up({Ending::device_did_not_finish, name, seconds_since(begin)});
    return cudaErrorLaunchTimeout;
  }
}

// The device is idle when all streams are.
cudaError_t Server::ask_device() {
  for (const auto& stream : streams_) {
    if (!stream) continue;
    if (const cudaError_t error = backend_.query_stream(*stream); error != cudaSuccess) return error;
  }
  return cudaSuccess;
}

// --- streams and events ---

bool Server::stream_of(uint64_t number, StreamId& stream) const {
  if (number >= streams_.size() || !streams_[number]) return false;
  stream = *streams_[number];
  return true;
}

bool Server::event_of(uint64_t number, EventId& event) const {
  if (number >= events_.size() || !events_[number]) return false;
  event = *events_[number];
  return true;
}

std::vector<StreamId> Server::streams() const {
  std::vector<StreamId> all;
  for (size_t k = kFirstStream; k < streams_.size(); ++k) {
    if (streams_[k]) all.push_back(*streams_[k]);
  }
  return all;
}

cudaError_t Server::carry_out_streams(const Call& call) {
  StreamId stream = 0;
  switch (call.op()) {
    case Op::create_stream: {
      const auto place = place_for(streams_, kFirstStream, limits_.streams);
      if (!place) return cudaErrorMemoryAllocation;
      const cudaError_t error =
          backend_.create_stream(static_cast<unsigned>(call.argument(0)) & cudaStreamNonBlocking,
                                 static_cast<int32_t>(call.argument(1)), stream);
      if (error != cudaSuccess) return error;
      streams_[*place] = stream;
      values_[0] = *place;
      if (on_stream_) on_stream_(stream, true);
      return cudaSuccess;
    }
    case Op::destroy_stream:
      if (call.argument(0) < kFirstStream || !stream_of(call.argument(0), stream))
        return cudaErrorInvalidResourceHandle;
      if (on_stream_) on_stream_(stream, false);
      streams_[call.argument(0)].reset();
      return backend_.destroy_stream(stream);
    case Op::synchronize_stream:
      if (!stream_of(call.argument(0), stream)) return cudaErrorInvalidResourceHandle;
      wait_for(call, [this, stream] { return backend_.query_stream(stream); });
      return cudaSuccess;
    case Op::query_stream:
      if (!stream_of(call.argument(0), stream)) return cudaErrorInvalidResourceHandle;
      before_waiting("query_stream");
      return backend_.query_stream(stream);
    case Op::synchronize_device:
      wait_for(call, [this] { return ask_device(); });
      return cudaSuccess;
    default:
      return carry_out_events(call);
  }
}

cudaError_t Server::carry_out_events(const Call& call) {
  StreamId stream = 0;
  EventId event = 0, second = 0;
  switch (call.op()) {
    case Op::create_event: {
      const auto place = place_for(events_, 0, limits_.events);
      if (!place) return cudaErrorMemoryAllocation;
      constexpr unsigned kKnown = cudaEventBlockingSync | cudaEventDisableTiming;
      const cudaError_t error =
          backend_.create_event(static_cast<unsigned>(call.argument(0)) & kKnown, event);
      if (error != cudaSuccess) return error;
      events_[*place] = event;
      values_[0] = *place;
      return cudaSuccess;
    }
    case Op::destroy_event:
      if (!event_of(call.argument(0), event)) return cudaErrorInvalidResourceHandle;
      events_[call.argument(0)].reset();
      return backend_.destroy_event(event);
    case Op::record_event:
      if (!event_of(call.argument(0), event) || !stream_of(call.argument(1), stream))
        return cudaErrorInvalidResourceHandle;
      if (on_work_) on_work_(call.op());
      return backend_.record_event(event, stream);
    case Op::wait_event:
      if (!stream_of(call.argument(0), stream) || !event_of(call.argument(1), event))
        return cudaErrorInvalidResourceHandle;
      if (on_work_) on_work_(call.op());
      return backend_.wait_event(stream, event);
    case Op::synchronize_event:
      if (!event_of(call.argument(0), event)) return cudaErrorInvalidResourceHandle;
      wait_for(call, [this, event] { return backend_.query_event(event); });
      return cudaSuccess;
    case Op::query_event:
      if (!event_of(call.argument(0), event)) return cudaErrorInvalidResourceHandle;
      before_waiting("query_event");
      return backend_.query_event(event);
    case Op::elapsed: {
      if (!event_of(call.argument(0), event) || !event_of(call.argument(1), second))
        return cudaErrorInvalidResourceHandle;
      float milliseconds = 0;
      const cudaError_t error = backend_.elapsed(event, second, milliseconds);
      uint32_t bits = 0;
      std::memcpy(&bits, &milliseconds, sizeof bits);
      values_[0] = bits;
      return error;
    }
    default:
      return carry_out_limits(call);
  }
}

cudaError_t Server::carry_out_limits(const Call& call) {
  if (call.argument(0) > cudaLimitPersistingL2CacheSize) return cudaErrorUnsupportedLimit;
  const auto limit = static_cast<cudaLimit>(call.argument(0));
  if (call.op() == Op::get_limit) {
    size_t value = 0;
    const cudaError_t error = backend_.get_limit(limit, value);
    values_[0] = value;
    return error;
  }
  before_waiting("set_limit");
  return set_limit(limit, call.argument(1));
}

// --- commands and findings ---

void Server::send_command(const wire::Command& command) {
  wire::Control& c = memory_.control();
  result_.reset();
  std::memcpy(&c.command, &command, sizeof command);
  c.command_sequence.fetch_add(1);
  if (c.host_sleeps.load() != 0) wake_all(c.command_sequence);
}

std::optional<CommandResult> Server::take_result() {
  return std::exchange(result_, std::nullopt);
}

cudaError_t Server::take_late_error() {
  memory_.control().late_error.store(0);
  return std::exchange(late_error_, cudaSuccess);
}

void Server::lend(uint64_t address, uint64_t bytes) {
  owned_.add({address, address + bytes, cudart::MemoryKind::other, false});
}

void Server::take_back(uint64_t address) {
  owned_.remove(address);
}

// What the program did wrong, as the runtime in its own process found it. Words for people: bounded, and
// of no weight.
cudaError_t Server::report(const Call& call) {
  std::vector<std::string> texts(1);
  for (const char c : call.text()) {
    if (c == wire::kBetweenTexts)
      texts.emplace_back();
    else
      texts.back() += c;
  }
  texts.resize(4);
  cudart::HostFinding finding;
  using Kind = cudart::HostFinding::Kind;
  const auto kind = static_cast<uint8_t>(std::min<uint64_t>(call.argument(0), 0xff));
  finding.kind = kind <= static_cast<uint8_t>(Kind::invalid_copy) ? Kind{kind} : Kind::unsupported;
  finding.line = call.low(1);
  finding.bytes = call.argument(2);
  finding.kernel = texts[0];
  finding.path = texts[1];
  finding.message = texts[2];
  finding.advice = texts[3];
  if (reports_.size() >= limits_.reports) return cudaSuccess;
  reports_.push_back(finding.message);
  findings_.push_back(finding);
  backend_.report(finding);
  return cudaSuccess;
}

cudaError_t Server::place(const Call& call) {
  const uint64_t address = call.argument(1);
  if (address == 0)
    backend_.place_finding(call.text(), call.low(0));
  else if (places_.size() < limits_.reports)
    places_[address] = {call.text(), call.low(0)};
  return cudaSuccess;
}

std::map<uint64_t, Server::Place> Server::take_places() {
  return std::exchange(places_, {});
}

void Server::say(const std::string& text) {
  std::fprintf(stderr, "executor: %s\n", text.c_str());
  if (reports_.size() < limits_.reports) reports_.push_back(text);
}

}  // namespace warpgrade::executor

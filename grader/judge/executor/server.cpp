#include "judge/executor/server.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <new>
#include <thread>

#include "judge/executor/server_call.h"
#include "judge/executor/visible_facts.h"

namespace warpgrade::executor {

using cudart::StreamId;
using wire::Data;
using wire::Op;

namespace {

constexpr std::chrono::seconds kLastWait{2};
constexpr uint64_t kPublishTail = wire::kRingBytes / 8;  // the host process needs to know seldom

Limits normalized(Limits limits) {
  if (limits.device_bytes == 0) limits.device_bytes = Limits::kNoLimit;
  return limits;
}

void publish_device(wire::Control& c, cudart::Backend& backend) {
  const cudart::DeviceFacts& facts = backend.device();
  std::snprintf(c.device_name, sizeof c.device_name, "%s", facts.name.c_str());
  std::memcpy(c.uuid, facts.uuid.data(), sizeof c.uuid);
  c.device_bytes = facts.total_bytes;
  c.driver_version = facts.driver_version;
  c.least_priority = facts.least_priority;
  c.greatest_priority = facts.greatest_priority;
  const auto attributes = visible_attributes(facts);
  std::copy(attributes.begin(), attributes.end(), c.attributes);
  const cudart::MemoryRange range = backend.device_range();
  c.device_begin = range.begin;
  c.device_end = range.end;
  c.is_interpreted = backend.is_interpreted() ? 1 : 0;
}

}  // namespace

CallServer::CallServer(cudart::Backend& backend, SharedMemory& memory, const Limits& limits)
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
CallServer::~CallServer() {
  on_waiting_ = {};
  on_stream_ = {};
  if (gave_up_) return;
  const auto limit = std::chrono::steady_clock::now() + kLastWait;
  while (ask_device() == cudaErrorNotReady) {
    if (std::chrono::steady_clock::now() > limit) return;
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

size_t CallServer::serve(size_t most) {
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

void CallServer::sleep(unsigned microseconds) {
  wire::Control& c = memory_.control();
  publish_tail();
  c.executor_sleeps.store(1);
  if (c.head.load() == tail_) wait_for_change(c.executor_sleeps, 1, microseconds);
  c.executor_sleeps.store(0);
}

// The host process looks at the tail when the ring seems full: telling it each record would pull the line of
// the cache to and fro.
void CallServer::publish_tail() {
  if (published_tail_ == tail_) return;
  published_tail_ = tail_;
  memory_.control().tail.store(tail_, std::memory_order_release);
}

bool CallServer::has_record() {
  if (head_ == tail_) {
    head_ = memory_.control().head.load(std::memory_order_acquire);
    if (head_ - tail_ > wire::kRingBytes) throw ProtocolError("the ring's head is beyond its end");
  }
  return head_ != tail_;
}

// Copies the next record, and steps over padding. The host process may change the ring at any time: what is
// looked at has been copied.
std::optional<CallServer::Call> CallServer::take_record() {
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
    if (tail_ - published_tail_ >= kPublishTail) publish_tail();
    if (is_pad) continue;
    check(call);
    ++records_;
    return call;
  }
  return std::nullopt;
}

// What no host process with our library writes.
void CallServer::check(const Call& call) const {
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

cudaError_t CallServer::sticky() const {
  return gave_up_ ? cudaErrorLaunchTimeout : backend_.sticky();
}

void CallServer::publish_sticky_error() {
  const cudaError_t now = sticky();
  if (now == published_sticky_) return;
  published_sticky_ = now;
  memory_.control().sticky.store(now, std::memory_order_relaxed);
}

const char* CallServer::call_in_hand() const {
  const uint16_t op = in_hand_.load(std::memory_order_relaxed);
  return op < wire::kOpCount ? wire::kOps[op].name : "a call";
}

void CallServer::dispatch(const Call& call) {
  std::fill(std::begin(values_), std::end(values_), 0);
  reply_.clear();
  reply_in_slot_ = 0;
  is_waiting_call_ = false;
  cudaError_t error = cudaSuccess;
  const bool touches_device = call.op() != Op::ping && call.op() != Op::report && call.op() != Op::place &&
                              call.op() != Op::command_done;
  in_hand_.store(call.record.op, std::memory_order_relaxed);
  activity_.store(activity_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  backend_.begin_call(wire::number_of_call(call.record.slot, call.record.sequence));
  if (touches_device) error = sticky();
  if (error == cudaSuccess) error = carry_out(call);
  activity_.store(activity_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  publish_sticky_error();
  if (is_waiting_call_) return;
  if (call.record.slot != wire::kNoSlot) return finish(call.record.slot, call.record.sequence, error);
  // A place may be that of the earlier call; the finding's own comes behind it.
  if (backend_.wants_place() && call.op() != Op::place) backend_.place_finding({}, 0);
  if (error == cudaSuccess || sticky() != cudaSuccess) return;
  if (late_error_ == cudaSuccess) late_error_ = error;
  memory_.control().late_error.store(error);
}

void CallServer::finish(uint16_t number, uint32_t sequence, cudaError_t error) {
  wire::Slot& slot = memory_.slot(number);
  slot.error = error;
  std::copy(std::begin(values_), std::end(values_), slot.values);
  slot.data_bytes = reply_in_slot_;
  slot.wants_place = backend_.wants_place() ? 1 : 0;
  slot.keeps_call = backend_.keeps_call() ? 1 : 0;
  slot.earlier_call = backend_.earlier_call();
  if (!reply_.empty()) {
    std::memcpy(slot.data, reply_.data(), reply_.size());
    slot.data_bytes = static_cast<uint32_t>(reply_.size());
  }
  slot.done.store(sequence, std::memory_order_seq_cst);
  if (slot.sleeps.load(std::memory_order_seq_cst) != 0) wake_all(slot.done);
}

cudaError_t CallServer::carry_out(const Call& call) {
  switch (call.op()) {
    case Op::pad:
    case Op::ping:
      return cudaSuccess;
    case Op::report:
      return report(call);
    case Op::place:
      return place(call);
    case Op::command_done:
      work_.end_run();
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
    case Op::active_clusters:
    case Op::largest_cluster:
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

}  // namespace warpgrade::executor

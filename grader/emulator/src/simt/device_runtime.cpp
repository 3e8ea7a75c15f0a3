// Streams, events, errors, attributes and memory as kernels ask for them (libcudadevrt).
#include <algorithm>
#include <atomic>
#include <utility>

#include "check/diagnose.h"
#include "check/global_races.h"
#include "check/initialized.h"
#include "check/shared_races.h"
#include "exec/handlers.h"
#include "memory/device_heap.h"
#include "order/touched_memory.h"
#include "program/program.h"
#include "simt/device_call.h"
#include "simt/heap.h"
#include "state/access.h"
#include "state/launch.h"

namespace warpgrade::emu {
namespace {

constexpr uint32_t kNonBlocking = 1, kDisableTiming = 2;  // cudaStreamNonBlocking, cudaEventDisableTiming
constexpr uint64_t kLastPlainStream = 4;  // the default streams, cudaStreamTailLaunch, ...FireAndForget

uint64_t block_of_handle(const DeviceCall& c) {
  return (c.w.block->linear & 0xffffff) << 32 | (c.w.block->launch->sequence & 0xff) << 24;
}

uint64_t new_handle(const DeviceCall& c, uint64_t tag) {
  static std::atomic<uint64_t> next{0};
  return tag | block_of_handle(c) | (++next & 0xffffff);
}

bool is_handle(const DeviceCall& c, uint64_t tag, uint64_t handle) {
  return (handle & ~uint64_t{0xffffff}) == (tag | block_of_handle(c));
}

template <class T>
void give_through(const DeviceCall& c, size_t argument, const T& value, CallError error = CallError::none) {
  if (error == CallError::none && !c.store(c.wide(argument), &value, sizeof value)) return;
  c.end(error);
}

void create_stream(const DeviceCall& c) {
  const bool known = c.word(1) == kNonBlocking;
  give_through(c, 0, new_handle(c, kDeviceStreamTag), known ? CallError::none : CallError::invalid_value);
}
void create_event(const DeviceCall& c) {
  const bool known = c.word(1) == kDisableTiming;
  give_through(c, 0, new_handle(c, kDeviceEventTag), known ? CallError::none : CallError::invalid_value);
}

CallError right_handle(bool right) {
  return right ? CallError::none : CallError::invalid_resource_handle;
}
void destroy_stream(const DeviceCall& c) {
  c.end(right_handle(is_handle(c, kDeviceStreamTag, c.wide(0))));
}
void destroy_event(const DeviceCall& c) {
  c.end(right_handle(is_handle(c, kDeviceEventTag, c.wide(0))));
}
// What was launched before runs before, whatever its stream: an event has nothing to add.
void record_event(const DeviceCall& c) {
  c.end(right_handle(is_handle(c, kDeviceEventTag, c.wide(0)) && is_stream(c, c.wide(1))));
}
void wait_event(const DeviceCall& c) {
  c.end(right_handle(is_handle(c, kDeviceEventTag, c.wide(1)) && is_stream(c, c.wide(0))));
}

void take_last_error(const DeviceCall& c) {
  c.give(std::exchange(c.w.last_error[c.lane], 0));
}
void peek_last_error(const DeviceCall& c) {
  c.give(c.w.last_error[c.lane]);
}
void error_string(const DeviceCall& c) {
  c.give(c.runtime().error_text(c.word(0), false));
}
void error_name(const DeviceCall& c) {
  c.give(c.runtime().error_text(c.word(0), true));
}

void device_count(const DeviceCall& c) {
  give_through(c, 0, c.runtime().device_count());
}
void current_device(const DeviceCall& c) {
  give_through(c, 0, c.w.block->launch->device);
}
void version(const DeviceCall& c) {
  give_through(c, 0, c.runtime().version());
}
void attribute(const DeviceCall& c) {
  int32_t value = 0;
  const CallError error = c.runtime().attribute(c.word(1), c.word(2), value);
  give_through(c, 0, value, error);
}
void limit(const DeviceCall& c) {
  uint64_t value = 0;
  const CallError error = c.runtime().limit(c.word(1), value);
  give_through(c, 0, value, error);
}
// cudaFuncCachePreferNone, cudaSharedMemBankSizeDefault
void configuration(const DeviceCall& c) {
  give_through(c, 0, uint32_t{0});
}

// (attributes, function)
void function_attributes(const DeviceCall& c) {
  const auto kernel = c.runtime().kernel(c.wide(1));
  if (!kernel || kernel->program == nullptr) return c.end(CallError::invalid_device_function);
  const std::vector<uint8_t> bytes = c.runtime().describe(c.wide(1));
  for (size_t k = 0; k < bytes.size(); k += sizeof(uint64_t)) {
    const auto piece = static_cast<uint32_t>(std::min(sizeof(uint64_t), bytes.size() - k));
    if (!c.store(c.wide(0) + k, bytes.data() + k, piece)) return;
  }
  c.end(CallError::none);
}

// (blocks, function, threads, shared bytes{, flags})
void occupancy(const DeviceCall& c) {
  int32_t blocks = 0;
  const CallError error = c.runtime().occupancy(c.wide(1), c.word(2), c.wide(3), blocks);
  give_through(c, 0, blocks, error);
}

void allocate(const DeviceCall& c) {
  const uint64_t address = take_from_heap(c.w, c.wide(1));
  if (address == 0 && c.wide(1) != 0) return c.end(CallError::memory_allocation);
  give_through(c, 0, address);
}
void release(const DeviceCall& c) {
  if (give_back_to_heap(c.w, c.i, c.lane, c.wide(0))) c.end(CallError::none);
}

}  // namespace

const DeviceRuntime& DeviceCall::runtime() const {
  return *w.block->launch->runtime;
}

NestedPlace DeviceCall::place() const {
  NestedPlace here;
  here.program = w.block->program;
  here.instruction = &i;
  std::copy_n(w.block->id, 3, here.block);
  const uint32_t* size = w.block->launch->block;
  const uint32_t t = w.index * kLanes + lane;
  here.thread[0] = t % size[0];
  here.thread[1] = t / size[0] % size[1];
  here.thread[2] = t / size[0] / size[1];
  return here;
}

bool DeviceCall::store(uint64_t address, const void* bytes, uint32_t count) const {
  Access x;
  std::fill(std::begin(x.host), std::end(x.host), address);
  x.space = Space::generic;
  resolve_slowly(w, i, count, AccessKind::store, x);
  const bool elsewhere = std::exchange(w.worker->faulty_lanes, 0) != 0;  // in another block of the cluster
  if (w.stop != Stop::none) return false;
  const Worker& worker = *w.worker;
  if (worker.touched != nullptr && x.space == Space::global)
    worker.touched->note(w, i, count, AccessKind::atomic, x);
  // Two threads that ask for the same thing are no race: for racecheck the store is atomic.
  if (worker.race_check && x.space == Space::global)
    w.block->launch->global_races->check(w, i, count, AccessKind::atomic, x);
  if (worker.init_check && !elsewhere) check_initialized(w, i, count, AccessKind::store, x);
  if (worker.race_check && x.space == Space::shared && !elsewhere)
    w.block->races->check(w, i, count, AccessKind::atomic, x);
  std::memcpy(reinterpret_cast<void*>(x.host[lane]), bytes, count);
  return true;
}

bool is_stream(const DeviceCall& c, uint64_t handle) {
  return handle <= kLastPlainStream || is_handle(c, kDeviceStreamTag, handle);
}

void add_device_runtime_handlers(HandlerTable& t) {
  t.add(each_lane_calls<create_stream>, "__cudaCDP2StreamCreateWithFlags");
  t.add(each_lane_calls<destroy_stream>, "__cudaCDP2StreamDestroy");
  t.add(each_lane_calls<wait_event>, "__cudaCDP2StreamWaitEvent");
  t.add(each_lane_calls<create_event>, "__cudaCDP2EventCreateWithFlags");
  t.add(each_lane_calls<record_event>, "__cudaCDP2EventRecord");
  t.add(each_lane_calls<record_event>, "__cudaCDP2EventRecordWithFlags");
  t.add(each_lane_calls<destroy_event>, "__cudaCDP2EventDestroy");
  t.add(each_lane_calls<take_last_error>, "__cudaCDP2GetLastError");
  t.add(each_lane_calls<peek_last_error>, "__cudaCDP2PeekAtLastError");
  t.add(each_lane_calls<error_string>, "__cudaCDP2GetErrorString");
  t.add(each_lane_calls<error_name>, "__cudaCDP2GetErrorName");
  t.add(each_lane_calls<device_count>, "__cudaCDP2GetDeviceCount");
  t.add(each_lane_calls<current_device>, "__cudaCDP2GetDevice");
  t.add(each_lane_calls<attribute>, "__cudaCDP2DeviceGetAttribute");
  t.add(each_lane_calls<limit>, "__cudaCDP2DeviceGetLimit");
  t.add(each_lane_calls<configuration>, "__cudaCDP2DeviceGetCacheConfig");
  t.add(each_lane_calls<configuration>, "__cudaCDP2DeviceGetSharedMemConfig");
  t.add(each_lane_calls<version>, "__cudaCDP2RuntimeGetVersion");
  t.add(each_lane_calls<function_attributes>, "__cudaCDP2FuncGetAttributes");
  for (const char* name : {"__cudaCDP2OccupancyMaxActiveBlocksPerMultiprocessor",
                           "__cudaCDP2OccupancyMaxActiveBlocksPerMultiprocessorWithFlags"}) {
    t.add(each_lane_calls<occupancy>, name);
  }
  t.add(each_lane_calls<allocate>, "__cudaCDP2Malloc");
  t.add(each_lane_calls<release>, "__cudaCDP2Free");
}

}  // namespace warpgrade::emu

// The device's memory that a submission has without allocating it: globals of modules, stacks, heap, and what
// the pool of stream-ordered memory keeps. All of it counts against Limits::device_bytes.
#include <algorithm>
#include <functional>
#include <utility>

#include "judge/executor/server_call.h"

namespace warpgrade::executor {

using cudart::MemoryKind;
using wire::Op;

namespace {

// A context has this much from its start, whatever runs in it.
constexpr uint64_t kFirstStackBytes = 1024, kFirstPrintfBytes = uint64_t{1} << 20,
                   kFirstPendingLaunches = 2048;

// Of a kernel's launch that waits. NVIDIA tells no size; an H200's driver (580) takes 9.2 KiB each, in steps from
// 2,048 to 262,144 launches.
constexpr uint64_t kPendingLaunchBytes = 10 << 10;

uint64_t beyond(uint64_t value, uint64_t first) {
  return value > first ? value - first : 0;
}

}  // namespace

uint64_t CallServer::free_bytes() {
  uint64_t left = 0, all = 0;
  return backend_.memory_info(left, all) == cudaSuccess ? left : 0;
}

uint64_t CallServer::resident_threads() const {
  const auto& a = backend_.device().attributes;
  return static_cast<uint64_t>(std::max(1, a[cudaDevAttrMultiProcessorCount])) *
         static_cast<uint64_t>(std::max(1, a[cudaDevAttrMaxThreadsPerMultiProcessor]));
}

bool CallServer::is_over_limit() const {
  return limits_.device_bytes != Limits::kNoLimit && device_bytes() > limits_.device_bytes;
}

// What the pool holds beyond the allocations that live: it was freed and has not gone back yet.
void CallServer::look_at_pool() {
  const uint64_t reserved = backend_.pool_bytes();
  pool_memory_ = beyond(reserved, owned_.async_bytes());
}

bool CallServer::has_room_for(MemoryKind kind, uint64_t bytes) {
  if (limits_.device_bytes == Limits::kNoLimit) return owned_.has_room_for(kind, bytes, 0);
  look_at_pool();
  if (owned_.has_room_for(kind, bytes, other_bytes())) return true;
  if (pool_memory_ == 0) return false;
  backend_.trim_pool();
  look_at_pool();
  return owned_.has_room_for(kind, bytes, other_bytes());
}

// Globals of a module come with its code. Nothing tells how much that is but the memory that is gone then.
cudaError_t CallServer::load_measured(Image& image) {
  const auto load = [&] {
    before_waiting("add_module");
    const uint64_t before = free_bytes();
    const cudaError_t error = backend_.add_module(split_containers(*image.bytes), image.id);
    image.device_bytes = beyond(before, free_bytes());
    return error;
  };
  cudaError_t error = load();
  if (error != cudaSuccess || limits_.device_bytes == Limits::kNoLimit) return error;
  // Other processes may have taken memory at the same moment: what goes away with the module was its own.
  if (device_bytes() + image.device_bytes > limits_.device_bytes) {
    const uint64_t first = image.device_bytes, before = free_bytes();
    backend_.remove_module(image.id);
    const uint64_t second = beyond(free_bytes(), before);
    error = load();
    image.device_bytes = std::min({image.device_bytes, first, second});
  }
  if (error != cudaSuccess) return error;
  if (device_bytes() + image.device_bytes > limits_.device_bytes) {
    backend_.remove_module(image.id);
    say("memory_limit\n  the module's device variables take " + std::to_string(image.device_bytes >> 20) +
        " MiB, and " + std::to_string(limits_.device_bytes >> 20) + " MiB of device memory are allowed");
    return cudaErrorMemoryAllocation;
  }
  module_memory_ += image.device_bytes;
  return cudaSuccess;
}

// A backend that loads code when it is used takes the memory of all variables of the image with the first use
// of one of them or of a kernel (measured on an H200: cuKernelGetFunction).
cudaError_t CallServer::use_measured(Image& image, const std::function<cudaError_t()>& use) {
  if (std::exchange(image.is_used, true) || !backend_.loads_code_when_used()) return use();
  uint64_t taken = 0;
  const auto measured = [&] {
    const uint64_t before = free_bytes();
    const cudaError_t error = use();
    taken = beyond(before, free_bytes());
    return error;
  };
  cudaError_t error = measured();
  const auto is_too_much = [&] {
    return limits_.device_bytes != Limits::kNoLimit && device_bytes() + taken > limits_.device_bytes;
  };
  // Other processes may have taken memory at the same moment: what goes away with the module was its own.
  if (is_too_much()) {
    const uint64_t first = taken, before = free_bytes();
    backend_.remove_module(image.id);
    const uint64_t second = beyond(free_bytes(), before);
    error = backend_.add_module(split_containers(*image.bytes), image.id);
    if (error == cudaSuccess) error = measured();
    taken = second == 0 ? first : std::min({first, second, taken});  // 0: the backend gives nothing back
  }
  module_memory_ += taken;
  if (taken > 0 && is_over_limit())
    say("memory_limit\n  the module's device variables take " + std::to_string(taken >> 20) + " MiB, and " +
        std::to_string(limits_.device_bytes >> 20) + " MiB of device memory are allowed");
  return error;
}

// What the first object of an array took, until the array is freed.
void CallServer::count_array(uint64_t address, uint64_t free_before) {
  const uint64_t taken = beyond(free_before, free_bytes());
  array_bytes_[address] += taken;
  array_memory_ += taken;
}

// Every thread that can be resident has a stack as large as the largest kernel's.
void CallServer::count_stack(uint64_t bytes_a_thread) {
  stack_memory_ = std::max(stack_memory_, beyond(bytes_a_thread, kFirstStackBytes) * resident_threads());
}

cudaError_t CallServer::set_limit(cudaLimit limit, uint64_t value) {
  if (value > uint64_t{1} << 46) return cudaErrorInvalidValue;
  const bool is_pending = limit == cudaLimitDevRuntimePendingLaunchCount;
  uint64_t& counted = limit == cudaLimitMallocHeapSize   ? heap_memory_
                      : limit == cudaLimitStackSize      ? stack_limit_memory_
                      : limit == cudaLimitPrintfFifoSize ? printf_memory_
                      : is_pending                       ? pending_launch_memory_
                                                         : uncounted_;
  const uint64_t before = counted;
  counted = limit == cudaLimitMallocHeapSize   ? beyond(value, first_heap_bytes_)
            : limit == cudaLimitStackSize      ? beyond(value, kFirstStackBytes) * resident_threads()
            : limit == cudaLimitPrintfFifoSize ? beyond(value, kFirstPrintfBytes)
            : is_pending                       ? beyond(value, kFirstPendingLaunches) * kPendingLaunchBytes
                                               : 0;
  cudaError_t error = is_over_limit() && counted > before ? cudaErrorMemoryAllocation : cudaSuccess;
  if (error == cudaSuccess) error = backend_.set_limit(limit, value);
  if (error != cudaSuccess) counted = before;
  return error;
}

cudaError_t CallServer::carry_out_limits(const Call& call) {
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

}  // namespace warpgrade::executor

#include "judge/executor/driver/timing_gate.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <stdexcept>

// The fat binary of timing_kernels.cu, by bin2c.
extern "C" const unsigned char warpgrade_timing_kernels[];

namespace warpgrade::executor {
namespace {

constexpr unsigned kGateThreads = 1024;
constexpr uint64_t kWipeLimitNs = 5'000'000;
constexpr size_t kArrivedOffset = 128;  // behind the start, in the same allocation

}  // namespace

double steady_us() {
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

CUfunction TimingGate::function(const char* name) {
  CUfunction found = nullptr;
  require(api_.cuModuleGetFunction_(&found, module_, name), name);
  require(api_.cuFuncLoad_(found), name);
  return found;
}

TimingGate::TimingGate() : api_(driver_api()) {
  CUdevice device = 0;
  int multiprocessors = 0, l2_bytes = 0, blocks = 0;
  require(api_.cuCtxGetDevice_(&device), "cuCtxGetDevice");
  require(api_.cuDeviceGetAttribute_(&multiprocessors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device),
          "cuDeviceGetAttribute");
  require(api_.cuDeviceGetAttribute_(&l2_bytes, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, device),
          "cuDeviceGetAttribute");
  require(api_.cuModuleLoadData_(&module_, warpgrade_timing_kernels), "loading the timing kernels");
  gate_ = function("warpgrade_gate");
  end_ = function("warpgrade_end");
  step_ = function("warpgrade_clock_step");
  spin_ = function("warpgrade_spin");
  read_ = function("warpgrade_read");
  require(api_.cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags_(&blocks, gate_, kGateThreads, 0, 0),
          "occupancy of the gate");
  gate_blocks_ = static_cast<unsigned>(blocks * multiprocessors);
  require(api_.cuStreamCreateWithPriority_(&stream_, CU_STREAM_NON_BLOCKING, 0), "cuStreamCreate");
  require(api_.cuEventCreate_(&start_event_, CU_EVENT_DEFAULT), "cuEventCreate");
  require(api_.cuEventCreate_(&end_event_, CU_EVENT_DEFAULT), "cuEventCreate");
  require(api_.cuEventCreate_(&join_event_, CU_EVENT_DISABLE_TIMING), "cuEventCreate");
  require(api_.cuEventCreate_(&idle_event_, CU_EVENT_DISABLE_TIMING), "cuEventCreate");
  require(api_.cuCtxGetCurrent_(&context_), "cuCtxGetCurrent");
  void* page = nullptr;
  require(api_.cuMemHostAlloc_(&page, 4096, CU_MEMHOSTALLOC_DEVICEMAP | CU_MEMHOSTALLOC_PORTABLE),
          "cuMemHostAlloc");
  std::memset(page, 0, 4096);
  page_ = static_cast<TimingPage*>(page);
  require(api_.cuMemHostGetDevicePointer_(&page_on_device_, page, 0), "cuMemHostGetDevicePointer");
  require(api_.cuMemAlloc_(&start_on_device_, 256), "cuMemAlloc");
  prepare_wipe(device, multiprocessors);
  flush_bytes_ = 2 * static_cast<size_t>(l2_bytes);
  if (flush_bytes_ != 0)
    require(api_.cuMemAlloc_(&flush_, flush_bytes_), "cuMemAlloc of the memory that empties L2");
}

TimingGate::~TimingGate() {
  if (flush_ != 0) api_.cuMemFree_(flush_);
}

void TimingGate::prepare_wipe(CUdevice device, int multiprocessors) {
  int bytes = 0, blocks = 0;
  require(api_.cuDeviceGetAttribute_(&bytes, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, device),
          "cuDeviceGetAttribute");
  wipe_ = function("warpgrade_wipe");
  require(api_.cuFuncSetAttribute_(wipe_, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, bytes),
          "all shared memory for one block");
  shared_bytes_ = static_cast<unsigned>(bytes);
  require(api_.cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags_(&blocks, wipe_, kGateThreads,
                                                                     shared_bytes_, 0),
          "occupancy of the kernel that overwrites shared memory");
  wipe_blocks_ = static_cast<unsigned>(blocks * multiprocessors);
}

void TimingGate::forget_earlier_runs() {
  require(api_.cuCtxSynchronize_(), "cuCtxSynchronize");
  wipe_multiprocessors();
  reset_l2();
}

// A kernel finds in shared memory and registers what the one before it left there.
void TimingGate::wipe_multiprocessors() {
  CUdeviceptr arrived = start_on_device_ + kArrivedOffset;
  uint32_t value = number_;
  uint64_t limit = kWipeLimitNs;
  void* arguments[] = {&arrived, &shared_bytes_, &value, &limit};
  require(api_.cuMemsetD8Async_(arrived, 0, 4, stream_), "cuMemsetD8Async");
  require(api_.cuLaunchKernel_(wipe_, wipe_blocks_, 1, 1, kGateThreads, 1, 1, shared_bytes_, stream_,
                               arguments, nullptr),
          "overwriting shared memory");
}

// Every run begins with a cache that holds nothing of the submission's, and no lines that persist.
void TimingGate::reset_l2() {
  require(api_.cuCtxResetPersistingL2Cache_(), "cuCtxResetPersistingL2Cache");
  if (flush_ == 0) return require(api_.cuStreamSynchronize_(stream_), "cuStreamSynchronize");
  require(api_.cuMemsetD8Async_(flush_, static_cast<unsigned char>(number_), flush_bytes_, stream_),
          "cuMemsetD8Async");
  uint64_t words = flush_bytes_ / sizeof(uint32_t);
  void* arguments[] = {&flush_, &words, &start_on_device_};
  require(api_.cuLaunchKernel_(read_, gate_blocks_, 1, 1, kGateThreads, 1, 1, 0, stream_, arguments, nullptr),
          "reading what empties L2");
  require(api_.cuStreamSynchronize_(stream_), "cuStreamSynchronize");
}

// The streams wait for the start event, too: a gate of kernels does not stop copies.
void TimingGate::close(std::span<const CUstream> streams) {
  page_->opened = number_;
  page_->start = 0;
  page_->end = 0;
  ++number_;
  opened_by_.clear();
  opening_found_ = {};
  closed_at_ = steady_us();  // before the launch: the gate's own limit ends later than this one
  uint64_t ahead = kAheadNs, limit = kGateLimitNs;
  void* arguments[] = {&page_on_device_, &start_on_device_, &number_, &ahead, &limit};
  require(api_.cuMemsetD8Async_(start_on_device_, 0, 8, stream_), "cuMemsetD8Async");
  require(api_.cuLaunchKernel_(gate_, gate_blocks_, 1, 1, kGateThreads, 1, 1, 0, stream_, arguments, nullptr),
          "launching the gate");
  require(api_.cuEventRecord_(start_event_, stream_), "cuEventRecord");
  for (const CUstream stream : streams)
    require(api_.cuStreamWaitEvent_(stream, start_event_, 0), "cuStreamWaitEvent");
  const std::lock_guard lock(opening_);
  is_closed_ = is_timing_ = true;
}

// The start is copied to our own memory while nothing but the gate can run.
void TimingGate::open(const char* by) {
  const std::lock_guard lock(opening_);
  if (!is_closed_) return;
  is_closed_ = false;
  opened_by_ = by;
  opened_at_ = steady_us();
  opening_found_.closed_for_us = opened_at_ - closed_at_;
  __atomic_store_n(const_cast<uint32_t*>(&page_->opened), number_, __ATOMIC_SEQ_CST);
  const double limit = opened_at_ + 1e6;
  while ((opening_found_.start = page_->start) == 0 && steady_us() < limit) {
  }
  opening_found_.announce_us = steady_us() - opened_at_;
}

void TimingGate::add_stream(CUstream stream) {
  if (is_timing_) api_.cuStreamWaitEvent_(stream, start_event_, 0);
}

void TimingGate::join_stream(CUstream stream) {
  if (!is_timing_) return;
  api_.cuEventRecord_(join_event_, stream);
  api_.cuStreamWaitEvent_(stream_, join_event_, 0);
}

// The end is the end of all that the context does, also of what no stream of ours waits for. An event of the
// whole context says so. Waiting for the context itself takes longer the more streams there are, by 19 us for
// 1,000 idle ones on an H100, and fetches what kernels have printed, 300 us for 2,000 lines.
void TimingGate::record_all_work() {
  knows_idle_ =
      api_.cuCtxRecordEvent_ != nullptr && api_.cuCtxRecordEvent_(context_, idle_event_) == CUDA_SUCCESS;
}

CUresult TimingGate::wait_for_all_work(double deadline_us) {
  CUresult state = CUDA_ERROR_NOT_READY;
  while ((state = api_.cuStreamQuery_(stream_)) == CUDA_ERROR_NOT_READY && steady_us() < deadline_us) {
  }
  if (state != CUDA_SUCCESS) return state;
  if (!knows_idle_) return api_.cuCtxSynchronize_();
  while ((state = api_.cuEventQuery_(idle_event_)) == CUDA_ERROR_NOT_READY && steady_us() < deadline_us) {
  }
  return state;
}

// Stop event, last kernel, and the wait for both.
GateTimes TimingGate::finish(std::span<const CUstream> streams, double limit_s) {
  GateTimes times;
  for (const CUstream stream : streams) join_stream(stream);
  times.state = api_.cuEventRecord_(end_event_, stream_);
  void* arguments[] = {&page_on_device_};
  if (times.state == CUDA_SUCCESS)
    times.state = api_.cuLaunchKernel_(end_, 1, 1, 1, 1, 1, 1, 0, stream_, arguments, nullptr);
  record_all_work();
  open("");
  if (times.state != CUDA_SUCCESS) {  // a kernel of the submission's has ended the context
    is_timing_ = false;
    return times;
  }
  times.opened_by = opened_by_;
  const double deadline = steady_us() + 1e6 * limit_s;
  times.state = wait_for_all_work(deadline);
  times.host_clock_us = steady_us() - opened_at_;
  // Behind the clock: it fetches what kernels have printed, which is no work of the device.
  if (times.state == CUDA_SUCCESS) times.state = api_.cuCtxSynchronize_();
  times.announce_us = opening_found_.announce_us;
  is_timing_ = false;
  if (times.state != CUDA_SUCCESS) return times;
  float milliseconds = 0;
  api_.cuEventElapsedTime_(&milliseconds, start_event_, end_event_);
  times.event_us = 1e3 * static_cast<double>(milliseconds);
  const uint64_t end = page_->end;
  const uint64_t start = opening_found_.start;
  times.stamps_us = end > start ? 1e-3 * static_cast<double>(end - start) : 0;
  times.is_void = !is_sound(opening_found_) || end <= start;
  return times;
}

std::optional<double> TimingGate::constant_us() {
  constexpr unsigned kMostRuns = 400, kWarmUp = 5;
  constexpr size_t kEnough = 50, kLeast = 15;
  if (constant_us_) return constant_us_;
  std::vector<double> all;
  const CUstream streams[] = {CU_STREAM_LEGACY, CU_STREAM_PER_THREAD};
  for (unsigned k = 0; k < kMostRuns && all.size() < kEnough; ++k) {
    require(api_.cuCtxSynchronize_(), "cuCtxSynchronize");
    close(streams);
    const GateTimes times = finish(streams, 2);
    if (k >= kWarmUp && !times.is_void && times.state == CUDA_SUCCESS) all.push_back(times.stamps_us);
  }
  if (all.size() < kLeast) return std::nullopt;
  std::nth_element(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2), all.end());
  return constant_us_ = all[all.size() / 2];
}

double TimingGate::clock_step_ns() {
  page_->end = 0;
  CUdeviceptr where = page_on_device_ + offsetof(TimingPage, end);
  void* arguments[] = {&where};
  require(api_.cuLaunchKernel_(step_, 1, 1, 1, 1, 1, 1, 0, stream_, arguments, nullptr), "launching");
  require(api_.cuStreamSynchronize_(stream_), "cuStreamSynchronize");
  return static_cast<double>(page_->end);
}

void TimingGate::spin(CUstream stream, uint64_t ns) {
  void* arguments[] = {&ns};
  api_.cuLaunchKernel_(spin_, 1, 1, 1, 1, 1, 1, 0, stream, arguments, nullptr);
}

}  // namespace warpgrade::executor

#include "executor/driver/timed_run.h"

#include <sched.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <stdexcept>

// The fat binary of timing_kernels.cu, by bin2c.
extern "C" const unsigned char warpgrade_timing_kernels[];

namespace warpgrade::executor {
namespace {

constexpr uint64_t kAheadNs = 10'000;             // from the host's word to the start
constexpr uint64_t kGateLimitNs = 4'000'000'000;  // a gate that nobody opens ends by itself
constexpr unsigned kMostBehindGate = 700;  // the driver's queue is finite: a full one would wait for the gate
constexpr unsigned kGateThreads = 1024;
constexpr double kIdleSeconds = 10;  // for what an earlier command left behind

double now_us() {
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

void require(CUresult result, const char* what) {
  if (result != CUDA_SUCCESS) throw std::runtime_error(std::string(what) + ": " + name_of(result));
}

}  // namespace

CUfunction TimedRuns::function(const char* name) {
  CUfunction found = nullptr;
  require(api_.cuModuleGetFunction_(&found, module_, name), name);
  return found;
}

TimedRuns::TimedRuns(Driver& driver, Server& server) : driver_(driver), server_(server), api_(driver_api()) {
  require(api_.cuModuleLoadData_(&module_, warpgrade_timing_kernels), "loading the timing kernels");
  gate_ = function("warpgrade_gate");
  end_ = function("warpgrade_end");
  step_ = function("warpgrade_clock_step");
  spin_ = function("warpgrade_spin");
  int blocks = 0;
  require(api_.cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags_(&blocks, gate_, kGateThreads, 0, 0),
          "occupancy of the gate");
  gate_blocks_ = static_cast<unsigned>(blocks * driver.device().attributes[cudaDevAttrMultiProcessorCount]);
  require(api_.cuStreamCreateWithPriority_(&stream_, CU_STREAM_NON_BLOCKING, 0), "cuStreamCreate");
  require(api_.cuEventCreate_(&start_event_, CU_EVENT_DEFAULT), "cuEventCreate");
  require(api_.cuEventCreate_(&end_event_, CU_EVENT_DEFAULT), "cuEventCreate");
  require(api_.cuEventCreate_(&join_event_, CU_EVENT_DISABLE_TIMING), "cuEventCreate");
  void* page = nullptr;
  require(api_.cuMemHostAlloc_(&page, 4096, CU_MEMHOSTALLOC_DEVICEMAP | CU_MEMHOSTALLOC_PORTABLE),
          "cuMemHostAlloc");
  std::memset(page, 0, 4096);
  page_ = static_cast<TimingPage*>(page);
  require(api_.cuMemHostGetDevicePointer_(&page_on_device_, page, 0), "cuMemHostGetDevicePointer");
  require(api_.cuMemAlloc_(&start_on_device_, 256), "cuMemAlloc");
  flush_bytes_ = 2 * static_cast<size_t>(driver.device().attributes[cudaDevAttrL2CacheSize]);
  if (flush_bytes_ != 0)
    require(api_.cuMemAlloc_(&flush_, flush_bytes_), "cuMemAlloc of the memory that empties L2");
  server_.on_waiting([this](const char* name) { open_gate(name); });
  server_.on_work([this](wire::Op) {
    if (is_closed_ && ++behind_gate_ > kMostBehindGate) open_gate("a full queue");
  });
  server_.on_stream([this](cudart::StreamId stream, bool is_new) {
    if (!is_timing_) return;
    if (is_new) {
      api_.cuStreamWaitEvent_(driver_.stream_of(stream), start_event_, 0);
    } else {
      api_.cuEventRecord_(join_event_, driver_.stream_of(stream));
      api_.cuStreamWaitEvent_(stream_, join_event_, 0);
    }
  });
}

TimedRuns::~TimedRuns() {
  if (flush_ != 0) api_.cuMemFree_(flush_);
  server_.on_waiting({});
  server_.on_work({});
  server_.on_stream({});
}

// Every run begins with a cache that holds nothing of the submission's, and no lines that persist.
void TimedRuns::reset_l2() {
  require(api_.cuCtxResetPersistingL2Cache_(), "cuCtxResetPersistingL2Cache");
  if (flush_ == 0) return;
  require(api_.cuMemsetD8Async_(flush_, static_cast<unsigned char>(number_), flush_bytes_, stream_),
          "cuMemsetD8Async");
  require(api_.cuStreamSynchronize_(stream_), "cuStreamSynchronize");
}

// All streams wait for the start event, too: a gate of kernels does not stop copies.
void TimedRuns::close_gate() {
  page_->opened = number_;
  page_->timed_out = 0;
  page_->start = 0;
  page_->end = 0;
  ++number_;
  opened_by_.clear();
  behind_gate_ = 0;
  start_ = 0;
  uint64_t ahead = kAheadNs, limit = kGateLimitNs;
  void* arguments[] = {&page_on_device_, &start_on_device_, &number_, &ahead, &limit};
  require(api_.cuMemsetD8Async_(start_on_device_, 0, 8, stream_), "cuMemsetD8Async");
  require(api_.cuLaunchKernel_(gate_, gate_blocks_, 1, 1, kGateThreads, 1, 1, 0, stream_, arguments, nullptr),
          "launching the gate");
  require(api_.cuEventRecord_(start_event_, stream_), "cuEventRecord");
  std::vector<cudart::StreamId> all = server_.streams();
  all.push_back(cudart::kLegacyStream);
  all.push_back(cudart::kPerThreadStream);
  for (const cudart::StreamId s : all)
    require(api_.cuStreamWaitEvent_(driver_.stream_of(s), start_event_, 0), "cuStreamWaitEvent");
  is_closed_ = is_timing_ = true;
}

// The start is copied to our own memory while nothing but the gate can run.
void TimedRuns::open_gate(const char* by) {
  if (!is_closed_) return;
  is_closed_ = false;
  opened_by_ = by;
  opened_at_ = now_us();
  __atomic_store_n(const_cast<uint32_t*>(&page_->opened), number_, __ATOMIC_SEQ_CST);
  const double limit = opened_at_ + 1e6;
  while ((start_ = page_->start) == 0 && now_us() < limit) {
  }
  announce_us_ = now_us() - opened_at_;
}

void TimedRuns::join_streams() {
  std::vector<cudart::StreamId> all = server_.streams();
  all.push_back(cudart::kLegacyStream);
  all.push_back(cudart::kPerThreadStream);
  for (const cudart::StreamId s : all) {
    api_.cuEventRecord_(join_event_, driver_.stream_of(s));
    api_.cuStreamWaitEvent_(stream_, join_event_, 0);
  }
}

bool TimedRuns::end_without_result(TimedResult& result, Ending ending, const std::string& text) {
  result.status = -1;
  result.ending = ending;
  result.message = text;
  return false;
}

// The device is idle, or the executor has given up.
bool TimedRuns::wait_until_idle(TimedResult& result, double limit_s, const char* name) {
  result.error = server_.wait_until_idle(limit_s, name);
  if (result.error == cudaSuccess) result.error = driver_.synchronize_device();
  if (server_.gave_up()) end_without_result(result, server_.gave_up()->ending, server_.gave_up()->text());
  return result.error == cudaSuccess;
}

bool TimedRuns::serve_until_done(const Host& host, double limit_s, TimedResult& result) {
  const double deadline = now_us() + 1e6 * limit_s;
  for (unsigned turn = 1;; ++turn) {
    const bool was_idle = server_.serve(64) == 0;
    if (const auto said = server_.take_result()) {
      result.status = said->status;
      result.message = said->message;
      return true;
    }
    if (!was_idle || turn % 1024 != 0) continue;
    if (server_.gave_up())
      return end_without_result(result, server_.gave_up()->ending, server_.gave_up()->text());
    if (!host.is_alive()) return end_without_result(result, Ending::host_ended, "the host process has ended");
    if (now_us() > deadline)
      return end_without_result(result, Ending::host_did_not_return, "no end within the limit");
  }
}

// Stop event, last kernel, and the wait for both.
void TimedRuns::finish(TimedResult& result, double limit_s) {
  join_streams();
  require(api_.cuEventRecord_(end_event_, stream_), "cuEventRecord");
  void* arguments[] = {&page_on_device_};
  api_.cuLaunchKernel_(end_, 1, 1, 1, 1, 1, 1, 0, stream_, arguments, nullptr);
  result.opened_by = opened_by_;
  open_gate("");
  const double deadline = now_us() + 1e6 * limit_s;
  CUresult state = CUDA_ERROR_NOT_READY;
  while ((state = api_.cuStreamQuery_(stream_)) == CUDA_ERROR_NOT_READY && now_us() < deadline) {
  }
  const double done = now_us();
  is_timing_ = false;
  if (state == CUDA_SUCCESS) state = api_.cuCtxSynchronize_();
  result.error = static_cast<cudaError_t>(state);
  if (state == CUDA_ERROR_NOT_READY) {
    server_.give_up({Ending::device_did_not_finish, "a timed run", limit_s});
    end_without_result(result, Ending::device_did_not_finish, server_.gave_up()->text());
    result.error = cudaErrorLaunchTimeout;
  }
  result.host_clock_us = done - opened_at_;
  result.announce_us = announce_us_;
  if (state != CUDA_SUCCESS) return;
  float milliseconds = 0;
  api_.cuEventElapsedTime_(&milliseconds, start_event_, end_event_);
  result.event_us = 1e3 * static_cast<double>(milliseconds);
  const uint64_t end = page_->end;
  result.stamps_us = end > start_ && start_ != 0 ? 1e-3 * static_cast<double>(end - start_) : 0;
  // The start's value must have been ours before a kernel of the submission could come to change it.
  result.is_void = start_ == 0 || announce_us_ > 1e-3 * kAheadNs || page_->timed_out == number_;
}

TimedResult TimedRuns::run(const wire::Command& command, const Host& host, double limit_s) {
  TimedResult result;
  const uint64_t launches = server_.launches();
  server_.take_late_error();
  if (!wait_until_idle(result, kIdleSeconds, "a timed run's beginning")) return result;
  driver_.use_submissions_limits();
  reset_l2();
  close_gate();
  const double begin = now_us();
  server_.send_command(command);
  host.thaw();
  const bool is_done = serve_until_done(host, limit_s, result);
  host.freeze();
  result.host_us = (is_closed_ ? now_us() : opened_at_) - begin;
  finish(result, is_done ? limit_s : 1);
  if (result.ending == Ending::none) driver_.put_limits_aside();
  result.launches = server_.launches() - launches;
  if (result.error == cudaSuccess) result.error = server_.take_late_error();
  return result;
}

TimedResult TimedRuns::run_own(const std::function<void(CUstream)>& body) {
  TimedResult result;
  require(api_.cuCtxSynchronize_(), "cuCtxSynchronize");
  close_gate();
  body(CU_STREAM_LEGACY);
  finish(result, 2);
  return result;
}

TimedResult TimedRuns::plain(const wire::Command& command, const Host& host, double limit_s) {
  TimedResult result;
  const double begin = now_us();
  const uint64_t launches = server_.launches();
  if (!wait_until_idle(result, kIdleSeconds, "a command's beginning")) return result;
  driver_.use_submissions_limits();
  server_.send_command(command);
  host.thaw();
  const bool is_done = serve_until_done(host, limit_s, result);
  host.freeze();
  const Ending ending = result.ending;
  const std::string message = result.message;
  wait_until_idle(result, is_done ? limit_s : 1, "a command");
  if (ending != Ending::none) end_without_result(result, ending, message);
  if (!server_.gave_up()) driver_.put_limits_aside();
  result.host_us = now_us() - begin;
  result.launches = server_.launches() - launches;
  if (result.error == cudaSuccess) result.error = server_.take_late_error();
  return result;
}

double TimedRuns::measure_constant(unsigned runs) {
  std::vector<double> all;
  TimedResult r;
  for (unsigned k = 0; k < runs + 5; ++k) {
    r = run_own([](CUstream) {});
    if (k >= 5 && !r.is_void) all.push_back(r.stamps_us);
  }
  if (all.empty()) {
    throw std::runtime_error("no empty run could be measured: the last one's start was known after " +
                             std::to_string(r.announce_us) + " us, stamps " + std::to_string(r.stamps_us) +
                             " us, events " + std::to_string(r.event_us) + " us, error " +
                             std::to_string(r.error));
  }
  std::nth_element(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2), all.end());
  return all[all.size() / 2];
}

double TimedRuns::clock_step_ns() {
  page_->end = 0;
  CUdeviceptr where = page_on_device_ + offsetof(TimingPage, end);
  void* arguments[] = {&where};
  require(api_.cuLaunchKernel_(step_, 1, 1, 1, 1, 1, 1, 0, stream_, arguments, nullptr), "launching");
  require(api_.cuStreamSynchronize_(stream_), "cuStreamSynchronize");
  return static_cast<double>(page_->end);
}

void TimedRuns::spin(CUstream stream, uint64_t ns) {
  void* arguments[] = {&ns};
  api_.cuLaunchKernel_(spin_, 1, 1, 1, 1, 1, 1, 0, stream, arguments, nullptr);
}

}  // namespace warpgrade::executor

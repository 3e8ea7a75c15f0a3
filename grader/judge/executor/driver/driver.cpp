#include "judge/executor/driver/driver.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "judge/executor/visible_facts.h"

namespace warpgrade::executor {
namespace {

using cudart::EventId;
using cudart::StreamId;

constexpr CUlimit kLimits[] = {CU_LIMIT_STACK_SIZE, CU_LIMIT_PRINTF_FIFO_SIZE, CU_LIMIT_MALLOC_HEAP_SIZE,
                               CU_LIMIT_MAX_L2_FETCH_GRANULARITY, CU_LIMIT_PERSISTING_L2_CACHE_SIZE};

// They bind the caches for whoever runs next.
bool is_of_the_whole_device(CUlimit limit) {
  return limit == CU_LIMIT_PERSISTING_L2_CACHE_SIZE || limit == CU_LIMIT_MAX_L2_FETCH_GRANULARITY;
}

// Ends the process's use of the device.
bool is_fault(CUresult result) {
  switch (result) {
    case CUDA_ERROR_ECC_UNCORRECTABLE:
    case CUDA_ERROR_ILLEGAL_ADDRESS:
    case CUDA_ERROR_LAUNCH_TIMEOUT:
    case CUDA_ERROR_ASSERT:
    case CUDA_ERROR_HARDWARE_STACK_ERROR:
    case CUDA_ERROR_ILLEGAL_INSTRUCTION:
    case CUDA_ERROR_MISALIGNED_ADDRESS:
    case CUDA_ERROR_INVALID_ADDRESS_SPACE:
    case CUDA_ERROR_INVALID_PC:
    case CUDA_ERROR_LAUNCH_FAILED:
    case CUDA_ERROR_UNKNOWN:
      return true;
    default:
      return false;
  }
}

}  // namespace

// Device code is loaded when it is first used, as NVIDIA's runtime does it by default: baselines run so, and
// where the code comes to lie changes a short run by 2 to 3 us
// (reports/published/h200/benches/fidelity-differences.txt).
Driver::Driver() : api_((setenv("CUDA_MODULE_LOADING", "LAZY", 1), driver_api())) {
  CUdevice gpu = 0;
  require(api_.cuInit_(0), "cuInit");
  require(api_.cuDeviceGet_(&gpu, 0), "cuDeviceGet");
  require(api_.cuDevicePrimaryCtxRetain_(&context_, gpu), "cuDevicePrimaryCtxRetain");
  require(api_.cuCtxSetCurrent_(context_), "cuCtxSetCurrent");
  read_facts(gpu);
  const char* word = std::getenv("WARPGRADE_PAGEABLE_ACCESS");
  const std::string objection = objection_to(facts_, word != nullptr && std::strcmp(word, "allow") == 0);
  if (!objection.empty()) throw std::runtime_error(objection);
  if (api_.cuDeviceGetDefaultMemPool_(&pool_, gpu) != CUDA_SUCCESS) pool_ = nullptr;
  for (const CUlimit limit : kLimits) {
    size_t value = 0;
    if (api_.cuCtxGetLimit_(&value, limit) == CUDA_SUCCESS) first_limits_[limit] = value;
  }
  void* memory = nullptr;
  require(api_.cuMemHostAlloc_(&memory, kBounceBytes, CU_MEMHOSTALLOC_PORTABLE), "cuMemHostAlloc");
  bounce_ = static_cast<uint8_t*>(memory);
  streams_ = {CU_STREAM_LEGACY, CU_STREAM_PER_THREAD};
}

Driver::~Driver() = default;  // the process ends with its context

void Driver::read_facts(CUdevice gpu) {
  char name[256] = {};
  size_t total = 0;
  CUuuid uuid{};
  require(api_.cuDeviceGetName_(name, sizeof name, gpu), "cuDeviceGetName");
  require(api_.cuDeviceTotalMem_(&total, gpu), "cuDeviceTotalMem");
  require(api_.cuDriverGetVersion_(&facts_.driver_version), "cuDriverGetVersion");
  require(api_.cuCtxGetStreamPriorityRange_(&facts_.least_priority, &facts_.greatest_priority),
          "cuCtxGetStreamPriorityRange");
  if (api_.cuDeviceGetUuid_(&uuid, gpu) == CUDA_SUCCESS)
    std::memcpy(facts_.uuid.data(), uuid.bytes, facts_.uuid.size());
  facts_.name = name;
  facts_.total_bytes = total;
  const size_t count = std::min<size_t>(facts_.attributes.size(), CU_DEVICE_ATTRIBUTE_MAX);
  for (size_t a = 1; a < count; ++a) {
    int value = 0;
    if (api_.cuDeviceGetAttribute_(&value, static_cast<CUdevice_attribute>(a), gpu) == CUDA_SUCCESS)
      facts_.attributes[a] = value;
  }
}

cudaError_t Driver::result_of(CUresult result) {
  if (is_fault(result) && sticky_ == cudaSuccess) sticky_ = static_cast<cudaError_t>(result);
  return static_cast<cudaError_t>(result);
}

// The host process has said it on its own stderr; the server keeps it.
void Driver::report(const cudart::HostFinding&) {}

CUstream Driver::stream_of(StreamId stream) const {
  return stream < streams_.size() ? streams_[stream] : nullptr;
}
// --- streams and events ---

cudaError_t Driver::create_stream(unsigned flags, int priority, StreamId& stream) {
  const StreamKind kind{flags, priority};
  CUstream made = nullptr;
  // An idle one: behind what a destroyed stream still has to do, a new stream's work would wait.
  const auto kept = std::find_if(kept_streams_.begin(), kept_streams_.end(), [&](const auto& one) {
    return one.second == kind && api_.cuStreamQuery_(one.first) == CUDA_SUCCESS;
  });
  if (kept != kept_streams_.end()) {
    made = kept->first;
    kept_streams_.erase(kept);
  } else {
    const CUresult result = api_.cuStreamCreateWithPriority_(&made, flags, priority);
    if (result != CUDA_SUCCESS) return result_of(result);
  }
  stream = static_cast<StreamId>(streams_.size());
  streams_.push_back(made);
  stream_kinds_[stream] = kind;
  return cudaSuccess;
}
// Kept for the next one of its kind: each new stream may get another of the device's queues, and a short
// run's time depends on the queue. So a case's stream is the same, whichever cases came before.
cudaError_t Driver::destroy_stream(StreamId stream) {
  const CUstream gone = std::exchange(streams_[stream], nullptr);
  const auto kind = stream_kinds_.extract(stream);
  const bool was_changed = kind.empty();  // its attributes
  if (was_changed || kept_streams_.size() >= kMostKeptStreams) return result_of(api_.cuStreamDestroy_(gone));
  kept_streams_.emplace_back(gone, kind.mapped());
  return cudaSuccess;
}
cudaError_t Driver::set_stream_attribute(StreamId stream, cudaStreamAttrID attribute,
                                         const cudaStreamAttrValue& value) {
  stream_kinds_.erase(stream);
  CUstreamAttrValue v;
  static_assert(sizeof v == sizeof value);
  std::memcpy(&v, &value, sizeof v);
  return result_of(api_.cuStreamSetAttribute_(stream_of(stream), static_cast<CUstreamAttrID>(attribute), &v));
}
cudaError_t Driver::synchronize_stream(StreamId stream) {
  return result_of(api_.cuStreamSynchronize_(stream_of(stream)));
}
cudaError_t Driver::query_stream(StreamId stream) {
  return result_of(api_.cuStreamQuery_(stream_of(stream)));
}
cudaError_t Driver::synchronize_device() {
  const cudaError_t error = result_of(api_.cuCtxSynchronize_());
  if (error == cudaSuccess) bounce_at_ = 0;
  return error;
}
cudaError_t Driver::create_event(unsigned flags, EventId& event) {
  CUevent made = nullptr;
  const CUresult result = api_.cuEventCreate_(&made, flags);
  if (result != CUDA_SUCCESS) return result_of(result);
  event = static_cast<EventId>(events_.size());
  events_.push_back(made);
  return cudaSuccess;
}
cudaError_t Driver::destroy_event(EventId event) {
  return result_of(api_.cuEventDestroy_(std::exchange(events_[event], nullptr)));
}
cudaError_t Driver::record_event(EventId event, StreamId stream) {
  return result_of(api_.cuEventRecord_(events_[event], stream_of(stream)));
}
cudaError_t Driver::wait_event(StreamId stream, EventId event) {
  return result_of(api_.cuStreamWaitEvent_(stream_of(stream), events_[event], 0));
}
cudaError_t Driver::synchronize_event(EventId event) {
  cudaError_t error = cudaErrorNotReady;
  while (error == cudaErrorNotReady) error = query_event(event);
  return error;
}
cudaError_t Driver::query_event(EventId event) {
  return result_of(api_.cuEventQuery_(events_[event]));
}
cudaError_t Driver::elapsed(EventId start, EventId end, float& milliseconds) {
  return result_of(api_.cuEventElapsedTime_(&milliseconds, events_[start], events_[end]));
}

// --- limits ---

cudaError_t Driver::set_limit(cudaLimit limit, size_t value) {
  const auto which = static_cast<CUlimit>(limit);
  size_t first = 0;
  if (!first_limits_.contains(which) && api_.cuCtxGetLimit_(&first, which) == CUDA_SUCCESS)
    first_limits_[which] = first;
  const CUresult result = api_.cuCtxSetLimit_(which, value);
  if (result == CUDA_SUCCESS && is_of_the_whole_device(which)) asked_limits_[which] = value;
  return result_of(result);
}

cudaError_t Driver::reset_persisting_l2() {
  return result_of(api_.cuCtxResetPersistingL2Cache_());
}

void Driver::use_submissions_limits() {
  for (const auto& [limit, value] : asked_limits_) api_.cuCtxSetLimit_(limit, value);
}

void Driver::put_limits_aside() {
  if (asked_limits_.empty()) return;
  for (const auto& [limit, value] : asked_limits_) {
    const auto first = first_limits_.find(limit);
    if (first != first_limits_.end()) api_.cuCtxSetLimit_(limit, first->second);
  }
  api_.cuCtxResetPersistingL2Cache_();
}

cudaError_t Driver::get_limit(cudaLimit limit, size_t& value) {
  return result_of(api_.cuCtxGetLimit_(&value, static_cast<CUlimit>(limit)));
}
void Driver::reset_limits() {
  for (const auto& [limit, value] : first_limits_) api_.cuCtxSetLimit_(limit, value);
  asked_limits_.clear();
  api_.cuCtxResetPersistingL2Cache_();
}

}  // namespace warpgrade::executor

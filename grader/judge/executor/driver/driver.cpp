#include "judge/executor/driver/driver.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "judge/executor/told_facts.h"

namespace warpgrade::executor {
namespace {

using cudart::EventId;
using cudart::KernelFacts;
using cudart::KernelId;
using cudart::MemoryKind;
using cudart::MemoryRange;
using cudart::ModuleId;
using cudart::StreamId;

constexpr uint64_t kBounceBytes = uint64_t{64} << 20;
constexpr uint64_t kBounceAlign = 256;
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

CUdeviceptr address_of(const void* pointer) {
  return reinterpret_cast<CUdeviceptr>(pointer);
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

// --- device code ---

// Variables get their memory here, where the server measures it; each kernel's code follows at its first use.
// What is wrong with the code shows when it is used.
cudaError_t Driver::add_module(std::span<const std::span<const uint8_t>> containers, ModuleId& module) {
  CUlibrary library = nullptr;
  CUresult result = CUDA_ERROR_INVALID_IMAGE;
  if (!containers.empty() && !containers[0].empty())
    result =
        api_.cuLibraryLoadData_(&library, containers[0].data(), nullptr, nullptr, 0, nullptr, nullptr, 0);
  if (result != CUDA_SUCCESS) {
    std::fprintf(stderr, "executor: the device code was not loaded: %s\n", name_of(result).c_str());
    result_of(result);
  }
  CUmodule loaded = nullptr;
  if (result == CUDA_SUCCESS) api_.cuLibraryGetModule_(&loaded, library);
  module = static_cast<ModuleId>(libraries_.size());
  libraries_.push_back(library);
  load_results_.push_back(result);
  return cudaSuccess;
}

void Driver::remove_module(ModuleId module) {
  if (module >= libraries_.size() || libraries_[module] == nullptr) return;
  api_.cuLibraryUnload_(std::exchange(libraries_[module], nullptr));
  load_results_[module] = CUDA_ERROR_NOT_FOUND;
}

cudaError_t Driver::add_managed(ModuleId module, const std::string& name, MemoryRange& variable) {
  if (module >= libraries_.size()) return cudaErrorInvalidResourceHandle;
  if (load_results_[module] != CUDA_SUCCESS) return result_of(load_results_[module]);
  CUdeviceptr address = 0;
  size_t bytes = 0;
  const CUresult result = api_.cuLibraryGetManaged_(&address, &bytes, libraries_[module], name.c_str());
  if (result == CUDA_ERROR_NOT_FOUND) return cudaErrorInvalidSymbol;
  variable = {address, address + bytes, MemoryKind::other, false};
  return result_of(result);
}

cudaError_t Driver::find_variable(ModuleId module, const std::string& name, MemoryRange& variable) {
  if (module >= libraries_.size()) return cudaErrorInvalidResourceHandle;
  if (load_results_[module] != CUDA_SUCCESS) return result_of(load_results_[module]);
  CUdeviceptr address = 0;
  size_t bytes = 0;
  CUresult result = api_.cuLibraryGetGlobal_(&address, &bytes, libraries_[module], name.c_str());
  if (result == CUDA_ERROR_NOT_FOUND)
    result = api_.cuLibraryGetManaged_(&address, &bytes, libraries_[module], name.c_str());
  if (result == CUDA_ERROR_NOT_FOUND) return cudaErrorInvalidSymbol;
  variable = {address, address + bytes, MemoryKind::other, false};
  return result_of(result);
}

void Driver::read_kernel(Kernel& kernel) {
  const auto attribute = [&](CUfunction_attribute which) {
    int value = 0;
    api_.cuFuncGetAttribute_(&value, which, kernel.function);
    return value;
  };
  KernelFacts& f = kernel.facts;
  f.max_threads = attribute(CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
  f.static_shared = attribute(CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES);
  f.constant_bytes = attribute(CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES);
  f.local_bytes = attribute(CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES);
  f.registers = attribute(CU_FUNC_ATTRIBUTE_NUM_REGS);
  f.ptx_version = attribute(CU_FUNC_ATTRIBUTE_PTX_VERSION);
  f.binary_version = attribute(CU_FUNC_ATTRIBUTE_BINARY_VERSION);
  f.max_dynamic_shared = attribute(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
  f.preferred_carveout = attribute(CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT);
  f.cluster = {attribute(CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH),
               attribute(CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT),
               attribute(CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH)};
  f.wide_clusters = attribute(CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED);
}

cudaError_t Driver::find_kernel(ModuleId module, const std::string& name, KernelId& id, KernelFacts& facts) {
  if (module >= libraries_.size()) return cudaErrorInvalidResourceHandle;
  if (load_results_[module] != CUDA_SUCCESS) return result_of(load_results_[module]);
  CUkernel handle = nullptr;
  Kernel kernel;
  CUresult result = api_.cuLibraryGetKernel_(&handle, libraries_[module], name.c_str());
  if (result == CUDA_ERROR_NOT_FOUND) return cudaErrorInvalidDeviceFunction;
  if (result == CUDA_SUCCESS) result = api_.cuKernelGetFunction_(&kernel.function, handle);
  // Here, where waiting was announced: a launch that loads code would wait for the gate of a timed run.
  if (result == CUDA_SUCCESS) result = api_.cuFuncLoad_(kernel.function);
  if (result != CUDA_SUCCESS) return result_of(result);
  for (size_t k = 0;; ++k) {
    size_t offset = 0, bytes = 0;
    if (api_.cuFuncGetParamInfo_(kernel.function, k, &offset, &bytes) != CUDA_SUCCESS) break;
    kernel.facts.parameters.push_back({static_cast<uint32_t>(offset), static_cast<uint32_t>(bytes)});
    kernel.facts.parameter_bytes =
        std::max(kernel.facts.parameter_bytes, static_cast<uint32_t>(offset + bytes));
  }
  kernel.arguments.resize(kernel.facts.parameters.size());
  read_kernel(kernel);
  facts = kernel.facts;
  id = static_cast<KernelId>(kernels_.size());
  kernels_.push_back(std::move(kernel));
  return cudaSuccess;
}

cudaError_t Driver::set_attribute(KernelId id, cudaFuncAttribute attribute, int value, KernelFacts& facts) {
  if (id >= kernels_.size()) return cudaErrorInvalidResourceHandle;
  const CUresult result =
      api_.cuFuncSetAttribute_(kernels_[id].function, static_cast<CUfunction_attribute>(attribute), value);
  read_kernel(kernels_[id]);
  facts = kernels_[id].facts;
  return result_of(result);
}

cudaError_t Driver::occupancy(KernelId id, int threads, size_t dynamic_shared, unsigned flags, int& blocks) {
  if (id >= kernels_.size()) return cudaErrorInvalidResourceHandle;
  return result_of(api_.cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags_(
      &blocks, kernels_[id].function, threads, dynamic_shared, flags));
}

cudaError_t Driver::available_shared(KernelId id, int blocks, int threads, size_t& bytes) {
  if (id >= kernels_.size()) return cudaErrorInvalidResourceHandle;
  return result_of(
      api_.cuOccupancyAvailableDynamicSMemPerBlock_(&bytes, kernels_[id].function, blocks, threads));
}

// Nothing is allocated here: launches come by the hundred thousand a second.
cudaError_t Driver::launch(const cudart::LaunchCall& call, std::span<const uint8_t> parameters) {
  if (call.kernel >= kernels_.size()) return cudaErrorInvalidResourceHandle;
  Kernel& kernel = kernels_[call.kernel];
  auto* begin = const_cast<uint8_t*>(parameters.data());
  for (size_t k = 0; k < kernel.arguments.size(); ++k)
    kernel.arguments[k] = begin + kernel.facts.parameters[k].offset;
  const CUstream stream = stream_of(call.stream);
  if (call.attributes.empty() && !call.cooperative) {
    return result_of(api_.cuLaunchKernel_(kernel.function, call.grid[0], call.grid[1], call.grid[2],
                                          call.block[0], call.block[1], call.block[2], call.dynamic_shared,
                                          stream, kernel.arguments.data(), nullptr));
  }
  read_attributes(call);
  CUlaunchConfig config{};
  config.gridDimX = call.grid[0], config.gridDimY = call.grid[1], config.gridDimZ = call.grid[2];
  config.blockDimX = call.block[0], config.blockDimY = call.block[1], config.blockDimZ = call.block[2];
  config.sharedMemBytes = call.dynamic_shared;
  config.hStream = stream;
  config.attrs = attributes_.data();
  config.numAttrs = static_cast<unsigned>(attributes_.size());
  return result_of(api_.cuLaunchKernelEx_(&config, kernel.function, kernel.arguments.data(), nullptr));
}

void Driver::read_attributes(const cudart::LaunchCall& call) {
  attributes_.resize(call.attributes.size());
  for (size_t k = 0; k < attributes_.size(); ++k) {
    attributes_[k].id = static_cast<CUlaunchAttributeID>(call.attributes[k].id);
    static_assert(sizeof attributes_[k].value == sizeof call.attributes[k].val);
    std::memcpy(&attributes_[k].value, &call.attributes[k].val, sizeof attributes_[k].value);
  }
  if (!call.cooperative) return;
  attributes_.emplace_back();
  attributes_.back().id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
  attributes_.back().value.cooperative = 1;
}

// --- memory ---

cudaError_t Driver::allocate(MemoryKind kind, uint64_t bytes, uint64_t& address) {
  if (kind != MemoryKind::device) return cudaErrorNotSupported;
  CUdeviceptr given = 0;
  const CUresult result = api_.cuMemAlloc_(&given, bytes);
  address = given;
  return result_of(result);
}

cudaError_t Driver::allocate_async(uint64_t bytes, StreamId stream, uint64_t& address) {
  CUdeviceptr given = 0;
  const CUresult result = api_.cuMemAllocAsync_(&given, bytes, stream_of(stream));
  address = given;
  return result_of(result);
}

cudaError_t Driver::release(uint64_t address, std::span<const MemoryKind>, const char*) {
  destroy_array(address);
  return result_of(api_.cuMemFree_(address));
}

cudaError_t Driver::release_async(uint64_t address, StreamId stream) {
  return result_of(api_.cuMemFreeAsync_(address, stream_of(stream)));
}

uint64_t Driver::pool_bytes() {
  cuuint64_t bytes = 0;
  if (pool_ == nullptr) return 0;
  return api_.cuMemPoolGetAttribute_(pool_, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT, &bytes) == CUDA_SUCCESS
             ? bytes
             : 0;
}

void Driver::trim_pool() {
  if (pool_ != nullptr) api_.cuMemPoolTrimTo_(pool_, 0);
}

cudaError_t Driver::keep_pool(uint64_t bytes) {
  cuuint64_t value = bytes;
  if (pool_ == nullptr) return cudaSuccess;
  return result_of(api_.cuMemPoolSetAttribute_(pool_, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &value));
}

// Kernels must find it at the host's address.
cudaError_t Driver::register_host(void* pointer, uint64_t bytes) {
  const CUresult result =
      api_.cuMemHostRegister_(pointer, bytes, CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP);
  if (result != CUDA_SUCCESS) return result_of(result);
  CUdeviceptr seen = 0;
  if (api_.cuMemHostGetDevicePointer_(&seen, pointer, 0) != CUDA_SUCCESS || seen != address_of(pointer)) {
    api_.cuMemHostUnregister_(pointer);
    return cudaErrorNotSupported;
  }
  registered_[address_of(pointer)] = address_of(pointer) + bytes;
  return cudaSuccess;
}

cudaError_t Driver::unregister_host(void* pointer) {
  if (registered_.erase(address_of(pointer)) == 0) return cudaErrorHostMemoryNotRegistered;
  return result_of(api_.cuMemHostUnregister_(pointer));
}

cudaError_t Driver::memory_info(uint64_t& free_bytes, uint64_t& total_bytes) {
  size_t left = 0, all = 0;
  const CUresult result = api_.cuMemGetInfo_(&left, &all);
  free_bytes = left;
  total_bytes = all;
  return result_of(result);
}

bool Driver::is_registered(uint64_t address) const {
  const auto after = registered_.upper_bound(address);
  return after != registered_.begin() && address < std::prev(after)->second;
}

bool Driver::is_device_or_registered(const void* pointer) const {
  if (is_registered(address_of(pointer))) return true;
  CUmemorytype type{};
  return api_.cuPointerGetAttribute_(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address_of(pointer)) ==
         CUDA_SUCCESS;
}

uint8_t* Driver::bounce(uint64_t bytes) {
  const uint64_t room = (bytes + kBounceAlign - 1) / kBounceAlign * kBounceAlign;
  if (room > kBounceBytes - bounce_at_) synchronize_device();
  uint8_t* at = bounce_ + bounce_at_;
  bounce_at_ += room;
  return at;
}

// The executor's own memory may change when this returns: what comes from it is put aside.
cudaError_t Driver::copy(void* to, const void* from, uint64_t bytes, StreamId stream, bool waits) {
  if (array_at(address_of(to)) != nullptr || array_at(address_of(from)) != nullptr)
    return copy_rows({{address_of(to), bytes, 1}, {address_of(from), bytes, 1}, bytes, 1, 1}, stream, waits);
  if (!is_device_or_registered(from)) {
    if (bytes > kBounceBytes) return cudaErrorInvalidValue;
    uint8_t* aside = bounce(bytes);
    std::memcpy(aside, from, bytes);
    from = aside;
  }
  const cudaError_t error =
      result_of(api_.cuMemcpyAsync_(address_of(to), address_of(from), bytes, stream_of(stream)));
  return error == cudaSuccess && waits ? synchronize_stream(stream) : error;
}

CUDA_MEMCPY3D Driver::memcpy_of(const cudart::RowsCopy& rows) const {
  CUDA_MEMCPY3D copy{};
  const auto is_host = [this](uint64_t address) {
    const auto* p = reinterpret_cast<const uint8_t*>(address);
    return is_registered(address) || (p >= bounce_ && p < bounce_ + kBounceBytes);
  };
  copy.srcMemoryType = is_host(rows.from.address) ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
  copy.dstMemoryType = is_host(rows.to.address) ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
  copy.srcHost = reinterpret_cast<const void*>(rows.from.address);
  copy.dstHost = reinterpret_cast<void*>(rows.to.address);
  copy.srcDevice = rows.from.address;
  copy.dstDevice = rows.to.address;
  copy.srcPitch = std::max(rows.from.pitch, rows.width);
  copy.dstPitch = std::max(rows.to.pitch, rows.width);
  copy.srcHeight = std::max(rows.from.slice, rows.height);
  copy.dstHeight = std::max(rows.to.slice, rows.height);
  copy.WidthInBytes = rows.width;
  copy.Height = rows.height;
  copy.Depth = rows.depth;
  name_arrays(rows, copy);
  return copy;
}

cudaError_t Driver::copy_rows(const cudart::RowsCopy& rows, StreamId stream, bool waits) {
  cudart::RowsCopy r = rows;
  const auto* from = reinterpret_cast<const uint8_t*>(rows.from.address);
  if (!is_device_or_registered(from)) {  // without gaps
    const uint64_t bytes = rows.width * rows.height * rows.depth;
    if (bytes > kBounceBytes) return cudaErrorInvalidValue;
    uint8_t* aside = bounce(bytes);
    std::memcpy(aside, from, bytes);
    r.from.address = address_of(aside);
  }
  const CUDA_MEMCPY3D copy = memcpy_of(r);
  const cudaError_t error = result_of(api_.cuMemcpy3DAsync_(&copy, stream_of(stream)));
  return error == cudaSuccess && waits ? synchronize_stream(stream) : error;
}

cudaError_t Driver::fill(const cudart::Fill& f, StreamId stream) {
  const CUstream s = stream_of(stream);
  const auto byte = static_cast<unsigned char>(f.value);
  const auto word = static_cast<unsigned short>(f.value);
  if (f.height == 1) {
    return result_of(f.element_bytes == 1   ? api_.cuMemsetD8Async_(f.address, byte, f.width, s)
                     : f.element_bytes == 2 ? api_.cuMemsetD16Async_(f.address, word, f.width, s)
                                            : api_.cuMemsetD32Async_(f.address, f.value, f.width, s));
  }
  return result_of(
      f.element_bytes == 1   ? api_.cuMemsetD2D8Async_(f.address, f.pitch, byte, f.width, f.height, s)
      : f.element_bytes == 2 ? api_.cuMemsetD2D16Async_(f.address, f.pitch, word, f.width, f.height, s)
                             : api_.cuMemsetD2D32Async_(f.address, f.pitch, f.value, f.width, f.height, s));
}

// --- streams and events ---

cudaError_t Driver::create_stream(unsigned flags, int priority, StreamId& stream) {
  CUstream made = nullptr;
  const CUresult result = api_.cuStreamCreateWithPriority_(&made, flags, priority);
  if (result != CUDA_SUCCESS) return result_of(result);
  stream = static_cast<StreamId>(streams_.size());
  streams_.push_back(made);
  return cudaSuccess;
}
cudaError_t Driver::destroy_stream(StreamId stream) {
  const CUstream gone = std::exchange(streams_[stream], nullptr);
  return result_of(api_.cuStreamDestroy_(gone));
}
cudaError_t Driver::set_stream_attribute(StreamId stream, cudaStreamAttrID attribute,
                                         const cudaStreamAttrValue& value) {
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

#include "judge/judging/cuda_memory.h"

#include <cuda.h>
#include <dlfcn.h>
#include <unistd.h>

#include <array>
#include <map>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "judge/judging/device_memory_limit.h"
#include "judge/judging/placement_noise.h"
#include "judge/measure/nvml.h"

namespace warpgrade {
namespace {

// The driver is loaded at run time: the judge must start on machines without one.
template <typename Function>
Function driver_function(const char* name) {
  static void* library = dlopen("libcuda.so.1", RTLD_NOW);
  if (library == nullptr)
    throw JudgeFault(
        "libcuda.so.1 cannot be loaded: this machine has no NVIDIA driver. Install the driver, or use "
        "--backend emulator");
  void* function = dlsym(library, name);
  if (function == nullptr) throw JudgeFault("the driver has no {}", name);
  return reinterpret_cast<Function>(function);
}

void check_driver(CUresult result, const char* call) {
  if (result != CUDA_SUCCESS)
    throw JudgeFault("{} failed with driver error {}", call, static_cast<int>(result));
}

#define DRIVER_FUNCTION(name) driver_function<decltype(&name)>(#name)
#define DRIVER_CALL(name, ...) check_driver(DRIVER_FUNCTION(name)(__VA_ARGS__), #name)

CUmemAllocationProp shareable_allocation() {
  CUmemAllocationProp properties = {};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  WARPGRADE_CUDA(cudaGetDevice(&properties.location.id));
  return properties;
}

}  // namespace

void check_cuda(cudaError_t error, const char* call) {
  if (error != cudaSuccess) throw JudgeFault("{}: {}", call, cudaGetErrorString(error));
}

SharedDeviceMemory::SharedDeviceMemory(std::string name, std::size_t bytes) {
  buffer_.name = std::move(name);
  buffer_.bytes = bytes;
  const CUmemAllocationProp properties = shareable_allocation();
  std::size_t granularity = 0;
  DRIVER_CALL(cuMemGetAllocationGranularity, &granularity, &properties, CU_MEM_ALLOC_GRANULARITY_MINIMUM);
  const std::size_t needed = 2 * kGuardBytes + bytes;
  buffer_.mapped_bytes = (needed + granularity - 1) / granularity * granularity;
  DRIVER_CALL(cuMemCreate, &handle_, buffer_.mapped_bytes, &properties, 0);
  CUdeviceptr address = 0;
  DRIVER_CALL(cuMemAddressReserve, &address, buffer_.mapped_bytes, 0, 0, 0);
  DRIVER_CALL(cuMemMap, address, buffer_.mapped_bytes, 0, handle_, 0);
  CUmemAccessDesc access = {};
  access.location = properties.location;
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  DRIVER_CALL(cuMemSetAccess, address, buffer_.mapped_bytes, &access, 1);
  DRIVER_CALL(cuMemExportToShareableHandle, &buffer_.fd, handle_, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
              0);
  base_ = reinterpret_cast<unsigned char*>(address);
}

SharedDeviceMemory::~SharedDeviceMemory() {
  const auto address = reinterpret_cast<CUdeviceptr>(base_);
  DRIVER_FUNCTION(cuMemUnmap)(address, buffer_.mapped_bytes);
  DRIVER_FUNCTION(cuMemAddressFree)(address, buffer_.mapped_bytes);
  DRIVER_FUNCTION(cuMemRelease)(handle_);
  if (buffer_.fd >= 0) close(buffer_.fd);
}

namespace {

nlohmann::json ask_cuda_device(int device) {
  cudaDeviceProp properties = {};
  WARPGRADE_CUDA(cudaGetDeviceProperties(&properties, device));
  int memory_khz = 0, bus_bits = 0;
  WARPGRADE_CUDA(cudaDeviceGetAttribute(&memory_khz, cudaDevAttrMemoryClockRate, device));
  WARPGRADE_CUDA(cudaDeviceGetAttribute(&bus_bits, cudaDevAttrGlobalMemoryBusWidth, device));
  std::string uuid = "GPU-";
  for (int i = 0; i < 16; ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) uuid += '-';
    uuid += fmt::format("{:02x}", static_cast<unsigned char>(properties.uuid.bytes[i]));
  }
  nlohmann::json about = gpu_settings(uuid);
  about.update({{"name", properties.name},
                {"uuid", uuid},
                {"driver", driver_version()},
                {"sm_count", properties.multiProcessorCount},
                {"memory_bytes", properties.totalGlobalMem},
                {"l2_bytes", properties.l2CacheSize},
                {"compute_capability", properties.major * 10 + properties.minor},
                {"peak_bytes_per_s", 2.0 * 1e3 * memory_khz * bus_bits / 8}});
  return about;
}

}  // namespace

nlohmann::json describe_cuda_device() {
  int device = 0;
  WARPGRADE_CUDA(cudaGetDevice(&device));
  static std::map<int, nlohmann::json> known;  // a judge is one thread and asks for every case
  auto found = known.find(device);
  if (found == known.end()) found = known.emplace(device, ask_cuda_device(device)).first;
  return found->second;
}

std::shared_ptr<void> hold_device_memory(std::size_t bytes) {
  void* memory = nullptr;
  if (cudaMalloc(&memory, bytes) != cudaSuccess) {
    (void)cudaGetLastError();
    return nullptr;
  }
  return {memory, [](void* held) { (void)cudaFree(held); }};
}

std::optional<std::size_t> free_device_memory() {
  std::size_t free = 0, total = 0;
  if (cudaMemGetInfo(&free, &total) == cudaSuccess) return free;
  cudaGetLastError();
  return std::nullopt;
}

}  // namespace warpgrade

// Memory on a GPU: allocations, registered memory, copies and fills.
#include <algorithm>
#include <cstring>

#include "judge/executor/driver/driver.h"

namespace warpgrade::executor {
namespace {

using cudart::MemoryKind;
using cudart::StreamId;

constexpr uint64_t kBounceAlign = 256;
// The driver overwrites what it takes back in pages of 2 MiB. Smaller pieces come from a page that the
// process keeps: the next allocation would find in them what was left there (seen on an H100 with
// driver 580).
constexpr uint64_t kPageBytes = uint64_t{2} << 20;

CUdeviceptr address_of(const void* pointer) {
  return reinterpret_cast<CUdeviceptr>(pointer);
}

}  // namespace

cudaError_t Driver::allocate(MemoryKind kind, uint64_t bytes, uint64_t& address) {
  if (kind != MemoryKind::device) return cudaErrorNotSupported;
  CUdeviceptr given = 0;
  const CUresult result = api_.cuMemAlloc_(&given, bytes);
  address = given;
  if (result == CUDA_SUCCESS && bytes < kPageBytes) small_[given] = bytes;
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
  // cuMemFree waits for the device, and so for this.
  if (const auto small = small_.extract(address); !small.empty())
    api_.cuMemsetD8Async_(address, 0, small.mapped(), CU_STREAM_LEGACY);
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

}  // namespace warpgrade::executor

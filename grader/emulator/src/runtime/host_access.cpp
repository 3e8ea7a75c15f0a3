#include "runtime/host_access.h"

#include <algorithm>
#include <cstring>

#include "memory/device_memory.h"
#include "report/diagnostics.h"
#include "runtime/errors.h"
#include "runtime/host_place.h"

namespace warpgrade::emu {
namespace {

std::string bytes_text(uint64_t n) {
  return std::to_string(n) + " bytes";
}

void report_overrun(const Allocation& a, uint64_t address, size_t bytes, const char* call) {
  Diagnostic d;
  d.kind = a.freed ? Finding::use_after_free : Finding::host_copy_overrun;
  d.address = address;
  d.allocation = DiagnosedAllocation{a.name, a.bytes(), static_cast<int64_t>(address - a.begin)};
  d.message = std::string(call) + " of " + bytes_text(bytes) + " at offset " +
              std::to_string(address - a.begin) + (a.freed ? " touches freed " : " leaves ") + a.name + " (" +
              bytes_text(a.bytes()) + ")";
  d.advice = "Check the byte count: elements times sizeof the element?";
  add_host_diagnostic(std::move(d));
}

std::string side_of(const void* pointer) {
  if (pointer == nullptr) return "a null pointer";
  const auto a = DeviceMemory::instance().find(reinterpret_cast<uint64_t>(pointer));
  if (a) return "device memory (" + a->name + ")";
  return may_be(pointer, Side::device) ? "device memory" : "host memory";
}

const char* direction_name(bool from_device, bool to_device) {
  return from_device ? (to_device ? "cudaMemcpyDeviceToDevice" : "cudaMemcpyDeviceToHost")
                     : (to_device ? "cudaMemcpyHostToDevice" : "cudaMemcpyHostToHost");
}

// A copy whose direction is not that of its pointers, or one of them null.
cudaError_t refuse_copy(const void* dst, const void* src, size_t bytes, cudaMemcpyKind kind) {
  Diagnostic d;
  d.kind = Finding::invalid_copy;
  d.bytes = static_cast<uint32_t>(std::min<size_t>(bytes, ~0u));
  d.message =
      "a copy of " + bytes_text(bytes) + " from " + side_of(src) + " to " + side_of(dst) + " was not made: ";
  if (dst == nullptr || src == nullptr) {
    d.message += "a pointer is null";
    d.advice = "Did the cudaMalloc or malloc before it succeed, and was its pointer passed on?";
  } else {
    const char* right = direction_name(may_be(src, Side::device), may_be(dst, Side::device));
    d.message += std::string("its direction is ") +
                 direction_name(kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice,
                                kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice) +
                 ", and these pointers need " + right;
    d.advice =
        std::string("Pass ") + right + ", or exchange destination and source: the destination stands first.";
  }
  d.message += std::string(" (") + cudaGetErrorName(cudaErrorInvalidValue) + ": " +
               cudaGetErrorString(cudaErrorInvalidValue) + ")";
  add_host_diagnostic(std::move(d));
  return cudaErrorInvalidValue;
}

bool is_on_both_sides(MemoryKind kind) {
  return kind == MemoryKind::managed || kind == MemoryKind::pinned || kind == MemoryKind::registered;
}

}  // namespace

uint8_t* host_view(const void* pointer, size_t bytes, const char* call, cudaError_t& error) {
  const auto address = reinterpret_cast<uint64_t>(pointer);
  auto* plain = static_cast<uint8_t*>(const_cast<void*>(pointer));
  const DeviceMemory& memory = DeviceMemory::instance();
  const auto a = memory.find(address);
  if (!a || (is_on_both_sides(a->kind) && address == a->end)) {
    if (memory.is_device_range(address)) error = cudaErrorInvalidValue;
    return plain;
  }
  if (a->freed || address + bytes > a->end) {
    report_overrun(*a, address, bytes, call);
    error = cudaErrorInvalidValue;
  }
  return a->host(address);
}

bool may_be(const void* pointer, Side side) {
  const auto address = reinterpret_cast<uint64_t>(pointer);
  const auto a = DeviceMemory::instance().find(address);
  if (a && !a->freed && is_on_both_sides(a->kind)) return true;
  const bool on_device = a.has_value() || DeviceMemory::instance().is_device_range(address);
  return (side == Side::device) == on_device;
}

void note_written(const void* pointer, size_t bytes) {
  DeviceMemory::instance().mark_initialized(reinterpret_cast<uint64_t>(pointer), bytes);
}

cudaError_t copy_bytes(void* dst, const void* src, size_t bytes, cudaMemcpyKind kind) {
  if (bytes == 0) return cudaSuccess;
  if (dst == nullptr || src == nullptr) return refuse_copy(dst, src, bytes, kind);
  const bool to_device = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
  const bool from_device = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
  if (kind != cudaMemcpyDefault) {
    if (static_cast<unsigned>(kind) > cudaMemcpyDefault) return cudaErrorInvalidMemcpyDirection;
    if (!may_be(dst, to_device ? Side::device : Side::host) ||
        !may_be(src, from_device ? Side::device : Side::host))
      return refuse_copy(dst, src, bytes, kind);
  }
  cudaError_t error = cudaSuccess;
  uint8_t* to = host_view(dst, bytes, "a copy", error);
  const uint8_t* from = host_view(src, bytes, "a copy", error);
  if (error != cudaSuccess) return error;
  std::memmove(to, from, bytes);
  note_written(dst, bytes);
  return cudaSuccess;
}

cudaError_t fill_bytes(void* dst, int value, size_t bytes) {
  if (bytes == 0) return cudaSuccess;
  if (!may_be(dst, Side::device)) return cudaErrorInvalidValue;
  cudaError_t error = cudaSuccess;
  uint8_t* to = host_view(dst, bytes, "a memset", error);
  if (error != cudaSuccess) return error;
  std::memset(to, value, bytes);
  note_written(dst, bytes);
  return cudaSuccess;
}

cudaMemcpy3DParms linear_copy(void* dst, const void* src, size_t bytes, cudaMemcpyKind kind) {
  cudaMemcpy3DParms copy{};
  copy.dstPtr = {dst, bytes, bytes, 1};
  copy.srcPtr = {const_cast<void*>(src), bytes, bytes, 1};
  copy.extent = {bytes, 1, 1};
  copy.kind = kind;
  return copy;
}

cudaError_t check_copy_3d(const cudaMemcpy3DParms& copy) {
  if (copy.srcArray != nullptr || copy.dstArray != nullptr)
    return warpemu_not_implemented("copies of arrays");
  const cudaExtent& e = copy.extent;
  if (e.width == 0 || e.height == 0 || e.depth == 0) return cudaSuccess;
  const auto fits = [&](const cudaPitchedPtr& p, const cudaPos& at) {
    return p.ptr != nullptr && (e.height * e.depth == 1 || at.x + e.width <= p.pitch) &&
           (e.depth == 1 || at.y + e.height <= p.ysize);
  };
  return fits(copy.srcPtr, copy.srcPos) && fits(copy.dstPtr, copy.dstPos) ? cudaSuccess
                                                                          : cudaErrorInvalidValue;
}

cudaError_t copy_3d(const cudaMemcpy3DParms& copy) {
  const auto row = [](const cudaPitchedPtr& p, const cudaPos& at, size_t y, size_t z) {
    return static_cast<char*>(p.ptr) + ((at.z + z) * p.ysize + at.y + y) * p.pitch + at.x;
  };
  for (size_t z = 0; z < copy.extent.depth; ++z) {
    for (size_t y = 0; y < copy.extent.height; ++y) {
      const cudaError_t error = copy_bytes(row(copy.dstPtr, copy.dstPos, y, z),
                                           row(copy.srcPtr, copy.srcPos, y, z), copy.extent.width, copy.kind);
      if (error != cudaSuccess) return error;
    }
  }
  return cudaSuccess;
}

cudaError_t fill_elements(const cudaMemsetParams& fill) {
  const size_t row_bytes = fill.width * fill.elementSize;
  for (size_t y = 0; y < fill.height; ++y) {
    auto* row = static_cast<uint8_t*>(fill.dst) + y * fill.pitch;
    if (fill.elementSize == 1) {
      const cudaError_t error = fill_bytes(row, static_cast<int>(fill.value), row_bytes);
      if (error != cudaSuccess) return error;
      continue;
    }
    if (!may_be(row, Side::device)) return cudaErrorInvalidValue;
    cudaError_t error = cudaSuccess;
    uint8_t* to = host_view(row, row_bytes, "a memset", error);
    if (error != cudaSuccess) return error;
    for (size_t at = 0; at < row_bytes; at += fill.elementSize)
      std::memcpy(to + at, &fill.value, fill.elementSize);
    note_written(row, row_bytes);
  }
  return cudaSuccess;
}

}  // namespace warpgrade::emu

#include "runtime/host_access.h"

#include <cstring>

#include "memory/device_memory.h"
#include "report/diagnostics.h"

namespace warpgrade::emu {
namespace {

std::string bytes_text(uint64_t n) {
  return std::to_string(n) + " bytes";
}

void report_overrun(const Allocation& a, uint64_t address, size_t bytes, const char* call) {
  Diagnostic d;
  d.kind = a.freed ? "use_after_free" : "host_copy_overrun";
  d.address = address;
  d.allocation = DiagnosedAllocation{a.name, a.bytes(), static_cast<int64_t>(address - a.begin)};
  d.message = std::string(call) + " of " + bytes_text(bytes) + " at offset " +
              std::to_string(address - a.begin) + (a.freed ? " touches freed " : " leaves ") + a.name + " (" +
              bytes_text(a.bytes()) + ")";
  d.advice = "Check the byte count: elements times sizeof the element?";
  Diagnostics::instance().add(std::move(d));
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
  if (dst == nullptr || src == nullptr) return cudaErrorInvalidValue;
  const bool to_device = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
  const bool from_device = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
  if (kind != cudaMemcpyDefault) {
    if (static_cast<unsigned>(kind) > cudaMemcpyDefault) return cudaErrorInvalidMemcpyDirection;
    if (!may_be(dst, to_device ? Side::device : Side::host)) return cudaErrorInvalidValue;
    if (!may_be(src, from_device ? Side::device : Side::host)) return cudaErrorInvalidValue;
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

}  // namespace warpgrade::emu

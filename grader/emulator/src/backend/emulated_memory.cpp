// Allocation, copies and fills.
#include <algorithm>
#include <cstring>

#include "backend/command_order.h"
#include "backend/emulated.h"
#include "backend/host_finding.h"
#include "backend/leaks.h"
#include "memory/device_memory.h"
#include "report/counters.h"
#include "texture/images.h"

namespace warpgrade::emu {
namespace {

std::string bytes_text(uint64_t n) {
  return std::to_string(n) + " bytes";
}

MemoryKind own_kind(cudart::MemoryKind kind) {
  switch (kind) {
    case cudart::MemoryKind::managed:
      return MemoryKind::managed;
    case cudart::MemoryKind::pinned:
      return MemoryKind::pinned;
    default:
      return MemoryKind::device;
  }
}

cudart::MemoryKind kind_for_front(MemoryKind kind) {
  switch (kind) {
    case MemoryKind::device:
      return cudart::MemoryKind::device;
    case MemoryKind::managed:
      return cudart::MemoryKind::managed;
    case MemoryKind::pinned:
      return cudart::MemoryKind::pinned;
    case MemoryKind::registered:
      return cudart::MemoryKind::registered;
    default:
      return cudart::MemoryKind::other;
  }
}

bool is_on_both_sides(MemoryKind kind) {
  return kind == MemoryKind::managed || kind == MemoryKind::pinned || kind == MemoryKind::registered;
}

void report_range(const Allocation& a, uint64_t address, size_t bytes, const char* call) {
  Diagnostic d;
  d.kind = a.freed ? Finding::use_after_free : Finding::host_copy_overrun;
  d.address = address;
  d.allocation = DiagnosedAllocation{a.name, a.bytes(), static_cast<int64_t>(address - a.begin)};
  d.message = std::string(call) + " of " + bytes_text(bytes) + " at offset " +
              std::to_string(address - a.begin) + (a.freed ? " touches freed " : " leaves ") + a.name + " (" +
              bytes_text(a.bytes()) + ")";
  d.advice = "Check the byte count: is it the number of elements times the size of one element?";
  add_host_diagnostic(std::move(d));
}

void report_free(uint64_t address, const std::string& call) {
  const auto a = DeviceMemory::instance().find(address);
  const bool pinned = a && a->kind == MemoryKind::pinned;
  Diagnostic d;
  d.kind = Finding::invalid_free;
  d.address = address;
  if (a) d.allocation = DiagnosedAllocation{a->name, a->bytes(), static_cast<int64_t>(address - a->begin)};
  d.message = !a                    ? call + " of an address that no allocation returned"
              : a->freed            ? call + " of " + a->name + ", which was freed before"
              : address != a->begin ? call + " of an address inside " + a->name
              : !a->releasable      ? call + " of " + a->name + ", which no allocation returned"
              : pinned              ? call + " of " + a->name + ", which is pinned host memory"
                                    : call + " of " + a->name + ", which is device memory";
  d.advice =
      "Free each allocation once, with the pointer that it returned: cudaMalloc and cudaFree, cudaMallocHost "
      "and cudaFreeHost.";
  add_host_diagnostic(std::move(d));
}

// The host address of `bytes` at a pointer that may be host or device memory. Reports ranges that leave their
// allocation and sets `error`.
uint8_t* host_view(uint64_t address, size_t bytes, const char* call, cudaError_t& error) {
  const DeviceMemory& memory = DeviceMemory::instance();
  const auto a = memory.find(address);
  if (!a || (is_on_both_sides(a->kind) && address == a->end)) {
    if (memory.is_device_range(address)) {
      error = cudaErrorInvalidValue;
      // Of rows, the first that leaves an allocation may lie behind it as a whole.
      if (const auto before = memory.nearest(address); before && before->begin <= address)
        report_range(*before, address, bytes, call);
    }
    return reinterpret_cast<uint8_t*>(address);
  }
  if (a->freed || bytes > a->end - address) {
    report_range(*a, address, bytes, call);
    error = cudaErrorInvalidValue;
  }
  return a->host(address);
}

cudaError_t copy_row(uint64_t to, uint64_t from, uint64_t bytes) {
  cudaError_t error = cudaSuccess;
  uint8_t* target = host_view(to, bytes, "a copy", error);
  const uint8_t* source = host_view(from, bytes, "a copy", error);
  if (error != cudaSuccess) return error;
  std::memmove(target, source, bytes);
  DeviceMemory::instance().mark_initialized(to, bytes);
  KernelCounters::instance().add_move(bytes, bytes);
  return cudaSuccess;
}

cudaError_t fill_row(uint64_t address, const cudart::Fill& fill) {
  const uint64_t bytes = fill.width * fill.element_bytes;
  cudaError_t error = cudaSuccess;
  uint8_t* to = host_view(address, bytes, "a memset", error);
  if (error != cudaSuccess) return error;
  if (fill.element_bytes == 1) {
    std::memset(to, static_cast<int>(fill.value), bytes);
  } else {
    for (size_t at = 0; at < bytes; at += fill.element_bytes)
      std::memcpy(to + at, &fill.value, fill.element_bytes);
  }
  DeviceMemory::instance().mark_initialized(address, bytes);
  return cudaSuccess;
}

}  // namespace

cudaError_t Emulated::allocate(cudart::MemoryKind kind, uint64_t bytes, uint64_t& address) {
  const auto given = DeviceMemory::instance().allocate(bytes, own_kind(kind));
  if (!given) return cudaErrorMemoryAllocation;
  note_allocation(*given);
  address = *given;
  return cudaSuccess;
}

cudaError_t Emulated::allocate_async(uint64_t bytes, cudart::StreamId stream, uint64_t& address) {
  const cudaError_t error = allocate(cudart::MemoryKind::device, bytes, address);
  if (error == cudaSuccess) CommandOrder::instance().allocated(address, bytes, stream);
  return error;
}

cudaError_t Emulated::release(uint64_t address, std::span<const cudart::MemoryKind> kinds, const char* call) {
  CommandOrder::instance().free(address, call);
  return give_back(address, kinds, call);
}

cudaError_t Emulated::give_back(uint64_t address, std::span<const cudart::MemoryKind> kinds,
                                const char* call) {
  for (const cudart::MemoryKind kind : kinds) {
    if (DeviceMemory::instance().release(address, {own_kind(kind)})) return cudaSuccess;
  }
  report_free(address, call);
  return cudaErrorInvalidValue;
}

bool Emulated::report_overrun(uint64_t address, uint64_t bytes, const char* what) {
  if (const auto a = DeviceMemory::instance().find(address)) report_range(*a, address, bytes, what);
  return true;
}

bool Emulated::report_invalid_free(uint64_t address, const std::string& call) {
  report_free(address, call);
  return true;
}

cudaError_t Emulated::release_async(uint64_t address, cudart::StreamId stream) {
  CommandOrder::instance().free_in_stream(address, stream);
  constexpr cudart::MemoryKind kinds[] = {cudart::MemoryKind::device, cudart::MemoryKind::managed};
  return give_back(address, kinds, "cudaFreeAsync");
}

cudaError_t Emulated::release_all() {
  CommandOrder::instance().host_waited_for_all();
  DeviceMemory& memory = DeviceMemory::instance();
  for (const Allocation& a : memory.unreleased()) {
    if (a.device == cudart::current_device()) memory.release(a.begin, {a.kind});
  }
  Images::instance().remove_all();
  return cudaSuccess;
}

cudaError_t Emulated::register_host(void* pointer, uint64_t bytes) {
  CommandOrder::instance().follow_host_memory();
  return DeviceMemory::instance().register_host(pointer, bytes) ? cudaSuccess
                                                                : cudaErrorHostMemoryAlreadyRegistered;
}

cudaError_t Emulated::unregister_host(void* pointer) {
  CommandOrder::instance().host_waited_for_all();
  return DeviceMemory::instance().unregister_host(pointer) ? cudaSuccess : cudaErrorHostMemoryNotRegistered;
}

std::optional<cudart::MemoryRange> Emulated::find(uint64_t address) {
  const auto a = DeviceMemory::instance().find(address);
  if (!a) return std::nullopt;
  return cudart::MemoryRange{a->begin, a->end, kind_for_front(a->kind), a->freed, a->device};
}

std::string Emulated::name_of(uint64_t address) {
  const auto a = DeviceMemory::instance().find(address);
  return a ? a->name : "";
}

bool Emulated::is_device_address(uint64_t address) {
  return DeviceMemory::instance().is_device_range(address);
}

cudart::MemoryRange Emulated::device_range() {
  const auto [begin, end] = DeviceMemory::instance().device_range();
  return {begin, end, cudart::MemoryKind::device, false};
}

cudaError_t Emulated::memory_info(uint64_t& free_bytes, uint64_t& total_bytes) {
  const DeviceMemory& memory = DeviceMemory::instance();
  total_bytes = memory.total_bytes();
  free_bytes = memory.total_bytes() - memory.used_bytes();
  return cudaSuccess;
}

cudaError_t Emulated::view(uint64_t address, uint64_t bytes, const char* call, uint8_t*& host) {
  cudaError_t error = cudaSuccess;
  host = host_view(address, bytes, call, error);
  return error;
}

cudaError_t Emulated::copy(void* dst, const void* src, uint64_t bytes, cudart::StreamId stream, bool waits) {
  const cudart::RowsCopy row{
      {reinterpret_cast<uint64_t>(dst), bytes, 1}, {reinterpret_cast<uint64_t>(src), bytes, 1}, bytes};
  return copy_rows(row, stream, waits);
}

cudaError_t Emulated::copy_rows(const cudart::RowsCopy& copy, cudart::StreamId stream, bool waits) {
  const cudaError_t error = transfer(copy);
  if (error == cudaSuccess) CommandOrder::instance().copied(copy, stream, waits);
  return error;
}

cudaError_t Emulated::transfer(const cudart::RowsCopy& copy) {
  for (uint64_t z = 0; z < copy.depth; ++z) {
    for (uint64_t y = 0; y < copy.height; ++y) {
      const cudaError_t error = copy_row(copy.to.row(y, z), copy.from.row(y, z), copy.width);
      if (error != cudaSuccess) return error;
    }
  }
  return cudaSuccess;
}

cudaError_t Emulated::create_image(const cudart::Image& image, uint64_t& object) {
  const auto given = Images::instance().add(image);
  if (!given) return cudaErrorInvalidValue;
  object = *given;
  return cudaSuccess;
}

cudaError_t Emulated::destroy_image(uint64_t object, bool) {
  return Images::instance().remove(object) ? cudaSuccess : cudaErrorInvalidValue;
}

cudaError_t Emulated::fill(const cudart::Fill& fill, cudart::StreamId stream) {
  const cudaError_t error = transfer(fill);
  if (error == cudaSuccess && fill.width != 0) CommandOrder::instance().filled(fill, stream);
  return error;
}

cudaError_t Emulated::transfer(const cudart::Fill& fill) {
  if (fill.width == 0) return cudaSuccess;
  KernelCounters::instance().add_move(0, fill.width * fill.element_bytes * fill.height);
  for (uint64_t row = 0; row < fill.height; ++row) {
    const cudaError_t error = fill_row(fill.address + row * fill.pitch, fill);
    if (error != cudaSuccess) return error;
  }
  return cudaSuccess;
}

}  // namespace warpgrade::emu

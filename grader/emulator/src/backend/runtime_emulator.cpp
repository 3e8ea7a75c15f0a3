// The entry points that the emulator has beyond NVIDIA's runtime (warpemu/warpemu.h).
#include <cuda_runtime_api.h>

#include "backend/leaks.h"
#include "backend/mapped_memory.h"
#include "cudart/host_place.h"
#include "findings/diagnostics.h"
#include "memory/device_memory.h"
#include "report/counters.h"
#include "support/settings.h"
#include "warpemu/warpemu.h"

using namespace warpgrade::emu;

extern "C" {

int warpemu_import_memory(int fd, uint64_t offset, uint64_t bytes, const char* name, int read_only,
                          void** device_pointer) {
  if (device_pointer == nullptr || bytes == 0) return cudaErrorInvalidValue;
  uint64_t address = 0;
  const cudaError_t error = map_as_device_memory(
      fd, offset, bytes, name != nullptr ? name : "imported memory", read_only != 0, address);
  if (error == cudaSuccess) *device_pointer = reinterpret_cast<void*>(address);
  return error;
}

int warpemu_release_memory(void* device_pointer) {
  return unmap_device_memory(reinterpret_cast<uint64_t>(device_pointer)) ? cudaSuccess
                                                                         : cudaErrorInvalidValue;
}

int warpemu_name_memory(const void* device_pointer, const char* name, unsigned element_bytes) {
  const auto address = reinterpret_cast<uint64_t>(device_pointer);
  const bool is_known = name != nullptr && DeviceMemory::instance().rename(address, name, element_bytes);
  return is_known ? cudaSuccess : cudaErrorInvalidValue;
}

void warpemu_tell_place(const char* path, unsigned line) {
  warpgrade::cudart::tell_place(path, line);
}

size_t warpemu_drain_diagnostics(char* json_lines, size_t capacity) {
  return Diagnostics::instance().drain(json_lines, capacity);
}

size_t warpemu_drain_counters(char* json_lines, size_t capacity) {
  return KernelCounters::instance().drain(json_lines, capacity);
}

void warpemu_limit_steps(uint64_t warp_instructions) {
  set_step_limit(warp_instructions);
}

void warpemu_forget_allocations() {
  forget_allocations();
}

void warpemu_report_leaks(const char* when) {
  report_leaks(when != nullptr ? when : "never freed");
}

}  // extern "C"

// The entry points that the emulator has beyond NVIDIA's runtime (warpemu/warpemu.h).
#include <cuda_runtime_api.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <map>
#include <mutex>

#include "backend/leaks.h"
#include "memory/device_memory.h"
#include "report/counters.h"
#include "report/diagnostics.h"
#include "support/settings.h"
#include "warpemu/warpemu.h"

namespace warpgrade::emu {
namespace {

struct Mapping {
  void* base;
  size_t bytes;
};

std::mutex g_mappings_mutex;
std::map<uint64_t, Mapping> g_mappings;  // by device address

}  // namespace
}  // namespace warpgrade::emu

using namespace warpgrade::emu;

extern "C" {

int warpemu_import_memory(int fd, uint64_t offset, uint64_t bytes, const char* name, int read_only,
                          void** device_pointer) {
  if (device_pointer == nullptr || bytes == 0) return cudaErrorInvalidValue;
  struct stat file;
  if (fstat(fd, &file) != 0 || static_cast<uint64_t>(file.st_size) < offset + bytes)
    return cudaErrorInvalidValue;
  const auto page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  const uint64_t in_page = offset % page;
  const size_t mapped_bytes = bytes + in_page;
  const int protection = read_only ? PROT_READ : PROT_READ | PROT_WRITE;
  void* base = mmap(nullptr, mapped_bytes, protection, MAP_SHARED, fd, static_cast<off_t>(offset - in_page));
  if (base == MAP_FAILED) return cudaErrorMapBufferObjectFailed;
  const auto address =
      DeviceMemory::instance().import(static_cast<uint8_t*>(base) + in_page, bytes, in_page, read_only != 0,
                                      name != nullptr ? name : "imported memory");
  if (!address) {
    munmap(base, mapped_bytes);
    return cudaErrorMemoryAllocation;
  }
  std::lock_guard lock(g_mappings_mutex);
  g_mappings[*address] = {base, mapped_bytes};
  *device_pointer = reinterpret_cast<void*>(*address);
  return cudaSuccess;
}

int warpemu_release_memory(void* device_pointer) {
  std::lock_guard lock(g_mappings_mutex);
  const auto found = g_mappings.find(reinterpret_cast<uint64_t>(device_pointer));
  if (found == g_mappings.end()) return cudaErrorInvalidValue;
  DeviceMemory::instance().forget(found->first);
  munmap(found->second.base, found->second.bytes);
  g_mappings.erase(found);
  return cudaSuccess;
}

int warpemu_name_memory(const void* device_pointer, const char* name) {
  const auto address = reinterpret_cast<uint64_t>(device_pointer);
  const bool is_known = name != nullptr && DeviceMemory::instance().rename(address, name);
  return is_known ? cudaSuccess : cudaErrorInvalidValue;
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

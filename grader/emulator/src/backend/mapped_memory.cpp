#include "backend/mapped_memory.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <map>
#include <mutex>

#include "memory/device_memory.h"

namespace warpgrade::emu {
namespace {

std::mutex g_mappings_mutex;
std::map<uint64_t, MappedBytes> g_mappings;  // by device address

}  // namespace

cudaError_t map_bytes(int fd, uint64_t offset, uint64_t bytes, bool read_only, MappedBytes& mapped) {
  struct stat file;
  if (fstat(fd, &file) != 0 || bytes == 0) return cudaErrorInvalidValue;
  const auto size = static_cast<uint64_t>(file.st_size);
  if (offset > size || bytes > size - offset) return cudaErrorInvalidValue;
  const uint64_t in_page = offset % static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  mapped.base_bytes = bytes + in_page;
  mapped.base = mmap(nullptr, mapped.base_bytes, read_only ? PROT_READ : PROT_READ | PROT_WRITE, MAP_SHARED,
                     fd, static_cast<off_t>(offset - in_page));
  if (mapped.base == MAP_FAILED) return cudaErrorMapBufferObjectFailed;
  mapped.first = static_cast<uint8_t*>(mapped.base) + in_page;
  return cudaSuccess;
}

void unmap_bytes(const MappedBytes& mapped) {
  munmap(mapped.base, mapped.base_bytes);
}

cudaError_t map_as_device_memory(int fd, uint64_t offset, uint64_t bytes, const std::string& name,
                                 bool read_only, uint64_t& address) {
  MappedBytes mapped;
  if (const cudaError_t error = map_bytes(fd, offset, bytes, read_only, mapped); error != cudaSuccess)
    return error;
  const auto in_page = static_cast<uint64_t>(mapped.first - static_cast<uint8_t*>(mapped.base));
  const auto given = DeviceMemory::instance().import(mapped.first, bytes, in_page, read_only, name);
  if (!given) {
    unmap_bytes(mapped);
    return cudaErrorMemoryAllocation;
  }
  const std::lock_guard lock(g_mappings_mutex);
  g_mappings[*given] = mapped;
  address = *given;
  return cudaSuccess;
}

bool unmap_device_memory(uint64_t address) {
  const std::lock_guard lock(g_mappings_mutex);
  const auto found = g_mappings.find(address);
  if (found == g_mappings.end()) return false;
  DeviceMemory::instance().forget(address);
  unmap_bytes(found->second);
  g_mappings.erase(found);
  return true;
}

}  // namespace warpgrade::emu

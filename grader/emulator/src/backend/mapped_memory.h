// Device memory that lies in a file of somebody else's: the executor's buffers, memory of other processes.
#pragma once
#include <cuda_runtime_api.h>

#include <cstdint>
#include <string>

namespace warpgrade::emu {

// A file's bytes in this process's own memory; a page may begin before them.
struct MappedBytes {
  uint8_t* first = nullptr;
  void* base = nullptr;
  uint64_t base_bytes = 0;
};
// cudaErrorInvalidValue where the file ends before.
cudaError_t map_bytes(int fd, uint64_t offset, uint64_t bytes, bool read_only, MappedBytes& mapped);
void unmap_bytes(const MappedBytes& mapped);

// The same as device memory with exact bounds.
cudaError_t map_as_device_memory(int fd, uint64_t offset, uint64_t bytes, const std::string& name,
                                 bool read_only, uint64_t& address);
// False: nothing was mapped there.
bool unmap_device_memory(uint64_t address);

}  // namespace warpgrade::emu

// The judge's buffers on a GPU, mapped into this process: exported VMM allocations
// (judge/judging/cuda_memory.h).
#pragma once

#include "judge/executor/driver/driver_api.h"
#include "judge/protocol/protocol.h"

namespace warpgrade::executor {

// Maps what kAttach brought into the current context, and closes `fd`. The address of the payload.
// Throws std::runtime_error.
CUdeviceptr import_buffer(const protocol::Command& attach, int fd);

// Unmaps it; `offset` and `mapped_bytes` as in the command.
void release_buffer(CUdeviceptr payload, std::uint64_t offset, std::uint64_t mapped_bytes);

}  // namespace warpgrade::executor

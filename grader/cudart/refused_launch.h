// Why a launch is refused, and what cures it. A launch that is refused leaves nothing but an error code,
// which many programs never look at.
#pragma once
#include <string>

#include "cudart/cluster.h"
#include "cudart/kernel_call.h"
#include "cudart/kernels.h"

namespace warpgrade::cudart {

inline constexpr unsigned kMaxGridX = 0x7fffffff, kMaxGridYZ = 65535, kMaxBlockZ = 64,
                          kMaxThreadsPerBlock = 1024;

// Which axis of the grid is no multiple of the cluster's; 3: none.
int uneven_axis(const KernelCall& call, const ClusterSize& cluster);

// Its block would take more registers than a block may have.
bool takes_too_many_registers(const KernelFacts& facts, uint32_t threads);

// Blocks of such a launch that the device holds at a time.
cudaError_t resident_blocks(const Kernel& kernel, const KernelCall& call, uint64_t& blocks);

// Reports a launch that failed with this error.
void report_refused_launch(cudaError_t error, const KernelCall& call);

}  // namespace warpgrade::cudart

// The heap of kernels: malloc and free, and cudaMalloc and cudaFree where kernels call them.
#pragma once
#include "state/machine.h"

namespace warpgrade::emu {

// 0 when the heap is exhausted. The checks forget what they knew of these addresses.
uint64_t take_from_heap(const Warp& w, uint64_t bytes);
// Null is freed without effect. False for what cannot be freed, which is reported and ends the launch.
bool give_back_to_heap(Warp& w, const Inst& i, uint32_t lane, uint64_t address);

}  // namespace warpgrade::emu

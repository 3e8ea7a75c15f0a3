// What a host process is told of the device, and devices that must not be lent to a stranger's kernels.
#pragma once
#include <array>
#include <cstdint>
#include <string>

#include "cudart/backend.h"

namespace warpgrade::executor {

// The device's attributes as they hold through the executor: what is refused here is no attribute of
// the device.
std::array<int32_t, 256> visible_attributes(const cudart::DeviceFacts& facts);

// Kernels on such a device read and write all memory of the executor's process, its decisions among it.
bool reaches_host_memory(const cudart::DeviceFacts& facts);
// Empty when the device can be lent; else what is wrong and what to do. `allowed`: the owner's word
// (WARPGRADE_PAGEABLE_ACCESS=allow), for machines on which nobody's kernels but one's own run.
std::string objection_to(const cudart::DeviceFacts& facts, bool allowed);

}  // namespace warpgrade::executor

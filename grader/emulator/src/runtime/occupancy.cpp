#include "runtime/occupancy.h"

#include <algorithm>

#include "device/device_model.h"

namespace warpgrade::emu {

// Registers are those of PTX, not what ptxas would allocate, so they do not limit.
int max_active_blocks(const Program& program, int threads, size_t dynamic_shared) {
  if (threads <= 0 || threads > kMaxThreadsPerBlock) return 0;
  const DeviceModel& model = device_model();
  const size_t shared = program.static_shared_bytes + dynamic_shared;
  if (shared > model.shared_per_block_optin) return 0;
  const int warps = (threads + 31) / 32;
  const int by_threads = model.threads_per_multiprocessor / 32 / warps;
  const size_t occupied = shared + model.reserved_shared_per_block;
  const int by_shared = occupied == 0 ? model.blocks_per_multiprocessor
                                      : static_cast<int>(model.shared_per_multiprocessor / occupied);
  return std::min({by_threads, by_shared, model.blocks_per_multiprocessor});
}

}  // namespace warpgrade::emu

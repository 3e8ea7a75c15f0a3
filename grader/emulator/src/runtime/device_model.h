// What the emulated GPU claims to be: the limits of the architecture that WARPEMU_ARCH names.
#pragma once
#include <cstddef>

namespace warpgrade::emu {

struct DeviceModel {
  int major, minor;
  int multiprocessors;
  int threads_per_multiprocessor;
  int blocks_per_multiprocessor;
  size_t shared_per_multiprocessor;
  size_t shared_per_block_optin;
  int l2_bytes;
};

inline constexpr size_t kSharedPerBlock = 48 << 10;
inline constexpr int kMaxThreadsPerBlock = 1024;
inline constexpr int kRegistersPerMultiprocessor = 65536;

const DeviceModel& device_model();

}  // namespace warpgrade::emu

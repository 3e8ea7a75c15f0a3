// What the emulated GPU claims to be. A description is text of `name = value` lines; devices/*.device are
// embedded in the library, WARPEMU_DEVICE names one of them or a file.
#pragma once
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace warpgrade::emu {

struct DeviceModel {
  std::string name;
  int major = 0, minor = 0;
  int multiprocessors = 0;
  int threads_per_multiprocessor = 0;
  int blocks_per_multiprocessor = 0;
  int registers_per_multiprocessor = 0;
  size_t shared_per_multiprocessor = 0;
  size_t shared_per_block_optin = 0;
  size_t reserved_shared_per_block = 0;
  int l2_bytes = 0;
  uint64_t memory_mb = 0;
  int clock_khz = 0, memory_clock_khz = 0, memory_bus_bits = 0;

  unsigned arch() const { return static_cast<unsigned>(major * 10 + minor); }
};

inline constexpr size_t kSharedPerBlock = 48 << 10;
inline constexpr int kMaxThreadsPerBlock = 1024;
inline constexpr int kRegistersPerBlock = 65536;

struct EmbeddedDevice {
  const char* name;
  const char* text;
};

struct DeviceError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Throws DeviceError, which names `source` and the line, for an unknown name, a value that is no number in
// range, and a name that is missing or stands twice.
DeviceModel parse_device(const std::string& text, const std::string& source);

// The described device of a name or a path. Throws DeviceError, with the known names.
DeviceModel find_device(const std::string& name_or_path);

// The newest embedded device that is not newer than `arch`, of several the one with the most memory, with
// that compute capability.
DeviceModel device_of_arch(unsigned arch);

// The device of this process, as WARPEMU_DEVICE and WARPEMU_ARCH choose it.
const DeviceModel& device_model();

}  // namespace warpgrade::emu

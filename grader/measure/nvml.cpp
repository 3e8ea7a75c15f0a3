#include "measure/nvml.h"

#include <dlfcn.h>

#include <array>
#include <map>
#include <mutex>

namespace warpgrade {
namespace {

// The part of NVML's stable C interface that is used here.
using Device = void*;
constexpr int kSuccess = 0;
constexpr unsigned kClockSm = 1, kClockMemory = 2, kTemperatureGpu = 0;
constexpr std::uint64_t kHwSlowdown = 0x8, kSwThermal = 0x20, kHwThermal = 0x40, kHwPowerBrake = 0x80;

struct Library {
  void* handle = nullptr;
  int (*get_device)(const char*, Device*) = nullptr;
  int (*get_clock)(Device, unsigned, unsigned*) = nullptr;
  int (*get_temperature)(Device, unsigned, unsigned*) = nullptr;
  int (*get_reasons)(Device, unsigned long long*) = nullptr;
  int (*get_driver)(char*, unsigned) = nullptr;

  Library() {
    handle = dlopen("libnvidia-ml.so.1", RTLD_NOW);
    if (handle == nullptr) return;
    const auto load = [&](auto& function, const char* name) {
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(handle, name));
      if (function == nullptr) handle = nullptr;
    };
    int (*init)() = nullptr;
    load(init, "nvmlInit_v2");
    if (handle != nullptr) load(get_device, "nvmlDeviceGetHandleByUUID");
    if (handle != nullptr) load(get_clock, "nvmlDeviceGetClockInfo");
    if (handle != nullptr) load(get_temperature, "nvmlDeviceGetTemperature");
    if (handle != nullptr) load(get_reasons, "nvmlDeviceGetCurrentClocksThrottleReasons");
    if (handle != nullptr) load(get_driver, "nvmlSystemGetDriverVersion");
    if (handle != nullptr && init() != kSuccess) handle = nullptr;
  }
};

const Library& library() {
  static const Library instance;
  return instance;
}

// A device's handle holds as long as the library is loaded; looking it up asks every GPU of the machine.
Device device_of(const std::string& uuid) {
  const Library& nvml = library();
  if (nvml.handle == nullptr) return nullptr;
  static std::mutex mutex;
  static std::map<std::string, Device> known;
  const std::lock_guard lock(mutex);
  const auto [found, is_new] = known.try_emplace(uuid, nullptr);
  if (is_new && nvml.get_device(uuid.c_str(), &found->second) != kSuccess) found->second = nullptr;
  return found->second;
}

bool is_throttled(std::uint64_t reasons) {
  return (reasons & (kHwSlowdown | kSwThermal | kHwThermal | kHwPowerBrake)) != 0;
}

}  // namespace

bool GpuState::throttled() const {
  return is_throttled(throttle_reasons);
}

nlohmann::json GpuState::to_json() const {
  return {{"sm_mhz", sm_mhz},
          {"memory_mhz", memory_mhz},
          {"temperature_c", temperature_c},
          {"throttle_reasons", throttle_reasons}};
}

std::optional<GpuState> read_gpu_state(const std::string& uuid) {
  const Library& nvml = library();
  const Device device = device_of(uuid);
  if (device == nullptr) return std::nullopt;
  GpuState state;
  unsigned long long reasons = 0;
  nvml.get_clock(device, kClockSm, &state.sm_mhz);
  nvml.get_clock(device, kClockMemory, &state.memory_mhz);
  nvml.get_temperature(device, kTemperatureGpu, &state.temperature_c);
  nvml.get_reasons(device, &reasons);
  state.throttle_reasons = reasons;
  return state;
}

bool gpu_is_throttled(const std::string& uuid) {
  const Device device = device_of(uuid);
  unsigned long long reasons = 0;
  return device != nullptr && library().get_reasons(device, &reasons) == kSuccess && is_throttled(reasons);
}

std::string driver_version() {
  std::array<char, 96> text{};
  const Library& nvml = library();
  if (nvml.handle == nullptr || nvml.get_driver(text.data(), text.size()) != kSuccess) return "";
  return text.data();
}

}  // namespace warpgrade

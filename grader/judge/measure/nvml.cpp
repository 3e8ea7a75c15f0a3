#include "judge/measure/nvml.h"

#include <dlfcn.h>

#include <array>
#include <map>
#include <mutex>
#include <optional>
#include <vector>

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
  // For the list of devices; older libraries may lack some.
  int (*get_count)(unsigned*) = nullptr;
  int (*get_by_index)(unsigned, Device*) = nullptr;
  int (*get_uuid)(Device, char*, unsigned) = nullptr;
  int (*get_mig_mode)(Device, unsigned*, unsigned*) = nullptr;
  int (*get_mig_count)(Device, unsigned*) = nullptr;
  int (*get_mig_by_index)(Device, unsigned, Device*) = nullptr;
  int (*get_gpu_of_mig)(Device, Device*) = nullptr;
  int (*get_ecc_mode)(Device, unsigned*, unsigned*) = nullptr;  // also not on every model

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
    if (handle == nullptr) return;
    const auto load_if_there = [&](auto& function, const char* name) {
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(handle, name));
    };
    load_if_there(get_count, "nvmlDeviceGetCount_v2");
    load_if_there(get_by_index, "nvmlDeviceGetHandleByIndex_v2");
    load_if_there(get_uuid, "nvmlDeviceGetUUID");
    load_if_there(get_mig_mode, "nvmlDeviceGetMigMode");
    load_if_there(get_mig_count, "nvmlDeviceGetMaxMigDeviceCount");
    load_if_there(get_mig_by_index, "nvmlDeviceGetMigDeviceHandleByIndex");
    load_if_there(get_gpu_of_mig, "nvmlDeviceGetDeviceHandleFromMigDeviceHandle");
    load_if_there(get_ecc_mode, "nvmlDeviceGetEccMode");
  }
};

const Library& library() {
  static const Library instance;
  return instance;
}

// The GPU that the instance of a partitioned one is part of. CUDA gives the instance's number without saying
// that it is one: "GPU-" stands before it in records. Clocks and temperature are the whole GPU's.
Device gpu_of_instance(const std::string& uuid) {
  const Library& nvml = library();
  const std::string name = "MIG-" + uuid.substr(uuid.find('-') + 1);
  Device instance = nullptr, gpu = nullptr;
  if (nvml.get_gpu_of_mig == nullptr || nvml.get_device(name.c_str(), &instance) != kSuccess) return nullptr;
  return nvml.get_gpu_of_mig(instance, &gpu) == kSuccess ? gpu : nullptr;
}

// A device's handle holds as long as the library is loaded; looking it up asks every GPU of the machine.
Device device_of(const std::string& uuid) {
  const Library& nvml = library();
  if (nvml.handle == nullptr) return nullptr;
  static std::mutex mutex;
  static std::map<std::string, Device> known;
  const std::lock_guard lock(mutex);
  const auto [found, is_new] = known.try_emplace(uuid, nullptr);
  if (is_new && nvml.get_device(uuid.c_str(), &found->second) != kSuccess)
    found->second = gpu_of_instance(uuid);
  return found->second;
}

std::string uuid_of(Device device) {
  std::array<char, 96> text{};
  return library().get_uuid(device, text.data(), text.size()) == kSuccess ? text.data() : "";
}

// The instances of a partitioned GPU; nothing: it is whole. A partitioned one without instances gives an
// empty list, since CUDA cannot use it.
std::optional<std::vector<std::string>> mig_instances(Device gpu) {
  const Library& nvml = library();
  unsigned current = 0, pending = 0, count = 0;
  const bool known =
      nvml.get_mig_mode != nullptr && nvml.get_mig_count != nullptr && nvml.get_mig_by_index != nullptr;
  if (!known || nvml.get_mig_mode(gpu, &current, &pending) != kSuccess || current == 0) return std::nullopt;
  std::vector<std::string> instances;
  if (nvml.get_mig_count(gpu, &count) != kSuccess) return instances;
  for (unsigned i = 0; i < count; ++i) {
    Device instance = nullptr;
    if (nvml.get_mig_by_index(gpu, i, &instance) != kSuccess) continue;  // a place without an instance
    if (const std::string uuid = uuid_of(instance); !uuid.empty()) instances.push_back(uuid);
  }
  return instances;
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

nlohmann::json gpu_settings(const std::string& uuid) {
  nlohmann::json settings = nlohmann::json::object();
  const Library& nvml = library();
  const Device device = device_of(uuid);
  if (device == nullptr) return settings;
  settings["mig"] = gpu_of_instance(uuid) != nullptr;
  unsigned now = 0, after_restart = 0;
  if (nvml.get_ecc_mode != nullptr && nvml.get_ecc_mode(device, &now, &after_restart) == kSuccess)
    settings["ecc"] = now != 0;
  return settings;
}

std::vector<std::string> listed_gpus() {
  const Library& nvml = library();
  std::vector<std::string> names;
  unsigned count = 0;
  const bool known = nvml.handle != nullptr && nvml.get_count != nullptr && nvml.get_by_index != nullptr &&
                     nvml.get_uuid != nullptr;
  if (!known || nvml.get_count(&count) != kSuccess) return names;
  for (unsigned i = 0; i < count; ++i) {
    Device gpu = nullptr;
    if (nvml.get_by_index(i, &gpu) != kSuccess) continue;  // one that this user may not use
    if (const auto instances = mig_instances(gpu)) {
      names.insert(names.end(), instances->begin(), instances->end());
    } else if (const std::string uuid = uuid_of(gpu); !uuid.empty()) {
      names.push_back(uuid);
    }
  }
  return names;
}

std::string driver_version() {
  std::array<char, 96> text{};
  const Library& nvml = library();
  if (nvml.handle == nullptr || nvml.get_driver(text.data(), text.size()) != kSuccess) return "";
  return text.data();
}

}  // namespace warpgrade

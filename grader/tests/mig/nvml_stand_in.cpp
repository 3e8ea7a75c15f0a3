// In the place of NVIDIA's management library: tells the machine that a text of `nvidia-smi -L` shows. The
// functions and what they return for partitioned GPUs are those of https://docs.nvidia.com/deploy/nvml-api/.
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <regex>
#include <string>
#include <vector>

namespace {

constexpr int kSuccess = 0, kNotSupported = 3, kNotFound = 6;
constexpr unsigned kMostInstances = 7;

struct Device {
  std::string uuid;
  Device* gpu = nullptr;  // of an instance
  bool partitioned = false;
  std::vector<std::unique_ptr<Device>> instances;
};

struct Machine {
  std::vector<std::unique_ptr<Device>> gpus;

  explicit Machine(const char* file) {
    static const std::regex kLine(R"(( *)(?:GPU|MIG) .*\(UUID: ([^)]+)\))");
    std::ifstream text(file != nullptr ? file : "");
    std::smatch part;
    for (std::string line; std::getline(text, line);) {
      if (!std::regex_match(line, part, kLine)) continue;
      auto device = std::make_unique<Device>();
      device->uuid = part[2];
      if (part[1].length() == 0) {
        gpus.push_back(std::move(device));
      } else {
        device->gpu = gpus.back().get();
        device->gpu->partitioned = true;
        gpus.back()->instances.push_back(std::move(device));
      }
    }
  }
};

const Machine& machine() {
  static const Machine instance(std::getenv("WARPGRADE_TEST_NVIDIA_SMI"));
  return instance;
}

Device* device(void* handle) {
  return static_cast<Device*>(handle);
}

int figure(void* handle, unsigned value, unsigned* out) {
  if (device(handle)->gpu != nullptr) return kNotSupported;  // instances have no clocks of their own
  *out = value;
  return kSuccess;
}

}  // namespace

extern "C" {

int nvmlInit_v2() {
  return kSuccess;
}

int nvmlDeviceGetHandleByUUID(const char* uuid, void** out) {
  for (const auto& gpu : machine().gpus) {
    if (gpu->uuid == uuid) return *out = gpu.get(), kSuccess;
    for (const auto& instance : gpu->instances)
      if (instance->uuid == uuid) return *out = instance.get(), kSuccess;
  }
  return kNotFound;
}

int nvmlDeviceGetClockInfo(void* handle, unsigned, unsigned* out) {
  return figure(handle, 1410, out);
}

int nvmlDeviceGetEccMode(void* handle, unsigned* now, unsigned* after_restart) {
  *after_restart = 0;
  return figure(handle, 1, now);
}

int nvmlDeviceGetTemperature(void* handle, unsigned, unsigned* out) {
  return figure(handle, 40, out);
}

int nvmlDeviceGetCurrentClocksThrottleReasons(void* handle, unsigned long long* out) {
  unsigned reasons = 0;
  const int result = figure(handle, 0x40, &reasons);  // hardware thermal slowdown
  *out = reasons;
  return result;
}

int nvmlSystemGetDriverVersion(char* out, unsigned length) {
  std::strncpy(out, "535.216.01", length);
  return kSuccess;
}

int nvmlDeviceGetCount_v2(unsigned* out) {
  *out = static_cast<unsigned>(machine().gpus.size());
  return kSuccess;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** out) {
  if (index >= machine().gpus.size()) return kNotFound;
  *out = machine().gpus[index].get();
  return kSuccess;
}

int nvmlDeviceGetUUID(void* handle, char* out, unsigned length) {
  std::strncpy(out, device(handle)->uuid.c_str(), length);
  return kSuccess;
}

int nvmlDeviceGetMigMode(void* handle, unsigned* current, unsigned* pending) {
  *current = *pending = device(handle)->partitioned ? 1 : 0;
  return kSuccess;
}

int nvmlDeviceGetMaxMigDeviceCount(void*, unsigned* out) {
  *out = kMostInstances;
  return kSuccess;
}

// Places of instances that there are not are told as such, between those that there are.
int nvmlDeviceGetMigDeviceHandleByIndex(void* handle, unsigned index, void** out) {
  const auto& instances = device(handle)->instances;
  const unsigned gap = instances.size() < kMostInstances ? 1 : 0;
  if (index < gap || index - gap >= instances.size()) return kNotFound;
  *out = instances[index - gap].get();
  return kSuccess;
}

int nvmlDeviceGetDeviceHandleFromMigDeviceHandle(void* handle, void** out) {
  if (device(handle)->gpu == nullptr) return kNotFound;
  *out = device(handle)->gpu;
  return kSuccess;
}
}

// What judges: a GPU, or the emulator as one.
#include <cstdlib>
#include <string>

#include "base/error.h"
#include "course/batch/class_run.h"
#include "course/batch/judge_process.h"

namespace warpgrade {
using nlohmann::json;

namespace {

constexpr const char* kEmulatorArchitecture = "80";

std::string emulated_architecture() {
  const char* asked = std::getenv("WARPGRADE_EMULATOR_ARCH");
  if (asked == nullptr) return kEmulatorArchitecture;
  const std::string architecture = asked;
  const bool is_number = architecture.find_first_not_of("0123456789") == std::string::npos;
  if (!is_number || architecture.size() < 2 || architecture.size() > 3 || std::stoi(architecture) < 75)
    throw UsageError(
        "WARPGRADE_EMULATOR_ARCH: expected a compute capability of 7.5 or more without its dot, for instance "
        "80 or 90, got '{}'",
        architecture);
  return architecture;
}

}  // namespace

Backend choose_backend(const std::string& name) {
  if (name != "auto" && name != "cuda" && name != "emulator") {
    throw UsageError("there is no backend '{}'; choose auto, cuda or emulator", name);
  }
  if (name != "emulator") {
    const json device = probe_gpu();
    if (!device.empty()) return {"cuda", device, std::to_string(device.at("compute_capability").get<int>())};
    if (name == "cuda")
      throw UsageError("this machine has no NVIDIA GPU with a working driver; give --backend emulator");
  }
  return {"emulator", {{"name", "libwarpemu"}}, emulated_architecture()};
}

}  // namespace warpgrade

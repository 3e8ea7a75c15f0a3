// The devices of this machine that a run is judged on, one judge each: GPUs, instances of a partitioned GPU
// (MIG), and, so that all of it works and is tested without a GPU, emulated ones.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace warpgrade {

struct JudgeDevice {
  std::string name;      // for people: "GPU 2", "emulated device 1"
  std::string visible;   // CUDA_VISIBLE_DEVICES of all that works on it; empty: as this process has it
  std::string lease;     // the file by which the judges of this device take turns, whatever run they are of
  nlohmann::json about;  // of a record: name, uuid, ...
};

// What a machine has, each as CUDA_VISIBLE_DEVICES may name it. On the emulator so many as WARPEMU_DEVICES
// says, without that none: judges then share the processor's cores.
std::vector<std::string> listed_devices(const std::string& backend);

// What CUDA_VISIBLE_DEVICES (`visible`) leaves of `listed`, by CUDA's rules: numbers, names or beginnings of
// names; what is behind the first entry that means nothing is left out.
std::vector<std::string> visible_devices(const std::vector<std::string>& listed, const std::string& visible);

// The places in `names` of those that `asked` (--gpus) means: numbers counted from 0, names or beginnings of
// names. Throws UsageError for an entry that means nothing, naming what there is.
std::vector<std::size_t> chosen_devices(const std::vector<std::string>& names,
                                        const std::vector<std::string>& asked);

// What CUDA says of the first device in a process with this CUDA_VISIBLE_DEVICES: name, uuid, ...; an empty
// object where there is none.
using DeviceProbe = std::function<nlohmann::json(const std::string& visible)>;

// The GPUs and instances of `listed` that CUDA_VISIBLE_DEVICES (`visible`; null: not set) leaves, each once,
// with a lease of its own. `left_out` tells of those that do not work.
std::vector<JudgeDevice> find_gpus(const std::vector<std::string>& listed, const char* visible,
                                   const DeviceProbe& probe, std::vector<std::string>& left_out);

// Those that `asked` (--gpus) means, or all, and of them those of the first one's model.
void keep_asked(std::vector<JudgeDevice>& devices, const std::vector<std::string>& asked,
                std::vector<std::string>& left_out);

// The devices of the backend "cuda" or "emulator" that this process may use. Those of another model than the
// first are left out (`left_out` tells of each), since times of different models are not compared; one that
// was asked for by --gpus is refused then. Empty: no GPU with a working driver, or an emulator without
// devices of its own.
std::vector<JudgeDevice> find_devices(const std::string& backend, const std::vector<std::string>& asked,
                                      std::vector<std::string>& left_out);

}  // namespace warpgrade

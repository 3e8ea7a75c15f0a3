// Clocks, temperature and throttle reasons of the GPU, through NVIDIA's management library, loaded at run
// time. Reads only; nothing of the card's settings is ever changed.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace warpgrade {

struct GpuState {
  unsigned sm_mhz = 0, memory_mhz = 0, temperature_c = 0;
  std::uint64_t throttle_reasons = 0;  // nvmlClocksEventReasons bits
  // Slowed by heat or a power brake: a sample taken now is not comparable.
  bool throttled() const;
  nlohmann::json to_json() const;
};

// Of the device with this UUID ("GPU-..."). Nothing where the library is not there.
std::optional<GpuState> read_gpu_state(const std::string& uuid);
// Whether it is throttled now: one question instead of four, for between two samples. False where nobody
// can tell.
bool gpu_is_throttled(const std::string& uuid);
std::string driver_version();
// What of its settings makes one board unlike another: {ecc, mig}, whether its memory corrects errors and
// whether it is an instance of a partitioned GPU; absent where nobody can tell.
nlohmann::json gpu_settings(const std::string& uuid);

// The GPUs of this machine in the order of their slots, as CUDA_VISIBLE_DEVICES names them: "GPU-<uuid>",
// and in the place of one that is partitioned each of its instances, "MIG-<uuid>". Empty where the library
// is not there.
std::vector<std::string> listed_gpus();

}  // namespace warpgrade

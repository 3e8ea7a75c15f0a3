// What a GPU does in a second: the numbers behind estimates of time. Files in profile/rates, each number with
// its source; the counts of a device (multiprocessors, clock) stand in the emulator's description of it. GPUs
// that nobody measured have what their data sheets say (rates/data_sheets.txt).
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace warpgrade {

struct DeviceRates {
  std::string id;            // h200
  std::string name;          // NVIDIA H200
  std::string described_as;  // its description in emulator/devices
  std::string architecture;  // 90
  bool validated = false;
  bool from_data_sheet = false;  // nothing was measured on such a GPU
  double multiprocessors = 0, clock_hz = 0, threads_per_multiprocessor = 0, registers_per_multiprocessor = 0;
  double shared_per_block = 0;  // bytes, the most that a block may ask for
  double dram_bytes_per_s = 0, l2_bytes_per_s = 0, l2_fill_bytes_per_s = 0;
  double updates_of_one_sector_per_s = 0, scattered_updates_per_s = 0;
  double fp32_lanes = 0, fp64_lanes = 0, integer_lanes = 0, special_lanes = 0;  // a clock, a multiprocessor
  // Multiply-adds of the tensor cores a clock and multiprocessor; zero: it has none of this type.
  double tf32_tensor_lanes = 0, fp64_tensor_lanes = 0;
  double min_plus_16_lanes = 1;  // relaxations of 16 bits in the time of one of 32
  double l1_bytes_a_clock = 0;   // of a multiprocessor
  double launch_us = 0;          // a kernel that does nothing
};

// Of the device that the emulator knows under this name; none when no rates of it are known.
std::optional<DeviceRates> find_rates(const std::string& id);

std::vector<std::string> devices_with_rates();

// Of a GPU by the words that people use: "T4", "RTX 4090", "A100". Throws UsageError that names those
// there are.
DeviceRates rates_of_model(const std::string& model);

// The device that the emulator takes for itself when it is told an architecture alone: 90 is an h200. Empty
// for those of which no rates are known.
std::string device_of_architecture(const std::string& architecture);

}  // namespace warpgrade

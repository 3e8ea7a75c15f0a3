#include "course/profile/device_rates.h"

#include <cstdlib>
#include <map>
#include <sstream>

#include "base/error.h"
#include "course/profile/embedded_rates.h"

namespace warpgrade {
namespace {

std::string trimmed(const std::string& text) {
  const std::size_t begin = text.find_first_not_of(" \t\r");
  return begin == std::string::npos ? "" : text.substr(begin, text.find_last_not_of(" \t\r") - begin + 1);
}

// `name = value` a line, # begins a comment.
std::map<std::string, std::string> values_of(const std::string& text) {
  std::map<std::string, std::string> values;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    line = trimmed(line.substr(0, line.find('#')));
    const std::size_t equals = line.find('=');
    if (equals != std::string::npos)
      values[trimmed(line.substr(0, equals))] = trimmed(line.substr(equals + 1));
  }
  return values;
}

const char* find_text(const EmbeddedText* list, std::size_t n, const std::string& id) {
  for (std::size_t k = 0; k < n; ++k) {
    if (id == list[k].name) return list[k].text;
  }
  return nullptr;
}

}  // namespace

std::optional<DeviceRates> find_rates(const std::string& id) {
  const char* rates = find_text(kEmbeddedRates, kEmbeddedRatesCount, id);
  // An H100 is described by its sibling: they differ in memory alone.
  const bool own = find_text(kDescribedDevices, kDescribedDevicesCount, id) != nullptr;
  const std::string described_as = own || id != "h100" ? id : "h200";
  const char* described = find_text(kDescribedDevices, kDescribedDevicesCount, described_as);
  if (rates == nullptr || described == nullptr) return std::nullopt;
  const auto measured = values_of(rates), counts = values_of(described);
  const auto number = [&](const std::map<std::string, std::string>& from, const char* name) {
    const auto found = from.find(name);
    if (found == from.end()) throw UsageError("profile/rates/" + id + ".rates: " + name + " is missing");
    return std::strtod(found->second.c_str(), nullptr);
  };
  DeviceRates r;
  r.id = id;
  r.name = id == "h100" ? "NVIDIA H100" : counts.at("name");
  r.described_as = described_as;
  r.architecture = counts.at("compute_capability");
  std::erase(r.architecture, '.');
  r.validated = number(measured, "validated") != 0;
  r.multiprocessors = number(counts, "multiprocessors");
  r.clock_hz = 1e3 * number(counts, "clock_khz");
  r.threads_per_multiprocessor = number(counts, "threads_per_multiprocessor");
  r.registers_per_multiprocessor = number(counts, "registers_per_multiprocessor");
  r.shared_per_block = number(counts, "shared_bytes_per_block_optin");
  r.dram_bytes_per_s = number(measured, "dram_bytes_per_s");
  r.l2_bytes_per_s = number(measured, "l2_bytes_per_s");
  r.l2_fill_bytes_per_s = number(measured, "l2_fill_bytes_per_s");
  r.updates_of_one_sector_per_s = number(measured, "updates_of_one_sector_per_s");
  r.scattered_updates_per_s = number(measured, "scattered_updates_per_s");
  r.fp32_lanes = number(measured, "fp32_lanes");
  r.fp64_lanes = number(measured, "fp64_lanes");
  r.integer_lanes = number(measured, "integer_lanes");
  r.special_lanes = number(measured, "special_lanes");
  return r;
}

std::string device_of_architecture(const std::string& architecture) {
  return architecture == "90" ? "h200" : architecture == "80" ? "a100" : "";
}

std::vector<std::string> devices_with_rates() {
  std::vector<std::string> names;
  for (std::size_t k = 0; k < kEmbeddedRatesCount; ++k) names.emplace_back(kEmbeddedRates[k].name);
  return names;
}

}  // namespace warpgrade

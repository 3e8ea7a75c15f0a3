#include "course/profile/device_rates.h"

#include <cctype>
#include <cstdlib>
#include <map>
#include <sstream>

#include "base/error.h"
#include "course/profile/embedded_rates.h"

namespace warpgrade {
namespace {

constexpr const char* kDataSheets = "data_sheets";

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

using Values = std::map<std::string, std::string>;

double number(const Values& from, const std::string& name, const std::string& file) {
  const auto found = from.find(name);
  if (found == from.end()) throw UsageError("profile/rates/" + file + ": " + name + " is missing");
  return std::strtod(found->second.c_str(), nullptr);
}

const Values& data_sheets() {
  static const Values values = values_of(find_text(kEmbeddedRates, kEmbeddedRatesCount, kDataSheets));
  return values;
}

void add_counts(const Values& counts, DeviceRates& r) {
  const auto count = [&](const char* name) { return number(counts, name, r.described_as + ".device"); };
  r.name = counts.at("name");
  r.architecture = counts.at("compute_capability");
  std::erase(r.architecture, '.');
  r.multiprocessors = count("multiprocessors");
  r.clock_hz = 1e3 * count("clock_khz");
  r.threads_per_multiprocessor = count("threads_per_multiprocessor");
  r.registers_per_multiprocessor = count("registers_per_multiprocessor");
  r.shared_per_block = count("shared_bytes_per_block_optin");
}

// What follows from the architecture, or is much the same on all.
void add_limits(const std::string& capability, DeviceRates& r) {
  const auto published = [&](const std::string& name, double fallback) {
    const auto found = data_sheets().find(name);
    return found == data_sheets().end() ? fallback : std::strtod(found->second.c_str(), nullptr);
  };
  r.tf32_tensor_lanes = published(capability + ".tf32_tensor_lanes", 0);
  r.fp64_tensor_lanes = published(capability + ".fp64_tensor_lanes", 0);
  r.min_plus_16_lanes = published(capability + ".min_plus_16_lanes", 1);
  r.l1_bytes_a_clock = number(data_sheets(), "rule.l1_bytes_a_clock", "data_sheets.txt");
  r.launch_us = number(data_sheets(), "rule.launch_us", "data_sheets.txt");
}

void add_measured(const Values& measured, DeviceRates& r) {
  const auto rate = [&](const char* name) { return number(measured, name, r.id + ".rates"); };
  r.validated = rate("validated") != 0;
  r.dram_bytes_per_s = rate("dram_bytes_per_s");
  r.l2_bytes_per_s = rate("l2_bytes_per_s");
  r.l2_fill_bytes_per_s = rate("l2_fill_bytes_per_s");
  r.updates_of_one_sector_per_s = rate("updates_of_one_sector_per_s");
  r.scattered_updates_per_s = rate("scattered_updates_per_s");
  r.fp32_lanes = rate("fp32_lanes");
  r.fp64_lanes = rate("fp64_lanes");
  r.integer_lanes = rate("integer_lanes");
  r.special_lanes = rate("special_lanes");
}

void add_published(const std::string& capability, DeviceRates& r) {
  const auto published = [&](const std::string& name) {
    return number(data_sheets(), name, std::string(kDataSheets) + ".txt");
  };
  r.from_data_sheet = true;
  r.dram_bytes_per_s = 1e9 * published(r.id + ".dram_gb_per_s") * published("rule.dram_share");
  r.l2_bytes_per_s = published("rule.l2_bytes") * r.multiprocessors * r.clock_hz;
  r.l2_fill_bytes_per_s = r.l2_bytes_per_s * published("rule.l2_fill_share");
  r.updates_of_one_sector_per_s = r.clock_hz * published("rule.updates_of_one_sector_a_clock");
  r.scattered_updates_per_s =
      r.clock_hz * r.multiprocessors * published("rule.scattered_updates_a_clock_a_multiprocessor");
  r.fp32_lanes = published(capability + ".fp32_lanes");
  r.fp64_lanes = published(capability + ".fp64_lanes");
  r.integer_lanes = published(capability + ".integer_lanes");
  r.special_lanes = published(capability + ".special_lanes");
}

}  // namespace

std::optional<DeviceRates> find_rates(const std::string& id) {
  const char* rates = id == kDataSheets ? nullptr : find_text(kEmbeddedRates, kEmbeddedRatesCount, id);
  const bool is_published = data_sheets().contains(id + ".dram_gb_per_s");
  // An H100 is described by its sibling: they differ in memory alone.
  const bool own = find_text(kDescribedDevices, kDescribedDevicesCount, id) != nullptr;
  const std::string described_as = own || id != "h100" ? id : "h200";
  const char* described = find_text(kDescribedDevices, kDescribedDevicesCount, described_as);
  if ((rates == nullptr && !is_published) || described == nullptr) return std::nullopt;
  const Values counts = values_of(described);
  DeviceRates r;
  r.id = id;
  r.described_as = described_as;
  add_counts(counts, r);
  add_limits(counts.at("compute_capability"), r);
  if (id == "h100") r.name = "NVIDIA H100";
  if (rates != nullptr)
    add_measured(values_of(rates), r);
  else
    add_published(counts.at("compute_capability"), r);
  return r;
}

DeviceRates rates_of_model(const std::string& model) {
  std::string id, known;
  for (const char letter : model) {
    if (std::isalnum(static_cast<unsigned char>(letter)) != 0)
      id += static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  }
  if (const auto rates = find_rates(id)) return *rates;
  for (const std::string& each : devices_with_rates()) known += (known.empty() ? "" : ", ") + each;
  throw UsageError("no rates of a GPU '" + model + "' are known; there are those of " + known);
}

std::string device_of_architecture(const std::string& architecture) {
  return architecture == "90" ? "h200" : architecture == "80" ? "a100" : "";
}

std::vector<std::string> devices_with_rates() {
  std::vector<std::string> names;
  for (std::size_t k = 0; k < kEmbeddedRatesCount; ++k) {
    if (std::string(kEmbeddedRates[k].name) != kDataSheets) names.emplace_back(kEmbeddedRates[k].name);
  }
  const std::string published = ".dram_gb_per_s";
  for (const auto& [name, value] : data_sheets()) {
    if (name.ends_with(published)) names.push_back(name.substr(0, name.size() - published.size()));
  }
  return names;
}

}  // namespace warpgrade

#include "support/device_model.h"

#include <cstdlib>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <sstream>

#include "support/settings.h"

namespace warpgrade::emu {

extern const EmbeddedDevice kEmbeddedDevices[];
extern const size_t kEmbeddedDeviceCount;

namespace {

std::string trimmed(const std::string& text) {
  const size_t begin = text.find_first_not_of(" \t\r");
  return begin == std::string::npos ? "" : text.substr(begin, text.find_last_not_of(" \t\r") - begin + 1);
}

uint64_t whole_number(const std::string& text, uint64_t low, uint64_t high) {
  const bool digits = !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
  const uint64_t value = digits && text.size() < 19 ? std::strtoull(text.c_str(), nullptr, 10) : 0;
  if (digits && text.size() < 19 && value >= low && value <= high) return value;
  throw DeviceError("want a whole number from " + std::to_string(low) + " to " + std::to_string(high) +
                    ", got '" + text + "'");
}

void set_capability(DeviceModel& model, const std::string& text) {
  const size_t dot = text.find('.');
  if (dot == std::string::npos) throw DeviceError("want major.minor, as in 8.0, got '" + text + "'");
  model.major = static_cast<int>(whole_number(text.substr(0, dot), 5, 12));
  model.minor = static_cast<int>(whole_number(text.substr(dot + 1), 0, 9));
}

using Setter = std::function<void(DeviceModel&, const std::string&)>;

template <class T>
Setter number(T DeviceModel::*member, uint64_t low, uint64_t high) {
  return [=](DeviceModel& m, const std::string& text) {
    m.*member = static_cast<T>(whole_number(text, low, high));
  };
}

// Every name must be given: a description says all that programs may ask for.
const std::map<std::string, Setter>& setters() {
  constexpr uint64_t kInt = 2147483647;
  static const std::map<std::string, Setter> all{
      {"name", [](DeviceModel& m, const std::string& text) { m.name = text; }},
      {"compute_capability", set_capability},
      {"multiprocessors", number(&DeviceModel::multiprocessors, 1, 65536)},
      {"threads_per_multiprocessor", number(&DeviceModel::threads_per_multiprocessor, 1024, 65536)},
      {"blocks_per_multiprocessor", number(&DeviceModel::blocks_per_multiprocessor, 1, 1024)},
      {"registers_per_multiprocessor", number(&DeviceModel::registers_per_multiprocessor, 32768, 1 << 24)},
      {"shared_bytes_per_multiprocessor",
       number(&DeviceModel::shared_per_multiprocessor, kSharedPerBlock, 1 << 24)},
      {"shared_bytes_per_block_optin",
       number(&DeviceModel::shared_per_block_optin, kSharedPerBlock, (1 << 24) - 1)},
      {"reserved_shared_bytes_per_block", number(&DeviceModel::reserved_shared_per_block, 0, 65536)},
      {"l2_bytes", number(&DeviceModel::l2_bytes, 0, kInt)},
      {"memory_mb", number(&DeviceModel::memory_mb, 1, 1 << 19)},
      {"clock_khz", number(&DeviceModel::clock_khz, 1, kInt)},
      {"memory_clock_khz", number(&DeviceModel::memory_clock_khz, 1, kInt)},
      {"memory_bus_bits", number(&DeviceModel::memory_bus_bits, 1, 1 << 20)},
  };
  return all;
}

void parse_line(const std::string& line, DeviceModel& model, std::map<std::string, bool>& given) {
  const size_t equals = line.find('=');
  if (equals == std::string::npos) throw DeviceError("want `name = value`, got '" + line + "'");
  const std::string name = trimmed(line.substr(0, equals)), value = trimmed(line.substr(equals + 1));
  const auto setter = setters().find(name);
  if (setter == setters().end()) throw DeviceError("unknown name '" + name + "'");
  if (given[name]) throw DeviceError(name + " stands twice");
  given[name] = true;
  try {
    setter->second(model, value);
  } catch (const DeviceError& error) {
    throw DeviceError(name + ": " + error.what());
  }
}

DeviceModel embedded(const EmbeddedDevice& device) {
  return parse_device(device.text, device.name);
}

}  // namespace

DeviceModel parse_device(const std::string& text, const std::string& source) {
  DeviceModel model;
  std::map<std::string, bool> given;
  std::istringstream lines(text);
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    line = trimmed(line.substr(0, line.find('#')));
    if (line.empty()) continue;
    try {
      parse_line(line, model, given);
    } catch (const DeviceError& error) {
      throw DeviceError(source + ":" + std::to_string(number) + ": " + error.what());
    }
  }
  for (const auto& [name, setter] : setters()) {
    if (!given[name]) throw DeviceError(source + ": " + name + " is missing");
  }
  if (model.shared_per_block_optin > model.shared_per_multiprocessor)
    throw DeviceError(source + ": shared_bytes_per_block_optin exceeds shared_bytes_per_multiprocessor");
  return model;
}

DeviceModel find_device(const std::string& name_or_path) {
  std::string known;
  for (size_t k = 0; k < kEmbeddedDeviceCount; ++k) {
    if (name_or_path == kEmbeddedDevices[k].name) return embedded(kEmbeddedDevices[k]);
    known += std::string(k == 0 ? "" : ", ") + kEmbeddedDevices[k].name;
  }
  std::ifstream file(name_or_path);
  if (!file) throw DeviceError("no device or readable file '" + name_or_path + "'; known: " + known);
  return parse_device({std::istreambuf_iterator<char>(file), {}}, name_or_path);
}

DeviceModel device_of_arch(unsigned arch) {
  DeviceModel best = embedded(kEmbeddedDevices[0]);
  for (size_t k = 0; k < kEmbeddedDeviceCount; ++k) {
    DeviceModel model = embedded(kEmbeddedDevices[k]);
    const bool better =
        best.arch() > arch ? model.arch() < best.arch() : model.arch() <= arch && model.arch() > best.arch();
    if (better || (model.arch() == best.arch() && model.memory_mb > best.memory_mb)) best = std::move(model);
  }
  best.major = static_cast<int>(arch / 10);
  best.minor = static_cast<int>(arch % 10);
  return best;
}

const DeviceModel& device_model() {
  return settings().device;
}

}  // namespace warpgrade::emu

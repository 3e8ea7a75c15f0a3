#include "course/batch/devices.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <future>
#include <optional>
#include <sstream>

#include "base/error.h"
#include "course/batch/judge_process.h"
#include "judge/measure/nvml.h"

namespace warpgrade {
namespace fs = std::filesystem;
using nlohmann::json;

namespace {

constexpr const char* kEmulatedName = "emulated-";
constexpr std::size_t kMostEmulated = 64;

std::optional<std::size_t> number_of(const std::string& text) {
  std::size_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || text.empty()) return std::nullopt;
  return number;
}

std::vector<std::string> words_of(const std::string& text) {
  std::vector<std::string> words;
  std::istringstream in(text);
  for (std::string word; std::getline(in, word, ',');) {
    const std::size_t begin = word.find_first_not_of(" \t"), end = word.find_last_not_of(" \t");
    words.push_back(begin == std::string::npos ? "" : word.substr(begin, end - begin + 1));
  }
  return words;
}

// The place of the one device that a number or the beginning of a name means.
std::optional<std::size_t> meant(const std::string& word, const std::vector<std::string>& names) {
  if (const auto number = number_of(word)) return *number < names.size() ? number : std::nullopt;
  std::optional<std::size_t> found;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (word.empty() || !names[i].starts_with(word)) continue;
    if (found) return std::nullopt;
    found = i;
  }
  return found;
}

// The entries of CUDA_VISIBLE_DEVICES up to the first that certainly means nothing.
std::vector<std::string> entries_of(const std::string& visible) {
  std::vector<std::string> words = words_of(visible);
  const auto end = std::find_if(words.begin(), words.end(),
                                [](const auto& word) { return word.empty() || word[0] == '-'; });
  words.erase(end, words.end());
  return words;
}

std::size_t emulated_devices() {
  const char* text = std::getenv("WARPEMU_DEVICES");
  if (text == nullptr || *text == '\0') return 0;
  const auto count = number_of(text);
  if (!count || *count < 1 || *count > kMostEmulated)
    throw UsageError("WARPEMU_DEVICES is '{}'; it must be a number from 1 to {}, or not be set", text,
                     kMostEmulated);
  return *count;
}

// Before driver R470 an instance's name was "MIG-GPU-<uuid>/1/0".
std::string lease_of(std::string device) {
  std::replace(device.begin(), device.end(), '/', '_');
  return (fs::temp_directory_path() / ("warpgrade-gpu-" + device + ".lock")).string();
}

// A judge's processes do not count as this one does (their environment is their own): they get the name that
// means the same device everywhere, where there is one.
std::string unambiguous_name(const std::string& name, const std::string& uuid,
                             const std::vector<std::string>& listed) {
  const std::string bare = uuid.substr(uuid.find('-') + 1);
  for (const char* kind : {"GPU-", "MIG-"})
    if (std::find(listed.begin(), listed.end(), kind + bare) != listed.end()) return kind + bare;
  if (name.starts_with("MIG-"))  // perhaps the beginning of a name
    if (const auto place = meant(name, listed)) return listed[*place];
  return name;
}

// Asks CUDA in a process a device, all at once: with MIG one process sees no more than one instance.
std::vector<JudgeDevice> ask_gpus(const std::vector<std::string>& names,
                                  const std::vector<std::string>& listed, const DeviceProbe& probe,
                                  std::vector<std::string>& left_out) {
  std::vector<std::future<json>> answers;
  for (const std::string& name : names)
    answers.push_back(std::async(std::launch::async, [&probe, name] { return probe(name); }));
  std::vector<JudgeDevice> devices;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const json about = answers[i].get();
    if (about.empty()) {
      if (!names[i].empty()) left_out.push_back(names[i] + ": CUDA finds no working GPU under that name");
      continue;
    }
    const std::string uuid = about.value("uuid", "0");
    const std::string visible = unambiguous_name(names[i], uuid, listed);
    // Of an instance CUDA may give the number of its whole GPU, which several instances have.
    const std::string lease = lease_of(visible.starts_with("MIG-") ? visible : uuid);
    const auto same = [&](const JudgeDevice& device) { return device.lease == lease; };
    if (std::any_of(devices.begin(), devices.end(), same)) continue;
    const auto place = std::find(listed.begin(), listed.end(), visible);
    const std::string shown = place == listed.end() ? uuid : std::to_string(place - listed.begin());
    devices.push_back({"GPU " + shown, visible, lease, about});
  }
  return devices;
}

std::vector<JudgeDevice> emulate(const std::vector<std::string>& names) {
  std::vector<JudgeDevice> devices;
  for (const std::string& name : names)
    devices.push_back({"emulated device " + name.substr(std::string(kEmulatedName).size()),
                       "",
                       lease_of(name),
                       {{"name", "libwarpemu"}, {"uuid", name}}});
  return devices;
}

void keep_one_model(std::vector<JudgeDevice>& devices, bool asked, std::vector<std::string>& left_out) {
  const auto model = [](const JudgeDevice& device) { return device.about.value("name", ""); };
  std::vector<JudgeDevice> kept;
  for (JudgeDevice& device : devices) {
    if (kept.empty() || model(device) == model(kept[0])) {
      kept.push_back(std::move(device));
      continue;
    }
    const std::string words =
        fmt::format("{} is {}, and {} is {}: times on different models cannot be compared", device.name,
                    model(device), kept[0].name, model(kept[0]));
    if (asked) throw UsageError("--gpus: {}; name GPUs of one model", words);
    left_out.push_back(words + "; --gpus chooses the others");
  }
  devices = std::move(kept);
}

}  // namespace

std::vector<std::string> listed_devices(const std::string& backend) {
  if (backend == "cuda") return listed_gpus();
  std::vector<std::string> names;
  for (std::size_t i = 0; i < emulated_devices(); ++i) names.push_back(kEmulatedName + std::to_string(i));
  return names;
}

std::vector<std::string> visible_devices(const std::vector<std::string>& listed, const std::string& visible) {
  std::vector<std::string> seen;
  for (const std::string& word : entries_of(visible)) {
    const auto place = meant(word, listed);
    if (!place) break;
    if (std::find(seen.begin(), seen.end(), listed[*place]) == seen.end()) seen.push_back(listed[*place]);
  }
  return seen;
}

std::vector<std::size_t> chosen_devices(const std::vector<std::string>& names,
                                        const std::vector<std::string>& asked) {
  std::vector<std::size_t> chosen;
  for (const std::string& word : asked) {
    const auto place = meant(word, names);
    if (!place)
      throw UsageError("--gpus: this machine has no GPU '{}'; it has: {}", word,
                       names.empty() ? std::string("none") : fmt::format("{}", fmt::join(names, ", ")));
    if (std::find(chosen.begin(), chosen.end(), *place) == chosen.end()) chosen.push_back(*place);
  }
  return chosen;
}

std::vector<JudgeDevice> find_gpus(const std::vector<std::string>& listed, const char* visible,
                                   const DeviceProbe& probe, std::vector<std::string>& left_out) {
  // What a number means is CUDA's to say (CUDA_DEVICE_ORDER); without its management library, as in some
  // containers, also which device is the first.
  std::vector<std::string> names = visible != nullptr ? entries_of(visible) : listed;
  if (visible == nullptr && listed.empty()) names = {""};
  return ask_gpus(names, listed, probe, left_out);
}

void keep_asked(std::vector<JudgeDevice>& devices, const std::vector<std::string>& asked,
                std::vector<std::string>& left_out) {
  if (!asked.empty()) {
    std::vector<std::string> names;
    for (const JudgeDevice& device : devices)
      names.push_back(device.visible.empty() ? device.about.value("uuid", "") : device.visible);
    std::vector<JudgeDevice> chosen;
    for (const std::size_t place : chosen_devices(names, asked)) chosen.push_back(devices[place]);
    devices = std::move(chosen);
  }
  keep_one_model(devices, !asked.empty(), left_out);
}

std::vector<JudgeDevice> find_devices(const std::string& backend, const std::vector<std::string>& asked,
                                      std::vector<std::string>& left_out) {
  const std::vector<std::string> listed = listed_devices(backend);
  const char* visible = std::getenv("CUDA_VISIBLE_DEVICES");
  if (backend != "cuda" && listed.empty() && !asked.empty())
    throw UsageError(
        "--gpus: the emulator has no devices to choose from; WARPEMU_DEVICES=2 gives it two, each with a "
        "judge of its own");
  std::vector<JudgeDevice> devices =
      backend == "cuda" ? find_gpus(listed, visible, probe_gpu, left_out)
                        : emulate(visible == nullptr ? listed : visible_devices(listed, visible));
  keep_asked(devices, asked, left_out);
  return devices;
}

}  // namespace warpgrade

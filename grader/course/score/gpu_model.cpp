#include "course/score/gpu_model.h"

#include <algorithm>
#include <vector>

namespace warpgrade {
namespace {

bool in_word(char letter) {
  return (letter >= '0' && letter <= '9') || (letter >= 'A' && letter <= 'Z') || letter == '.';
}

std::vector<std::string> split(const std::string& name, bool capitals) {
  std::vector<std::string> words(1);
  for (const char letter : name) {
    const char capital = letter >= 'a' && letter <= 'z' ? static_cast<char>(letter - 'a' + 'A') : letter;
    if (in_word(capital))
      words.back() += capitals ? capital : letter;
    else if (!words.back().empty())
      words.emplace_back();
  }
  if (words.back().empty()) words.pop_back();
  return words;
}

// "80GB", "HBM3", "SXM4": from here on a name tells of memory and socket.
bool ends_model(const std::string& word) {
  const bool size = word.size() > 2 && word.ends_with("GB") && word[0] >= '0' && word[0] <= '9';
  return size || word.starts_with("HBM") || word.starts_with("SXM");
}

}  // namespace

std::set<std::string> gpu_words(const std::string& name) {
  const std::vector<std::string> words = split(name, true);
  return {words.begin(), words.end()};
}

std::size_t gpu_match(const std::string& model, const std::string& device) {
  const std::set<std::string> wanted = gpu_words(model), there = gpu_words(device);
  if (!std::includes(there.begin(), there.end(), wanted.begin(), wanted.end())) return 0;
  if (there.contains("MIG") && !wanted.contains("MIG")) return 0;
  return wanted.size();
}

std::set<std::string> known_gpus() {
  return {"P4",    "P6",    "P40",   "P100",  "V100",  "T4",    "A2",    "A10",    "A16",   "A30",   "A40",
          "A100",  "A800",  "L4",    "L40",   "L40S",  "L20",   "L2",    "H20",    "H100",  "H200",  "H800",
          "GH200", "B100",  "B200",  "B300",  "GB10",  "GB200", "GB300", "1050",   "1060",  "1070",  "1080",
          "1630",  "1650",  "1660",  "2050",  "2060",  "2070",  "2080",  "3050",   "3060",  "3070",  "3080",
          "3090",  "4050",  "4060",  "4070",  "4080",  "4090",  "5050",  "5060",   "5070",  "5080",  "5090",
          "2000",  "3000",  "3500",  "4000",  "4500",  "5000",  "6000",  "8000",   "A400",  "A500",  "A1000",
          "A2000", "A3000", "A4000", "A4500", "A5000", "A5500", "A6000", "P1000",  "P2000", "P4000", "P5000",
          "P6000", "T400",  "T500",  "T600",  "T1000", "T1200", "ORIN",  "XAVIER", "THOR",  "TITAN"};
}

std::string gpu_model(const std::string& device) {
  const std::vector<std::string> words = split(device, false);
  // A part of a GPU keeps its whole name: how large it is decides what it reaches.
  const bool part = gpu_words(device).contains("MIG");
  std::string model;
  for (const std::string& word : words) {
    if (word == "NVIDIA" || word == "GeForce" || word == "Tesla" || word == "Quadro") continue;
    if (!part && ends_model(word)) break;
    model += (model.empty() ? "" : " ") + word;
  }
  return model;
}

}  // namespace warpgrade

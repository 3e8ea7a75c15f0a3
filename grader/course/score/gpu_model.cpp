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

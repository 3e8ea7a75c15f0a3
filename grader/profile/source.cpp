#include "profile/source.h"

#include <algorithm>
#include <fstream>
#include <map>
#include <vector>

#include "profile/figures.h"

namespace warpgrade {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

constexpr std::size_t kWidest = 160;

// As records can hold it: what is not ASCII may be cut or no text at all.
std::string quotable(std::string line) {
  for (char& c : line) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte == '\t') c = ' ';
    if (byte >= 0x7f || (byte < 0x20 && byte != '\t')) c = '?';
  }
  while (!line.empty() && line.back() == ' ') line.pop_back();
  return line.size() > kWidest ? line.substr(0, kWidest - 3) + "..." : line;
}

std::vector<std::string> lines_of(const fs::path& folder, const std::string& name) {
  std::vector<std::string> lines;
  const auto path = find_source(folder, name);
  if (!path) return lines;
  std::ifstream file(*path);
  for (std::string line; std::getline(file, line);) lines.push_back(quotable(std::move(line)));
  return lines;
}

}  // namespace

std::optional<fs::path> find_source(const fs::path& folder, const std::string& name) {
  std::vector<fs::path> found;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    // A link may lead out of the hand-in.
    if (!entry.is_symlink() && entry.is_regular_file() && entry.path().filename() == name)
      found.push_back(entry.path());
  }
  if (found.empty()) return std::nullopt;
  return *std::min_element(found.begin(), found.end());
}

void quote_source(json& counters, const fs::path& folder) {
  if (!counters.contains("kernels") || !counters["kernels"].is_array()) return;
  const double all = figure(counters, "warp_instructions");
  std::map<std::string, std::vector<std::string>> files;
  for (json& kernel : counters["kernels"]) {
    if (!kernel.contains("lines") || !kernel["lines"].is_array()) continue;
    for (json& line : kernel["lines"]) {
      const std::string name = word(line, "file");
      const double number = figure(line, "line");
      if (name.empty() || figure(line, "warp_instructions") < kLineMatters * all) continue;
      const auto [file, is_new] = files.try_emplace(name);
      if (is_new) file->second = lines_of(folder, name);
      if (number >= 1 && number <= static_cast<double>(file->second.size()))
        line["source"] = file->second[static_cast<std::size_t>(number) - 1];
    }
  }
}

}  // namespace warpgrade

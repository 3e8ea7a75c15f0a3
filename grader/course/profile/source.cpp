#include "course/profile/source.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <sstream>
#include <vector>

#include "base/error.h"
#include "base/untrusted.h"
#include "cudart/allocated_name.h"
#include "judge/judging/figures.h"

namespace warpgrade {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

constexpr std::size_t kWidest = 160;
constexpr std::uint64_t kMostSourceBytes = 4 << 20;

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
  const auto text = find_source(folder, name);
  if (!text) return lines;
  std::istringstream file(*text);
  for (std::string line; std::getline(file, line);) lines.push_back(quotable(std::move(line)));
  return lines;
}

}  // namespace

std::optional<std::string> find_source(const fs::path& folder, const std::string& name) try {
  const UntrustedFolder from(folder);
  for (const UntrustedEntry& entry : from.list().entries) {
    if (entry.kind != UntrustedEntry::Kind::kFile || entry.name.filename() != name) continue;
    UntrustedFile file = from.read(entry.name, kMostSourceBytes);
    if (file.ok()) return std::move(file.bytes);
  }
  return std::nullopt;
} catch (const UsageError&) {  // the folder is gone: counters without their lines
  return std::nullopt;
}

void name_allocations(Record& record, const fs::path& folder) {
  std::map<std::string, std::string> names;  // by "allocation #2"
  std::map<std::string, std::vector<std::string>> files;
  for (const json& finding : record.diagnostics) {
    std::istringstream places(finding.value("made_at", ""));
    for (std::string place; places >> place;) {  // "2=spmm.cu:12"
      const std::size_t equals = place.find('='), colon = place.rfind(':');
      if (equals == std::string::npos || colon == std::string::npos || colon < equals) continue;
      const std::string file = place.substr(equals + 1, colon - equals - 1);
      if (!files.contains(file)) files[file] = lines_of(folder, file);
      const std::size_t line = std::strtoul(place.c_str() + colon + 1, nullptr, 10);
      const std::string name = cudart::name_in_allocation(files[file], line);
      if (!name.empty()) names["allocation #" + place.substr(0, equals)] = name;
    }
  }
  const auto named = [&](std::string text) {
    for (const auto& [allocation, name] : names) text = cudart::with_name(text, allocation, name);
    return text;
  };
  for (json& finding : record.diagnostics)
    for (const char* key : {"message", "advice"})
      if (finding.contains(key)) finding[key] = named(finding[key]);
  record.outcome.message = named(record.outcome.message);
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

#include "course/hardware/ncu_table.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <optional>

namespace warpgrade::hardware {
namespace {

constexpr std::size_t kMostRows = 4096, kMostColumns = 4096;

// The cells of one line; ncu puts each in quotes, doubles quotes inside, and breaks no line inside of them.
std::vector<std::string> cells_of(const std::string& line) {
  std::vector<std::string> cells;
  for (std::size_t at = 0; at < line.size() && cells.size() < kMostColumns;) {
    std::string cell;
    const bool quoted = line[at] == '"';
    if (quoted) ++at;
    for (; at < line.size(); ++at) {
      if (quoted && line[at] == '"') {
        if (at + 1 >= line.size() || line[at + 1] != '"') break;
        ++at;
      } else if (!quoted && line[at] == ',') {
        break;
      }
      cell += line[at];
    }
    if (quoted) ++at;
    cells.push_back(std::move(cell));
    if (at < line.size() && line[at] == ',')
      ++at;
    else
      break;
  }
  return cells;
}

// "1,000" and "12.5"; nothing for another text.
std::optional<double> number_in(std::string text) {
  std::erase(text, ',');
  if (text.empty()) return std::nullopt;
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (*end != '\0' || !std::isfinite(value)) return std::nullopt;
  return value;
}

std::vector<std::string> lines_in(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < text.size() && lines.size() < kMostRows;) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    lines.push_back(text.substr(at, end - at));
    if (lines.back().ends_with('\r')) lines.back().pop_back();
    at = end + 1;
  }
  return lines;
}

}  // namespace

std::vector<LaunchRow> read_ncu_table(const std::string& text) {
  std::vector<LaunchRow> rows;
  std::vector<std::string> header;
  std::size_t name = 0;
  for (const std::string& line : lines_in(text)) {
    if (header.empty() && !line.starts_with("\"ID\"")) continue;
    const std::vector<std::string> cells = cells_of(line);
    if (header.empty()) {
      header = cells;
      const auto found = std::find(header.begin(), header.end(), "Kernel Name");
      if (found == header.end()) return {};
      name = static_cast<std::size_t>(found - header.begin());
      continue;
    }
    if (cells.size() != header.size() || cells.front().empty()) continue;  // the line of units has no ID
    LaunchRow row{cells[name], {}};
    for (std::size_t i = 0; i < cells.size(); ++i)
      if (const auto value = number_in(cells[i]); value && header[i].find("__") != std::string::npos)
        row.metrics[header[i]] = *value;
    rows.push_back(std::move(row));
  }
  return rows;
}

std::string base_name(std::string kernel) {
  for (const char* words : {"(anonymous namespace)::", "<unnamed>::", "<anonymous>::"})
    for (std::size_t at; (at = kernel.find(words)) != std::string::npos;)
      kernel.erase(at, std::string(words).size());
  kernel.resize(std::min(kernel.find_first_of("<("), kernel.size()));
  while (kernel.ends_with(' ')) kernel.pop_back();
  if (const std::size_t at = kernel.rfind("::"); at != std::string::npos) kernel.erase(0, at + 2);
  if (const std::size_t at = kernel.rfind(' '); at != std::string::npos) kernel.erase(0, at + 1);
  return kernel;
}

}  // namespace warpgrade::hardware

#include "course/hardware/ncu_table.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <span>

#include "base/error.h"
#include "course/ingest/csv.h"

namespace warpgrade::hardware {
namespace {

constexpr std::size_t kMostRows = 4096;

// "1,000" and "12.5"; nothing for another text.
std::optional<double> number_in(std::string text) {
  std::erase(text, ',');
  if (text.empty()) return std::nullopt;
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (*end != '\0' || !std::isfinite(value)) return std::nullopt;
  return value;
}

// The rows from the header on; none where it is no table.
std::vector<CsvTable::Row> table_in(const std::string& text) {
  const std::size_t begin = text.starts_with("\"ID\"") ? 0 : text.find("\n\"ID\"");
  if (begin == std::string::npos) return {};
  try {
    return csv_rows(text.substr(begin), "ncu's table");
  } catch (const UsageError&) {  // an open quote
    return {};
  }
}

}  // namespace

std::vector<LaunchRow> read_ncu_table(const std::string& text) {
  const std::vector<CsvTable::Row> table = table_in(text);
  if (table.empty()) return {};
  const std::vector<std::string>& header = table.front().cells;
  const auto name = std::ranges::find(header, "Kernel Name");
  if (name == header.end()) return {};
  std::vector<LaunchRow> rows;
  for (const auto& [_, cells] : std::span(table).subspan(1)) {
    if (rows.size() == kMostRows) break;
    if (cells.size() != header.size() || cells.front().empty()) continue;  // the line of units has no ID
    LaunchRow row{cells[static_cast<std::size_t>(name - header.begin())], {}};
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

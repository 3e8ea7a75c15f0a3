#include "course/exports/csv.h"

#include <fmt/format.h>

#include <cmath>

namespace warpgrade {
namespace {

std::string quoted(const std::string& cell, bool always) {
  if (!always && cell.find_first_of(",\"\n\r") == std::string::npos) return cell;
  std::string text = "\"";
  for (const char c : cell) text += c == '"' ? "\"\"" : std::string(1, c);
  return text + "\"";
}

}  // namespace

std::string csv_text(const std::vector<std::vector<std::string>>& rows, CsvForm form) {
  std::string text = form == CsvForm::kSpreadsheet ? "\xEF\xBB\xBF" : "";
  const bool always = form == CsvForm::kEveryCellQuoted;
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) text += (i == 0 ? "" : ",") + quoted(row[i], always);
    text += "\n";
  }
  return text;
}

std::string plain_cell(const std::string& text) {
  return !text.empty() && std::string("=+-@\t\r").find(text[0]) != std::string::npos ? "'" + text : text;
}

std::string points_cell(double points) {
  std::string text = fmt::format("{:.2f}", std::round(points * 100) / 100 + 0.0);
  while (text.back() == '0') text.pop_back();
  if (text.back() == '.') text.pop_back();
  return text;
}

}  // namespace warpgrade

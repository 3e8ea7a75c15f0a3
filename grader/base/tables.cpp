#include "base/tables.h"

#include <fmt/format.h>
#ifdef WARPGRADE_HAS_UTF8PROC
#include <utf8proc.h>
#endif

#include <algorithm>
#include <cctype>

namespace warpgrade {
namespace {

// Columns of a terminal that a text takes: two for letters of East Asia, none for accents of their own.
// Without utf8proc each letter takes one. What is no UTF-8 takes a column a byte.
size_t width(const std::string& text) {
#ifdef WARPGRADE_HAS_UTF8PROC
  const auto* at = reinterpret_cast<const utf8proc_uint8_t*>(text.data());
  auto left = static_cast<utf8proc_ssize_t>(text.size());
  size_t columns = 0;
  while (left > 0) {
    utf8proc_int32_t letter = 0;
    const utf8proc_ssize_t bytes = utf8proc_iterate(at, left, &letter);
    columns += bytes < 0 ? 1 : static_cast<size_t>(utf8proc_charwidth(letter));
    at += std::max<utf8proc_ssize_t>(1, bytes);
    left -= std::max<utf8proc_ssize_t>(1, bytes);
  }
  return columns;
#else
  return static_cast<size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
#endif
}

bool numeric(const std::string& text) {
  return !text.empty() && text.find_first_not_of("0123456789.+-/%") == std::string::npos;
}

// Behind a table with thresholds in it.
std::string note_of(const nlohmann::json& scores) {
  const std::string note = scores.value("thresholds_note", "");
  return note.empty() ? "" : "\n" + note + "\n";
}

}  // namespace

std::string format_table(const std::vector<std::vector<std::string>>& rows) {
  std::vector<size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], width(row[i]));
  }
  std::string text;
  for (size_t r = 0; r < rows.size(); ++r) {
    std::string line;
    for (size_t i = 0; i < rows[r].size(); ++i) {
      const std::string& cell = rows[r][i];
      const std::string space(widths[i] - width(cell), ' ');
      line += (i == 0 ? "" : "  ") + (numeric(cell) ? space + cell : cell + space);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
    if (r == 0) {
      size_t total = 0;
      for (size_t w : widths) total += w + 2;
      text += std::string(total - 2, '-') + "\n";
    }
  }
  return text;
}

std::string class_table(const nlohmann::json& scores) {
  std::vector<std::vector<std::string>> rows{
      {"submission", "points", "of", "verdict", "correct", "over threshold"}};
  for (const nlohmann::json& s : scores.at("submissions")) {
    const bool speed = s.at("speed_measured");
    const bool student = s.at("role") == "student";
    rows.push_back(
        {student ? s.at("title").get<std::string>() : s.at("id").get<std::string>() + " (reference)",
         fmt::format("{:.1f}", s.at("points").get<double>()),
         fmt::format("{:.0f}", s.at("max_points").get<double>()), s.at("verdict"),
         fmt::format("{}/{}", s.at("correct_cases").get<int>(), s.at("total_cases").get<int>()),
         speed ? fmt::format("{}/{}", s.at("over_threshold").get<int>(), s.at("threshold_cases").get<int>())
               : "not measured"});
  }
  return format_table(rows) + note_of(scores);
}

std::string speed_table(const nlohmann::json& scores) {
  std::vector<std::vector<std::string>> rows{{"case", "threshold"}};
  const nlohmann::json& submissions = scores.at("submissions");
  if (submissions.empty()) return "";
  for (const nlohmann::json& s : submissions) rows[0].push_back(s.at("id"));
  const nlohmann::json& cases = submissions.front().at("cases");
  for (size_t i = 0; i < cases.size(); ++i) {
    if (!cases[i].contains("threshold")) continue;
    std::vector<std::string> row{cases[i].at("id"),
                                 fmt::format("{:.2f}", cases[i].at("threshold").get<double>())};
    for (const nlohmann::json& s : submissions) {
      const nlohmann::json& c = s.at("cases")[i];
      if (!c.contains("ratio")) {
        row.push_back(c.at("verdict") == "accepted" ? "not measured" : c.at("verdict").get<std::string>());
        continue;
      }
      const nlohmann::json& ratio = c["ratio"];
      const std::string status = c.at("threshold_status");
      row.push_back(fmt::format("{:.2f} [{:.2f}, {:.2f}] {}", ratio.at("median").get<double>(),
                                ratio.at("low").get<double>(), ratio.at("high").get<double>(),
                                status == "pass"   ? "pass"
                                : status == "fail" ? "FAIL"
                                                   : "~"));
    }
    rows.push_back(std::move(row));
  }
  return format_table(rows) + note_of(scores);
}

}  // namespace warpgrade

#include "base/tables.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/display_width.h"

namespace warpgrade {
namespace {

bool numeric(const std::string& text) {
  return !text.empty() && text.find_first_not_of("0123456789.+-/%") == std::string::npos;
}

// Behind a table with thresholds in it.
std::string note_of(const nlohmann::json& scores) {
  const std::string note = scores.value("thresholds_note", "");
  return note.empty() ? "" : "\n" + note + "\n";
}

std::string open_points_of(const nlohmann::json& scores) {
  const double most = scores.value("max_points", 0.0), measured = scores.value("measured_points", most);
  if (measured >= most) return "";
  return fmt::format("\n{}: {:g} of {:g} points are open\n",
                     why_points_are_open(scores.value("open_note", ""), scores.value("limits_note", "")),
                     most - measured, most);
}

std::string share_cell(const nlohmann::json& line) {
  if (!line.contains("limit"))
    return line.at("verdict") == "accepted" ? "not measured" : line.at("verdict").get<std::string>();
  const std::string status = line.value("limit_status", "");
  return fmt::format("{:.0f} %{}", 100 * line.at("limit").at("share").get<double>(),
                     status == "fail"           ? " FAIL"
                     : status == "pass"         ? " pass"
                     : status == "within_noise" ? " ~"
                                                : "");
}

}  // namespace

std::string format_table(const std::vector<std::vector<std::string>>& rows) {
  std::vector<size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], display_width(row[i]));
  }
  std::string text;
  for (size_t r = 0; r < rows.size(); ++r) {
    std::string line;
    for (size_t i = 0; i < rows[r].size(); ++i) {
      const std::string& cell = rows[r][i];
      const std::string space(widths[i] - display_width(cell), ' ');
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

std::string why_points_are_open(const std::string& open_note, const std::string& limits_note) {
  for (const std::string& why : {open_note, limits_note})
    if (!why.empty()) return why.substr(0, why.size() - 1);
  return "Speed was not measured in this run";
}

std::string class_table(const nlohmann::json& scores) {
  std::vector<std::vector<std::string>> rows{
      {"submission", "points", "of", "verdict", "correct", "over threshold"}};
  const nlohmann::json& submissions = scores.at("submissions");
  const auto language_of = [](const nlohmann::json& s) { return s.value("language", "CUDA"); };
  const bool names_languages = std::any_of(submissions.begin(), submissions.end(),
                                           [&](const auto& s) { return language_of(s) != "CUDA"; });
  if (names_languages) rows[0].insert(rows[0].begin() + 1, "language");
  for (const nlohmann::json& s : submissions) {
    const bool speed = s.at("speed_measured");
    const bool student = s.at("role") == "student";
    rows.push_back(
        {student ? s.at("title").get<std::string>() : s.at("id").get<std::string>() + " (reference)",
         fmt::format("{:.1f}", s.at("points").get<double>()),
         fmt::format("{:.0f}", s.at("max_points").get<double>()), s.at("verdict"),
         fmt::format("{}/{}", s.at("correct_cases").get<int>(), s.at("total_cases").get<int>()),
         speed ? fmt::format("{}/{}", s.at("over_threshold").get<int>(), s.at("threshold_cases").get<int>())
               : "not measured"});
    if (names_languages) rows.back().insert(rows.back().begin() + 1, language_of(s));
  }
  return format_table(rows) + open_points_of(scores) + note_of(scores);
}

std::string limit_table(const nlohmann::json& scores) {
  const auto limits = scores.find("limits");
  const nlohmann::json& submissions = scores.at("submissions");
  if (limits == scores.end() || submissions.empty()) return "";
  std::vector<std::vector<std::string>> rows{{"case", "at least us", "bound by", "wanted"}};
  for (const nlohmann::json& s : submissions) rows[0].push_back(s.at("id"));
  for (size_t i = 0; i < submissions.front().at("cases").size(); ++i) {
    const nlohmann::json* known = nullptr;  // the limit is the case's: any submission that was timed has it
    for (const nlohmann::json& s : submissions)
      if (known == nullptr && s.at("cases")[i].contains("limit")) known = &s.at("cases")[i];
    if (known == nullptr) continue;
    const double wanted = known->value("limit_threshold", 0.0);
    std::vector<std::string> row{
        known->at("id"), fmt::format("{:.1f}", known->at("limit").at("us").get<double>()),
        known->at("limit").at("bound_by"), wanted > 0 ? fmt::format("{:.0f} %", 100 * wanted) : ""};
    for (const nlohmann::json& s : submissions) row.push_back(share_cell(s.at("cases")[i]));
    rows.push_back(std::move(row));
  }
  return fmt::format("\nshare of the least time that {} allows (rates: {}):\n\n{}",
                     limits->at("device").get<std::string>(), limits->at("source").get<std::string>(),
                     format_table(rows));
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

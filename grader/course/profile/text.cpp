#include "course/profile/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <sstream>
#include <vector>

#include "base/tables.h"
#include "base/text.h"
#include "course/profile/source.h"
#include "judge/judging/figures.h"

namespace warpgrade {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;
using Row = std::vector<std::string>;

constexpr std::size_t kWidestSource = 96;

std::string count_text(double n) {
  if (n < 1e4) return fmt::format("{:.0f}", n);
  const char* units[] = {"k", "M", "G", "T"};
  int unit = -1;
  while (n >= 1e3 && unit < 3) n /= 1e3, ++unit;
  return fmt::format("{:.3g} {}", n, units[unit]);
}

// "9.1 (4.0)": what is and what would do; "-" where nothing happened.
std::string against_ideal(const json& c, const std::string& what, const char* unit) {
  const std::string requests = what + "_requests", cost = what + "_" + unit, ideal = cost + "_ideal";
  if (figure(c, requests.c_str()) == 0) return "-";
  return fmt::format("{:.1f} ({:.1f})", quotient(c, cost.c_str(), requests.c_str()),
                     quotient(c, ideal.c_str(), requests.c_str()));
}

std::string atomics_text(const json& c) {
  if (figure(c, "atomics") == 0) return "-";
  return fmt::format("{} ({:.1f})", count_text(figure(c, "atomics")),
                     quotient(c, "atomic_turns", "atomic_requests"));
}

std::string short_name(std::string kernel) {
  const std::string anonymous = "(anonymous namespace)::";
  for (std::size_t at; (at = kernel.find(anonymous)) != std::string::npos;)
    kernel.erase(at, anonymous.size());
  return kernel.size() > 48 ? kernel.substr(0, 45) + "..." : kernel;
}

using Place = std::pair<std::string, int>;  // file, line

// The figures of each line over all kernels.
std::map<Place, json> lines_of(const json& counters) {
  std::map<Place, json> lines;
  for (const json& kernel : list(counters, "kernels")) {
    for (const json& line : list(kernel, "lines")) {
      json& sum = lines[{word(line, "file"), static_cast<int>(figure(line, "line"))}];
      for (const auto& [name, value] : line.items()) {
        if (value.is_number()) sum[name] = figure(sum, name.c_str()) + value.get<double>();
      }
    }
  }
  return lines;
}

Row line_figures(const json& c, double all) {
  if (c.is_null()) return {"", "", "", "", ""};
  return {fmt::format("{:.1f} %", 100 * figure(c, "warp_instructions") / all),
          fmt::format("{:.1f}", quotient(c, "thread_instructions", "warp_instructions")),
          against_ideal(c, "global", "sectors"), against_ideal(c, "shared", "passes"), atomics_text(c)};
}

std::string annotated_file(const std::string& text, const std::map<int, json>& figures,
                           const std::set<int>& wanted, double all, bool whole) {
  std::vector<Row> rows{{"line", "instr.", "lanes", "sectors/req", "passes/req", "atomics"}};
  std::vector<std::string> source{"source"};
  std::istringstream file(text);
  int number = 0, shown = 0;
  for (std::string line; std::getline(file, line);) {
    ++number;
    if (!whole && !wanted.contains(number)) continue;
    if (shown != 0 && shown + 1 != number) {
      rows.push_back({"..", "", "", "", "", ""});
      source.emplace_back();
    }
    shown = number;
    const auto found = figures.find(number);
    Row row = line_figures(found == figures.end() ? json() : found->second, all);
    row.insert(row.begin(), std::to_string(number));
    rows.push_back(std::move(row));
    std::replace(line.begin(), line.end(), '\t', ' ');
    if (line.ends_with('\r')) line.pop_back();
    source.push_back(plain_line(line, kWidestSource));
  }
  std::vector<std::size_t> widths(rows[0].size(), 0);
  for (const Row& row : rows) {
    for (std::size_t k = 0; k < row.size(); ++k) widths[k] = std::max(widths[k], row[k].size());
  }
  std::string out;
  for (std::size_t r = 0; r < rows.size(); ++r) {
    for (std::size_t k = 0; k < widths.size(); ++k) out += fmt::format("{:>{}}  ", rows[r][k], widths[k]);
    out += "| " + source[r];
    while (out.back() == ' ') out.pop_back();
    out += '\n';
  }
  return out;
}

// Lines of at most kWidestSource letters, each after the indent.
std::string wrapped(const std::string& text, const std::string& indent) {
  std::istringstream words(text);
  std::string out, line;
  for (std::string each; words >> each;) {
    if (!line.empty() && line.size() + 1 + each.size() > kWidestSource) {
      out += indent + line + '\n';
      line.clear();
    }
    line += (line.empty() ? "" : " ") + each;
  }
  return out + indent + line + '\n';
}

}  // namespace

std::string kernel_table(const json& counters) {
  std::vector<Row> rows{{"kernel", "launches", "blocks", "warp instr.", "lanes", "load sectors/req",
                         "store sectors/req", "reads each", "passes/req", "atomics", "arith/mem",
                         "block imb.", "warp imb."}};
  for (const json& k : list(counters, "kernels")) {
    const double distinct = figure(k, "distinct_sectors_read");
    rows.push_back({short_name(word(k, "kernel")), count_text(figure(k, "launches")),
                    count_text(figure(k, "blocks")), count_text(figure(k, "warp_instructions")),
                    fmt::format("{:.1f}", quotient(k, "thread_instructions", "warp_instructions")),
                    against_ideal(k, "global_load", "sectors"), against_ideal(k, "global_store", "sectors"),
                    distinct > 0 ? fmt::format("{:.1f} x", figure(k, "global_load_sectors") / distinct) : "-",
                    against_ideal(k, "shared", "passes"), atomics_text(k),
                    fmt::format("{:.2g}", quotient(k, "arithmetic", "memory")),
                    fmt::format("{:.2f}", figure(k, "block_imbalance")),
                    fmt::format("{:.2f}", figure(k, "warp_imbalance"))});
  }
  return format_table(rows) +
         "In parentheses: the sectors or passes that would be enough; for atomics, lanes of a warp at one "
         "address.\n";
}

std::string finding_list(const json& counters) {
  static const std::map<std::string, const char*> titles{
      {"divergence", "divergence"},         {"uncoalesced", "uncoalesced access"},
      {"redundant", "redundant traffic"},   {"imbalance", "load imbalance"},
      {"bank_conflicts", "bank conflicts"}, {"contention", "contention of atomics"}};
  const json findings = list(counters, "findings");
  if (findings.empty())
    return "No divergence, uncoalesced access, redundant traffic, load imbalance, bank conflicts or "
           "contention to speak of.\n";
  std::string out;
  int number = 0;
  for (const json& f : findings) {
    const auto title = titles.find(problem_of(f));
    out +=
        fmt::format("{}. {} in {}:\n   {}\n", ++number, title == titles.end() ? problem_of(f) : title->second,
                    short_name(word(f, "kernel")), word(f, "message"));
    for (const json& place : list(f, "places")) {
      out += fmt::format("     {}:{:.0f}  {} ({:.0f} %)\n", word(place, "file"), figure(place, "line"),
                         word(place, "text"), 100 * figure(place, "share"));
    }
    out += wrapped(word(f, "advice"), "   ");
  }
  return out;
}

std::string annotated_source(const json& counters, const fs::path& folder, bool whole) {
  const std::map<Place, json> lines = lines_of(counters);
  double all = 0;
  for (const auto& [place, figures] : lines) all += figure(figures, "warp_instructions");
  std::map<std::string, std::map<int, json>> by_file;
  std::map<std::string, std::set<int>> wanted;
  for (const auto& [place, figures] : lines) {
    by_file[place.first][place.second] = figures;
    if (figure(figures, "warp_instructions") >= kLineMatters * all) wanted[place.first].insert(place.second);
  }
  for (const json& finding : list(counters, "findings")) {
    for (const json& place : list(finding, "places"))
      wanted[word(place, "file")].insert(static_cast<int>(figure(place, "line")));
  }
  std::string out;
  for (const auto& [name, figures] : by_file) {
    if (wanted[name].empty()) continue;
    const auto source = find_source(folder, name);
    out +=
        fmt::format("{}{}\n", out.empty() ? "" : "\n", name.empty() ? "instructions without a line" : name);
    if (!source) {
      double sum = 0;
      for (const auto& [line, c] : figures) sum += figure(c, "warp_instructions");
      out += fmt::format("  not in the submission: {:.1f} % of the instructions\n", 100 * sum / all);
      continue;
    }
    out += annotated_file(*source, figures, wanted[name], all, whole);
  }
  return out;
}

}  // namespace warpgrade

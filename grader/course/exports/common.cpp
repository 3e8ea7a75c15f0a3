#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "base/hash.h"
#include "course/exports/csv.h"
#include "course/exports/exports.h"
#include "record/verdict.h"

namespace warpgrade {
using nlohmann::json;

std::string file_name_of(const std::string& id) {
  std::string name;
  for (const char c : id) {
    const bool safe = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                      c == '-' || c == '_' || (c == '.' && !name.empty());
    name += safe ? c : '_';
  }
  return name == id && !id.empty() && id.size() <= 100 ? id
                                                       : name.substr(0, 100) + "-" + sha256(id).substr(0, 8);
}

namespace {

// Of the views that were added.
class SpeedWidths {
 public:
  void add(const json& view) {
    for (const json& line : view.at("cases")) {
      if (line.value("kind", "") != "speed") continue;
      measured_ |= line.contains("ratio");
      found_.insert(line.value("k", kAllWidths));
    }
  }

  std::vector<int> all() const {
    constexpr std::size_t kMostWidths = 4;  // more are no groups but points along an axis, as APSP's sizes
    if (!measured_) return {};
    if (found_.size() > kMostWidths || found_.contains(kAllWidths)) return {kAllWidths};
    return {found_.begin(), found_.end()};
  }

 private:
  std::set<int> found_;
  bool measured_ = false;
};

}  // namespace

std::vector<int> speed_widths(const Views& views) {
  SpeedWidths widths;
  for (const json& view : views) widths.add(view);
  return widths.all();
}

std::vector<int> speed_widths_of(const json& view) {
  SpeedWidths widths;
  widths.add(view);
  return widths.all();
}

std::string speedup_title(const json& view, int k) {
  const std::string width = view.value("terms", json::object()).value("width", "");
  return k == kAllWidths || width.empty() ? "Speed-up" : fmt::format("Speed-up {}={}", width, k);
}

std::optional<double> mean_speedup(const json& view, int k) {
  double logarithms = 0;
  int count = 0;
  for (const json& line : view.at("cases")) {
    if ((k != kAllWidths && line.value("k", kAllWidths) != k) || line.at("verdict") != Verdict::kAccepted ||
        !line.contains("ratio"))
      continue;
    const double ratio = line.at("ratio").value("median", 0.0);
    if (ratio <= 0) continue;
    logarithms += std::log(ratio);
    ++count;
  }
  return count == 0 ? std::nullopt : std::optional<double>(std::exp(logarithms / count));
}

std::string case_text(const json& line) {
  std::string text = line.at("verdict").get<std::string>();
  if (line.contains("message")) text += ": " + line.at("message").get<std::string>();
  if (line.contains("pattern")) text += "\n" + line.at("pattern").get<std::string>();
  for (const json& finding : line.value("diagnostics", json::array())) {
    text += fmt::format("\n{}:{} {}", finding.value("file", ""), finding.value("line", 0),
                        finding.value("message", ""));
    if (finding.contains("advice")) text += "\n  advice: " + finding.at("advice").get<std::string>();
  }
  if (line.contains("ratio")) {
    const json& ratio = line.at("ratio");
    text += fmt::format("\nspeed-up {:.3g}", ratio.value("median", 0.0));
    if (ratio.contains("low") && ratio.contains("high")) {
      text += fmt::format(" [{:.3g}, {:.3g}]", ratio.at("low").get<double>(), ratio.at("high").get<double>());
    }
    text += " over " + line.value("baseline", "the baseline");
  }
  if (line.contains("threshold")) {
    std::string status = line.value("threshold_status", "");
    for (char& c : status) c = c == '_' ? ' ' : c;
    text += fmt::format("\nthreshold {:.3g}: {}", line.at("threshold").get<double>(), status);
  }
  if (line.contains("next_step")) text += "\nnext: " + line.at("next_step").get<std::string>();
  return text;
}

}  // namespace warpgrade

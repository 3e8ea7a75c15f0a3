#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "base/hash.h"
#include "course/exports/csv.h"
#include "course/exports/exports.h"

namespace warpgrade {

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
  void add(const View& view) {
    for (const ScoredCase& line : view.cases) {
      if (line.kind != "speed") continue;
      measured_ |= line.ratio.has_value();
      found_.insert(line.k);
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
  for (const View view : views) widths.add(view);
  return widths.all();
}

std::vector<int> speed_widths_of(const View& view) {
  SpeedWidths widths;
  widths.add(view);
  return widths.all();
}

std::string speedup_title(const View& view, int k) {
  const auto width = view.terms.find("width");
  const bool is_named = k != kAllWidths && width != view.terms.end() && !width->second.empty();
  return is_named ? fmt::format("Speed-up {}={}", width->second, k) : "Speed-up";
}

std::optional<double> mean_speedup(const View& view, int k) {
  double logarithms = 0;
  int count = 0;
  for (const ScoredCase& line : view.cases) {
    if ((k != kAllWidths && line.k != k) || !line.accepted() || !line.ratio || line.ratio->median <= 0)
      continue;
    logarithms += std::log(line.ratio->median);
    ++count;
  }
  return count == 0 ? std::nullopt : std::optional<double>(std::exp(logarithms / count));
}

std::string case_text(const ScoredCase& line) {
  std::string text = line.verdict;
  const auto add = [&](const char* before, const std::string& more) {
    if (!more.empty()) text += before + more;
  };
  add(": ", line.message);
  add("\n", line.pattern);
  for (const Diagnostic& finding : line.diagnostics) {
    text += fmt::format("\n{}:{} {}", finding.file, finding.line.value_or(0), finding.message);
    add("\n  advice: ", finding.advice);
  }
  if (const auto& ratio = line.ratio) {
    text += fmt::format("\nspeed-up {:.3g}", ratio->median);
    if (ratio->low && ratio->high) text += fmt::format(" [{:.3g}, {:.3g}]", *ratio->low, *ratio->high);
    text += " over " + line.over();
  }
  if (line.threshold) {
    std::string status = line.threshold_status;
    std::ranges::replace(status, '_', ' ');
    text += fmt::format("\nthreshold {:.3g}: {}", *line.threshold, status);
  }
  add("\nnext: ", line.next_step);
  return text;
}

}  // namespace warpgrade

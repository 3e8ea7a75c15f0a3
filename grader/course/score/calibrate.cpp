#include "course/score/calibrate.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "base/error.h"
#include "course/score/gpu_model.h"
#include "course/score/limit.h"
#include "record/case.h"
#include "record/outcome.h"

namespace warpgrade {
namespace {

// Of a threshold, which is never less: 0 would let anything pass.
constexpr double kSpeedUpGrain = 0.05, kLimitGrain = 0.01;

using Lines = std::vector<std::string>;

Lines lines_of(const std::string& text) {
  Lines lines;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

std::size_t indent_of(const std::string& line) {
  const std::size_t at = line.find_first_not_of(' ');
  return at == std::string::npos || line[at] == '#' ? std::string::npos : at;
}

// The block that begins with the line `key:` at this indentation, from `from` on: its first line and the one
// behind its last, without the comments and empty lines that follow it. Both `until` where there is none.
std::pair<std::size_t, std::size_t> block_of(const Lines& lines, const std::string& key, std::size_t indent,
                                             std::size_t from, std::size_t until) {
  const auto named = [&](const std::string& line) {
    if (indent_of(line) != indent) return false;
    const std::size_t colon = line.find(':');
    if (colon == std::string::npos) return false;
    std::string name = line.substr(indent, colon - indent);
    std::erase_if(name, [](char letter) { return letter == '"' || letter == '\'' || letter == ' '; });
    std::string wanted = key;
    std::erase(wanted, ' ');
    return name == wanted;
  };
  std::size_t first = from;
  while (first < until && !named(lines[first])) ++first;
  if (first == until) return {until, until};
  std::size_t end = first + 1;
  for (std::size_t i = end; i < until; ++i) {
    const std::size_t here = indent_of(lines[i]);
    if (here == std::string::npos) continue;
    if (here <= indent) break;
    end = i + 1;
  }
  return {first, end};
}

// The two lines of comment that propose_thresholds begins with.
bool written_by_us(const Lines& lines, std::size_t at) {
  const auto begins = [&](std::size_t i) {
    return i < lines.size() && lines[i].find("# Proposed by `warpgrade calibrate") != std::string::npos;
  };
  return begins(at) || (at > 0 && begins(at - 1));
}

}  // namespace

namespace {

// What the ladder's best step reaches in each case.
class Ladder {
 public:
  using Value = std::function<std::optional<double>(const Record& record)>;
  Ladder(const std::vector<Record>& records, const Value& value) {
    for (const Record& record : records) {
      const std::string& id = record.submission.id;
      if (!id.starts_with("step-") || !record.outcome.accepted()) continue;
      if (const auto reached = value(record)) add(record.test_case, *reached, id);
    }
  }
  bool empty() const { return best_.empty(); }

  // A line a dataset, or a case where several have one dataset and width: `share` of what was reached.
  std::string lines(double share, double grain) const {
    const auto threshold = [&](const Best& entry) {
      return std::max(grain, std::floor(entry.value * share / grain) * grain);
    };
    std::string text;
    for (const std::string& dataset : order_) {
      std::string entries, steps, cases_text;
      for (const auto& [width, cases] : best_.at(dataset)) {
        if (cases.size() > 1) {  // of one dataset and width: each has a threshold of its own
          for (const auto& [id, entry] : cases)
            cases_text +=
                fmt::format("  {}: {:.2f}  # {} {:.2f}\n", id, threshold(entry), entry.step, entry.value);
          continue;
        }
        const Best& entry = cases.begin()->second;
        entries += fmt::format("{}{}: {:.2f}", entries.empty() ? "" : ", ", width, threshold(entry));
        steps += fmt::format("{}{} {:.2f}", steps.empty() ? "" : ", ", entry.step, entry.value);
      }
      if (!entries.empty()) text += fmt::format("  {}: {{{}}}  # {}\n", dataset, entries, steps);
      text += cases_text;
    }
    return text;
  }

 private:
  struct Best {
    double value = 0;
    std::string step;
  };
  void add(const Case& spec, double value, const std::string& step) {
    if (!best_.contains(spec.dataset)) order_.push_back(spec.dataset);
    Best& entry = best_[spec.dataset][spec.width][spec.id];
    if (value > entry.value) entry = {value, step};
  }
  std::vector<std::string> order_;                                          // of datasets
  std::map<std::string, std::map<int, std::map<std::string, Best>>> best_;  // by dataset, width, case
};

std::string or_else(const std::string& text, const char* otherwise) {
  return text.empty() ? otherwise : text;
}

std::string measured_on(const Run& run) {
  return fmt::format("{} (run {})", or_else(run.device_name(), "an unknown device"), or_else(run.run, "?"));
}

}  // namespace

std::string propose_thresholds(const Run& run, const std::vector<Record>& records,
                               const std::string& baseline, const std::string& ratios_key, double share) {
  std::set<std::string> others;  // baselines that were measured
  const Ladder ladder(records, [&](const Record& record) -> std::optional<double> {
    const auto& ratios = record.ratios_by(ratios_key != "ratios");
    for (const auto& [name, ratio] : ratios) others.insert(name);
    const auto own = ratios.find(baseline);
    return own == ratios.end() ? std::nullopt : std::optional(own->second.median);
  });
  if (ladder.empty()) {
    std::string measured;
    for (const std::string& name : others) measured += (measured.empty() ? "" : ", ") + name;
    throw UsageError(
        "the run {} has no step of the ladder timed beside the baseline {} (timed: {}; read: the records' "
        "{}); grade the lab's steps on a GPU first: warpgrade bench --lab {}",
        or_else(run.run, "?"), baseline, measured.empty() ? "nothing" : measured, ratios_key,
        or_else(run.lab, "LAB"));
  }
  return fmt::format(
             "# Proposed by `warpgrade calibrate`: {:.0f} % of the best ladder step's speed-up over {},\n"
             "# rounded down to 0.05, {}on {}.\nthresholds:\n",
             100 * share, baseline, ratios_key == "ratios" ? "" : "host time included, ", measured_on(run)) +
         ladder.lines(share, kSpeedUpGrain);
}

std::string propose_limit_thresholds(const Run& run, const std::vector<Record>& records, double share) {
  KnownRates known;
  const Ladder ladder(records, [&](const Record& record) -> std::optional<double> {
    const auto limit = limit_of_record(record, known.of(record));
    if (!limit) return std::nullopt;
    return limit->at("share").get<double>();
  });
  if (ladder.empty())
    throw UsageError(
        "the run {} has no step of the ladder that was timed on a GPU of known rates; grade the lab's steps "
        "there first: warpgrade bench --lab {}",
        or_else(run.run, "?"), or_else(run.lab, "LAB"));
  return fmt::format(
             "# Proposed by `warpgrade calibrate --limit`: {:.0f} % of the best ladder step's share of the\n"
             "# limit, rounded down to 0.01, on {}.\nlimit:\n",
             100 * share, measured_on(run)) +
         ladder.lines(share, kLimitGrain);
}

namespace {

using Block = std::pair<std::size_t, std::size_t>;  // its first line and the one behind its last

void replace(Lines& lines, Block block, const Lines& fresh) {
  const auto at = [&](std::size_t line) { return lines.begin() + static_cast<std::ptrdiff_t>(line); };
  lines.erase(at(block.first), at(block.second));
  lines.insert(at(block.first), fresh.begin(), fresh.end());
}

// What an earlier calibration said of itself, above the block, goes with it.
void take_comments(const Lines& lines, Block& block) {
  auto& [first, end] = block;
  while (first < end && first > 0 && lines[first - 1].find_first_not_of(' ') != std::string::npos &&
         lines[first - 1][lines[first - 1].find_first_not_of(' ')] == '#' && written_by_us(lines, first - 1))
    --first;
}

Lines indented(Lines lines, std::size_t by) {
  for (std::string& line : lines) line = line.empty() ? line : std::string(by, ' ') + line;
  return lines;
}

// Speed-ups alone become the part `baseline` of the block.
void divide(Lines& lines, Block& block, std::size_t indent) {
  auto& [first, end] = block;
  for (const char* part : {"baseline", "limit"})
    if (block_of(lines, part, indent + 2, first + 1, end).first != end) return;
  const std::size_t colon = lines[first].find(':');
  Lines fresh{lines[first].substr(0, colon + 1),
              std::string(indent + 2, ' ') + "baseline" + lines[first].substr(colon)};
  const Lines inner = indented(Lines(lines.begin() + static_cast<std::ptrdiff_t>(first) + 1,
                                     lines.begin() + static_cast<std::ptrdiff_t>(end)),
                               2);
  fresh.insert(fresh.end(), inner.begin(), inner.end());
  replace(lines, block, fresh);
  end = first + fresh.size();
}

// `proposed` (comments, `part:`, its entries) as the part of a divided block.
void put_part(Lines& lines, const Block& block, std::size_t indent, const std::string& part,
              const Lines& proposed) {
  Block old = block_of(lines, part, indent + 2, block.first + 1, block.second);
  if (old.first < old.second) take_comments(lines, old);
  replace(lines, old, indented(proposed, indent + 2));
}

std::string joined(const Lines& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

}  // namespace

std::string with_limit_thresholds(const std::string& policy, const std::string& proposed) {
  Lines lines = lines_of(policy);
  Block block = block_of(lines, "thresholds", 0, 0, lines.size());
  if (block.first == lines.size()) {
    lines.emplace_back("thresholds:");
    block = {lines.size() - 1, lines.size()};
  } else {
    divide(lines, block, 0);
  }
  put_part(lines, block, 0, "limit", lines_of(proposed));
  return joined(lines);
}

std::string with_thresholds(const std::string& policy, const std::string& model,
                            const std::string& proposed) {
  Lines lines = lines_of(policy);
  Lines fresh = lines_of(proposed);  // comments, `thresholds:`, its entries
  const auto [on, after_on] = block_of(lines, "measured_on", 0, 0, lines.size());
  const bool is_main =
      on < lines.size() && gpu_words(lines[on].substr(lines[on].find(':'))) == gpu_words(model);
  Block block{lines.size(), lines.size()};
  if (is_main) {
    block = block_of(lines, "thresholds", 0, 0, lines.size());
    // Beside shares of the limit speed-ups are a part of it.
    if (block.first < block.second &&
        block_of(lines, "limit", 2, block.first + 1, block.second).first < block.second) {
      std::ranges::replace(fresh, "thresholds:", "baseline:");
      put_part(lines, block, 0, "baseline", fresh);
      return joined(lines);
    }
  } else {
    for (std::string& line : fresh) line = line == "thresholds:" ? fmt::format("  {}:", model) : "  " + line;
    const auto [group, group_end] = block_of(lines, "thresholds_by_gpu", 0, 0, lines.size());
    if (group == lines.size()) {
      fresh.insert(fresh.begin(), "thresholds_by_gpu:");
    } else {
      block = block_of(lines, model, 2, group + 1, group_end);
    }
  }
  take_comments(lines, block);
  replace(lines, block, fresh);
  return joined(lines);
}

}  // namespace warpgrade

#include "course/profile/estimate_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include "course/profile/estimate.h"
#include "judge/judging/figures.h"

namespace warpgrade {
namespace {

using nlohmann::json;

// Shorter runs and longer ones than any that a record was compared with.
constexpr double kShortestShown = 3, kLongestShown = 200'000;
// How much wider the interval is on a device that no record was compared with.
constexpr double kUnknownDevice = 1.5;
// The same where its rates are those of a data sheet, scaled from other GPUs.
constexpr double kFromDataSheet = 3;
constexpr double kWorthTelling = 1.05;

// With so many significant digits, and never with an exponent: 140, not 1.4e+02.
std::string digits(double value, int count) {
  if (value <= 0) return "0";
  const int decimals = count - 1 - static_cast<int>(std::floor(std::log10(value)));
  const double unit = std::pow(10.0, -decimals);
  const double rounded = std::round(value / unit) * unit;
  std::string text = fmt::format("{:.{}f}", rounded, std::max(decimals, 0));
  if (text.find('.') != std::string::npos) {
    while (text.back() == '0') text.pop_back();
    if (text.back() == '.') text.pop_back();
  }
  return text;
}

std::string microseconds_text(double us) {
  if (us < 999.5) return digits(us, 3) + " us";
  if (us < 999.5e3) return digits(us / 1e3, 3) + " ms";
  return digits(us / 1e6, 3) + " s";
}

const char* words_of_bound(const std::string& bound) {
  static const std::map<std::string, const char*> words{
      {"dram", "device memory (DRAM)"},
      {"l2", "what the second-level cache delivers (L2)"},
      {"l1", "lines that the first-level cache looks up"},
      {"shared", "passes through shared memory"},
      {"issue", "instructions"},
      {"atomics", "atomic updates and partly written sectors"},
      {"latency", "waiting: too few loads under way"},
      {"tail", "the busiest warp, for which all others wait"},
      {"launch", "starting kernels"}};
  const auto found = words.find(bound);
  return found == words.end() ? "" : found->second;
}

const char* words_of_cure(const std::string& problem) {
  static const std::map<std::string, const char*> words{
      {"uncoalesced", "with coalesced accesses"},
      {"bank_conflicts", "without bank conflicts"},
      {"imbalance", "with equal work for all warps"},
      {"occupancy", "with all warps that a multiprocessor holds"},
      {"divergence", "without divergence"},
      {"contention", "without contention of atomics"},
      {"redundant", "with each value read once"},
      {"few_blocks", "with more blocks, each with less work"}};
  const auto found = words.find(problem);
  return found == words.end() ? "" : found->second;
}

json gains(const json& groups, const json& kernels, const DeviceRates& device, double us) {
  std::vector<json> list;
  for (const Cure cure : {Cure::coalescing, Cure::bank_conflicts, Cure::balance, Cure::occupancy,
                          Cure::divergence, Cure::contention, Cure::reuse, Cure::blocks}) {
    const double left = estimate_run(groups, kernels, device, fitted_coefficients(), cure).microseconds;
    if (left <= 0 || us / left < kWorthTelling) continue;
    list.push_back({{"problem", name_of(cure)}, {"us", left}, {"gain", us / left}});
  }
  std::sort(list.begin(), list.end(),
            [](const json& a, const json& b) { return figure(a, "gain") > figure(b, "gain"); });
  return list;
}

}  // namespace

json estimate_json(const json& counters, const json& kernels, const DeviceRates& device) {
  const json groups = list(counters, "launch_groups");
  const Estimate e = estimate_run(groups, kernels, device);
  json result = {{"device", device.id},
                 {"device_name", device.name},
                 {"validated", device.validated},
                 {"from_data_sheet", device.from_data_sheet}};
  std::string refusal = e.refusal;
  if (refusal.empty() && (e.microseconds < kShortestShown || e.microseconds > kLongestShown))
    refusal = fmt::format("it would be {}; times from {} to {} were compared with records",
                          microseconds_text(e.microseconds), microseconds_text(kShortestShown),
                          microseconds_text(kLongestShown));
  if (!refusal.empty()) {
    result["refusal"] = refusal;
    return result;
  }
  const double wider = device.validated ? 1 : device.from_data_sheet ? kFromDataSheet : kUnknownDevice;
  result["us"] = e.microseconds;
  result["low_us"] = e.microseconds * fitted_coefficients().at("interval_low") / wider;
  result["high_us"] = e.microseconds * fitted_coefficients().at("interval_high") * wider;
  result["bound"] = e.bound();
  const auto bound = e.binding.find(e.bound());
  result["bound_share"] = bound == e.binding.end() ? 0 : bound->second / e.microseconds;
  result["bounds"] = e.bounds;
  result["without"] = gains(groups, kernels, device, e.microseconds);
  return result;
}

void set_beside_naive(json& estimate, const json& naive) {
  if (figure(estimate, "us") <= 0 || figure(naive, "us") <= 0) return;
  const double ratio = figure(naive, "us") / figure(estimate, "us");
  estimate["over_naive"] = {{"ratio", ratio},
                            {"low", ratio * fitted_coefficients().at("ratio_low")},
                            {"high", ratio * fitted_coefficients().at("ratio_high")}};
  for (json& each : estimate["without"]) each["over_naive"] = figure(naive, "us") / figure(each, "us");
}

void order_by_gain(json& counters, const json& estimate) {
  if (!counters.contains("findings") || !counters["findings"].is_array()) return;
  std::map<std::string, double> gain;
  for (const json& each : list(estimate, "without")) gain[problem_of(each)] = figure(each, "gain");
  for (json& finding : counters["findings"]) {
    const auto found = gain.find(problem_of(finding));
    if (found != gain.end()) finding["gain"] = found->second;
  }
  if (gain.empty()) return;
  std::stable_sort(counters["findings"].begin(), counters["findings"].end(),
                   [](const json& a, const json& b) { return figure(a, "gain") > figure(b, "gain"); });
}

std::string estimate_text(const json& e) {
  const std::string name = word(e, "device_name");
  if (e.contains("refusal"))
    return fmt::format("No estimate of the time on an {}: {}.\n", name, word(e, "refusal"));
  std::string text = fmt::format(
      "Estimate, not a measurement: about {} on an {} ({} to {})", microseconds_text(figure(e, "us")), name,
      microseconds_text(figure(e, "low_us")), microseconds_text(figure(e, "high_us")));
  if (const auto naive = e.find("over_naive"); naive != e.end())
    text += fmt::format(",\n  about {}x naive ({} to {})", digits(figure(*naive, "ratio"), 2),
                        digits(figure(*naive, "low"), 2), digits(figure(*naive, "high"), 2));
  text += fmt::format(".\n  Bound by {}: {:.0f} % of the time.\n", words_of_bound(word(e, "bound")),
                      100 * figure(e, "bound_share"));
  for (const json& each : list(e, "without")) {
    text += fmt::format("  {}: about {} times as fast", words_of_cure(problem_of(each)),
                        digits(figure(each, "gain"), 2));
    if (each.contains("over_naive"))
      text += fmt::format(", {}x naive", digits(figure(each, "over_naive"), 2));
    text += "\n";
  }
  if (const auto valid = e.find("validated"); valid == e.end() || *valid != true)
    text +=
        "  Estimates for this device were never compared with measurements, so this one may be further "
        "off.\n";
  if (const auto sheet = e.find("from_data_sheet"); sheet != e.end() && *sheet == true)
    text += "  The rates of this GPU are those of its data sheet: nothing was measured on one.\n";
  return text;
}

}  // namespace warpgrade

#include "course/profile/estimate.h"

#include <algorithm>
#include <cmath>

#include "course/profile/launch_bounds.h"
#include "course/profile/launch_constants.h"

namespace warpgrade {
namespace {

using nlohmann::json;

// "void (anonymous namespace)::f<3>(int)" -> "f<3>" as the emulator's titles have it.
std::string bare(const std::string& name) {
  const std::string anonymous = "(anonymous namespace)";
  std::string text = name;
  for (std::size_t at; (at = text.find(anonymous)) != std::string::npos;)
    text.replace(at, anonymous.size(), "_");
  int depth = 0;
  std::size_t begin = 0, end = text.size();
  for (std::size_t k = 0; k < text.size(); ++k) {
    const char c = text[k];
    if (depth == 0 && c == ' ') begin = k + 1;
    if (depth == 0 && c == '(') {
      end = k;
      break;
    }
    depth += c == '<' || c == '(' ? 1 : c == '>' || c == ')' ? -1 : 0;
  }
  return text.substr(begin, end - begin);
}

double registers_of(const json& kernels, const std::string& title) {
  if (!kernels.is_array()) return 0;
  for (const json& kernel : kernels) {
    if (bare(word(kernel, "name")) == bare(title)) return figure(kernel, "registers");
  }
  return 0;
}

// Copies and fills within the device.
double moves(const json& group, double runs, const DeviceRates& device, const Coefficients& k) {
  const double bytes = figure(group, "bytes_read") + figure(group, "bytes_written");
  return kMicro * bytes / runs / (device.dram_bytes_per_s * k.at("fill")) +
         k.at("launch") * figure(group, "launches") / runs;
}

struct LaunchTime {
  std::map<std::string, double> bounds;
  double work = 0;  // microseconds, without what it costs to start the launch
};

LaunchTime time_of(const json& group, double registers, const DeviceRates& device, const Coefficients& k,
                   Cure cure) {
  const LaunchFigures launch(group, cure);
  const LaunchBounds model(launch, group, registers, device, k);
  LaunchTime time{model.bounds(), 0};
  const double bulk = model.bulk();
  time.work = bulk + std::max(0.0, time.bounds["tail"] - model.busiest_done_in(bulk)) + model.preparation();
  return time;
}

std::string why_not(const json& groups) {
  if (!groups.is_array() || groups.empty()) return "no launch was counted";
  for (const json& group : groups) {
    const auto classes = group.find("classes");
    if (figure(group, "in_run") == 0 || figure(group, "warp_instructions") == 0) continue;
    if (figure(group, "cooperative") != 0)
      return "a cooperative launch: what its barriers cost was not validated";
    if (figure(group, "waits_for_blocks") != 0)
      return "a kernel polls memory in a loop, as blocks do that wait for each other: how long they wait was "
             "not validated";
    if (figure(group, "local_requests") > 0.05 * figure(group, "warp_instructions"))
      return "more than 5 % of the instructions touch local memory, which was not validated";
    if (classes != group.end() && figure(*classes, "matrix") > 0.2 * figure(group, "warp_instructions"))
      return "mostly matrix instructions, which were not validated";
  }
  return {};
}

}  // namespace

const char* name_of(Cure cure) {
  switch (cure) {
    case Cure::coalescing:
      return "uncoalesced";
    case Cure::bank_conflicts:
      return "bank_conflicts";
    case Cure::balance:
      return "imbalance";
    case Cure::occupancy:
      return "occupancy";
    case Cure::divergence:
      return "divergence";
    case Cure::contention:
      return "contention";
    case Cure::reuse:
      return "redundant";
    case Cure::blocks:
      return "few_blocks";
    case Cure::nothing:
      break;
  }
  return "nothing";
}

std::string Estimate::bound() const {
  const auto largest = std::max_element(binding.begin(), binding.end(),
                                        [](const auto& a, const auto& b) { return a.second < b.second; });
  return largest == binding.end() ? "" : largest->first;
}

Estimate estimate_run(const json& groups, const json& kernels, const DeviceRates& device,
                      const Coefficients& k, Cure cure) {
  Estimate estimate;
  estimate.refusal = why_not(groups);
  if (!groups.is_array()) return estimate;
  for (const json& group : groups) {
    const double runs = figure(group, "runs");
    if (figure(group, "in_run") == 0 || runs == 0 || figure(group, "launches") == 0) continue;
    estimate.launches += figure(group, "launches") / runs;
    if (figure(group, "warp_instructions") == 0) {
      const double us = moves(group, runs, device, k);
      estimate.microseconds += us;
      estimate.bounds["dram"] += us;
      estimate.binding["dram"] += us;
      continue;
    }
    const double times = figure(group, "launches") / runs;
    const double registers = registers_of(kernels, word(group, "kernel"));
    LaunchTime time = time_of(group, registers, device, k, cure);
    if (cure != Cure::nothing) {  // what a cure makes slower is left as it is: equal work is not cut up
      LaunchTime as_it_is = time_of(group, registers, device, k, Cure::nothing);
      if (as_it_is.work < time.work) time = std::move(as_it_is);
    }
    const auto& bounds = time.bounds;
    const double work = time.work, us = times * (work + k.at("launch"));
    const auto largest = std::max_element(bounds.begin(), bounds.end(),
                                          [](const auto& a, const auto& b) { return a.second < b.second; });
    for (const auto& [name, each] : bounds) estimate.bounds[name] += times * each;
    estimate.bounds["launch"] += times * k.at("launch");
    estimate.binding[k.at("launch") > work ? "launch" : largest->first] += us;
    estimate.kernels[word(group, "kernel")] += us;
    estimate.microseconds += us;
  }
  if (estimate.microseconds > 0) estimate.microseconds += k.at("run");
  if (estimate.microseconds <= 0 && estimate.refusal.empty()) estimate.refusal = "no run was counted";
  return estimate;
}

}  // namespace warpgrade

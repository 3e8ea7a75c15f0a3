// Which of a policy's thresholds hold for a case, and for a device.
#include <fmt/format.h>

#include <optional>

#include "course/score/gpu_model.h"
#include "course/score/policy.h"

namespace warpgrade {

std::optional<double> Policy::Thresholds::of(const Case& spec) const {
  const auto own = cases.find(spec.id);
  if (own != cases.end()) return own->second;
  for (const std::string& key : {spec.dataset, std::string("default")}) {
    const auto found = datasets.find(key);
    if (found == datasets.end()) continue;
    const auto value = found->second.find(spec.width);
    if (value != found->second.end()) return value->second;
  }
  return std::nullopt;
}

namespace {

// The section that names most of the device; `all` where none names more than these `words` of it.
const Policy::Thresholds& nearest(const Policy::Thresholds& all, std::size_t words,
                                  const std::map<std::string, Policy::Thresholds>& by_gpu,
                                  const std::string& device) {
  const Policy::Thresholds* best = &all;
  for (const auto& [model, section] : by_gpu) {
    const std::size_t match = gpu_match(model, device);
    if (match <= words) continue;
    words = match;
    best = &section;
  }
  return *best;
}

}  // namespace

const Policy::Thresholds& Policy::thresholds_for(const std::string& device) const {
  return nearest(thresholds, gpu_match(measured_on, device), gpu_thresholds, device);
}

const Policy::Thresholds& Policy::limit_thresholds_for(const std::string& device) const {
  return nearest(limit_thresholds, 0, gpu_limit_thresholds, device);
}

namespace {

std::optional<double> own_or(const Policy::Thresholds& python, const Policy::Thresholds& all,
                             const Case& spec, const std::string& language) {
  const std::optional<double> own = language == "Python" ? python.of(spec) : std::nullopt;
  return own ? own : all.of(spec);
}

}  // namespace

std::optional<double> Policy::threshold_of(const Case& spec, const std::string& device,
                                           const std::string& language) const {
  return own_or(python_thresholds, thresholds_for(device), spec, language);
}

std::optional<double> Policy::limit_threshold_of(const Case& spec, const std::string& device,
                                                 const std::string& language) const {
  return own_or(python_limit_thresholds, limit_thresholds_for(device), spec, language);
}

std::string Policy::thresholds_note(const std::string& device) const {
  if (measured_on.empty() || thresholds.empty() || device.empty()) return "";
  if (&thresholds_for(device) != &thresholds || gpu_match(measured_on, device) > 0) return "";
  return fmt::format(
      "The thresholds were measured on another GPU model ({}): this policy has none for the {} of this run.",
      measured_on, device);
}

}  // namespace warpgrade

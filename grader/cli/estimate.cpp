// `warpgrade estimate COUNTERS --device D`: times that runs would take on a GPU, from counters that the
// emulator took. For scripts/validate-estimate; `warpgrade profile` tells people.
#include "course/profile/estimate.h"

#include <fmt/core.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include "base/error.h"
#include "cli/commands.h"
#include "judge/judging/figures.h"

namespace warpgrade {
namespace {

using nlohmann::json;

struct EstimateOptions {
  std::string counters, device = "h200", coefficients;
};

json parse(const std::string& text, const std::string& file, int line) {
  json value = json::parse(text, nullptr, false);
  if (value.is_object()) return value;
  throw UsageError(fmt::format("{}:{}: expected a JSON object", file, line));
}

std::ifstream open_counters(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw UsageError("cannot read " + path);
  return file;
}

json described(const Estimate& e) {
  return {{"us", e.microseconds}, {"launches", e.launches}, {"bounds", e.bounds},  {"binding", e.binding},
          {"bound", e.bound()},   {"kernels", e.kernels},   {"refusal", e.refusal}};
}

int estimate(const EstimateOptions& options) {
  const DeviceRates device = rates_of_model(options.device);
  Coefficients coefficients = fitted_coefficients();
  if (!options.coefficients.empty()) {
    std::ifstream file = open_counters(options.coefficients);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    const json given = parse(text, options.coefficients, 1);
    for (const auto& [name, value] : given.items()) {
      if (!coefficients.contains(name) || !value.is_number())
        throw UsageError(fmt::format("{}: no coefficient is called '{}'", options.coefficients, name));
      coefficients[name] = value.get<double>();
    }
  }
  std::ifstream file = open_counters(options.counters);
  int number = 0;
  for (std::string line; std::getline(file, line);) {
    const json run = parse(line, options.counters, ++number);
    const json groups = list(run, "groups"), kernels = list(run, "kernels");
    json out = described(estimate_run(groups, kernels, device, coefficients));
    for (const Cure cure : {Cure::coalescing, Cure::bank_conflicts, Cure::balance, Cure::occupancy,
                            Cure::divergence, Cure::contention, Cure::reuse, Cure::blocks})
      out["without"][name_of(cure)] = estimate_run(groups, kernels, device, coefficients, cure).microseconds;
    fmt::print("{}\n", out.dump());
  }
  return 0;
}

}  // namespace

void add_estimate_command(CLI::App& app, int& code) {
  const auto options = std::make_shared<EstimateOptions>();
  CLI::App* command =
      app.add_subcommand("estimate", "estimate the times that counted runs would take on a GPU");
  command->add_option("counters", options->counters, "JSON lines with launch groups and kernels")->required();
  command->add_option("--device", options->device, "the GPU")->capture_default_str();
  command->add_option("--coefficients", options->coefficients, "JSON, in place of the fitted ones");
  command->callback([options, &code] { code = estimate(*options); });
}

}  // namespace warpgrade

// `warpgrade calibrate --device`: what this machine's GPUs can do, measured and kept for later records.
#include "cli/calibrate_device.h"

#include <fmt/format.h>

#include <string>
#include <vector>

#include "base/error.h"
#include "base/say.h"
#include "base/tables.h"
#include "course/batch/devices.h"
#include "course/profile/measured_rates.h"
#include "course/score/limit.h"

namespace warpgrade {
using nlohmann::json;

namespace {

constexpr int kRuns = 8;
constexpr double kTera = 1e12;

// The measured figures beside those of the model's.
std::vector<std::vector<std::string>> rows_of(const json& measured, const json& model) {
  std::vector<std::vector<std::string>> rows{{"", "measured", "known of the model"}};
  const auto row = [&](const std::string& name, const json& here, const json& there, double unit,
                       const char* word) {
    const auto shown = [&](const json& value) {
      return value.is_number() ? fmt::format("{:.4g} {}", value.get<double>() / unit, word) : "";
    };
    rows.push_back({name, shown(here), shown(there)});
  };
  const auto at = [](const json& from, const char* key) { return from.value(key, json()); };
  row("DRAM, read", at(measured, "dram_bytes_per_s"), at(model, "dram_bytes_per_s"), kTera, "TB/s");
  row("L2", at(measured, "l2_bytes_per_s"), at(model, "l2_bytes_per_s"), kTera, "TB/s");
  row("L1, all multiprocessors", at(measured, "l1_bytes_per_s"), at(model, "l1_bytes_per_s"), kTera, "TB/s");
  row("an empty kernel", at(measured, "launch_us"), at(model, "launch_us"), 1, "us");
  const json model_units = model.value("operations_per_s", json::object());
  for (const auto& [unit, rate] : measured.at("operations_per_s").items())
    row(unit, rate, at(model_units, unit.c_str()), kTera, "T/s");
  return rows;
}

void calibrate_device(const JudgeDevice& device) {
  const std::string name = device.about.value("name", "");
  say("{}, {}: {} runs, a minute\n", device.name, name, kRuns);
  const RatesMeasured measured = measure_rates(device.about, device.visible, kRuns);
  keep_rates(device.about, measured.rates);
  const auto model = limit_rates(device.about);
  tell("{}, {}\n\n{}\n", device.name, name,
       format_table(rows_of(measured.rates, model ? model->to_json().at("rates") : json::object())));
  tell(
      "Best of {} runs; the widest difference between two is {:.1f} % ({}).\nkept in {}: records of runs on "
      "this GPU carry these rates from now on\n",
      kRuns, 100 * measured.spread, measured.widest, rates_file(device.about).string());
}

}  // namespace

int calibrate_devices(const std::vector<std::string>& gpus) {
  std::vector<std::string> left_out;
  const std::vector<JudgeDevice> devices = find_devices("cuda", gpus, left_out);
  for (const std::string& one : left_out) say("{}\n", one);
  if (devices.empty())
    throw UsageError(
        "no GPU with a working driver is here: rates are measured on a GPU (`warpgrade doctor` says what "
        "this machine has)");
  for (const JudgeDevice& device : devices) calibrate_device(device);
  return kExitGraded;
}

}  // namespace warpgrade

#include "course/score/limit.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "course/profile/device_rates.h"
#include "course/score/gpu_model.h"
#include "judge/judging/figures.h"
#include "judge/labs/registry.h"

namespace warpgrade {
namespace {

using nlohmann::json;

constexpr double kMicro = 1e6;

std::optional<DeviceRates> rates_by_name(const std::string& device) {
  try {
    return rates_of_model(gpu_model(device));
  } catch (const UsageError&) {
    return std::nullopt;
  }
}

// A multiply-add is two operations, a relaxation one.
std::map<std::string, double, std::less<>> operations_of(const DeviceRates& rates) {
  const double clocks = rates.multiprocessors * rates.clock_hz;
  const double fp32 = 2 * rates.fp32_lanes * clocks, fp64 = 2 * rates.fp64_lanes * clocks;
  const double integer = rates.integer_lanes * clocks;
  const auto name = [](std::string_view unit) { return std::string(unit); };
  return {{name(units::kFp32), fp32},
          {name(units::kFp64), fp64},
          {name(units::kFp64Tensor), std::max(fp64, 2 * rates.fp64_tensor_lanes * clocks)},
          {name(units::kTf32x3), std::max(fp32, 2 * rates.tf32_tensor_lanes * clocks / 3)},
          {name(units::kInteger), integer},
          {name(units::kMinPlus), integer},
          {name(units::kMinPlus16), integer * rates.min_plus_16_lanes}};
}

void take_model(const DeviceRates& model, LimitRates& rates) {
  rates.source = model.from_data_sheet ? "by NVIDIA's data sheet: nothing was measured on such a GPU"
                                       : "measured on another GPU of this model";
  rates.dram_bytes_per_s = model.dram_bytes_per_s;
  rates.l2_bytes_per_s = model.l2_bytes_per_s;
  rates.l1_bytes_per_s = model.l1_bytes_a_clock * model.multiprocessors * model.clock_hz;
  rates.launch_us = model.launch_us;
  rates.operations_per_s = operations_of(model);
}

// What `calibrate --device` measured takes the model's place, number by number.
void take_measured(const json& measured, LimitRates& rates) {
  const auto take = [&](const json& from, std::string_view key, double& into) {
    const double value = figure(from, std::string(key).c_str());
    if (value <= 0) return;
    into = value;
    rates.source = "measured on this device";
  };
  take(measured, "dram_bytes_per_s", rates.dram_bytes_per_s);
  take(measured, "l2_bytes_per_s", rates.l2_bytes_per_s);
  take(measured, "l1_bytes_per_s", rates.l1_bytes_per_s);
  take(measured, "launch_us", rates.launch_us);
  if (const auto operations = measured.find("operations_per_s");
      operations != measured.end() && operations->is_object())
    for (const std::string_view unit : units::kAll)
      if (figure(*operations, std::string(unit).c_str()) > 0)
        take(*operations, unit, rates.operations_per_s[std::string(unit)]);
}

}  // namespace

json LimitRates::to_json() const {
  json rates{{"dram_bytes_per_s", dram_bytes_per_s},
             {"l2_bytes_per_s", l2_bytes_per_s},
             {"l1_bytes_per_s", l1_bytes_per_s},
             {"l2_bytes", l2_bytes},
             {"launch_us", launch_us},
             {"operations_per_s", json::object()}};
  for (const auto& [unit, rate] : operations_per_s) rates["operations_per_s"][unit] = rate;
  return {{"device", device}, {"source", source}, {"rates", std::move(rates)}};
}

std::optional<LimitRates> limit_rates(const json& device) {
  if (!device.is_object()) return std::nullopt;
  LimitRates rates;
  rates.device = word(device, "name");
  rates.l2_bytes = figure(device, "l2_bytes");
  const auto model = rates_by_name(rates.device);
  if (model && figure(device, "sm_count") == model->multiprocessors) take_model(*model, rates);
  if (const auto measured = device.find("rates"); measured != device.end() && measured->is_object())
    take_measured(*measured, rates);
  const bool is_known = rates.dram_bytes_per_s > 0 && rates.l2_bytes_per_s > 0 && rates.l1_bytes_per_s > 0 &&
                        rates.launch_us > 0 && !rates.operations_per_s.empty();
  return is_known ? std::optional(rates) : std::nullopt;
}

const std::optional<LimitRates>& KnownRates::of(const Record& record) {
  const auto [found, is_new] = by_device_.try_emplace(record.device.dump());
  if (is_new) found->second = limit_rates(record.device);
  if (found->second && first_.is_null()) first_ = found->second->to_json();
  return found->second;
}

Limit limit_of(const CaseWork& work, double compulsory_bytes, const LimitRates& rates) {
  const double kept = std::min(work.written_bytes, rates.l2_bytes);
  Limit limit{rates.launch_us, "launch"};
  const auto take = [&](double amount, double per_s, std::string_view name) {
    const double us = per_s > 0 ? kMicro * amount / per_s : 0;
    if (us > limit.us) limit = {us, std::string(name)};
  };
  take(compulsory_bytes - std::min(kept, compulsory_bytes), rates.dram_bytes_per_s, "DRAM");
  take(compulsory_bytes, rates.l2_bytes_per_s, "L2");
  take(work.gathered_bytes, rates.l1_bytes_per_s, "L1");
  if (const auto unit = rates.operations_per_s.find(work.unit); unit != rates.operations_per_s.end())
    take(work.operations, unit->second, work.unit);
  return limit;
}

std::optional<json> limit_of_record(const Record& record, const std::optional<LimitRates>& rates) {
  if (const auto imagined = record.other.find("limit"); imagined != record.other.end()) return *imagined;
  if (!rates || !record.timing || !record.floor) return std::nullopt;
  const Lab* lab = nullptr;
  try {
    lab = &find_lab(record.lab);
  } catch (const UsageError&) {
    return std::nullopt;
  }
  const auto work = lab->work_of(record.test_case);
  const Timing& timing = *record.timing;
  const double bytes = record.floor->compulsory_bytes.value_or(0), median = timing.median_us;
  if (!work || median <= 0) return std::nullopt;
  const Limit limit = limit_of(*work, bytes, *rates);
  const auto share = [&](std::optional<double> us) { return limit.us / (us.value_or(0) > 0 ? *us : median); };
  json result{{"us", limit.us},
              {"bound_by", limit.bound_by},
              {"share", share(median)},
              {"low", share(timing.high_us)},
              {"high", share(timing.low_us)},
              {"bytes", bytes},
              {"operations", work->operations}};
  if (work->operations > 0) result["unit"] = std::string(work->unit);
  if (work->gathered_bytes > 0) result["gathered_bytes"] = work->gathered_bytes;
  return result;
}

}  // namespace warpgrade

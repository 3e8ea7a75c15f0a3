#include "course/profile/measured_rates.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <chrono>
#include <cmath>
#include <ctime>

#include "base/error.h"
#include "base/files.h"
#include "base/process.h"
#include "base/toolchain.h"
#include "course/ingest/times.h"
#include "judge/judging/figures.h"

namespace warpgrade {
namespace fs = std::filesystem;
using nlohmann::json;

namespace {

constexpr const char* kProgram = "grader/course/profile/calibration/limit_rates.cu";

// sm_90 has products of warp groups only where it is asked for by this name.
std::string architecture_of(const json& device) {
  const int capability = static_cast<int>(figure(device, "compute_capability"));
  return fmt::format("sm_{}{}", capability, capability == 90 ? "a" : "");
}

ProcessResult run_or_throw(const ProcessOptions& options, const std::string& what) {
  const ProcessResult result = run_process(options);
  if (!result.ok())
    throw UsageError("{}: {}\n{}{}", what, result.describe(), result.standard_output, result.standard_error);
  return result;
}

void compile_program(const json& device, const fs::path& program) {
  ProcessOptions options;
  options.command = {
      find_toolchain().nvcc.string(),       "-std=c++20", "-O3",           "-arch=" + architecture_of(device),
      (project_root() / kProgram).string(), "-o",         program.string()};
  options.timeout = std::chrono::minutes(5);
  run_or_throw(options, fmt::format("{}: it does not compile", kProgram));
}

json run_program(const fs::path& program, const std::string& name, const std::string& visible) {
  ProcessOptions options;
  options.command = {program.string()};
  if (!visible.empty()) options.environment["CUDA_VISIBLE_DEVICES"] = visible;
  options.timeout = std::chrono::minutes(1);
  const ProcessResult result = run_or_throw(options, fmt::format("{}: its rates cannot be measured", name));
  const json rates = json::parse(result.standard_output, nullptr, false);
  if (!rates.is_object())
    throw UsageError("{}: {} printed no JSON object: {}", name, kProgram, result.standard_output);
  return rates;
}

// Takes each figure's best, and the widest difference between two runs' figures.
class BestOf {
 public:
  void take(const json& run) { take(run, best_, least_, ""); }

  RatesMeasured result() const {
    RatesMeasured measured{best_, 0, ""};
    widen(best_, least_, measured);
    return measured;
  }

 private:
  static bool less_is_better(const std::string& name) { return name == "launch_us"; }

  static void take(const json& run, json& best, json& worst, const std::string& name) {
    if (run.is_object()) {
      for (const auto& [key, value] : run.items()) take(value, best[key], worst[key], key);
      return;
    }
    const bool first = best.is_null();
    const double value = run.get<double>();
    const auto better = [&](double a, double b) { return less_is_better(name) ? a < b : a > b; };
    if (first || better(value, best.get<double>())) best = value;
    if (first || better(worst.get<double>(), value)) worst = value;
  }

  static void widen(const json& best, const json& worst, RatesMeasured& measured,
                    const std::string& name = "") {
    if (best.is_object()) {
      for (const auto& [key, value] : best.items()) widen(value, worst.at(key), measured, key);
      return;
    }
    const double a = best.get<double>(), b = worst.get<double>();
    const double spread = a > 0 ? std::abs(a - b) / a : 0;
    if (spread <= measured.spread) return;
    measured.spread = spread;
    measured.widest = name;
  }

  json best_, least_;
};

std::string file_name_of(const json& device) {
  std::string uuid = word(device, "uuid");
  const auto is_plain = [](unsigned char c) { return std::isalnum(c) != 0 || c == '-'; };
  std::replace_if(
      uuid.begin(), uuid.end(), [&](char c) { return !is_plain(c); }, '_');
  return uuid + ".json";
}

}  // namespace

fs::path rates_file(const json& device) {
  return cache_directory() / "rates" / file_name_of(device);
}

json measured_rates(const json& device) {
  if (word(device, "uuid").empty()) return nullptr;
  const fs::path file = rates_file(device);
  if (!fs::exists(file)) return nullptr;
  const json rates = json::parse(read_text(file), nullptr, false);
  if (!rates.is_object() || figure(rates, "sm_count") != figure(device, "sm_count")) return nullptr;
  return rates;
}

RatesMeasured measure_rates(const json& device, const std::string& visible, int runs) {
  const TemporaryDirectory scratch("warpgrade-rates");
  const fs::path program = scratch.path() / "limit_rates";
  compile_program(device, program);
  BestOf best;
  for (int run = 0; run < runs; ++run) best.take(run_program(program, word(device, "name"), visible));
  RatesMeasured measured = best.result();
  measured.rates["sm_count"] = device.value("sm_count", 0);
  measured.rates["measured_at"] = format_time(std::time(nullptr));
  return measured;
}

void keep_rates(const json& device, const json& rates) {
  const fs::path file = rates_file(device);
  make_directories(file.parent_path());
  write_text(file, rates.dump(1) + "\n");
}

}  // namespace warpgrade

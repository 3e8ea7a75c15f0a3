#include "course/hardware/beside.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <string_view>

#include "base/tables.h"
#include "base/text.h"
#include "judge/judging/figures.h"

namespace warpgrade::hardware {
namespace {

using nlohmann::json;
using Sums = std::map<std::string, double>;  // of one kernel, over all its launches
using Names = std::vector<std::string>;

// One line of the summary: sums on each side, and what they are divided by.
struct Figure {
  const char* name;
  Names ncu, ours;          // what is added up
  Names ncu_per, ours_per;  // and divided by; none: by the launches
  bool comparable = true;   // both sides count the same thing
  double factor = 1;        // of ncu's unit
};

// What was found where a figure lay apart (grader/emulator/tests/hardware/records/README.md).
std::string_view known_cause(std::string_view figure) {
  static const std::map<std::string_view, std::string_view> causes{
      {"load requests",
       "a loop that waits for other blocks reads as often as they let it, and lanes leave a loop that the "
       "compiler unrolled at other places"},
      {"store requests", "the compiler joined or split stores"},
      {"store sectors/req",
       "places that come from atomics lie otherwise: on a GPU other warps come between the lanes of a warp"},
      {"atomic sectors",
       "lanes that update one word take turns, and a GPU counts the sector in each turn, the emulator once"},
      {"shared load passes/req",
       "the compiler joined neighbouring loads: one request, which takes as many passes as its bytes need"},
      {"shared store passes/req",
       "a store that no lane of a warp carries out is a request on a GPU, and takes no pass"}};
  const auto found = causes.find(figure == "load sectors/req" ? "load requests" : figure);
  return found == causes.end() ? "" : found->second;
}

// The names are those of `warpgrade profile` (course/profile/text.cpp); without `ours` the emulator has
// no such counter.
const std::vector<Figure>& figures() {
  static const std::vector<Figure> all = [] {
    const std::string l1 = "l1tex__", lsu = "_pipe_lsu_mem_global_op_";
    std::vector<Figure> list{
        {"warp instr.", {"smsp__inst_executed.sum"}, {"warp_instructions"}, {}, {}, false},
        {"lanes",
         {"smsp__thread_inst_executed_per_inst_executed.ratio"},
         {"thread_instructions"},
         {},
         {"warp_instructions"},
         false}};
    const auto global = [&](const char* what, const char* ours, const char* op) {
      list.push_back({what,
                      {l1 + "t_sectors" + lsu + op + ".sum"},
                      {std::string(ours) + "_sectors"},
                      {l1 + "t_requests" + lsu + op + ".sum"},
                      {std::string(ours) + "_requests"}});
    };
    list.push_back({"load requests", {l1 + "t_requests" + lsu + "ld.sum"}, {"global_load_requests"}, {}, {}});
    global("load sectors/req", "global_load", "ld");
    list.push_back(
        {"store requests", {l1 + "t_requests" + lsu + "st.sum"}, {"global_store_requests"}, {}, {}});
    global("store sectors/req", "global_store", "st");
    list.push_back({"atomic sectors",
                    {l1 + "t_sectors" + lsu + "atom.sum", l1 + "t_sectors" + lsu + "red.sum"},
                    {"global_atomic_sectors"},
                    {},
                    {}});
    const auto shared = [&](const char* what, const char* ours, const char* op) {
      list.push_back({what,
                      {l1 + "data_pipe_lsu_wavefronts_mem_shared_op_" + op + ".sum"},
                      {std::string(ours) + "_passes"},
                      {std::string("smsp__inst_executed_op_shared_") + op + ".sum"},
                      {std::string(ours) + "_requests"}});
    };
    shared("shared load passes/req", "shared_load", "ld");
    shared("shared store passes/req", "shared_store", "st");
    list.push_back({"time (us)", {"gpu__time_duration.sum"}, {}, {}, {}, true, 1e-3});
    list.push_back({"DRAM (MB)", {"dram__bytes.sum"}, {}, {}, {}, true, 1e-6});
    list.push_back({"L2 hits (%)", {"lts__t_sector_hit_rate.pct"}, {}, {}, {}});
    list.push_back({"L1 hits (%)", {"l1tex__t_sector_hit_rate.pct"}, {}, {}, {}});
    list.push_back({"warps resident (%)", {"sm__warps_active.avg.pct_of_peak_sustained_active"}, {}, {}, {}});
    return list;
  }();
  return all;
}

struct Kernel {
  std::string name;
  double gpu_launches = 0, our_launches = 0;
  Sums gpu, ours;
};

std::optional<double> sum_of(const Sums& sums, const Names& names) {
  std::optional<double> sum;
  for (const std::string& name : names)
    if (const auto found = sums.find(name); found != sums.end()) sum = sum.value_or(0) + found->second;
  return sum;
}

// Nothing where it was not counted, or where nothing happened that it could be a part of.
std::optional<double> value_of(const Sums& sums, const Names& over, const Names& under, double launches) {
  const auto sum = sum_of(sums, over);
  const auto divisor = under.empty() ? std::optional(launches) : sum_of(sums, under);
  if (!sum || !divisor || *divisor <= 0) return std::nullopt;
  return *sum / *divisor;
}

double apart(double theirs, double ours) {
  if (theirs == ours) return 0;
  return std::abs(ours - theirs) / std::max(std::abs(theirs), 1e-12);
}

std::vector<Kernel> kernels_of(const std::vector<LaunchRow>& launches, const json& emulator) {
  std::vector<Kernel> kernels;
  const auto named = [&](const std::string& name) -> Kernel& {
    for (Kernel& kernel : kernels)
      if (kernel.name == name) return kernel;
    kernels.push_back({});
    kernels.back().name = name;
    return kernels.back();
  };
  for (const LaunchRow& row : launches) {
    Kernel& kernel = named(plain_line(base_name(row.kernel), 80));
    kernel.gpu_launches += 1;
    for (const auto& [metric, value] : row.metrics) kernel.gpu[metric] += value;
  }
  for (const json& counted : list(emulator, "kernels")) {
    Kernel& kernel = named(plain_line(base_name(word(counted, "kernel")), 80));
    kernel.our_launches += figure(counted, "launches");
    for (const auto& [counter, value] : counted.items())
      if (value.is_number()) kernel.ours[counter] += value.get<double>();
  }
  return kernels;
}

json figure_json(const Figure& figure, const Kernel& kernel) {
  json line{{"name", figure.name}};
  const auto theirs = value_of(kernel.gpu, figure.ncu, figure.ncu_per, kernel.gpu_launches);
  const auto ours = value_of(kernel.ours, figure.ours, figure.ours_per, kernel.our_launches);
  if (theirs) line["hardware"] = *theirs * figure.factor;
  if (ours) line["emulator"] = *ours;
  if (theirs && ours) line["apart"] = apart(*theirs, *ours);
  if (theirs && ours && figure.comparable) line["within"] = apart(*theirs, *ours) <= kBar;
  return line;
}

std::string number_text(const json& line, const char* side) {
  if (!line.contains(side)) return "-";
  const double value = line[side];
  if (std::abs(value) >= 1e6) return fmt::format("{:.4g}", value);
  return value == std::floor(value) ? fmt::format("{:.0f}", value) : fmt::format("{:.2f}", value);
}

bool is_apart(const json& line) {
  return line.contains("within") && !line["within"].get<bool>();
}

// A line for each cause of what is apart in a kernel's table.
std::string causes_text(const json& kernel) {
  std::string out;
  std::string_view last;
  for (const json& line : list(kernel, "figures")) {
    const std::string name = word(line, "name");
    const std::string_view cause = known_cause(name);
    if (!is_apart(line) || cause.empty() || cause == last) continue;
    out += fmt::format("  {}: {}\n", name, cause);
    last = cause;
  }
  return out;
}

std::string verdict_text(const json& line) {
  if (!line.contains("apart")) return "";
  const std::string percent = fmt::format("{:.1f} %", 100 * line["apart"].get<double>());
  if (!line.contains("within")) return percent + " (machine code, PTX)";
  return is_apart(line) ? percent + " APART" : percent;
}

}  // namespace

json set_beside(const std::vector<LaunchRow>& launches, const json& emulator) {
  json all = json::array();
  for (const Kernel& kernel : kernels_of(launches, emulator)) {
    json lines = json::array();
    for (const Figure& each : figures()) {
      json line = figure_json(each, kernel);
      const auto nothing = [&](const char* side) { return !line.contains(side) || line[side] == 0.0; };
      if (!nothing("hardware") || !nothing("emulator")) lines.push_back(std::move(line));
    }
    json about{{"kernel", kernel.name}, {"figures", std::move(lines)}};
    if (kernel.gpu_launches > 0) about["launches"] = kernel.gpu_launches;
    if (kernel.our_launches > 0) about["launches_on_emulator"] = kernel.our_launches;
    all.push_back(std::move(about));
  }
  return all;
}

std::string beside_text(const json& kernels) {
  std::string out;
  int within = 0, outside = 0;
  for (const json& kernel : kernels) {
    out += fmt::format("{}{}: {}\n", out.empty() ? "" : "\n", word(kernel, "kernel"),
                       kernel.contains("launches")
                           ? fmt::format("{:.0f} launches on the GPU", figure(kernel, "launches"))
                           : "not among the launches that were counted on the GPU");
    std::vector<std::vector<std::string>> rows{{"a launch", "GPU", "emulator", "apart"}};
    for (const json& line : list(kernel, "figures")) {
      rows.push_back({word(line, "name"), number_text(line, "hardware"), number_text(line, "emulator"),
                      verdict_text(line)});
      if (line.contains("within")) ++(is_apart(line) ? outside : within);
    }
    out += format_table(rows) + causes_text(kernel);
  }
  out += fmt::format("\n{} of {} counters of the emulator are within {:.0f} % of the hardware's", within,
                     within + outside, 100 * kBar);
  return out +
         (outside == 0
              ? ".\n"
              : "; those marked APART are not. Below their table stands by what such counters are known to "
                "differ. Trust the GPU's there.\n");
}

}  // namespace warpgrade::hardware

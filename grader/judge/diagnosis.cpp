#include "judge/diagnosis.h"

#include <fmt/format.h>

#include <map>

#include "profile/diseases.h"

namespace warpgrade {
namespace {

// What a finding means: the verdict and reason that it gives to a failed or an accepted case.
struct Meaning {
  const char* verdict;
  const char* reason;
  bool lowers_accepted;
  bool explains_wrong = false;  // said beside a wrong answer that it may have caused
};

const std::map<std::string, Meaning>& meanings() {
  static const std::map<std::string, Meaning> table{
      {"out_of_bounds", {verdicts::kRuntimeError, "out_of_bounds", true}},
      {"null_pointer", {verdicts::kRuntimeError, "illegal_address", true}},
      {"use_after_free", {verdicts::kRuntimeError, "use_after_free", true}},
      {"misaligned", {verdicts::kRuntimeError, "misaligned_address", true}},
      {"read_only_write", {verdicts::kWrongAnswer, "input_modified", true}},
      {"barrier_deadlock", {verdicts::kTimeLimit, "barrier_deadlock", true}},
      {"divergent_barrier", {verdicts::kRuntimeError, "divergent_barrier", false, true}},
      {"shared_race", {verdicts::kWrongAnswer, "race", false, true}},
      {"global_race", {verdicts::kWrongAnswer, "race", false, true}},
      {"uninitialized_read", {verdicts::kWrongAnswer, "uninitialized_read", false, true}},
      {"launch_timeout", {verdicts::kTimeLimit, "out_of_time", true}},
      {"trap", {verdicts::kRuntimeError, "trap", true}},
      {"assert", {verdicts::kRuntimeError, "assert", true}},
      {"unsupported", {verdicts::kNotRun, "unsupported_on_emulator", false}},
      {"invalid_free", {verdicts::kRuntimeError, "invalid_free", false}},
      {"host_copy_overrun", {verdicts::kRuntimeError, "out_of_bounds", false}},
  };
  return table;
}

std::string text_of(const nlohmann::json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

std::string place(const nlohmann::json& finding) {
  const std::string file = text_of(finding, "file");
  const auto line = finding.find("line");
  if (file.empty() || line == finding.end() || !line->is_number_integer()) return "";
  return fmt::format("{}:{}: ", file.substr(file.rfind('/') + 1), line->get<int>());
}

// The emulator tells kernels first and then each one's lines and buffers, as objects in a row; here they
// stand inside their kernel.
nlohmann::json nest(const nlohmann::json& objects) {
  nlohmann::json kernels = nlohmann::json::array();
  std::map<std::string, std::size_t> position;
  for (nlohmann::json item : objects) {
    const std::string kernel = text_of(item, "kernel");
    const char* part = item.contains("line") ? "lines" : item.contains("buffer") ? "buffers" : nullptr;
    if (part == nullptr) {
      position[kernel] = kernels.size();
      kernels.push_back(std::move(item));
    } else if (const auto found = position.find(kernel); found != position.end()) {
      item.erase("kernel");
      kernels[found->second][part].push_back(std::move(item));
    }
  }
  return kernels;
}

}  // namespace

void apply_diagnostics(const nlohmann::json& diagnostics, Outcome& outcome) {
  for (const nlohmann::json& finding : diagnostics) {
    const auto meaning = meanings().find(text_of(finding, "kind"));
    if (meaning == meanings().end()) continue;
    const Meaning& m = meaning->second;
    if (outcome.verdict == verdicts::kWrongAnswer && m.explains_wrong) {
      outcome.message +=
          fmt::format("; {}{} ({})", place(finding), text_of(finding, "message"), meaning->first);
      return;
    }
    const bool explains = outcome.verdict == verdicts::kRuntimeError &&
                          (outcome.reason == "cuda_error" || outcome.reason == "crashed");
    if (!explains && !(outcome.accepted() && m.lowers_accepted)) continue;
    outcome.verdict = m.verdict;
    outcome.reason = m.reason;
    const std::string message = text_of(finding, "message");
    if (!message.empty()) outcome.message = place(finding) + message;
    return;
  }
}

nlohmann::json summarize_counters(const nlohmann::json& objects) {
  constexpr const char* kSums[] = {"launches",
                                   "blocks",
                                   "warp_instructions",
                                   "thread_instructions",
                                   "global_requests",
                                   "global_sectors",
                                   "global_sectors_ideal",
                                   "global_load_requests",
                                   "global_load_sectors",
                                   "global_load_sectors_ideal",
                                   "global_store_requests",
                                   "global_store_sectors",
                                   "global_store_sectors_ideal",
                                   "distinct_sectors_read",
                                   "distinct_sectors_written",
                                   "shared_requests",
                                   "shared_passes",
                                   "shared_passes_ideal",
                                   "atomics",
                                   "atomic_requests",
                                   "atomic_turns",
                                   "arithmetic",
                                   "memory",
                                   "barriers",
                                   "divergent_branches"};
  const nlohmann::json kernels = nest(objects);
  nlohmann::json totals = nlohmann::json::object();
  const auto number = [](const nlohmann::json& object, const char* key) {
    const auto found = object.find(key);
    return found != object.end() && found->is_number() ? found->get<double>() : 0.0;
  };
  for (const char* key : kSums) {
    double sum = 0;
    for (const nlohmann::json& kernel : kernels) sum += number(kernel, key);
    totals[key] = sum;
  }
  if (totals["warp_instructions"] > 0) {
    totals["active_lanes"] =
        totals["thread_instructions"].get<double>() / totals["warp_instructions"].get<double>();
  }
  totals["findings"] = find_diseases(kernels);
  totals["kernels"] = kernels;
  return totals;
}

}  // namespace warpgrade

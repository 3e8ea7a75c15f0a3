#include "judge/diagnosis.h"

#include <fmt/format.h>

#include <cstdint>
#include <map>

#include "profile/diseases.h"

namespace warpgrade {
namespace {

// What a finding means: the verdict and reason that it gives to a failed or an accepted case.
struct Meaning {
  const char* verdict;
  const char* reason;
  bool lowers_accepted;
  bool explains_wrong;   // said beside a wrong answer that it may have caused
  const char* sentence;  // where the finding has no message of its own
};

constexpr bool kLowers = true, kExplainsWrong = true;

// Every kind of emulator/include/warpemu/findings.h.
const std::map<std::string, Meaning>& meanings() {
  using namespace verdicts;
  static const std::map<std::string, Meaning> table{
      {"out_of_bounds",
       {kRuntimeError, "out_of_bounds", kLowers, false, "accesses memory outside every allocation"}},
      {"null_pointer",
       {kRuntimeError, "illegal_address", kLowers, false, "accesses memory through a null pointer"}},
      {"use_after_free", {kRuntimeError, "use_after_free", kLowers, false, "accesses memory that was freed"}},
      {"misaligned",
       {kRuntimeError, "misaligned_address", kLowers, false,
        "accesses an address that is no multiple of the width"}},
      {"foreign_stack",
       {kRuntimeError, "foreign_stack", kLowers, false,
        "accesses another thread's local variable through a pointer"}},
      {"read_only_write", {kWrongAnswer, "input_modified", kLowers, false, "writes to a read-only input"}},
      {"barrier_deadlock",
       {kTimeLimit, "barrier_deadlock", kLowers, false, "threads wait for others that never come"}},
      {"barrier_count",
       {kRuntimeError, "barrier_count", kLowers, false,
        "a barrier is given a number of threads that never come"}},
      {"divergent_barrier",
       {kRuntimeError, "divergent_barrier", false, kExplainsWrong,
        "threads of a block wait at different barriers"}},
      {"partial_warp",
       {kRuntimeError, "partial_warp", false, kExplainsWrong,
        "some lanes of a warp miss an operation of whole warps"}},
      {"wrong_mask",
       {kRuntimeError, "wrong_mask", false, kExplainsWrong,
        "a lane calls with a mask that does not name it"}},
      {"undefined_shuffle",
       {kWrongAnswer, "undefined_shuffle", false, kExplainsWrong,
        "a lane takes the value of one that takes no part"}},
      {"shared_race",
       {kWrongAnswer, "race", false, kExplainsWrong, "threads race for a place of shared memory"}},
      {"global_race",
       {kWrongAnswer, "race", false, kExplainsWrong, "threads race for a place of global memory"}},
      {"uninitialized_read",
       {kWrongAnswer, "uninitialized_read", false, kExplainsWrong, "reads memory that nobody has written"}},
      {"launch_timeout", {kTimeLimit, "out_of_time", kLowers, false, "the kernel does not end"}},
      {"trap", {kRuntimeError, "trap", kLowers, false, "the kernel stopped itself"}},
      {"assert", {kRuntimeError, "assert", kLowers, false, "an assertion in the kernel failed"}},
      {"stack_overflow", {kRuntimeError, "stack_overflow", kLowers, false, "a thread's stack is full"}},
      {"bad_call",
       {kRuntimeError, "bad_call", kLowers, false, "calls an address at which no function begins"}},
      {"unsupported",
       {kNotRun, "unsupported_on_emulator", false, false, "the emulator cannot run this: it takes a GPU"}},
      {"invalid_launch",
       {kRuntimeError, "invalid_launch", false, kExplainsWrong,
        "a kernel was not started: its launch is invalid"}},
      {"invalid_free", {kRuntimeError, "invalid_free", false, false, "frees what is no allocation"}},
      {"host_copy_overrun",
       {kRuntimeError, "out_of_bounds", false, false, "a copy leaves the allocation that it begins in"}},
      {"device_memory_leak",
       {kRuntimeError, "device_memory_leak", false, false, "device memory was never freed"}},
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
  return fmt::format("{}:{}: ", file.substr(file.rfind('/') + 1), line->get<std::int64_t>());
}

// A finding's message at its place; what its kind means where it has none.
std::string told(const nlohmann::json& finding, const Meaning& meaning) {
  const std::string message = text_of(finding, "message");
  return place(finding) + (message.empty() ? meaning.sentence : message);
}

// The emulator tells kernels first and then each one's lines and buffers, as objects in a row; here they
// stand inside their kernel.
nlohmann::json nest(const nlohmann::json& objects) {
  nlohmann::json kernels = nlohmann::json::array();
  std::map<std::string, std::size_t> position;
  for (nlohmann::json item : objects) {
    if (!item.is_object()) continue;
    for (const char* ours : {"lines", "buffers"}) item.erase(ours);
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
      outcome.message += fmt::format("; {} ({})", told(finding, m), meaning->first);
      return;
    }
    const bool explains = outcome.verdict == verdicts::kRuntimeError &&
                          (outcome.reason == "cuda_error" || outcome.reason == "crashed");
    if (!explains && !(outcome.accepted() && m.lowers_accepted)) continue;
    outcome.verdict = m.verdict;
    outcome.reason = m.reason;
    outcome.message = told(finding, m);
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

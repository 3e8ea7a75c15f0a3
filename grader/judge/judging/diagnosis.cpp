#include "judge/judging/diagnosis.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "judge/judging/performance_problems.h"

namespace warpgrade {
namespace {

// What a finding did to the program; the smaller is told first.
enum class Effect {
  kEnds,      // the kernel ended there, and every later call fails
  kRefused,   // a call returned an error and did nothing
  kSuspect,   // may make an answer wrong
  kHint,      // explains a wrong answer where nothing else does
  kTidiness,  // changes no answer
};

// The verdict and reason that a finding gives to a case that it ended, and to an accepted one.
struct Meaning {
  Verdict verdict;
  Reason reason;
  Effect effect;
  const char* sentence;  // where the finding has no message of its own
};

// Every kind of emulator/include/warpemu/findings.h.
const std::map<std::string, Meaning>& meanings() {
  using enum Effect;
  static const std::map<std::string, Meaning> table{
      {"out_of_bounds",
       {Verdict::kRuntimeError, Reason::kOutOfBounds, kEnds, "accesses memory outside every allocation"}},
      {"null_pointer",
       {Verdict::kRuntimeError, Reason::kIllegalAddress, kEnds, "accesses memory through a null pointer"}},
      {"use_after_free",
       {Verdict::kRuntimeError, Reason::kUseAfterFree, kEnds, "accesses memory that was freed"}},
      {"misaligned",
       {Verdict::kRuntimeError, Reason::kMisalignedAddress, kEnds,
        "accesses an address that is not a multiple of the access's width"}},
      {"foreign_stack",
       {Verdict::kRuntimeError, Reason::kForeignStack, kEnds,
        "accesses another thread's local variable through a pointer"}},
      {"other_device",
       {Verdict::kRuntimeError, Reason::kOtherDevice, kEnds,
        "accesses memory of another device without peer access"}},
      {"read_only_write",
       {Verdict::kWrongAnswer, Reason::kInputModified, kEnds, "writes to a read-only input"}},
      {"barrier_deadlock",
       {Verdict::kTimeLimit, Reason::kBarrierDeadlock, kEnds,
        "threads wait for other threads that never arrive"}},
      {"barrier_count",
       {Verdict::kRuntimeError, Reason::kBarrierCount, kEnds,
        "a barrier waits for more threads than ever arrive"}},
      {"launch_timeout", {Verdict::kTimeLimit, Reason::kOutOfTime, kEnds, "the kernel does not end"}},
      {"trap", {Verdict::kRuntimeError, Reason::kTrap, kEnds, "the kernel stopped itself"}},
      {"assert", {Verdict::kRuntimeError, Reason::kAssert, kEnds, "an assertion in the kernel failed"}},
      {"stack_overflow", {Verdict::kRuntimeError, Reason::kStackOverflow, kEnds, "a thread's stack is full"}},
      {"bad_call",
       {Verdict::kRuntimeError, Reason::kBadCall, kEnds, "calls an address at which no function begins"}},
      // It counts as the submission's: else whoever calls such a function on hard cases would not be
      // judged there.
      {"unsupported",
       {Verdict::kRuntimeError, Reason::kUnsupportedOnEmulator, kRefused,
        "the emulator cannot run this: it needs a GPU"}},
      {"invalid_launch",
       {Verdict::kRuntimeError, Reason::kInvalidLaunch, kRefused,
        "a kernel was not started: its launch is invalid"}},
      {"invalid_copy",
       {Verdict::kRuntimeError, Reason::kInvalidCopy, kRefused, "the arguments of a copy are invalid"}},
      {"invalid_free",
       {Verdict::kRuntimeError, Reason::kInvalidFree, kRefused,
        "frees a pointer that no allocation returned"}},
      {"host_copy_overrun",
       {Verdict::kRuntimeError, Reason::kOutOfBounds, kRefused,
        "a copy goes beyond the allocation that it begins in"}},
      {"divergent_barrier",
       {Verdict::kRuntimeError, Reason::kDivergentBarrier, kSuspect,
        "threads of a block wait at different barriers"}},
      {"partial_warp",
       {Verdict::kRuntimeError, Reason::kPartialWarp, kSuspect,
        "some lanes of a warp do not take part in an operation that needs the whole warp"}},
      {"wrong_mask",
       {Verdict::kRuntimeError, Reason::kWrongMask, kSuspect,
        "a lane calls with a mask that does not name it"}},
      {"undefined_shuffle",
       {Verdict::kWrongAnswer, Reason::kUndefinedShuffle, kSuspect,
        "a lane reads the value of a lane that does not take part"}},
      {"unawaited_product",
       {Verdict::kWrongAnswer, Reason::kUnawaitedProduct, kSuspect,
        "uses the result of a warp group's product before the product has ended"}},
      {"shared_race",
       {Verdict::kWrongAnswer, Reason::kRace, kSuspect, "threads race for the same place in shared memory"}},
      {"global_race",
       {Verdict::kWrongAnswer, Reason::kRace, kSuspect, "threads race for the same place in global memory"}},
      {"uninitialized_read",
       {Verdict::kWrongAnswer, Reason::kUninitializedRead, kSuspect, "reads memory that nobody has written"}},
      {"aliased_shared",
       {Verdict::kWrongAnswer, Reason::kAliasedShared, kHint,
        "two dynamic shared arrays begin at the same address"}},
      {"unordered",
       {Verdict::kWrongAnswer, Reason::kUnordered, kHint,
        "uses memory that a command in another stream uses, and nothing orders the two"}},
      {"early_exit",
       {Verdict::kWrongAnswer, Reason::kEarlyExit, kHint,
        "threads have returned before a barrier that others reach"}},
      {"device_memory_leak",
       {Verdict::kRuntimeError, Reason::kDeviceMemoryLeak, kTidiness, "device memory was never freed"}},
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

// free() of a kernel ends it, as cudaFree() does not: a kernel is named where one was running.
Effect effect_of(const nlohmann::json& finding, const Meaning& meaning) {
  const bool in_kernel = text_of(finding, "kind") == "invalid_free" && !text_of(finding, "kernel").empty();
  return in_kernel ? Effect::kEnds : meaning.effect;
}

bool explains(Effect effect) {
  return effect == Effect::kEnds || effect == Effect::kRefused || effect == Effect::kSuspect;
}

// A finding that is understood.
struct KnownFinding {
  std::string kind;
  const Meaning* meaning;
  Effect effect;
  std::string text;  // its message at its place; what its kind means where it has none
};

std::vector<KnownFinding> understood(const nlohmann::json& diagnostics) {
  std::vector<KnownFinding> known_findings;
  for (const nlohmann::json& finding : diagnostics) {
    const auto known = meanings().find(text_of(finding, "kind"));
    if (known == meanings().end()) continue;
    const Meaning& meaning = known->second;
    const std::string message = text_of(finding, "message");
    known_findings.push_back({known->first, &meaning, effect_of(finding, meaning),
                              place(finding) + (message.empty() ? meaning.sentence : message)});
  }
  return known_findings;
}

// "; also: spmm.cu:12: reads ... (shared_race)" for what stands behind the first `skipped` findings.
std::string also(const std::vector<KnownFinding>& findings, size_t skipped) {
  constexpr size_t kMostListed = 2;
  std::string text;
  size_t listed = 0, more = 0;
  for (size_t k = skipped; k < findings.size(); ++k) {
    if (findings[k].effect == Effect::kTidiness) continue;
    if (listed++ < kMostListed)
      text += fmt::format("; also: {} ({})", findings[k].text, findings[k].kind);
    else
      ++more;
  }
  return more == 0 ? text : text + fmt::format("; also: {} more", more);
}

// The emulator tells kernels first and then each one's lines and buffers, as objects in a row; here they
// stand inside their kernel.
nlohmann::json nest(const nlohmann::json& objects) {
  nlohmann::json kernels = nlohmann::json::array();
  std::map<std::string, std::size_t> position;
  for (nlohmann::json item : objects) {
    if (!item.is_object()) continue;
    if (item.contains("launch_group")) continue;
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

nlohmann::json order_diagnostics(const nlohmann::json& diagnostics) {
  std::vector<nlohmann::json> ordered(diagnostics.begin(), diagnostics.end());
  const auto rank = [](const nlohmann::json& finding) {
    const auto known = meanings().find(text_of(finding, "kind"));
    return known == meanings().end() ? Effect::kTidiness : effect_of(finding, known->second);
  };
  std::stable_sort(ordered.begin(), ordered.end(),
                   [&](const auto& x, const auto& y) { return rank(x) < rank(y); });
  return ordered;
}

void apply_diagnostics(const nlohmann::json& diagnostics, Outcome& outcome) {
  const std::vector<KnownFinding> findings = understood(order_diagnostics(diagnostics));
  if (findings.empty()) return;
  const KnownFinding& first = findings.front();
  // A program that looks at errors ends itself, or throws, when a kernel has failed.
  const bool returned_error =
      outcome.verdict == Verdict::kRuntimeError &&
      (outcome.reason == Reason::kCudaError || outcome.reason == Reason::kCrashed ||
       outcome.reason == Reason::kExitedEarly || outcome.reason == Reason::kException);
  const bool left_out = outcome.verdict == Verdict::kNotImplemented && first.kind == "unsupported";
  const bool wrong = outcome.verdict == Verdict::kWrongAnswer;
  const bool ended = first.effect == Effect::kEnds && (outcome.accepted() || wrong || returned_error);
  const bool refused = first.effect == Effect::kRefused && returned_error;
  if (ended || refused || left_out) {
    const std::string before = outcome.message.empty() ? "" : fmt::format(" ({})", outcome.message);
    outcome.verdict = first.meaning->verdict;
    outcome.reason = first.meaning->reason;
    outcome.message = first.text + before + also(findings, 1);
  } else if (returned_error) {
    outcome.message += also(findings, 0);
  } else if (wrong && first.effect != Effect::kTidiness) {
    const std::string cause = fmt::format("{} ({})", first.text, first.kind);
    outcome.message =
        (explains(first.effect) ? cause + "; " + outcome.message : outcome.message + "; " + cause) +
        also(findings, 1);
  }
}

bool ended_by_steps(const nlohmann::json& diagnostics) {
  return std::any_of(diagnostics.begin(), diagnostics.end(), [](const nlohmann::json& finding) {
    return finding.value("kind", "") == "launch_timeout" &&
           finding.value("message", "").find("warp instructions") != std::string::npos;
  });
}

bool explains_wrong_answer(const nlohmann::json& finding) {
  const std::string kind = text_of(finding, "kind");
  const auto known = meanings().find(kind);
  // A kernel that takes long is no cause: checks and other schedules take longer than what they look at.
  return known != meanings().end() && kind != "launch_timeout" && kind != "unsupported" &&
         explains(effect_of(finding, known->second));
}

std::string finding_text(const nlohmann::json& finding) {
  const std::vector<KnownFinding> findings = understood(nlohmann::json::array({finding}));
  return findings.empty() ? "" : fmt::format("{} ({})", findings.front().text, findings.front().kind);
}

void explain_refusal(const nlohmann::json& diagnostics, Outcome& outcome) {
  const bool by_the_call =
      outcome.verdict == Verdict::kNotImplemented ||
      (outcome.verdict == Verdict::kRuntimeError && outcome.reason == Reason::kCudaError);
  for (const nlohmann::json& finding : diagnostics) {
    if (!by_the_call || finding.value("kind", "") != "unsupported") continue;
    outcome.verdict = Verdict::kRuntimeError;
    outcome.reason = Reason::kUnsupported;
    outcome.message =
        fmt::format("{} {} (a course whose policy says `host_isolation: any` can judge it with --direct)",
                    finding.value("message", ""), finding.value("advice", ""));
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
  totals["findings"] = find_performance_problems(kernels);
  totals["kernels"] = kernels;
  nlohmann::json groups = nlohmann::json::array();
  for (const nlohmann::json& item : objects) {
    if (item.is_object() && item.contains("launch_group")) groups.push_back(item);
  }
  if (!groups.empty()) totals["launch_groups"] = std::move(groups);
  return totals;
}

}  // namespace warpgrade

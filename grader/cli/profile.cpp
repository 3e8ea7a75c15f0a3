// `warpgrade profile SUBMISSION --case C`: runs one case on the emulator and says where the work goes:
// counters a kernel, what is wrong with them, the source with figures beside its lines.
#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "base/error.h"
#include "base/files.h"
#include "base/process.h"
#include "base/say.h"
#include "base/toolchain.h"
#include "cli/commands.h"
#include "cli/profile_elsewhere.h"
#include "course/batch/grade_run.h"
#include "course/profile/device_rates.h"
#include "course/profile/estimate_json.h"
#include "course/profile/text.h"
#include "judge/judging/figures.h"
#include "judge/labs/registry.h"
#include "record/outcome.h"

namespace warpgrade {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

struct ProfileOptions {
  fs::path submission;
  std::string lab = "spmm";
  std::string test_case;
  std::optional<fs::path> policy;
  bool whole_source = false;
  bool as_json = false;
  bool allow_unsandboxed = false;
  std::string device = "h200";  // of which the time is estimated; none: no estimate
  bool no_naive = false;
  bool hardware = false;           // ncu's counters of this machine's GPU
  std::string remote;              // ... of the course's
  std::optional<fs::path> output;  // profile.md and profile.json are written there as well
};

constexpr const char* kNoDevice = "none";

// The emulator describes itself as the device of which the time is estimated.
std::optional<DeviceRates> take_device(const ProfileOptions& options) {
  if (options.device == kNoDevice) return std::nullopt;
  const auto rates = find_rates(options.device);
  if (!rates) {
    throw UsageError(fmt::format("--device: no rates of '{}' are known; choose one of {}, or none",
                                 options.device, fmt::join(devices_with_rates(), ", ")));
  }
  setenv("WARPEMU_DEVICE", rates->described_as.c_str(), 1);
  setenv("WARPGRADE_EMULATOR_ARCH", rates->architecture.c_str(), 1);
  return rates;
}

// The record of the one case; compilation failures have one, too.
Record judge(const ProfileOptions& options, const fs::path& submission, const fs::path& run) {
  const Lab& lab = find_lab(options.lab);
  const Policy policy = load_policy(policy_file(lab, options.policy), vocabulary_of(lab));
  const std::vector<Case> cases = select_cases(lab, policy, {options.test_case}, "emulator");
  if (cases.size() != 1) {
    throw UsageError(
        fmt::format("'{}' names {} cases; give the id of one case: `warpgrade labs {}` lists them",
                    options.test_case, cases.size(), options.lab));
  }
  const std::size_t submissions = find_submissions(submission, options.lab).size();
  if (submissions != 1) {
    throw UsageError(fmt::format("{} holds {} submissions; give the folder of one submission",
                                 submission.string(), submissions));
  }
  GradeOptions grade_options;
  grade_options.lab = options.lab;
  grade_options.submissions = submission;
  grade_options.run = run;
  grade_options.backend = "emulator";
  grade_options.cases = {options.test_case};
  grade_options.policy = options.policy;
  grade_options.allow_unsandboxed = options.allow_unsandboxed;
  // The others cost time and find no cost.
  grade_options.checks = options.device == kNoDevice ? "memcheck,counters" : "memcheck,counters,levels";
  grade_options.measure_speed = false;
  grade_options.quiet = true;
  return RunFolder(grade(grade_options).run).read_records().at(0);
}

json estimate_of(const Record& record, const DeviceRates& device) {
  return estimate_json(record.counters, record.kernels, device);
}

// Of the staff's naive solution on the same case, where it is here and can be judged.
json naive_estimate(const ProfileOptions& options, const DeviceRates& device, const fs::path& scratch) {
  const fs::path naive = project_root() / "reference" / options.lab / "naive";
  std::error_code error;
  if (options.no_naive || !fs::is_directory(naive) || fs::equivalent(naive, options.submission, error))
    return {};
  try {
    return estimate_of(judge(options, naive, scratch / "naive"), device);
  } catch (const UsageError&) {
    return {};
  }
}

// Adds `estimate`, and orders the findings by what curing them gains.
void add_estimate(json& out, const ProfileOptions& options, const Record& record, const DeviceRates& device,
                  const fs::path& scratch) {
  json estimate = estimate_of(record, device);
  if (!estimate.contains("refusal")) set_beside_naive(estimate, naive_estimate(options, device, scratch));
  order_by_gain(out["counters"], estimate);
  out["estimate"] = std::move(estimate);
}

std::string heading(const Record& record) {
  return fmt::format("{}: {} on {}, {}\n", record.submission.id, record.lab, record.test_case.id,
                     word_of(record.outcome.verdict));
}

std::string markdown(const Record& record, const std::string& estimate, const std::string& table,
                     const std::string& findings, const std::string& source) {
  const std::string section = estimate.empty() ? "" : fmt::format("\n## Estimate\n```\n{}```\n", estimate);
  return fmt::format("# {}{}\n```\n{}```\n\n## Findings\n```\n{}```\n\n## Source\n```\n{}```\n",
                     heading(record), section, table, findings, source);
}

// On a GPU, where that is asked for and can be had.
std::optional<int> profile_on_gpu(const ProfileOptions& options) {
  ElsewhereOptions asked{options.submission, options.lab,    options.test_case, options.remote,
                         options.policy,     options.output, options.as_json,   options.allow_unsandboxed};
  if (options.hardware) return profile_on_hardware(asked);
  return options.remote.empty() ? std::nullopt : profile_remotely(asked);
}

int profile(const ProfileOptions& options) {
  if (const auto done = profile_on_gpu(options)) return *done;
  const TemporaryDirectory scratch("warpgrade-profile");
  const auto device = take_device(options);
  const Record record = judge(options, options.submission, scratch.path() / "run");
  const Outcome& outcome = record.outcome;
  const bool accepted = outcome.accepted();
  json out = {{"schema", "warpgrade.profile.v1"},
              {"submission", record.submission},
              {"lab", options.lab},
              {"case", record.test_case},
              {"outcome", outcome},
              {"counters", record.counters.is_null() ? json::object() : record.counters}};
  const json& counters = out["counters"];
  const bool counted = !list(counters, "kernels").empty();
  if (device && counted && accepted) add_estimate(out, options, record, *device, scratch.path());
  const std::string estimate = out.contains("estimate") ? estimate_text(out["estimate"]) : "";
  const std::string table = kernel_table(counters), findings = finding_list(counters);
  const std::string source =
      counted ? annotated_source(counters, options.submission, options.whole_source) : "";
  if (options.output) {
    make_directories(*options.output);
    write_text(*options.output / "profile.json", out.dump(1) + "\n");
    write_text(*options.output / "profile.md", markdown(record, estimate, table, findings, source));
  }
  if (options.as_json) {
    fmt::print("{}\n", out.dump(1));
  } else {
    tell("{}", heading(record));
    if (!accepted) {
      tell("  {}\n  correct it first: {} check {} --lab {} --cases {}\n", outcome.message, own_command(),
           shell_word(options.submission.string()), options.lab, options.test_case);
    }
    if (!estimate.empty()) tell("\n{}", estimate);
    if (counted) fmt::print("\n{}\n{}\n{}", table, findings, source);
    if (!counted) tell("  no kernel ran to its end, so nothing was counted\n");
    if (options.output) tell("\nwritten: {}\n", (*options.output / "profile.md").string());
  }
  if (outcome.verdict == Verdict::kJudgeFault) return kExitJudgeFault;
  return accepted ? kExitGraded : kExitNotAccepted;
}

}  // namespace

void add_profile_command(CLI::App& app, int& code) {
  const auto options = std::make_shared<ProfileOptions>();
  CLI::App* command =
      app.add_subcommand("profile", "show where a submission's work goes, line by line, on the emulator");
  command->add_option("submission", options->submission, "its folder")->required();
  command->add_option("--lab", options->lab, "the lab")->capture_default_str();
  command->add_option("--case", options->test_case, "a case's id (`warpgrade labs LAB` lists them)")
      ->required();
  command->add_flag("--full", options->whole_source,
                    "show every line of the source, not only the important lines");
  command->add_flag("--json", options->as_json, "print JSON");
  command->add_option("--policy", options->policy,
                      "the policy that adds the case; default: the lab's policy");
  command->add_option("--device", options->device, "the GPU of which the time is estimated, or none")
      ->capture_default_str();
  command->add_flag("--no-naive", options->no_naive, "do not estimate the naive solution as well");
  CLI::Option* hardware = command->add_flag(
      "--hardware", options->hardware, "count on this machine's GPU, with NVIDIA's ncu, beside the emulator");
  command->add_option("--remote", options->remote, "count on the course's GPU: the desk's host")
      ->excludes(hardware);
  command->add_option("--output", options->output, "a folder for profile.md and profile.json");
  command->add_flag("--allow-unsandboxed", options->allow_unsandboxed,
                    "go on where bubblewrap does not work");
  command->callback([options, &code] { code = profile(*options); });
}

}  // namespace warpgrade

// `warpgrade profile SUBMISSION --case C`: runs one case on the emulator and says where the work goes:
// counters a kernel, what is wrong with them, the source with figures beside its lines.
#include <fmt/core.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "base/error.h"
#include "base/files.h"
#include "base/process.h"
#include "batch/grade_run.h"
#include "cli/commands.h"
#include "profile/figures.h"
#include "profile/text.h"

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
  std::optional<fs::path> output;  // profile.md and profile.json are written there as well
};

// The record of the one case; compilation failures have one, too.
json judge(const ProfileOptions& options, const fs::path& run) {
  const Lab& lab = find_lab(options.lab);
  const Policy policy = load_policy(policy_file(lab, options.policy), vocabulary_of(lab));
  const std::vector<CaseSpec> cases = select_cases(lab, policy, {options.test_case}, "emulator");
  if (cases.size() != 1) {
    throw UsageError(fmt::format("'{}' names {} cases; give one: `warpgrade labs {}` lists them",
                                 options.test_case, cases.size(), options.lab));
  }
  const std::size_t submissions = find_submissions(options.submission, options.lab).size();
  if (submissions != 1) {
    throw UsageError(fmt::format("{} holds {} submissions; give the folder of one",
                                 options.submission.string(), submissions));
  }
  GradeOptions grade_options;
  grade_options.lab = options.lab;
  grade_options.submissions = options.submission;
  grade_options.run = run;
  grade_options.backend = "emulator";
  grade_options.cases = {options.test_case};
  grade_options.policy = options.policy;
  grade_options.allow_unsandboxed = options.allow_unsandboxed;
  grade_options.checks = "memcheck,counters,levels";  // the others cost time and find no cost
  grade_options.measure_speed = false;
  grade_options.quiet = true;
  return RunFolder(grade(grade_options).run).read_records().at(0);
}

std::string heading(const json& record) {
  const json& spec = record.at("case");
  return fmt::format("{}: {} on {}, {}\n", word(record.at("submission"), "id"),
                     record.at("lab").get<std::string>(), spec.at("id").get<std::string>(),
                     word(record.at("outcome"), "verdict"));
}

std::string markdown(const json& record, const std::string& table, const std::string& findings,
                     const std::string& source) {
  return fmt::format("# {}\n```\n{}```\n\n## Findings\n```\n{}```\n\n## Source\n```\n{}```\n",
                     heading(record), table, findings, source);
}

int profile(const ProfileOptions& options) {
  const TemporaryDirectory scratch("warpgrade-profile");
  const json record = judge(options, scratch.path() / "run");
  const json& outcome = record.at("outcome");
  const bool accepted = word(outcome, "verdict") == "accepted";
  const json counters = record.value("counters", json::object());
  const json out = {{"schema", "warpgrade.profile.v1"},
                    {"submission", record.at("submission")},
                    {"lab", options.lab},
                    {"case", record.at("case")},
                    {"outcome", outcome},
                    {"counters", counters}};
  const std::string table = kernel_table(counters), findings = finding_list(counters);
  const bool counted = !list(counters, "kernels").empty();
  const std::string source =
      counted ? annotated_source(counters, options.submission, options.whole_source) : "";
  if (options.output) {
    make_directories(*options.output);
    write_text(*options.output / "profile.json", out.dump(1) + "\n");
    write_text(*options.output / "profile.md", markdown(record, table, findings, source));
  }
  if (options.as_json) {
    fmt::print("{}\n", out.dump(1));
  } else {
    fmt::print("{}", heading(record));
    if (!accepted) {
      fmt::print(
          "  {}\n  correct it first: warpgrade check {} --lab {} --cases "
          "{}\n",
          word(outcome, "message"), options.submission.string(), options.lab, options.test_case);
    }
    if (counted) fmt::print("\n{}\n{}\n{}", table, findings, source);
    if (!counted) fmt::print("  no kernel ran to its end, so nothing was counted\n");
    if (options.output) fmt::print("\nwritten: {}\n", (*options.output / "profile.md").string());
  }
  if (word(outcome, "verdict") == "judge_fault") return kExitJudgeFault;
  return accepted ? kExitGraded : kExitNotAccepted;
}

}  // namespace

void add_profile_command(CLI::App& app, int& code) {
  const auto options = std::make_shared<ProfileOptions>();
  CLI::App* command =
      app.add_subcommand("profile", "say where a submission's work goes, line by line, on the emulator");
  command->add_option("submission", options->submission, "its folder")->required();
  command->add_option("--lab", options->lab, "the lab")->capture_default_str();
  command->add_option("--case", options->test_case, "a case's id (`warpgrade labs LAB` lists them)")
      ->required();
  command->add_flag("--full", options->whole_source, "every line of the source, not those that matter");
  command->add_flag("--json", options->as_json, "print JSON");
  command->add_option("--policy", options->policy, "that adds the case; default: the lab's");
  command->add_option("--output", options->output, "a folder for profile.md and profile.json");
  command->add_flag("--allow-unsandboxed", options->allow_unsandboxed,
                    "go on where bubblewrap does not work");
  command->callback([options, &code] { code = profile(*options); });
}

}  // namespace warpgrade

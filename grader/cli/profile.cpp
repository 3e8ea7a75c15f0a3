#include "cli/profile.h"

#include <fmt/core.h>

#include "base/error.h"
#include "base/files.h"
#include "base/process.h"
#include "cli/commands.h"
#include "profile/figures.h"
#include "profile/text.h"

namespace warpgrade {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

// The record of the one case; compilation failures have one, too.
json judge(const ProfileOptions& options, const fs::path& run) {
  const std::vector<CaseSpec> cases = select_cases(find_lab(options.lab), {options.test_case}, "emulator");
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
  grade_options.allow_unsandboxed = options.allow_unsandboxed;
  grade_options.checks = "memcheck,counters";  // the others cost time and find no cost
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

}  // namespace

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
    fs::create_directories(*options.output);
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

}  // namespace warpgrade

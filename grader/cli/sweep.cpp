// `warpgrade sweep SUBMISSION --param NAME=1,2,4`: compiles every combination, judges and times them on the
// chosen cases, prints tables, draws a heat map.
#include <fmt/core.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/files.h"
#include "base/reports_module.h"
#include "base/say.h"
#include "cli/commands.h"
#include "cli/judging_options.h"
#include "course/sweep/summary.h"
#include "course/sweep/variants.h"

namespace warpgrade {
namespace {

struct SweepOptions {
  std::filesystem::path submission;
  std::vector<std::string> parameters;  // "SPLIT_SIZE=32,64"
  size_t most_variants = 64;
  GradeOptions grade;
};

std::vector<SweepVariant> variants_of(const SweepOptions& options) {
  std::vector<SweepParameter> parameters;
  for (const std::string& text : options.parameters) parameters.push_back(parse_parameter(text));
  return combine(parameters, options.most_variants);
}

int sweep(SweepOptions options) {
  const std::vector<SweepVariant> variants = variants_of(options);
  const TemporaryDirectory scratch("warpgrade-sweep");
  write_variants(options.submission, options.grade.lab, variants, scratch.path());
  GradeOptions& grade_options = options.grade;
  grade_options.submissions = scratch.path();
  if (grade_options.run.empty()) grade_options.run = default_run_folder(grade_options.lab + "-sweep");
  // Without a GPU there is nothing to time: the small cases count instructions.
  if (grade_options.cases.empty() && choose_backend(grade_options.backend).name == "emulator")
    grade_options.cases = {"public"};
  const GradeSummary summary = grade(grade_options);
  const RunFolder folder(summary.run);
  const nlohmann::json found = summarize_sweep(folder.read_run(), folder.read_records(), variants);
  write_text(summary.run / "sweep.json", found.dump(1) + "\n");
  tell("{}", sweep_tables(found));
  if (summary.faults > 0) {
    tell("{} cases met a fault of the judge; run the same command again to redo them\n", summary.faults);
    return kExitJudgeFault;
  }
  fmt::print("{}", run_reports_module("warpgrade_reports.sweep", {summary.run.string()}));
  return kExitGraded;
}

}  // namespace

void add_sweep_command(CLI::App& app, int& code) {
  const auto options = std::make_shared<SweepOptions>();
  CLI::App* command =
      app.add_subcommand("sweep", "compile a submission with many settings and find the best");
  command->add_option("submission", options->submission, "its folder")->required();
  command
      ->add_option("--param", options->parameters,
                   "a macro and its values, NAME=1,2,4; with several macros every combination is tried")
      ->required()
      ->take_all();
  command
      ->add_option("--max-variants", options->most_variants,
                   "refuse to start with more combinations than this")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  add_run_options(*command, options->grade);
  command->callback([options, &code] { code = sweep(*options); });
}

}  // namespace warpgrade

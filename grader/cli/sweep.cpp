#include "cli/sweep.h"

#include <fmt/core.h>

#include "base/error.h"
#include "base/files.h"
#include "base/process.h"
#include "cli/commands.h"
#include "sweep/summary.h"
#include "sweep/variants.h"

namespace warpgrade {
namespace {

std::vector<SweepVariant> variants_of(const SweepOptions& options) {
  std::vector<SweepParameter> parameters;
  for (const std::string& text : options.parameters) parameters.push_back(parse_parameter(text));
  return combine(parameters, options.most_variants);
}

}  // namespace

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
  fmt::print("{}", sweep_tables(found));
  if (summary.faults > 0) {
    fmt::print("{} cases met a fault of the judge; run the same command again to redo them\n",
               summary.faults);
    return kExitJudgeFault;
  }
  return render("warpgrade_reports.sweep", summary.run);
}

}  // namespace warpgrade

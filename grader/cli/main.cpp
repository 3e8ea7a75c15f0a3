// warpgrade: reads the command line. Exit codes: 0 done, 1 bad input, 2 a fault of the judge, 3 `check` found
// a case that is not accepted, 130 interrupted.
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <cstdio>

#include "base/error.h"
#include "base/process.h"
#include "cli/batch.h"
#include "cli/commands.h"
#include "cli/export.h"
#include "cli/grades.h"
#include "cli/profile.h"
#include "cli/submit.h"
#include "cli/sweep.h"
#include "warpgrade/datasets/catalog.h"
#include "warpgrade/datasets/cli.h"

namespace warpgrade {
namespace {

void add_judging_options(CLI::App& command, GradeOptions& options) {
  command.add_option("--lab", options.lab, "the lab")->capture_default_str();
  command.add_option("--backend", options.backend, "auto, cuda or emulator")->capture_default_str();
  command
      .add_option("--cases", options.cases,
                  "ids, datasets or sets (public, real, real-large, stand-in, large); * matches, ?name may "
                  "be missing")
      ->delimiter(',');
  command.add_option(
      "--input", options.input,
      "judge on an input of your own instead of the lab's cases (gcn: a folder with graph.txt, "
      "x.bin, w.bin)");
  command.add_option("--policy", options.policy, "YAML file; default: grader/policies/<lab>.yaml");
  command.add_option(
      "--jobs", options.jobs,
      "submissions at a time (0: a core each on the emulator; one, in a batch a few, on a GPU)");
  command.add_flag("--allow-unsandboxed", options.allow_unsandboxed,
                   "go on where bubblewrap does not work; records say so");
  command.add_option("--checks", options.checks, "what the emulator looks for; none: out of bounds only")
      ->capture_default_str();
  command.add_option("--speed-budget", options.speed_budget_s, "seconds of timed pairs a case")
      ->capture_default_str();
}

void add_run_options(CLI::App& command, GradeOptions& options) {
  add_judging_options(command, options);
  command.add_option("--run", options.run, "the run's folder; the same folder goes on where it stopped");
  command.add_flag("--fresh", options.fresh_on_change, "move an older run of other inputs aside");
  command.add_flag("!--no-speed", options.measure_speed, "correctness only");
  command.add_option("--baselines", options.baselines, "time only these beside each submission")
      ->delimiter(',');
  command.add_flag("--self", options.self_baseline,
                   "A/A: time each submission against itself too; 1.0 is expected");
  command
      .add_option(
          "--least-pairs", options.least_pairs,
          "timed pairs of a case before its budget may end them; below 8 intervals hold less than 95 %")
      ->check(CLI::Range(3, 255))
      ->capture_default_str();
  command
      .add_option("--baseline-budget", options.baseline_budget_s,
                  "seconds that a baseline may take in a case; a slower one is left out of the later pairs")
      ->check(CLI::PositiveNumber);
  command.add_flag("--quiet", options.quiet, "no progress");
}

int run(int argc, char** argv) {
  CLI::App app{"Judges GPU-programming labs: correctness, speed-ups with intervals, reports.", "warpgrade"};
  app.require_subcommand(1);
  app.set_version_flag("--version",
                       [] { return harness_identity().version + " " + harness_identity().hash; });
  int code = kExitGraded;

  std::optional<std::string> lab;
  CLI::App* labs_command = app.add_subcommand("labs", "list the labs, or a lab's cases");
  bool baselines = false;
  labs_command->add_option("lab", lab, "a lab's name");
  labs_command->add_flag("--baselines", baselines, "print the folders of all baselines instead");
  labs_command->callback([&] { code = baselines ? list_baselines() : list_labs(lab); });

  CheckOptions check_options;
  CLI::App* check_command = app.add_subcommand("check", "judge one submission on the public cases");
  check_command->add_option("submission", check_options.submission, "its folder")->required();
  add_judging_options(*check_command, check_options.grade);
  check_command->add_flag("--verbose", check_options.verbose, "show progress");
  check_command->callback([&] { code = check(check_options); });

  GradeOptions grade_options;
  bool with_references = false;
  CLI::App* grade_command = app.add_subcommand("grade", "judge a class");
  grade_command->add_option("submissions", grade_options.submissions,
                            "a folder with one sub-folder a student");
  grade_command->add_flag("--with-reference", with_references, "the staff's solutions as well");
  grade_command->add_option("--reference", grade_options.references,
                            "a staff solution to judge beside the class");
  add_run_options(*grade_command, grade_options);
  grade_command->callback([&] {
    if (!grade_options.submissions && !with_references && grade_options.references.empty()) {
      throw UsageError("nothing to grade: give a folder of submissions, or --with-reference");
    }
    code = grade_class(grade_options, with_references);
  });

  GradeOptions bench_options;
  CLI::App* bench_command = app.add_subcommand("bench", "time the staff's solutions against the thresholds");
  add_run_options(*bench_command, bench_options);
  bench_command->add_option("--submissions", bench_options.submissions, "time these as well");
  bench_command->callback([&] { code = bench(bench_options); });

  SweepOptions sweep_options;
  CLI::App* sweep_command =
      app.add_subcommand("sweep", "compile a submission with many settings and find the best");
  sweep_command->add_option("submission", sweep_options.submission, "its folder")->required();
  sweep_command
      ->add_option("--param", sweep_options.parameters,
                   "a macro and its values, NAME=1,2,4; several make every combination")
      ->required()
      ->take_all();
  sweep_command->add_option("--max-variants", sweep_options.most_variants, "refuse more combinations")
      ->capture_default_str();
  add_run_options(*sweep_command, sweep_options.grade);
  sweep_command->callback([&] { code = sweep(sweep_options); });

  ProfileOptions profile_options;
  CLI::App* profile_command =
      app.add_subcommand("profile", "say where a submission's work goes, line by line, on the emulator");
  profile_command->add_option("submission", profile_options.submission, "its folder")->required();
  profile_command->add_option("--lab", profile_options.lab, "the lab")->capture_default_str();
  profile_command
      ->add_option("--case", profile_options.test_case, "a case's id (`warpgrade labs LAB` lists them)")
      ->required();
  profile_command->add_flag("--full", profile_options.whole_source,
                            "every line of the source, not those that matter");
  profile_command->add_flag("--json", profile_options.as_json, "print JSON");
  profile_command->add_option("--output", profile_options.output, "a folder for profile.md and profile.json");
  profile_command->add_flag("--allow-unsandboxed", profile_options.allow_unsandboxed,
                            "go on where bubblewrap does not work");
  profile_command->callback([&] { code = profile(profile_options); });

  SubmitOptions submit_options;
  CLI::App* submit_command = app.add_subcommand("submit", "pack a submission for handing in");
  submit_command->add_option("submission", submit_options.submission, "its folder")->required();
  submit_command->add_option("--lab", submit_options.lab, "the lab")->capture_default_str();
  submit_command->add_option("--output", submit_options.output, "default: <lab>-submission.tar.gz");
  submit_command->add_flag("--force", submit_options.force, "pack what does not compile, too");
  submit_command->callback([&] { code = submit(submit_options); });

  std::filesystem::path run_folder;
  std::optional<std::filesystem::path> policy;
  double share = 0.9;
  std::optional<std::string> baseline;
  const auto with_run = [&](const char* name, const char* what) {
    CLI::App* command = app.add_subcommand(name, what);
    command->add_option("run", run_folder, "a run's folder")->required();
    return command;
  };
  with_run("report", "render a run")->callback([&] { code = report(run_folder); });
  CLI::App* score_command = with_run("score", "points from records, without judging again");
  score_command->add_option("--policy", policy, "another policy than the run's own");
  score_command->callback([&] { code = score_again(run_folder, policy); });
  CLI::App* calibrate_command = with_run("calibrate", "propose thresholds from the ladder's records");
  calibrate_command->add_option("--share", share, "of the best step's speed-up")->capture_default_str();
  calibrate_command->add_option("--baseline", baseline, "another baseline than the policy's");
  calibrate_command->callback([&] { code = calibrate(run_folder, baseline, share); });

  add_grade_commands(app, code);
  add_export_command(app, code);
  add_batch_commands(app, add_run_options, code);

  datasets::DataCommandContext data_context;
  data_context.catalog_file = project_root() / "datasets/catalog.yaml";
  data_context.cache_directory = cache_directory() / "datasets";
  datasets::add_data_commands(app, data_context);

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    const int parsed = app.exit(error);
    return parsed == 0 ? kExitGraded : kExitUsage;
  }
  return code;
}

}  // namespace
}  // namespace warpgrade

int main(int argc, char** argv) {
  warpgrade::install_interrupt_handler();
  try {
    return warpgrade::run(argc, argv);
  } catch (const warpgrade::Interrupted&) {
    fmt::print(stderr, "\ninterrupted; what was recorded is kept, the same command goes on from there\n");
    return warpgrade::kExitInterrupted;
  } catch (const warpgrade::UsageError& error) {
    fmt::print(stderr, "error: {}\n", error.what());
    return warpgrade::kExitUsage;
  } catch (const warpgrade::datasets::DatasetError& error) {
    fmt::print(stderr, "error: {}\n", error.what());
    return warpgrade::kExitUsage;
  } catch (const std::exception& error) {
    fmt::print(stderr, "fault of the judge: {}\n", error.what());
    return warpgrade::kExitJudgeFault;
  }
}

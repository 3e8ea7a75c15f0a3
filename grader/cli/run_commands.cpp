// `warpgrade report`, `score` and `calibrate`: what is made from a run's records.
#include <fmt/core.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/files.h"
#include "base/reports_module.h"
#include "base/tables.h"
#include "cli/commands.h"
#include "course/batch/grade_run.h"
#include "course/score/calibrate.h"
#include "course/score/gpu_model.h"
#include "course/score/score.h"
#include "judge/labs/registry.h"

namespace warpgrade {
namespace fs = std::filesystem;
using nlohmann::json;

namespace {

int score_again(const fs::path& run, const std::optional<fs::path>& policy) {
  const RunFolder folder(run);
  folder.collect();
  fmt::print("{}", class_table(score_run(folder, policy)));
  return kExitGraded;
}

struct CalibrateOptions {
  fs::path run;
  double share = 0.9;
  std::optional<std::string> baseline;  // none: the one that the run's policy speaks of
  std::optional<fs::path> write;        // the policy that takes the thresholds
  std::optional<std::string> gpu;       // its name for the GPU's model
};

int calibrate(const CalibrateOptions& options) {
  const RunFolder folder(options.run);
  const json description = folder.read_run();
  const std::string chosen = options.baseline ? *options.baseline : policy_of(folder, description).baseline;
  const std::string proposed = propose_thresholds(description, folder.read_records(), chosen, options.share);
  if (!options.write) {
    fmt::print("{}", proposed);
    return kExitGraded;
  }
  const std::string device = description.at("device").value("name", "");
  const std::string model = options.gpu ? *options.gpu : gpu_model(device);
  if (gpu_match(model, device) == 0)
    throw UsageError(
        "the run's GPU is '{}', and '{}' is no name for it: give words of it, for instance --gpu \"{}\"",
        device, model, gpu_model(device));
  const Lab& lab = find_lab(description.at("lab").get<std::string>());
  const Policy before = load_policy(*options.write, vocabulary_of(lab));
  if (before.lab != lab.name() || before.baseline != chosen)
    throw UsageError("{}: it is a policy of lab {} over {}, and the thresholds are of lab {} over {}",
                     options.write->string(), before.lab, before.baseline, lab.name(), chosen);
  const std::string text = with_thresholds(read_text(*options.write), model, proposed);
  const Policy after =
      parse_policy(text, options.write->string(), vocabulary_of(lab));  // before anything is lost
  if (!after.thresholds_note(device).empty())
    throw JudgeFault("{}: {} did not get its thresholds", options.write->string(), model);
  write_text(*options.write, text);
  fmt::print("{}: thresholds of {}\n", options.write->string(), model);
  if (before.thresholds.datasets.contains("default") &&
      !after.thresholds_for(device).datasets.contains("default"))
    fmt::print(
        "a dataset that the ladder was not timed on has none there: add a line `default` if it should\n");
  return kExitGraded;
}

// `launches`: a run of the same ladder on the emulator, which knows blocks and grids; a GPU's records do not.
int report(const fs::path& run, const std::optional<fs::path>& launches) {
  const RunFolder folder(run);
  folder.read_run();
  folder.collect();
  score_run(folder, std::nullopt);
  std::vector<std::string> arguments{run.string()};
  if (launches) arguments.insert(arguments.end(), {"--launches", launches->string()});
  fmt::print("{}", run_reports_module("warpgrade_reports", arguments));
  return kExitGraded;
}

}  // namespace

void add_run_commands(CLI::App& app, int& code) {
  const auto run = std::make_shared<fs::path>();
  const auto with_run = [&](const char* name, const char* what) {
    CLI::App* command = app.add_subcommand(name, what);
    command->add_option("run", *run, "a run's folder")->required();
    return command;
  };
  const auto launches = std::make_shared<std::optional<fs::path>>();
  CLI::App* report_command = with_run("report", "render a run");
  report_command->add_option("--launches", *launches,
                             "the same ladder on the emulator: its blocks, grids and dynamic shared memory");
  report_command->callback([run, launches, &code] { code = report(*run, *launches); });

  const auto policy = std::make_shared<std::optional<fs::path>>();
  CLI::App* score_command = with_run("score", "points from records, without judging again");
  score_command->add_option("--policy", *policy, "another policy than the run's own");
  score_command->callback([run, policy, &code] { code = score_again(*run, *policy); });

  const auto options = std::make_shared<CalibrateOptions>();
  CLI::App* calibrate_command = with_run("calibrate", "propose thresholds from the ladder's records");
  calibrate_command->add_option("--share", options->share, "of the best step's speed-up")
      ->check(CLI::Range(0.01, 1.0))
      ->capture_default_str();
  calibrate_command->add_option("--baseline", options->baseline, "another baseline than the policy's");
  calibrate_command->add_option("--write", options->write,
                                "the policy that takes them, as thresholds of the run's GPU model");
  calibrate_command->add_option("--gpu", options->gpu, "the model's name in the policy, for instance H100");
  calibrate_command->callback([run, options, &code] {
    options->run = *run;
    code = calibrate(*options);
  });
}

}  // namespace warpgrade

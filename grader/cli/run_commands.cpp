// `warpgrade report`, `score` and `calibrate`: what is made from a run's records.
#include <fmt/core.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/reports_module.h"
#include "batch/grade_run.h"
#include "cli/commands.h"
#include "cli/tables.h"
#include "score/calibrate.h"
#include "score/score.h"

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

// Proposes thresholds over `baseline`; none: the one that the run's policy speaks of.
int calibrate(const fs::path& run, const std::optional<std::string>& baseline, double share) {
  const RunFolder folder(run);
  const json description = folder.read_run();
  const std::string chosen = baseline ? *baseline : policy_of(folder, description).baseline;
  fmt::print("{}", propose_thresholds(description, folder.read_records(), chosen, share));
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

  const auto share = std::make_shared<double>(0.9);
  const auto baseline = std::make_shared<std::optional<std::string>>();
  CLI::App* calibrate_command = with_run("calibrate", "propose thresholds from the ladder's records");
  calibrate_command->add_option("--share", *share, "of the best step's speed-up")
      ->check(CLI::Range(0.01, 1.0))
      ->capture_default_str();
  calibrate_command->add_option("--baseline", *baseline, "another baseline than the policy's");
  calibrate_command->callback([run, baseline, share, &code] { code = calibrate(*run, *baseline, *share); });
}

}  // namespace warpgrade

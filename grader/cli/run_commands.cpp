// `warpgrade report`, `score` and `calibrate`: what is made from a run's records.
#include <fmt/core.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/files.h"
#include "base/json.h"
#include "base/reports_module.h"
#include "base/say.h"
#include "base/tables.h"
#include "base/yaml_place.h"
#include "cli/calibrate_device.h"
#include "cli/commands.h"
#include "cli/grades.h"
#include "course/batch/grade_run.h"
#include "course/batch/nodes.h"
#include "course/profile/modelled_ladder.h"
#include "course/score/calibrate.h"
#include "course/score/gpu_model.h"
#include "course/score/score.h"
#include "judge/labs/registry.h"
#include "record/view.h"

namespace warpgrade {
namespace fs = std::filesystem;
using nlohmann::json;

namespace {

int score_again(const fs::path& run, const std::optional<fs::path>& policy) {
  const RunFolder folder(run);
  const json scores = collect_and_score(folder, policy), nodes = judging_nodes(folder, folder.read_run());
  tell("{}{}{}{}", class_table(scores), nodes_text(nodes), node_tests_text(folder, nodes),
       threshold_nodes_text(scores));
  return kExitGraded;
}

struct CalibrateOptions {
  fs::path run;
  bool device = false;                  // this machine's own rates: no run
  std::vector<std::string> gpus;        // of which devices
  std::optional<double> share;          // none: kMeasuredShare, or kModelledShare
  std::optional<std::string> baseline;  // none: the one that the run's policy speaks of
  std::optional<fs::path> write;        // the policy that takes the thresholds
  std::optional<std::string> gpu;       // its name for the GPU's model
  std::optional<std::string> for_gpu;   // that is not here: what the model allows there
  bool limit = false;                   // shares of the limit in place of speed-ups
};

// What a student who climbs the ladder reaches; less where nothing was measured.
constexpr double kMeasuredShare = 0.9, kModelledShare = 0.5;

// The policy that takes the thresholds, of the run's lab. The lab first: another one's words are all unknown.
Policy policy_to_change(const fs::path& file, const Lab& lab) {
  const YamlPlace name = YamlPlace::parse(read_text(file), file.string())["lab"];
  if (name.is_scalar() && name.text() != lab.name())
    name.refuse(fmt::format("it is a policy of lab {}, and the run is of {}", name.text(), lab.name()));
  return load_policy(file, vocabulary_of(lab));
}

// Shares of the limit hold for every GPU: each has its own limit.
int calibrate_limit(const CalibrateOptions& options) {
  const RunFolder folder(options.run);
  const json run = folder.read_run();
  const std::string proposed =
      propose_limit_thresholds(run, folder.read_records(), options.share.value_or(kMeasuredShare));
  if (!options.write) {
    fmt::print("{}", proposed);
    return kExitGraded;
  }
  const Lab& lab = find_lab(run.at("lab").get<std::string>());
  policy_to_change(*options.write, lab);
  const std::string text = with_limit_thresholds(read_text(*options.write), proposed);
  const Policy after = parse_policy(text, options.write->string(), vocabulary_of(lab));
  write_text(*options.write, text);
  tell("{}: shares of the limit\n", options.write->string());
  if (after.limit_points == 0) tell("they earn nothing yet: set points.limit\n");
  return kExitGraded;
}

int calibrate(const CalibrateOptions& options) {
  if (options.device) return calibrate_devices(options.gpus);
  if (options.run.empty())
    throw UsageError("give the run of a ladder, or --device to measure this machine's GPUs");
  if (options.limit) return calibrate_limit(options);
  const RunFolder folder(options.run);
  json description = folder.read_run();
  const Lab& lab = find_lab(description.at("lab").get<std::string>());
  // The policy that takes the thresholds says which times count; without one, the run's own.
  const Policy before =
      options.write ? policy_to_change(*options.write, lab) : policy_of(folder, description);
  const std::string chosen = options.baseline ? *options.baseline : policy_of(folder, description).baseline;
  std::vector<Record> records = folder.read_records();
  std::string device = description.at("device").value("name", "");
  if (options.for_gpu) {
    const DeviceRates rates = rates_of_model(*options.for_gpu);
    records = modelled_records(std::move(records), chosen, before.ratios_key(), rates);
    device = rates.name;
    description["device"]["name"] =
        fmt::format("{}: NOT MEASURED, what the model allows by {}", device,
                    rates.from_data_sheet ? "its data sheet" : "rates of the device");
  }
  const double share = options.share.value_or(options.for_gpu ? kModelledShare : kMeasuredShare);
  const std::string proposed = propose_thresholds(description, records, chosen, before.ratios_key(), share);
  if (!options.write) {
    fmt::print("{}", proposed);
    return kExitGraded;
  }
  const std::string model = options.gpu ? *options.gpu : gpu_model(device);
  if (gpu_match(model, device) == 0)
    throw UsageError(
        "the run's GPU is '{}', and '{}' is no name for it: give words of it, for instance --gpu \"{}\"",
        device, model, gpu_model(device));
  if (before.baseline != chosen)
    throw UsageError("{}: it is a policy over {}, and the thresholds are over {}", options.write->string(),
                     before.baseline, chosen);
  const std::string text = with_thresholds(read_text(*options.write), model, proposed);
  const Policy after =
      parse_policy(text, options.write->string(), vocabulary_of(lab));  // before anything is lost
  if (!after.thresholds_note(device).empty())
    throw JudgeFault("{}: {} did not get its thresholds", options.write->string(), model);
  write_text(*options.write, text);
  tell("{}: thresholds of {}\n", options.write->string(), model);
  if (before.thresholds.datasets.contains("default") &&
      !after.thresholds_for(device).datasets.contains("default"))
    tell("a dataset that the ladder was not timed on has none there: add a line `default` if it should\n");
  return kExitGraded;
}

// Whose points a person set, by submission: {owners, set: [{student, points, reason}]}.
json overrides_by_submission(const json& run, const FinalGrades& finals) {
  json submissions = json::object();
  for (const json& submission : run.at("submissions")) {
    const Scored read = submission;
    if (!read.is_students()) continue;
    const std::vector<std::string> owners = read.people();
    json set = json::array();
    for (const std::string& owner : owners) {
      const auto found = finals.points.find(owner);
      if (found == finals.points.end() || !found->second.overridden) continue;
      set.push_back({{"student", owner},
                     {"points", found->second.points.value_or(0)},
                     {"reason", found->second.reason}});
    }
    if (!set.empty()) submissions[read.id] = {{"owners", owners.size()}, {"set", std::move(set)}};
  }
  return submissions;
}

struct ReportOptions {
  fs::path run;
  std::optional<fs::path> launches;  // a run of the same ladder on the emulator, which knows blocks and grids
  std::optional<fs::path> gradebook;  // none: the one that the run was collected into
  bool without_overrides = false;
};

int report(const ReportOptions& options) {
  const RunFolder folder(options.run);
  const json description = folder.read_run();
  collect_and_score(folder, std::nullopt);
  std::vector<std::string> arguments{options.run.string()};
  if (options.launches) arguments.insert(arguments.end(), {"--launches", options.launches->string()});
  const TemporaryDirectory scratch("warpgrade-report");
  if (!options.without_overrides) {
    const FinalGrades finals = final_grades(options.run, options.gradebook);
    if (finals.gradebook.is_object()) {
      write_text(scratch.path() / "overrides.json",
                 json_text({{"schema", "warpgrade.overrides.v1"},
                            {"gradebook", finals.gradebook},
                            {"submissions", overrides_by_submission(description, finals)}}));
      arguments.insert(arguments.end(), {"--overrides", (scratch.path() / "overrides.json").string()});
    }
  } else if (gradebook_of(options.run)) {
    arguments.emplace_back("--without-overrides");
  }
  fmt::print("{}", run_reports_module("warpgrade_reports", arguments));
  return kExitGraded;
}

}  // namespace

void add_run_commands(CLI::App& app, int& code) {
  const auto run = std::make_shared<fs::path>();
  const auto with_run = [&](const char* name, const char* what, bool is_required = true) {
    CLI::App* command = app.add_subcommand(name, what);
    command->add_option("run", *run, "a run's folder")->required(is_required);
    return command;
  };
  const auto shown = std::make_shared<ReportOptions>();
  CLI::App* report_command = with_run("report", "render a run");
  report_command->add_option("--launches", shown->launches,
                             "the same ladder on the emulator: its blocks, grids and dynamic shared memory");
  report_command
      ->add_option("--gradebook", shown->gradebook,
                   "take points that a person set from it; default: the one that the run was collected into")
      ->envname("WARPGRADE_GRADEBOOK");
  report_command->add_flag("--without-overrides", shown->without_overrides,
                           "the computed points, whatever a gradebook says");
  report_command->callback([run, shown, &code] {
    shown->run = *run;
    code = report(*shown);
  });

  const auto policy = std::make_shared<std::optional<fs::path>>();
  CLI::App* score_command = with_run("score", "points from records, without judging again");
  score_command->add_option("--policy", *policy, "another policy than the run's own");
  score_command->callback([run, policy, &code] { code = score_again(*run, *policy); });

  const auto options = std::make_shared<CalibrateOptions>();
  CLI::App* calibrate_command = with_run("calibrate", "propose thresholds from the ladder's records", false);
  calibrate_command
      ->add_option("--share", options->share, "of the best step's speed-up: 0.9, and 0.5 with --for")
      ->check(CLI::Range(0.01, 1.0));
  calibrate_command->add_option("--for", options->for_gpu,
                                "a GPU that is not here, for instance T4: a share of what the model allows "
                                "there, from the emulator's counters; nothing is measured");
  CLI::Option* baseline =
      calibrate_command->add_option("--baseline", options->baseline, "another baseline than the policy's");
  calibrate_command
      ->add_flag("--limit", options->limit,
                 "shares of the least time that the GPU allows, in place of speed-ups")
      ->excludes(baseline)
      ->excludes("--for");
  CLI::Option* device =
      calibrate_command->add_flag("--device", options->device,
                                  "measure the rates of this machine's GPUs, which shares of the limit rest "
                                  "on, instead; later records carry them");
  device->excludes("run")->excludes("--limit")->excludes("--share")->excludes("--for");
  calibrate_command
      ->add_option("--gpus", options->gpus,
                   "with --device: these alone, as `grade` takes them (default: all)")
      ->delimiter(',')
      ->needs(device);
  calibrate_command->add_option("--write", options->write,
                                "the policy that takes them, as thresholds of the run's GPU model");
  calibrate_command->add_option("--gpu", options->gpu, "the model's name in the policy, for instance H100");
  calibrate_command->callback([run, options, &code] {
    options->run = *run;
    code = calibrate(*options);
  });
}

}  // namespace warpgrade

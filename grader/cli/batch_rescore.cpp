// `warpgrade rescore` and `warpgrade diff`.
#include <fmt/format.h>
#include <unistd.h>

#include <iostream>
#include <memory>

#include "base/error.h"
#include "base/files.h"
#include "base/say.h"
#include "cli/batch_commands.h"
#include "cli/compare.h"
#include "course/batch/publish.h"
#include "course/record/events.h"
#include "course/score/score.h"

namespace warpgrade {
namespace fs = std::filesystem;
using nlohmann::json;

namespace {

int rescore(const fs::path& run, const fs::path& policy_file, bool yes) {
  const RunFolder folder(run);
  const json description = folder.read_run();
  const std::string lab_name = description.at("lab");
  const Policy policy = load_policy(policy_file, vocabulary_of(description));
  if (policy.lab != lab_name)
    throw UsageError("{} is a policy of lab {}, not of {}", policy_file.string(), policy.lab, lab_name);
  const RecordsOf records = folder.records_of(description, score_fields());
  const auto scored = [&](const Policy& by) {
    return score_by_submission(by, description, records, journey_counts(folder, by));
  };
  const json after = scored(policy);
  const json before = fs::exists(folder.scores_file()) ? json::parse(read_text(folder.scores_file()))
                                                       : scored(policy_of(folder, description));
  const std::string changes = score_changes(before, after);
  tell("{}", changes.empty() ? "no grade changes\n" : changes);
  if (!yes && isatty(STDIN_FILENO) == 1) {
    tell("write these scores? [y/N] ");
    std::fflush(stdout);
    std::string answer;
    std::getline(std::cin, answer);
    yes = answer == "y" || answer == "yes";
  }
  if (!yes) {
    tell("nothing was written; add --yes to write them\n");
    return kExitGraded;
  }
  write_text(folder.root() / "policy.yaml", read_text(policy_file));
  score_run(folder, std::nullopt);
  EventLog events(run);
  events.progress("scored", "with the policy " + policy.name);
  tell("{} is written\n{}\n", folder.scores_file().string(), publish(folder, events));
  return kExitGraded;
}

int diff(const fs::path& first, const fs::path& second) {
  const RunFolder before(first), after(second);
  const std::string records = record_changes(before.read_records(), after.read_records());
  std::string scores;
  if (fs::exists(before.scores_file()) && fs::exists(after.scores_file()))
    scores = score_changes(json::parse(read_text(before.scores_file())),
                           json::parse(read_text(after.scores_file())));
  if (records.empty() && scores.empty()) {
    tell("no verdict, ratio or grade differs\n");
    return kExitGraded;
  }
  tell("{}{}{}", scores, scores.empty() || records.empty() ? "" : "\n", records);
  return kExitGraded;
}

}  // namespace

void add_rescore_commands(CLI::App& app, int& code) {
  const auto run = std::make_shared<fs::path>();
  const auto policy = std::make_shared<fs::path>();
  const auto yes = std::make_shared<bool>(false);
  CLI::App* rescore_command = add_run_command(
      app, *run, "rescore", "score the records with another policy; shows what changes first");
  rescore_command->add_option("--policy", *policy, "YAML")->required();
  rescore_command->add_flag("--yes", *yes, "write without asking");
  rescore_command->callback([run, policy, yes, &code] { code = rescore(*run, *policy, *yes); });

  const auto second = std::make_shared<fs::path>();
  CLI::App* diff_command =
      add_run_command(app, *run, "diff", "verdicts, speed-ups and grades that differ between two runs");
  diff_command->add_option("second", *second, "another run's folder")->required();
  diff_command->callback([run, second, &code] { code = diff(*run, *second); });
}

}  // namespace warpgrade

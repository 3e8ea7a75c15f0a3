// `warpgrade policy check FILE` and `policy show FILE`: is it sound, and what would be worth what.
#include "course/score/policy.h"

#include <fmt/core.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/files.h"
#include "base/json.h"
#include "base/tables.h"
#include "base/toolchain.h"
#include "base/yaml_place.h"
#include "cli/commands.h"
#include "course/batch/class_run.h"
#include "course/exports/csv.h"
#include "course/score/case_words.h"
#include "course/score/gpu_model.h"
#include "course/score/score.h"
#include "judge/labs/registry.h"
#include "record/verdict.h"

namespace warpgrade {
namespace fs = std::filesystem;
using nlohmann::json;

namespace {

// A policy names its lab, and the lab says which datasets and baselines it may speak of.
Policy checked_policy(const fs::path& file) {
  const YamlPlace name = YamlPlace::parse(read_text(file), file.string())["lab"];
  if (!name.is_scalar()) throw UsageError("{}: lab: expected a lab's name, got nothing", file.string());
  const Lab& lab = find_lab(name.text());
  PolicyVocabulary known = vocabulary_of(lab);
  known.gpus = known_gpus();
  const Policy policy = load_policy(file, known);
  require_datasets(lab, policy, cache_directory() / "datasets");
  return policy;
}

int check(const fs::path& file) {
  const Policy policy = checked_policy(file);
  const auto and_for = [](double points, const char* what) {
    return points > 0 ? fmt::format(" and {:g} for the {}", points, what) : "";
  };
  fmt::print("{}: sound; lab {}, {:g} points for correctness and {:g} for speed over {}{}{}, times in {}\n",
             file.string(), policy.lab, policy.correctness_points, policy.speed_points, policy.baseline,
             and_for(policy.limit_points, "share of the limit"), and_for(policy.journey_points, "way there"),
             policy.timezone);
  if (!policy.cases.empty()) fmt::print("it adds {} cases to the lab's\n", policy.cases.size());
  std::size_t dropped = 0, bonus = 0;
  for (const Case& spec : all_cases(find_lab(policy.lab), policy)) {
    is_among(policy.dropped, spec) ? ++dropped : bonus += value_of(policy.bonus, spec) ? 1 : 0;
  }
  if (dropped > 0) fmt::print("it drops {} cases\n", dropped);
  if (bonus > 0) fmt::print("{} cases earn bonus points\n", bonus);
  if (policy.kernel_required) fmt::print("cases whose outputs the host wrote earn nothing\n");
  if (policy.order_required) fmt::print("work that a run leaves without an order makes its case wrong\n");
  return kExitGraded;
}

// What of the policy's own cases a hand-out holds: the public ones as YAML on standard output, and their
// imported datasets in `folder`.
int print_public_cases(const fs::path& file, const fs::path& folder) {
  const Policy policy = checked_policy(file);
  const YamlPlace list = YamlPlace::parse(read_text(file), file.string())["cases"];
  if (policy.cases.empty()) return kExitGraded;
  std::set<std::string> places;  // of the items that make a public case
  for (const Case& spec : policy.cases) {
    if (spec.set != "public") continue;
    places.insert(spec.place);
    const fs::path dataset =
        spec.drawn ? fs::path() : imported_dataset(spec.dataset, cache_directory() / "datasets");
    if (dataset.empty()) continue;
    make_directories(folder);
    fs::copy_file(dataset, folder / (spec.dataset + ".npz"), fs::copy_options::overwrite_existing);
  }
  if (!places.empty()) fmt::print("cases:\n");
  for (const YamlPlace& item : list.items("a list"))
    if (places.contains(item.where())) fmt::print("  - {}\n", json_text(item.to_json()));
  return kExitGraded;
}

// A submission as `show` imagines it: all cases correct but the last `wrong`, all speed-ups this many
// thresholds, all speed-ups over the gates' baselines `over_gate`.
struct Sample {
  const char* text;
  int wrong = 0;
  double thresholds = 1, over_gate = 1e6;
  json about = json::object();
  bool on_the_cpu = false;  // no kernel wrote the outputs
  bool at_once = false;     // in one version without a note
};

std::vector<Sample> samples_of(const Policy& policy) {
  std::vector<Sample> samples{{"all correct, every threshold reached"},
                              {"all correct, at three quarters of every threshold", 0, 0.75},
                              {"all correct, at half of every threshold", 0, 0.5},
                              {"one case wrong, every threshold reached", 1}};
  if (!policy.faster_than.empty())
    samples.push_back({"a copy of the gate's baseline: all correct, no faster", 0, 0.01, 1.0});
  if (policy.late) {
    if (policy.late->grace_minutes > 0)
      samples.push_back(
          {"all reached, late by the whole grace", 0, 1, 1e6, {{"late_s", 60 * policy.late->grace_minutes}}});
    samples.push_back({"all reached, an hour beyond grace",
                       0,
                       1,
                       1e6,
                       {{"late_s", 60 * policy.late->grace_minutes + 3600}}});
    samples.push_back({"all reached, three days late", 0, 1, 1e6, {{"late_s", 3 * 86400}}});
    samples.push_back(
        {"all reached, marked late by an LMS without a time", 0, 1, 1e6, {{"late_marked", true}}});
  }
  if (policy.kernel_required)
    samples.push_back({"all correct, but the host wrote the outputs", 0, 1, 1e6, json::object(), true});
  if (policy.journey_points > 0)
    samples.push_back({"all reached, in one version without a note", 0, 1, 1e6, json::object(), false, true});
  samples.push_back({"a hand-in that was refused", 1 << 20, 1, 1, {{"refused", "unread_archive"}}});
  return samples;
}

json scored(const Policy& policy, const std::vector<Case>& cases, const Sample& sample) {
  json submission{{"id", "sample"}, {"title", "sample"}, {"role", "student"}};
  submission.update(sample.about);
  const json run{{"run", "sample"},
                 {"backend", "cuda"},
                 {"cases", cases},
                 {"submissions", {submission}},
                 {"imagined", true}};
  std::vector<Record> records;
  const int right = static_cast<int>(cases.size()) - sample.wrong;
  for (int i = 0; i < static_cast<int>(cases.size()); ++i) {
    const Case& spec = cases[static_cast<std::size_t>(i)];
    Record& record = records.emplace_back();
    record.submission.id = "sample";
    record.test_case = spec;
    record.outcome.verdict = i < right ? Verdict::kAccepted : Verdict::kWrongAnswer;
    if (sample.on_the_cpu)
      record.outputs_by = json{{"kernels", 0}, {"last_writer", "host"}, {"bytes", 1}, {"host_bytes", 1}};
    if (i >= right) continue;
    // Device and host alike: whichever the policy counts.
    const auto measured = [&](const std::string& baseline, double value) {
      for (auto* ratios : {&record.ratios, &record.ratios_with_host})
        std::tie((*ratios)[baseline].median, (*ratios)[baseline].low, (*ratios)[baseline].high) =
            std::tuple(value, value, value);
    };
    if (const auto threshold = policy.thresholds.of(spec))
      measured(policy.baseline, sample.thresholds * *threshold);
    if (const auto wanted = policy.limit_thresholds.of(spec)) {
      const double share = sample.thresholds * *wanted;
      record.other["limit"] = {{"share", share}, {"low", share}, {"high", share}};
    }
    for (const auto& [baseline, needed] : policy.faster_than)
      if (baseline != policy.baseline) measured(baseline, sample.over_gate);
  }
  const CountsByStudent journeys{{"sample",
                                  {sample.about.contains("refused") ? JourneyCounts{}
                                   : sample.at_once                 ? JourneyCounts{1, 0, 0}
                                                                    : policy.journey}}};
  return score(policy, run, records, journeys).at("submissions")[0];
}

int show(const fs::path& file, bool as_json) {
  const Policy policy = checked_policy(file);
  std::vector<Case> cases = all_cases(find_lab(policy.lab), policy);
  std::erase_if(cases, [](const Case& spec) { return spec.set == "large"; });
  std::vector<std::vector<std::string>> rows{
      {"a submission", "points", "correctness", "speed", "limit", "way there", "lateness"}};
  json list = json::array();
  for (const Sample& sample : samples_of(policy)) {
    const json result = scored(policy, cases, sample);
    const json& parts = result.at("parts");
    const json late = result.value("late", json::object());
    rows.push_back({sample.text, points_cell(result.at("points")), points_cell(parts.at("correctness")),
                    points_cell(parts.value("speed", 0.0)), points_cell(parts.value("limit", 0.0)),
                    points_cell(parts.value("journey", 0.0)), late.value("note", "")});
    list.push_back({{"sample", sample.text}, {"points", result.at("points")}, {"parts", parts}});
    if (!late.empty()) list.back()["late"] = late;
  }
  if (as_json) {
    fmt::print("{}\n",
               json{{"policy", policy.name}, {"max_points", policy.max_points()}, {"samples", list}}.dump(1));
    return kExitGraded;
  }
  fmt::print("{} of lab {}: at most {:g} points, on a GPU, over the lab's {} cases\n\n{}", policy.name,
             policy.lab, policy.max_points(), cases.size(), format_table(rows));
  return kExitGraded;
}

}  // namespace

void add_policy_command(CLI::App& app, int& code) {
  const auto file = std::make_shared<fs::path>();
  const auto as_json = std::make_shared<bool>(false);
  CLI::App* policy = app.add_subcommand("policy", "check a policy, or show what it gives");
  policy->require_subcommand(1);
  CLI::App* check_command =
      policy->add_subcommand("check", "check that every key is known and every value is in its range");
  check_command->add_option("file", *file, "YAML; all keys: grader/policies/README.md")->required();
  check_command->callback([file, &code] { code = check(*file); });
  const auto folder = std::make_shared<fs::path>();
  CLI::App* public_command =
      policy->add_subcommand("public-cases", "print what a hand-out gets of the cases that the policy adds");
  public_command->add_option("file", *file, "YAML")->required();
  public_command->add_option("--datasets", *folder, "the folder that their imported datasets are copied to")
      ->required();
  public_command->callback([file, folder, &code] { code = print_public_cases(*file, *folder); });
  CLI::App* show_command = policy->add_subcommand("show", "what sample submissions would get");
  show_command->add_option("file", *file, "YAML")->required();
  show_command->add_flag("--json", *as_json, "for programs");
  show_command->callback([file, as_json, &code] { code = show(*file, *as_json); });
}

}  // namespace warpgrade

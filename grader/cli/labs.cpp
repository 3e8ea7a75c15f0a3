// `warpgrade labs [LAB]`: the labs, a lab's cases, or the baselines; below it the commands for authors
// of labs.
#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/json.h"
#include "base/say.h"
#include "base/tables.h"
#include "base/toolchain.h"
#include "cli/commands.h"
#include "cli/harmless_mutants.h"
#include "cli/kept_mutants.h"
#include "cli/lab_commands.h"
#include "course/batch/class_run.h"
#include "course/score/policy.h"
#include "judge/compile/manifest.h"
#include "judge/labs/registry.h"

namespace warpgrade {
namespace fs = std::filesystem;
using nlohmann::json;

namespace {

// "mutants: 98.7 % of 312 refused"; empty in a hand-out, which has no solutions. A damaged score is no reason
// not to list labs and cases.
std::string mutants_words(const std::string& lab) {
  if (solutions_of(lab).empty()) return "";
  try {
    const auto kept = read_kept_mutants(lab);
    if (!kept) return "mutants: no score";
    return "mutants: " + words_of(kept->score) + (kept->is_stale ? " before the lab was changed" : "");
  } catch (const UsageError&) {
    return "mutants: the score is damaged";
  }
}

json mutants_json(const std::string& lab) {
  try {
    return json_of(read_kept_mutants(lab));
  } catch (const UsageError& damaged) {
    return {{"mistake", damaged.what()}};
  }
}

// Whether a new score is wanted.
bool has_todays_score(const std::string& lab) {
  const json kept = mutants_json(lab);
  return kept.contains("is_stale") && !kept["is_stale"].get<bool>();
}

json described(const Lab& lab) {
  return {{"name", lab.name()},
          {"summary", lab.summary()},
          {"cases", lab.cases().size()},
          {"mutants", mutants_json(lab.name())}};
}

int list_labs(bool as_json) {
  if (as_json) {
    json list{{"schema", "warpgrade.labs.v1"}, {"labs", json::array()}};
    for (const Lab* lab : labs()) list["labs"].push_back(described(*lab));
    for (const auto& [lab, mistake] : unusable_labs())
      list["labs"].push_back({{"name", lab}, {"mistake", mistake}});
    fmt::print("{}\n", json_text(list, 1));
    return kExitGraded;
  }
  std::size_t width = 0;
  for (const Lab* lab : labs()) width = std::max(width, lab->name().size());
  for (const Lab* lab : labs()) {
    const std::string mutants = mutants_words(lab->name());
    tell("{:<{}}  {} ({} cases{}{})\n", lab->name(), width, lab->summary(), lab->cases().size(),
         mutants.empty() ? "" : "; ", mutants);
  }
  for (const auto& [lab, mistake] : unusable_labs())
    tell("{:<{}}  cannot be used: {}\n", lab, width, mistake);
  return kExitGraded;
}

std::vector<std::string> flags_of(const Policy& policy) {
  std::vector<std::string> flags;
  for (const std::string& flag : allowed_flags())
    if (!policy.limits.forbidden_flags.contains(flag)) flags.push_back(flag);
  return flags;
}

int list_cases(const Lab& lab, const std::optional<fs::path>& policy, bool as_json) {
  const fs::path file = policy_file(lab, policy);
  const bool has_policy = policy || fs::exists(file);  // a lab may be without one
  const Policy own = has_policy ? load_policy(file, vocabulary_of(lab)) : Policy{};
  const std::vector<Case> cases = all_cases(lab, own);
  if (as_json) {
    json one = described(lab);
    one["schema"] = "warpgrade.lab_cases.v1";
    one["flags"] = flags_of(own);
    one["cases"] = json::array();
    for (const Case& spec : cases)
      one["cases"].push_back({{"id", spec.id}, {"kind", spec.kind}, {"set", spec.set}, {"why", spec.why}});
    fmt::print("{}\n", json_text(one, 1));
    return kExitGraded;
  }
  std::vector<std::vector<std::string>> rows{{"case", "kind", "set", "what it is for"}};
  for (const Case& spec : cases) rows.push_back({spec.id, spec.kind, spec.set, spec.why});
  tell("{}\nflags that submission.yaml may ask for: {}\n", format_table(rows), fmt::join(flags_of(own), " "));
  if (const std::string mutants = mutants_words(lab.name()); !mutants.empty())
    tell("{}{}\n", mutants,
         has_todays_score(lab.name()) ? "" : fmt::format(": warpgrade labs mutants {} --keep", lab.name()));
  return kExitGraded;
}

// The folders, a line each, of what submissions are measured against and students may have: a lab's policy
// keeps the others secret.
int list_baselines() {
  std::set<std::string> folders;
  for (const Lab* lab : labs()) {
    const fs::path file = project_root() / "grader/policies" / (lab->name() + ".yaml");
    std::set<std::string> secret;
    if (fs::exists(file)) secret = load_policy(file, vocabulary_of(*lab)).secret_baselines;
    for (const Baseline& baseline : lab->baselines())
      if (!secret.contains(baseline.name)) folders.insert(baseline.folder.string());
  }
  for (const std::string& folder : folders) fmt::print("{}\n", folder);
  return kExitGraded;
}

void add_mutants_command(CLI::App& labs_command, int& code) {
  const auto options = std::make_shared<MutantsOptions>();
  CLI::App* command = labs_command.add_subcommand(
      "mutants", "how much a lab's correctness cases see: changed solutions that no case refuses");
  command->add_option("name", options->lab, "the lab's name")->required();
  command->add_option("--solution", options->solution,
                      "naive, optimized, step, or a step's folder; default: all");
  command->add_option("--seed", options->seed, "of the sample and of the inputs");
  command
      ->add_option("--time-limit", options->limit_s, "seconds behind which no mutant is begun; default: 300")
      ->check(CLI::NonNegativeNumber);
  command->add_flag("--all", options->all, "every mutant, however long it takes");
  command->add_option("--most", options->most, "so many mutants of the sample and no more");
  command->add_option("--again", options->again,
                      "only the mutants that no case refused in this report of --json");
  command
      ->add_option("--report", options->report,
                   "what this report of --json has found: nothing is tried, reasons are read anew")
      ->excludes("--again");
  command->add_option("--shapes", options->shapes,
                      "random shapes in which a survivor may change an output; default: 200");
  command->add_flag("--json", options->json, "print JSON");
  command->add_flag("--keep", options->keep,
                    "keep the score as reference/LAB/mutants.json; `warpgrade labs` shows it");
  command->add_option("--page", options->page,
                      "an HTML file: survivors and those with a reason, with their lines");
  command->add_flag("--check", options->check,
                    "exit code 1 where a mutant survives that reference/LAB/survivors.yaml does not explain");
  command->add_flag("--allow-unsandboxed", options->allow_unsandboxed, "on a machine without a sandbox");
  command->callback([options, &code] { code = try_mutants(*options); });
}

void add_author_commands(CLI::App& labs_command, int& code) {
  const auto add = [&](const char* name, const char* what, int (*run)(const std::string&)) {
    const auto lab = std::make_shared<std::string>();
    CLI::App* command = labs_command.add_subcommand(name, what);
    command->add_option("name", *lab, "the lab's name")->required();
    command->callback([lab, run, &code] { code = run(*lab); });
  };
  add("new", "write a lab that works, to be changed to yours", new_lab);
  add("pages", "make the student's stub and table of cases from lab.yaml", make_lab_pages);
  add("contract", "print the header that submissions include", print_contract);
  const auto options = std::make_shared<VerifyOptions>();
  CLI::App* verify = labs_command.add_subcommand("verify", "prove a lab before a class sees it");
  verify->add_option("name", options->lab, "the lab's name")->required();
  verify->add_option("--backend", options->backend, "auto (both, where there is a GPU), emulator or cuda");
  verify->add_option("--honest-runs", options->honest_runs, "runs of naive that must raise no false alarm")
      ->check(CLI::Range(0, 100000));
  verify->add_flag("--allow-unsandboxed", options->allow_unsandboxed, "on a machine without a sandbox");
  verify->callback([options, &code] { code = verify_lab(*options); });
  add_mutants_command(labs_command, code);
}

}  // namespace

std::string cases_for_a_policy(const std::string& dataset, int rows, int cols, std::int64_t entries) {
  std::string lines;
  for (const Lab* lab : labs()) {
    const std::string words = lab->case_on_dataset(dataset, rows, cols, entries);
    if (!words.empty())
      lines += fmt::format("  - {{{}, kind: speed, set: real}}   # lab {}\n", words, lab->name());
  }
  if (lines.empty()) return "";
  return fmt::format(
      "To judge on it, put a line into a policy of the lab (grader/policies/README.md), thresholds as `{} "
      "calibrate`\nproposes them:\ncases:\n{}",
      own_command(), lines);
}

void add_labs_command(CLI::App& app, int& code) {
  struct Options {
    std::optional<std::string> lab;
    std::optional<fs::path> policy;
    bool baselines = false, json = false;
  };
  const auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("labs", "list the labs, or a lab's cases");
  command->add_option("lab", options->lab, "a lab's name");
  command->add_option("--policy", options->policy,
                      "with the cases that this policy adds; default: the lab's");
  command->add_flag("--baselines", options->baselines,
                    "print the folders of the baselines that are not secret instead");
  command->add_flag("--json", options->json, "print JSON");
  command->callback([options, command, &code] {
    if (!command->get_subcommands().empty()) return;
    if (options->baselines)
      code = list_baselines();
    else
      code = options->lab ? list_cases(find_lab(*options->lab), options->policy, options->json)
                          : list_labs(options->json);
  });
  add_author_commands(*command, code);
}

}  // namespace warpgrade

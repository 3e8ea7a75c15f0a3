// `warpgrade labs [LAB]`: the labs, a lab's cases, or the baselines.
#include <fmt/core.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/toolchain.h"
#include "batch/class_run.h"
#include "cli/commands.h"
#include "cli/tables.h"
#include "labs/lab.h"
#include "score/policy.h"

namespace warpgrade {
namespace fs = std::filesystem;

namespace {

// The labs, or one lab's cases.
int list_labs(const std::optional<std::string>& name) {
  if (!name) {
    for (const Lab* lab : labs()) {
      fmt::print("{:<10} {} ({} cases)\n", lab->name(), lab->summary(), lab->cases().size());
    }
    return kExitGraded;
  }
  std::vector<std::vector<std::string>> rows{{"case", "kind", "set", "what it is for"}};
  for (const CaseSpec& spec : find_lab(*name).cases())
    rows.push_back({spec.id, spec.kind, spec.set, spec.why});
  fmt::print("{}", format_table(rows));
  return kExitGraded;
}

// The folders, a line each, of what submissions are measured against and students may have: a lab's policy
// keeps the others secret.
int list_baselines() {
  std::set<std::string> folders;
  for (const Lab* lab : labs()) {
    const fs::path file = project_root() / "grader/policies" / (lab->name() + ".yaml");
    std::set<std::string> secret;
    if (fs::exists(file)) secret = load_policy(file, dataset_names(*lab)).secret_baselines;
    for (const Baseline& baseline : lab->baselines())
      if (!secret.contains(baseline.name)) folders.insert(baseline.folder.string());
  }
  for (const std::string& folder : folders) fmt::print("{}\n", folder);
  return kExitGraded;
}

}  // namespace

void add_labs_command(CLI::App& app, int& code) {
  struct Options {
    std::optional<std::string> lab;
    bool baselines = false;
  };
  const auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("labs", "list the labs, or a lab's cases");
  command->add_option("lab", options->lab, "a lab's name");
  command->add_flag("--baselines", options->baselines,
                    "print the folders of the baselines that are not secret instead");
  command->callback(
      [options, &code] { code = options->baselines ? list_baselines() : list_labs(options->lab); });
}

}  // namespace warpgrade

// A run of a class, opened: what is judged, on what, under which policy. The same inputs go on with an
// earlier run; others are refused. Compiling and judging: case_dispatcher.h.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "course/batch/devices.h"
#include "course/batch/options.h"
#include "course/batch/progress.h"
#include "course/record/run_folder.h"
#include "course/score/policy.h"
#include "judge/compile/compiler.h"
#include "judge/labs/registry.h"
#include "judge/sandbox/isolation.h"

namespace warpgrade {

// The backend that `name` means on this machine, and its devices.
struct Backend {
  std::string name;                       // "cuda" or "emulator"
  nlohmann::json device;                  // of the (first) GPU, {} on the emulator
  std::string architecture;               // "90"
  std::vector<JudgeDevice> devices = {};  // a judge each; none: the emulator's judges share the cores
};
Backend choose_backend(const std::string& name);

// The cases of lab and policy that the selectors name. Throws UsageError for a selector that matches none.
std::vector<Case> select_cases(const Lab& lab, const Policy& policy,
                               const std::vector<std::string>& selectors, const std::string& backend);
// The lab's and the policy's own.
std::vector<Case> all_cases(const Lab& lab, const Policy& policy);

// The given one, or the lab's in grader/policies.
std::filesystem::path policy_file(const Lab& lab, const std::optional<std::filesystem::path>& given);

// What a policy of the lab may speak of; of a run's lab, the cases of the run as well: they were its
// policy's then.
PolicyVocabulary vocabulary_of(const Lab& lab);
PolicyVocabulary vocabulary_of(const nlohmann::json& run);

// A dataset that the catalogue does not know: of datasets/own beside the programs, as hand-outs have it, or
// imported into the cache. Empty: there is none of that name.
std::filesystem::path imported_dataset(const std::string& name, const std::filesystem::path& cache);
// Whether the policy's own cases can be judged: datasets that the catalogue knows, or that are imported and
// fit the lab. Throws UsageError naming file and line, and how to import.
void require_datasets(const Lab& lab, const Policy& policy, const std::filesystem::path& cache);

// The policy that holds for a run: the one that `rescore` left in it, else the one that it was made with;
// `run` is its run.json. Throws UsageError naming the file.
Policy policy_of(const RunFolder& folder, const nlohmann::json& run);

class ClassRun {
 public:
  // Reads policy, submissions and cases; opens or makes the run's folder. Throws UsageError.
  ClassRun(const GradeOptions& options, Progress& progress);

  const GradeOptions& options() const { return options_; }
  const Lab& lab() const { return lab_; }
  const RunFolder& folder() const { return folder_; }
  const Policy& policy() const { return policy_; }
  const Backend& backend() const { return backend_; }
  bool on_gpu() const { return backend_.name == "cuda"; }
  SandboxMode sandbox() const { return isolation_.sandbox; }
  const Isolation& isolation() const { return isolation_; }
  const std::vector<Submission>& submissions() const { return submissions_; }
  const std::vector<Case>& cases() const { return cases_; }
  const nlohmann::json& description() const { return run_; }  // run.json
  const std::string& seed() const { return seed_; }           // hidden
  // Inputs are those of the day's other runs. Not where a program without a box could write answers.
  bool repeats_inputs() const {
    return options_.own_run && !on_gpu() && sandbox() == SandboxMode::kBubblewrap;
  }
  size_t index_of(const std::string& submission) const;  // throws UsageError

 private:
  void choose_policy();
  void require_known_baseline() const;
  void choose_isolation();
  void choose_device();
  void choose_devices();
  void find_submissions_and_references();
  void find_cases();
  void find_cases_of_input();
  nlohmann::json describe(const std::string& commitment) const;
  void open();
  void resume();
  void move_aside();

  GradeOptions options_;
  Progress& progress_;
  const Lab& lab_;
  RunFolder folder_;
  Toolchain toolchain_;
  Policy policy_;
  std::string policy_text_;
  Isolation isolation_;
  Backend backend_;
  std::vector<Submission> submissions_;
  std::string attempts_that_count_;  // of rolling hand-ins: last, first or best; else empty
  std::vector<Case> cases_;
  nlohmann::json skipped_ = nlohmann::json::array();  // cases left out, with the reason
  nlohmann::json run_;
  std::string seed_;
};

// Moves an existing run folder to a free name beside it, and returns that.
std::filesystem::path move_run_aside(const std::filesystem::path& run);

}  // namespace warpgrade

#include "course/batch/class_run.h"

#include <fnmatch.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <ctime>
#include <map>

#include "base/error.h"
#include "base/files.h"
#include "base/hash.h"
#include "base/process.h"
#include "base/waiting.h"
#include "base/yaml_place.h"
#include "course/batch/judge_process.h"
#include "course/batch/run_seed.h"
#include "course/ingest/ingest.h"
#include "course/ingest/times.h"
#include "record/view.h"
#include "warpgrade/datasets/cache.h"
#include "warpgrade/datasets/catalog.h"
#include "warpgrade/datasets/csr_file.h"

namespace warpgrade {
namespace fs = std::filesystem;
using nlohmann::json;

namespace {

// "?cora": cora where its source is on this machine.
bool matches(const Case& spec, const std::string& given) {
  const std::string selector = given.starts_with('?') ? given.substr(1) : given;
  for (const std::string& name : {spec.id, spec.dataset, spec.set, spec.kind}) {
    if (fnmatch(selector.c_str(), name.c_str(), 0) == 0) return true;
  }
  return false;
}

fs::path catalog_file() {
  return project_root() / "datasets/catalog.yaml";
}

// The emulated runtime goes by the name that this build's CUDA gave it: programs of another CUDA do not find
// it. That is this machine's fault, and never the submission's.
void require_toolchain_of_the_emulator(const Toolchain& toolchain) {
  const fs::path runtime = emulator_directory() / fmt::format("libcudart.so.{}", toolchain.major);
  if (fs::exists(runtime)) return;
  throw UsageError(
      "{} is CUDA {} now, and this build was made with another: {} is not there. Another CUDA came into the "
      "environment (PATH, CUDA_HOME, WARPGRADE_NVCC) after `make build`: set WARPGRADE_NVCC to the nvcc of "
      "the build, or run `make clean build`",
      toolchain.nvcc.string(), toolchain.version, runtime.string());
}

// Judging takes the emulator's settings from its own options: a mutant would be graded as a submission.
void refuse_mutants() {
  if (std::getenv("WARPEMU_MUTANT") != nullptr)
    throw UsageError(
        "WARPEMU_MUTANT is set: the emulator would run changed programs. Grading never does: unset it. To "
        "try a lab's cases on mutants, run `warpgrade labs mutants LAB`");
}

}  // namespace

ClassRun::ClassRun(const GradeOptions& options, Progress& progress)
    : options_(options),
      progress_(progress),
      lab_(find_lab(options.lab)),
      folder_(options.run),
      toolchain_(find_toolchain()) {
  refuse_mutants();
  choose_policy();
  require_known_baseline();
  choose_isolation();
  choose_device();
  find_submissions_and_references();
  find_cases();
  open();
}

void ClassRun::choose_policy() {
  if (options_.continue_only && !options_.policy) {
    policy_text_ = folder_.read_run().at("policy");
    policy_ = parse_policy(policy_text_, folder_.run_file().string() + " (policy)", vocabulary_of(lab_));
  } else {
    const fs::path file = policy_file(lab_, options_.policy);
    policy_text_ = read_text(file);
    policy_ = parse_policy(policy_text_, file.string(), vocabulary_of(lab_));
    if (policy_.lab != lab_.name())
      throw UsageError("{} is a policy of lab {}, not of {}", file.string(), policy_.lab, lab_.name());
  }
}

void ClassRun::require_known_baseline() const {
  std::set<std::string> known;
  for (const Baseline& baseline : lab_.baselines()) known.insert(baseline.name);
  const fs::path file = options_.policy.value_or(folder_.run_file());
  const auto require = [&](const char* key, const std::string& name) {
    if (!known.contains(name))
      throw UsageError("{}: {}: lab {} has no baseline '{}'; its baselines are: {}", file.string(), key,
                       lab_.name(), name, fmt::join(known, ", "));
  };
  require("baseline", policy_.baseline);
  for (const std::string& name : policy_.secret_baselines) require("secret_baselines", name);
  for (const auto& [name, needed] : policy_.faster_than) require("points.gate.faster_than", name);
}

void ClassRun::choose_isolation() {
  if (options_.direct && policy_.host_isolation != "any") {
    throw UsageError(
        "--direct: this policy demands host code apart from the GPU, which is what makes times trustworthy; "
        "put `host_isolation: any` into a policy of your own and name it with --policy");
  }
  const fs::path executor = executor_directory() / "warpgrade-executor";
  if (!options_.direct && !options_.judged_elsewhere && !fs::is_regular_file(executor)) {
    throw UsageError("{} is not there: submissions cannot be judged without it; build it with `make build`",
                     executor.string());
  }
  const SandboxProbe& probe = probe_sandbox();
  if (!probe.works && !options_.allow_unsandboxed) {
    throw UsageError(
        "{}; submissions would run with your rights. Repair this, or give --allow-unsandboxed (make: "
        "ALLOW_UNSANDBOXED=1) when you trust every submission",
        probe.reason);
  }
  isolation_ = isolation_of(probe.works ? SandboxMode::kBubblewrap : SandboxMode::kUnsandboxed);
  if (isolation_.missing.empty()) return;
  // A round that is only planned here is judged on other machines, which ask themselves.
  if (options_.require_isolation && !options_.judged_elsewhere) {
    throw UsageError("--require-isolation: this machine does not protect itself fully from a submission:{}",
                     isolation_.all_lines());
  }
  static std::atomic<bool> reported{false};  // a batch opens its run twice
  if (options_.judged_elsewhere || reported.exchange(true)) return;
  if (!probe.works) progress_.note("warning: " + probe.reason + "; records are marked `unsandboxed`");
  progress_.note("warning: " + isolation_.one_line());
}

void ClassRun::choose_device() {
  if (options_.backend == "cuda" && options_.planned_architecture) {
    backend_ = {"cuda", json::object(), *options_.planned_architecture};
    std::vector<std::string> left_out;
    if (!options_.judged_elsewhere) backend_.devices = find_devices("cuda", {}, left_out);
  } else {
    choose_devices();
  }
  if (!on_gpu()) require_toolchain_of_the_emulator(toolchain_);
}

void ClassRun::choose_devices() {
  if (!std::set<std::string>{"auto", "cuda", "emulator"}.contains(options_.backend))
    choose_backend(options_.backend);  // says what is wrong
  const SlowNote note("waiting for the GPUs of this machine to answer");
  std::vector<std::string> left_out;
  std::vector<JudgeDevice> devices;
  if (options_.backend != "emulator") devices = find_devices("cuda", options_.gpus, left_out);
  if (!devices.empty()) {
    const json about = devices[0].about;
    backend_ = {"cuda", about, std::to_string(about.at("compute_capability").get<int>()), std::move(devices)};
    for (const std::string& why : left_out) progress_.note("left out " + why);
    return;
  }
  backend_ = choose_backend(options_.backend == "auto" ? "emulator" : options_.backend);
  backend_.devices = find_devices("emulator", options_.gpus, left_out);
}

void ClassRun::find_submissions_and_references() {
  if (options_.class_in_run) {
    submissions_ = class_submissions(folder_, lab_.name());
    const json taken = folder_.read_class();
    if (taken.value("rolling", false)) attempts_that_count_ = taken.at("attempts_policy");
  } else if (options_.submissions)
    submissions_ = find_submissions(*options_.submissions, lab_.name());
  for (const fs::path& reference : options_.references) {
    Submission submission = read_submission(reference, lab_.name(), Role::kReference);
    if (submission.directory.parent_path().filename() == "steps") submission.id = "step-" + submission.id;
    submissions_.push_back(std::move(submission));
  }
  std::set<std::string> ids;
  for (Submission& submission : submissions_) {
    while (!ids.insert(submission.id).second) submission.id += "-2";
  }
}

// The user's own input, all of its cases or those that are named.
void ClassRun::find_cases_of_input() {
  progress_.update("reading " + options_.input->string());
  std::string known;
  for (Case& input : lab_.cases_of_input(*options_.input)) {
    known += (known.empty() ? "" : ", ") + input.id;
    const auto& selectors = options_.cases;
    const auto named = [&](const std::string& selector) { return matches(input, selector); };
    if (selectors.empty() || std::any_of(selectors.begin(), selectors.end(), named))
      cases_.push_back(std::move(input));
  }
  if (cases_.empty())
    throw UsageError("{} has no such case; its cases are: {}", options_.input->string(), known);
}

void ClassRun::find_cases() {
  if (options_.input) return find_cases_of_input();
  const fs::path cache = options_.datasets.value_or(cache_directory() / "datasets");
  require_datasets(lab_, policy_, cache);
  const auto catalog = datasets::Catalog::load(catalog_file());
  std::map<std::string, Case> files;
  std::set<std::string> skipped;  // datasets, each noted once
  for (const Case& spec : select_cases(lab_, policy_, options_.cases, backend_.name)) {
    throw_if_interrupted();
    try {
      Case& known = files[spec.drawn ? "" : spec.dataset];
      if (!spec.drawn && known.file.empty()) {
        progress_.update("dataset " + spec.dataset);
        if (catalog.contains(spec.dataset)) {
          known.file = catalog.ensure(spec.dataset, cache);
        } else {
          known.file = imported_dataset(spec.dataset, cache);
          known.input_hash = datasets::CsrFile::open(known.file).content_hash();
        }
      }
      cases_.push_back(spec);
      cases_.back().file = known.file;
      cases_.back().input_hash = known.input_hash;
      if (!known.input_hash.empty()) cases_.back().details["imported"] = true;
    } catch (const datasets::DatasetError& error) {
      // A named dataset must be there; one of a whole set may be missing on this machine.
      const bool named = std::any_of(
          options_.cases.begin(), options_.cases.end(),
          [&](const std::string& selector) { return selector == spec.id || selector == spec.dataset; });
      if (named) throw UsageError("{}", error.what());
      if (skipped.insert(spec.dataset).second)
        progress_.note(fmt::format("skipped {}: {}", spec.dataset, error.what()));
      skipped_.push_back({{"case", spec.id}, {"why", error.what()}});
    }
  }
  if (cases_.empty()) throw UsageError("no case is left to judge: the policy or --cases names none");
}

json ClassRun::describe(const std::string& commitment) const {
  json submissions = json::array(), cases = json::array();
  for (const Submission& submission : submissions_) {
    json item = submission.to_json();
    if (submission.about.is_object()) item.update(submission.about);
    if (!submission.idea.empty()) item["idea"] = submission.idea;
    submissions.push_back(std::move(item));
  }
  for (const Case& spec : cases_) {
    cases.push_back({{"id", spec.id},
                     {"dataset", spec.dataset},
                     {"width", spec.width},
                     {"kind", spec.kind},
                     {"set", spec.set},
                     {"why", spec.why}});
    if (!spec.input_hash.empty()) cases.back()["input_hash"] = spec.input_hash;
  }
  const HarnessIdentity harness = harness_identity();
  json run{{"schema", "warpgrade.run.v1"},
           {"run", folder_.root().filename().string()},
           {"lab", lab_.name()},
           {"terms",
            {{"width", lab_.terms().width},
             {"work", lab_.terms().work},
             {"output", lab_.terms().output},
             {"ladder", lab_.terms().ladder}}},
           {"created_at", format_time(std::time(nullptr))},
           {"backend", backend_.name},
           {"sandbox", to_string(sandbox())},
           {"harness", {{"version", harness.version}, {"hash", harness.hash}}},
           {"toolchain", {{"nvcc", toolchain_.version}, {"arch", "sm_" + backend_.architecture}}},
           {"device", backend_.device},
           {"policy", policy_text_},
           {"policy_name", policy_.name},
           {"seed_commitment", commitment},
           {"speed_measured", options_.measure_speed && backend_.name == "cuda"},
           {"cases", cases},
           {"skipped_cases", skipped_},
           {"submissions", submissions}};
  if (!attempts_that_count_.empty()) run["attempts"] = attempts_that_count_;
  if (const std::string definition = lab_.definition(); !definition.empty()) run["definition"] = definition;
  return run;
}

void ClassRun::open() {
  if (folder_.exists()) {
    resume();
    return;
  }
  if (options_.continue_only) throw UsageError("{} is not a run", folder_.root().string());
  if (!options_.class_in_run && fs::exists(folder_.root()) && !fs::is_empty(folder_.root())) {
    throw UsageError("{} is not empty, and it is not a run; choose another folder", folder_.root().string());
  }
  seed_ = repeats_inputs() ? seed_of_the_day() : hidden_seed();
  make_directories(folder_.seed_file().parent_path());
  fs::permissions(folder_.seed_file().parent_path(), fs::perms::owner_all);
  write_text(folder_.seed_file(), seed_);
  run_ = describe(sha256(seed_));
  folder_.write_run(run_);
}

void ClassRun::resume() {
  const json before = folder_.read_run();
  const json now = describe(before.value("seed_commitment", ""));
  std::string changed;
  const auto note = [&](const char* key) { changed += (changed.empty() ? "" : ", ") + std::string(key); };
  for (const char* key : {"lab", "backend", "sandbox", "harness", "toolchain", "definition", "submissions",
                          "policy", "speed_measured"})
    if (before.value(key, json()) != now.value(key, json())) note(key);
  if (Run(before).cases != Run(now).cases) note("cases");
  run_ = before;
  // A class may change: ids of attempts stay with their contents, so that what was recorded stays right.
  const bool other_class = changed == "submissions" && options_.class_in_run;
  if (other_class) {
    run_["submissions"] = now["submissions"];
    folder_.write_run(run_);
  }
  if (changed.empty() || other_class) {
    seed_ = read_text(folder_.seed_file());
    return;
  }
  if (!options_.fresh_on_change) {
    throw UsageError(
        "{} was made with other inputs ({} changed); choose another run folder, or give --fresh to move the "
        "old one aside",
        folder_.root().string(), changed);
  }
  move_aside();
}

void ClassRun::move_aside() {
  const fs::path aside = move_run_aside(folder_.root());
  progress_.note(fmt::format("the earlier run is kept as {}", aside.string()));
  open();
}

fs::path move_run_aside(const fs::path& run) {
  for (int n = 1;; ++n) {
    fs::path aside = run;
    aside += fmt::format(".old-{}", n);
    if (fs::exists(aside)) continue;
    fs::rename(run, aside);
    return aside;
  }
}

size_t ClassRun::index_of(const std::string& submission) const {
  for (size_t i = 0; i < submissions_.size(); ++i)
    if (submissions_[i].id == submission) return i;
  throw UsageError("{} has no submission '{}'", folder_.root().string(), submission);
}

std::vector<Case> all_cases(const Lab& lab, const Policy& policy) {
  std::vector<Case> cases = lab.cases();
  cases.insert(cases.end(), policy.cases.begin(), policy.cases.end());
  return cases;
}

fs::path policy_file(const Lab& lab, const std::optional<fs::path>& given) {
  return given.value_or(project_root() / "grader/policies" / (lab.name() + ".yaml"));
}

PolicyVocabulary vocabulary_of(const Lab& lab) {
  PolicyVocabulary known;
  for (const Case& spec : lab.cases()) {
    known.datasets.insert(spec.dataset);
    known.cases.insert(spec.id);
    known.sets.insert(spec.set);
  }
  for (const Baseline& baseline : lab.baselines()) known.baselines.insert(baseline.name);
  known.width = lab.terms().width;
  known.read_cases = [&lab](const YamlPlace& list) { return lab.read_cases(list); };
  return known;
}

PolicyVocabulary vocabulary_of(const json& run) {
  PolicyVocabulary known = vocabulary_of(find_lab(run.at("lab")));
  for (const Case& spec : Run(run).cases) {
    known.datasets.insert(spec.dataset);
    known.run_cases.insert(spec.id);
    if (!spec.set.empty()) known.sets.insert(spec.set);
  }
  return known;
}

fs::path imported_dataset(const std::string& name, const fs::path& cache) {
  const fs::path handed_out = project_root() / "datasets/own" / (name + ".npz");
  if (fs::is_regular_file(handed_out)) return handed_out;
  // A node's own folder has what the catalogue makes there; what was imported lies in the cache.
  for (const fs::path& folder : {cache, cache_directory() / "datasets"})
    if (fs::path file = datasets::Cache(folder).find(name); !file.empty()) return file;
  return {};
}

void require_datasets(const Lab& lab, const Policy& policy, const fs::path& cache) {
  const bool any_file =
      std::any_of(policy.cases.begin(), policy.cases.end(), [](const Case& spec) { return !spec.drawn; });
  if (!any_file) return;
  const auto catalog = datasets::Catalog::load(catalog_file());
  for (const Case& spec : policy.cases) {
    if (spec.drawn || catalog.contains(spec.dataset)) continue;
    const fs::path file = imported_dataset(spec.dataset, cache);
    if (file.empty()) {
      throw UsageError(
          "{}: this machine has no dataset {}; import it with `warpgrade data import FILE --name {}` "
          "(`warpgrade data list` names those of the catalogue)",
          spec.place, spec.dataset, spec.dataset);
    }
    lab.check_dataset(spec, file);
  }
}

Policy policy_of(const RunFolder& folder, const json& run) {
  const fs::path rescored = folder.root() / "policy.yaml";
  PolicyVocabulary known = vocabulary_of(run);
  known.is_kept = true;
  if (fs::exists(rescored)) return load_policy(rescored, known);
  return parse_policy(run.at("policy"), folder.run_file().string() + " (policy)", known);
}

std::vector<Case> select_cases(const Lab& lab, const Policy& policy,
                               const std::vector<std::string>& selectors, const std::string& backend) {
  std::vector<Case> selected;
  const auto only_elsewhere = [&](const Case& spec) { return spec.emulator_only && backend == "cuda"; };
  const std::vector<Case> all = all_cases(lab, policy);
  if (selectors.empty()) {
    for (const Case& spec : all) {
      const bool slow_here = backend == "emulator" &&
                             (spec.set == "stand-in" || spec.set == "real-large" || spec.set == "timed");
      if (spec.set == "large" || slow_here || only_elsewhere(spec)) continue;
      selected.push_back(spec);
    }
    return selected;
  }
  for (const std::string& selector : selectors) {
    if (std::none_of(all.begin(), all.end(), [&](const Case& spec) { return matches(spec, selector); })) {
      throw UsageError("no case, dataset or set '{}' in lab {}; `warpgrade labs {}` lists them", selector,
                       lab.name(), lab.name());
    }
  }
  for (const Case& spec : all) {
    if (only_elsewhere(spec)) continue;
    if (std::any_of(selectors.begin(), selectors.end(),
                    [&](const std::string& s) { return matches(spec, s); })) {
      selected.push_back(spec);
    }
  }
  return selected;
}

}  // namespace warpgrade

#include "batch/grade_run.h"

#include <fnmatch.h>
#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <ctime>
#include <mutex>
#include <set>
#include <thread>

#include "base/error.h"
#include "base/files.h"
#include "base/hash.h"
#include "base/process.h"
#include "batch/judge_process.h"
#include "batch/progress.h"
#include "profile/source.h"
#include "score/score.h"
#include "warpgrade/datasets/catalog.h"

namespace warpgrade {
namespace fs = std::filesystem;
using nlohmann::json;

namespace {

constexpr const char* kEmulatorArchitecture = "80";

std::string utc_now() {
  char text[32];
  const std::time_t now = std::time(nullptr);
  std::tm parts = {};
  gmtime_r(&now, &parts);
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

std::string hidden_seed() {
  unsigned char bytes[32];
  if (getrandom(bytes, sizeof bytes, 0) != sizeof bytes) throw JudgeFault("no random seed from the system");
  std::string digits;
  for (unsigned char byte : bytes) digits += fmt::format("{:02x}", byte);
  return digits;
}

// "?cora": cora where its source is on this machine.
bool matches(const CaseSpec& spec, const std::string& given) {
  const std::string selector = given.starts_with('?') ? given.substr(1) : given;
  for (const std::string& name : {spec.id, spec.dataset, spec.set, spec.kind}) {
    if (fnmatch(selector.c_str(), name.c_str(), 0) == 0) return true;
  }
  return false;
}

// What a run was asked to do; two calls with the same inputs continue one another.
struct RunInputs {
  std::vector<Submission> submissions;
  std::vector<CaseInput> cases;
  json skipped;  // cases left out, with the reason
};

class GradeRun {
 public:
  explicit GradeRun(GradeOptions options)
      : options_(std::move(options)),
        lab_(find_lab(options_.lab)),
        folder_(options_.run),
        compiler_(find_toolchain(), cache_directory() / "compiled"),
        progress_(options_.quiet) {}

  GradeSummary execute() {
    policy_text_file_ =
        options_.policy.value_or(project_root() / "grader/policies" / (lab_.name() + ".yaml"));
    policy_ = load_policy(policy_text_file_, dataset_names(lab_));
    if (policy_.lab != lab_.name()) {
      throw UsageError("{} is a policy of lab {}, not of {}", policy_text_file_.string(), policy_.lab,
                       lab_.name());
    }
    require_known_baseline();
    choose_sandbox();
    backend_ = choose_backend(options_.backend);
    find_inputs();
    open_run();
    compile_all();
    judge_all();
    folder_.collect();
    GradeSummary summary{folder_.root(), recorded_, resumed_, faults_, score_run(folder_, policy_text_file_)};
    return summary;
  }

 private:
  void require_known_baseline() const {
    std::string known;
    for (const Baseline& baseline : lab_.baselines()) {
      if (baseline.name == policy_.baseline) return;
      known += (known.empty() ? "" : ", ") + baseline.name;
    }
    throw UsageError("{}: baseline: lab {} has no baseline '{}'; there is: {}", policy_text_file_.string(),
                     lab_.name(), policy_.baseline, known);
  }

  void choose_sandbox() {
    const SandboxProbe& probe = probe_sandbox();
    if (probe.works) return;
    if (!options_.allow_unsandboxed) {
      throw UsageError(
          "{}; submissions would run with your rights. Mend that, or say --allow-unsandboxed when you "
          "trust every submission",
          probe.reason);
    }
    sandbox_ = SandboxMode::kUnsandboxed;
    progress_.note("warning: " + probe.reason + "; records are marked `unsandboxed`");
  }

  void find_inputs() {
    if (options_.submissions) inputs_.submissions = find_submissions(*options_.submissions, lab_.name());
    for (const fs::path& reference : options_.references) {
      Submission submission = read_submission(reference, lab_.name(), Role::kReference);
      if (submission.directory.parent_path().filename() == "steps") submission.id = "step-" + submission.id;
      inputs_.submissions.push_back(std::move(submission));
    }
    std::set<std::string> ids;
    for (Submission& submission : inputs_.submissions) {
      while (!ids.insert(submission.id).second) submission.id += "-2";
    }
    find_cases();
  }

  void find_cases() {
    const auto catalog = datasets::Catalog::load(project_root() / "datasets/catalog.yaml");
    inputs_.skipped = json::array();
    std::map<std::string, fs::path> files;
    std::set<std::string> skipped;  // datasets, each noted once
    for (const CaseSpec& spec : select_cases(lab_, options_.cases, backend_.name)) {
      throw_if_interrupted();
      try {
        if (!spec.drawn && !files.contains(spec.dataset)) {
          progress_.update("dataset " + spec.dataset);
          files[spec.dataset] = catalog.ensure(spec.dataset, cache_directory() / "datasets");
        }
        inputs_.cases.push_back({spec, files[spec.dataset]});
      } catch (const datasets::DatasetError& error) {
        // A named dataset must be there; one of a whole set may be missing on this machine.
        const bool named = std::any_of(
            options_.cases.begin(), options_.cases.end(),
            [&](const std::string& selector) { return selector == spec.id || selector == spec.dataset; });
        if (named) throw UsageError("{}", error.what());
        if (skipped.insert(spec.dataset).second)
          progress_.note(fmt::format("skipped {}: {}", spec.dataset, error.what()));
        inputs_.skipped.push_back({{"case", spec.id}, {"why", error.what()}});
      }
    }
    if (inputs_.cases.empty()) throw UsageError("no case is left to judge");
  }

  json describe_run(const std::string& commitment) const {
    json submissions = json::array(), cases = json::array();
    for (const Submission& submission : inputs_.submissions) submissions.push_back(submission.to_json());
    for (const CaseInput& input : inputs_.cases) {
      const CaseSpec& spec = input.spec;
      cases.push_back({{"id", spec.id},
                       {"dataset", spec.dataset},
                       {"k", spec.k},
                       {"kind", spec.kind},
                       {"set", spec.set},
                       {"why", spec.why}});
    }
    const HarnessIdentity harness = harness_identity();
    return {{"schema", "warpgrade.run.v1"},
            {"run", folder_.root().filename().string()},
            {"lab", lab_.name()},
            {"terms",
             {{"width", lab_.terms().width}, {"work", lab_.terms().work}, {"output", lab_.terms().output}}},
            {"created_at", utc_now()},
            {"backend", backend_.name},
            {"sandbox", to_string(sandbox_)},
            {"harness", {{"version", harness.version}, {"hash", harness.hash}}},
            {"toolchain", {{"nvcc", compiler_.toolchain().version}, {"arch", "sm_" + backend_.architecture}}},
            {"device", backend_.device},
            {"policy", read_text(policy_text_file_)},
            {"policy_name", policy_.name},
            {"seed_commitment", commitment},
            {"speed_measured", options_.measure_speed && backend_.name == "cuda"},
            {"cases", cases},
            {"skipped_cases", inputs_.skipped},
            {"submissions", submissions}};
  }

  void open_run() {
    if (folder_.exists()) {
      const json before = folder_.read_run();
      json now = describe_run(before.value("seed_commitment", ""));
      std::string changed;
      for (const char* key : {"lab", "backend", "sandbox", "harness", "toolchain", "cases", "submissions",
                              "policy", "speed_measured"}) {
        if (before.value(key, json()) != now[key])
          changed += (changed.empty() ? "" : ", ") + std::string(key);
      }
      if (changed.empty()) {
        run_ = before;
        seed_ = read_text(folder_.seed_file());
        return;
      }
      if (!options_.fresh_on_change) {
        throw UsageError(
            "{} was made with other inputs ({} changed); choose another run folder, or say --fresh to move "
            "the old one aside",
            folder_.root().string(), changed);
      }
      move_aside();
    } else if (fs::exists(folder_.root()) && !fs::is_empty(folder_.root())) {
      throw UsageError("{} is not empty and not a run; choose another folder", folder_.root().string());
    }
    seed_ = hidden_seed();
    make_directories(folder_.seed_file().parent_path());
    fs::permissions(folder_.seed_file().parent_path(), fs::perms::owner_all);
    write_text(folder_.seed_file(), seed_);
    run_ = describe_run(sha256(seed_));
    folder_.write_run(run_);
  }

  void move_aside() {
    for (int n = 1;; ++n) {
      fs::path aside = folder_.root();
      aside += fmt::format(".old-{}", n);
      if (fs::exists(aside)) continue;
      fs::rename(folder_.root(), aside);
      progress_.note(fmt::format("the earlier run is kept as {}", aside.string()));
      return;
    }
  }

  CompileOptions compile_options() const {
    CompileOptions options;
    options.lab = lab_.name();
    options.architecture = backend_.architecture;
    options.sandbox = sandbox_;
    options.limit = std::chrono::seconds(static_cast<int>(policy_.limits.compile_s));
    return options;
  }

  // Calls work(i) for i in [0, count) on `workers` threads; the first exception stops the rest and is thrown
  // again.
  static void parallel(size_t count, size_t workers, const std::function<void(size_t)>& work) {
    std::atomic<size_t> next{0};
    std::exception_ptr failure;
    std::mutex mutex;
    const auto loop = [&] {
      for (size_t i; (i = next++) < count;) {
        try {
          work(i);
        } catch (...) {
          const std::lock_guard lock(mutex);
          if (!failure) failure = std::current_exception();
          next = count;
        }
      }
    };
    std::vector<std::jthread> threads;
    for (size_t i = 1; i < std::min(workers, count); ++i) threads.emplace_back(loop);
    loop();
    threads.clear();
    if (failure) std::rethrow_exception(failure);
  }

  void compile_all() {
    compiled_.resize(inputs_.submissions.size());
    if (backend_.name == "cuda") compile_baselines();
    std::atomic<size_t> done{0};
    parallel(compiled_.size(), std::max(1u, std::thread::hardware_concurrency()), [&](size_t i) {
      throw_if_interrupted();
      const Submission& submission = inputs_.submissions[i];
      compiled_[i] = compiler_.compile(submission, compile_options());
      json record = compiled_[i].to_json();
      record["schema"] = "warpgrade.submission.v1";
      record["run"] = run_.at("run");
      record["submission"] = submission.to_json();
      record["lab"] = lab_.name();
      record["hash"] = submission.hash;
      record["files"] = json::array();
      for (const fs::path& file : submission.files) record["files"].push_back(file.string());
      make_directories(folder_.submission_folder(submission.id));
      write_text(folder_.submission_folder(submission.id) / "compile.log", compiled_[i].log);
      write_text(folder_.submission_folder(submission.id) / "compile.json",
                 record.dump(1, ' ', false, json::error_handler_t::replace) + "\n");
      progress_.update(fmt::format("compiled {}/{}: {}", ++done, compiled_.size(), submission.id));
    });
  }

  // The lab's baselines that were asked for, the policy's own always among them.
  std::vector<Baseline> chosen_baselines() const {
    std::vector<Baseline> chosen = lab_.baselines();
    if (options_.baselines.empty()) return chosen;
    const auto named = [&](const std::string& name) {
      return std::any_of(chosen.begin(), chosen.end(),
                         [&](const Baseline& baseline) { return baseline.name == name; });
    };
    for (const std::string& name : options_.baselines) {
      if (!named(name)) throw UsageError("no baseline '{}' in lab {}", name, lab_.name());
    }
    std::erase_if(chosen, [&](const Baseline& baseline) {
      const auto& names = options_.baselines;
      return baseline.name != policy_.baseline &&
             std::find(names.begin(), names.end(), baseline.name) == names.end();
    });
    return chosen;
  }

  void compile_baselines() {
    for (const Baseline& baseline : chosen_baselines()) {
      progress_.update("compiling baseline " + baseline.name);
      const Submission source =
          read_submission(project_root() / baseline.folder, lab_.name(), Role::kBaseline);
      CompileOptions options = compile_options();
      options.libraries = baseline.libraries;
      // What the lab's baselines share lies beside their folders.
      options.extra_includes = {source.directory.parent_path(), source.directory};
      const CompileResult result = compiler_.compile(source, options);
      if (!result.ok()) throw JudgeFault("baseline {} does not compile: {}", baseline.name, result.message);
      RunnerSpec spec = runner_spec(baseline.name, result.executable);
      spec.sandbox = SandboxMode::kUnsandboxed;  // ours
      spec.vendor_libraries = true;
      baselines_.push_back({baseline.name, spec, baseline.every_pair});
    }
  }

  RunnerSpec runner_spec(const std::string& label, const fs::path& executable) const {
    RunnerSpec spec;
    spec.label = label;
    spec.executable = executable;
    spec.sandbox = sandbox_;
    spec.gpu = backend_.name == "cuda";
    spec.cuda_libraries = spec.gpu ? compiler_.toolchain().library_directory : emulator_directory();
    const auto run_limit = policy_.limits.run_s.find(backend_.name);
    spec.limits.run = std::chrono::milliseconds(static_cast<int>(1e3 * run_limit->second));
    spec.limits.plan = spec.limits.run;
    spec.limits.host_memory_bytes = policy_.limits.host_memory_mb << 20;
    spec.limits.output_bytes = policy_.limits.output_kb << 10;
    if (!spec.gpu) {
      spec.environment = {{"WARPEMU_THREADS", std::to_string(emulator_threads())},
                          {"WARPEMU_CHECKS", options_.checks},
                          {"WARPEMU_ARCH", backend_.architecture},
                          {"WARPEMU_MEMORY_MB", std::to_string(policy_.limits.device_memory_mb)},
                          {"WARPEMU_LAUNCH_TIMEOUT_S", std::to_string(0.9 * run_limit->second)},
                          {"WARPEMU_REPORT", "quiet"}};
    }
    return spec;
  }

  int cores() const { return static_cast<int>(std::max(1u, std::thread::hardware_concurrency())); }
  int workers() const {
    if (backend_.name == "cuda") return 1;  // one submission at a time has the device
    return std::max(1,
                    std::min<int>(options_.jobs > 0 ? options_.jobs : cores(), inputs_.submissions.size()));
  }
  int emulator_threads() const { return std::max(1, cores() / workers()); }

  void judge_all() {
    std::atomic<size_t> done{0};
    parallel(inputs_.submissions.size(), static_cast<size_t>(workers()), [&](size_t i) {
      judge_submission(i);
      progress_.note(fmt::format("[{}/{}] {}", ++done, inputs_.submissions.size(), summary_line(i)));
    });
  }

  void judge_submission(size_t index) {
    const Submission& submission = inputs_.submissions[index];
    JudgeJob job;
    for (const CaseInput& input : inputs_.cases) {
      if (folder_.has_record(submission.id, input.spec.id))
        ++resumed_;
      else
        job.cases.push_back(input);
    }
    if (job.cases.empty()) return;
    if (!compiled_[index].ok()) {
      for (const CaseInput& input : job.cases) record_not_compiled(index, input);
      return;
    }
    job.lab = lab_.name();
    job.context.backend = backend_.name;
    job.context.submission = runner_spec(submission.id, compiled_[index].executable);
    job.context.baselines = baselines_;
    if (options_.self_baseline && backend_.name == "cuda") {
      job.context.baselines.push_back({"self", runner_spec("self", compiled_[index].executable), true});
    }
    job.context.seed = Sha256().part(seed_).part(submission.id).hex();
    job.context.threads = backend_.name == "cuda" ? cores() : emulator_threads();
    job.context.measure_speed = options_.measure_speed;
    job.context.speed_budget_s = options_.speed_budget_s;
    job.context.least_pairs = options_.least_pairs;
    job.context.baseline_budget_s = options_.baseline_budget_s;
    run_judge(std::move(job),
              {[&](const std::string& id, const json& part) { record_case(index, id, part); },
               [&](const std::string& id, const std::string& why) { record_fault(index, id, why); }});
  }

  // The identity that every record carries; `part` is what the judge measured.
  json complete(size_t index, json part) const {
    const Submission& submission = inputs_.submissions[index];
    part["schema"] = "warpgrade.case.v1";
    part["run"] = run_.at("run");
    part["submission"] = submission.to_json();
    part["harness"] = run_.at("harness");
    part["lab"] = lab_.name();
    part["backend"] = backend_.name;
    part["sandbox"] = to_string(sandbox_);
    part["seed_commitment"] = run_.at("seed_commitment");
    part["toolchain"] = run_.at("toolchain");
    part["toolchain"]["flags"] = compiled_[index].flags;
    part["recorded_at"] = utc_now();
    json kernels = json::array();
    for (const KernelResources& kernel : compiled_[index].kernels) kernels.push_back(kernel.to_json());
    part["kernels"] = kernels;
    json& outcome = part["outcome"];
    if (outcome.at("verdict") != verdicts::kAccepted && !outcome.contains("next_step")) {
      outcome["next_step"] = next_step(outcome.at("verdict"), part.at("case").at("id"));
    }
    return part;
  }

  std::string next_step(const std::string& verdict, const std::string& case_id) const {
    if (verdict == verdicts::kCompileError) return "compile it again: make test LAB=" + lab_.name();
    if (verdict == verdicts::kNotImplemented) return "write it, then: make test LAB=" + lab_.name();
    return fmt::format("repeat it: make test LAB={} CASE={}", lab_.name(), case_id);
  }

  void record_case(size_t index, const std::string& id, json part) {
    if (backend_.name == "emulator" && part.contains("device")) {
      part["device"] = {{"name", "libwarpemu"}, {"threads", emulator_threads()}};
    }
    if (part.contains("counters")) quote_source(part["counters"], inputs_.submissions[index].directory);
    if (folder_.add_record(complete(index, std::move(part)))) ++recorded_;
    progress_.update(fmt::format("{}: {}", inputs_.submissions[index].id, id));
  }

  json bare_case(const std::string& id) const {
    for (const json& spec : run_.at("cases")) {
      if (spec.at("id") == id) return {{"case", spec}};
    }
    return {{"case", {{"id", id}}}};
  }

  void record_fault(size_t index, const std::string& id, const std::string& why) {
    json part = bare_case(id);
    part["outcome"] = {{"verdict", verdicts::kJudgeFault},
                       {"message", why},
                       {"next_step", "the instructor runs the same command again: only this case is redone"}};
    folder_.add_fault(complete(index, std::move(part)));
    ++faults_;
  }

  void record_not_compiled(size_t index, const CaseInput& input) {
    const CompileResult& compiled = compiled_[index];
    json part = bare_case(input.spec.id);
    const bool cheating = compiled.status == "cheating";
    part["outcome"] = {{"verdict", cheating ? verdicts::kCheating : verdicts::kCompileError},
                       {"reason", compiled.reason},
                       {"message", compiled.message}};
    if (folder_.add_record(complete(index, std::move(part)))) ++recorded_;
  }

  std::string summary_line(size_t index) const {
    const Submission& submission = inputs_.submissions[index];
    int accepted = 0, total = 0;
    std::string worst;
    for (const CaseInput& input : inputs_.cases) {
      const fs::path file = folder_.case_file(submission.id, input.spec.id);
      ++total;
      if (!fs::exists(file)) continue;
      const json record = json::parse(read_text(file));
      const std::string verdict = record.at("outcome").at("verdict");
      if (verdict == verdicts::kAccepted)
        ++accepted;
      else if (worst.empty()) {
        worst = fmt::format("{} on {}: {}", verdict, input.spec.id, record["outcome"].value("message", ""));
      }
    }
    return fmt::format("{:<24} {}/{} cases{}", submission.id, accepted, total,
                       worst.empty() ? "" : ", " + worst);
  }

  GradeOptions options_;
  const Lab& lab_;
  RunFolder folder_;
  Compiler compiler_;
  Progress progress_;
  Policy policy_;
  fs::path policy_text_file_;
  SandboxMode sandbox_ = SandboxMode::kBubblewrap;
  Backend backend_;
  RunInputs inputs_;
  json run_;
  std::string seed_;
  std::vector<CompileResult> compiled_;
  std::vector<JudgeContext::BaselineRunner> baselines_;
  std::atomic<size_t> recorded_{0}, resumed_{0}, faults_{0};
};

}  // namespace

std::set<std::string> dataset_names(const Lab& lab) {
  std::set<std::string> names;
  for (const CaseSpec& spec : lab.cases()) names.insert(spec.dataset);
  return names;
}

Backend choose_backend(const std::string& name) {
  if (name != "auto" && name != "cuda" && name != "emulator") {
    throw UsageError("no backend '{}'; there is: auto, cuda, emulator", name);
  }
  if (name != "emulator") {
    const json device = probe_gpu();
    if (!device.empty()) return {"cuda", device, std::to_string(device.at("compute_capability").get<int>())};
    if (name == "cuda") throw UsageError("no NVIDIA GPU with a working driver here; say --backend emulator");
  }
  const char* architecture = std::getenv("WARPGRADE_EMULATOR_ARCH");
  return {
      "emulator", {{"name", "libwarpemu"}}, architecture != nullptr ? architecture : kEmulatorArchitecture};
}

std::vector<CaseSpec> select_cases(const Lab& lab, const std::vector<std::string>& selectors,
                                   const std::string& backend) {
  std::vector<CaseSpec> selected;
  if (selectors.empty()) {
    for (const CaseSpec& spec : lab.cases()) {
      const bool slow_here = backend == "emulator" && (spec.set == "stand-in" || spec.set == "real-large");
      if (spec.set == "large" || slow_here) continue;
      selected.push_back(spec);
    }
    return selected;
  }
  const std::vector<CaseSpec> all = lab.cases();
  for (const std::string& selector : selectors) {
    if (std::none_of(all.begin(), all.end(), [&](const CaseSpec& spec) { return matches(spec, selector); })) {
      throw UsageError("no case, dataset or set '{}' in lab {}; `warpgrade labs {}` lists them", selector,
                       lab.name(), lab.name());
    }
  }
  for (const CaseSpec& spec : all) {
    if (std::any_of(selectors.begin(), selectors.end(),
                    [&](const std::string& s) { return matches(spec, s); })) {
      selected.push_back(spec);
    }
  }
  return selected;
}

json score_run(const RunFolder& folder, const std::optional<fs::path>& policy_file) {
  const json run = folder.read_run();
  const std::string lab_name = run.at("lab");
  const Lab& lab = find_lab(lab_name);
  const std::set<std::string> known = dataset_names(lab);
  const Policy policy = policy_file
                            ? load_policy(*policy_file, known)
                            : parse_policy(run.at("policy"), folder.run_file().string() + " (policy)", known);
  const json scores = score(policy, run, folder.read_records());
  write_text(folder.scores_file(), scores.dump(1, ' ', false, json::error_handler_t::replace) + "\n");
  return scores;
}

GradeSummary grade(const GradeOptions& options) {
  return GradeRun(options).execute();
}

}  // namespace warpgrade

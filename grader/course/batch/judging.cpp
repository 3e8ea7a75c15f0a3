#include "course/batch/judging.h"

#include <algorithm>
#include <chrono>
#include <ctime>
#include <thread>

#include "base/error.h"
#include "base/files.h"
#include "base/hash.h"
#include "base/inject.h"
#include "base/json.h"
#include "base/process.h"
#include "base/text.h"
#include "course/batch/attempt_mark.h"
#include "course/batch/contain.h"
#include "course/batch/patience.h"
#include "course/ingest/times.h"
#include "course/profile/device_rates.h"
#include "course/profile/source.h"
#include "course/profile/told.h"
#include "judge/compile/older_interface.h"
#include "judge/judging/verdict.h"

namespace warpgrade {
namespace fs = std::filesystem;
using nlohmann::json;

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// A verdict that load on the GPU can bring about: it stands only when the submission had the GPU to itself.
bool may_be_disturbed(const json& outcome) {
  const std::string verdict = outcome.at("verdict");
  return verdict == verdicts::kTimeLimit || verdict == verdicts::kTimingRejected ||
         verdict == verdicts::kMemoryLimit || outcome.value("reason", "") == "cuda_error";
}

// What the submission itself took; the rest of the wall time is the judge's overhead: its own work, and
// waiting for a turn on a GPU that other judges use.
constexpr const char* kRuns[] = {"plan", "run", "verify", "timed"};
constexpr const char* kWaiting = "lease_wait";

constexpr const char* kJudgeFaultTwice = "judge_fault_twice";

// started_at has whole seconds; what lies between two sessions is less.
double seconds_since_1970() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

}  // namespace

Judging::Judging(const ClassRun& run, Progress& progress)
    : run_(run),
      progress_(progress),
      compiler_(find_toolchain(), cache_directory() / "compiled"),
      events_(run.folder().root(), run.options().event_facts),
      compiled_(run.submissions().size()),
      not_compiled_why_(run.submissions().size()),
      compile_s_(run.submissions().size()) {}

CompileOptions Judging::compile_options() const {
  CompileOptions options;
  options.lab = run_.lab().name();
  options.architecture = run_.backend().architecture;
  options.sandbox = run_.sandbox();
  options.limit = std::chrono::seconds(static_cast<int>(run_.policy().limits.compile_s));
  return options;
}

fs::path Judging::folder_of(size_t i) const {
  return run_.folder().submission_folder(run_.submissions()[i].id);
}

int Judging::deaths(size_t i) const {
  return AttemptMark::deaths(folder_of(i));
}

void Judging::compile(size_t i) {
  if (const int died = deaths(i); died >= kMostDeaths) {
    not_compiled_why_[i] = fmt::format("{} calls died while they handled this submission", died);
    AttemptMark::forget(folder_of(i));  // the next call tries again
    return;
  }
  const AttemptMark mark(folder_of(i));
  const auto why = contained([&] { compile_now(i); });
  not_compiled_why_[i] = why ? "compiling: " + *why : "";
}

void Judging::compile_now(size_t i) {
  const Submission& submission = run_.submissions()[i];
  const auto start = Clock::now();
  compiled_[i] = compiler_.compile(submission, compile_options());
  compile_s_[i] = seconds_since(start);
  json record = compiled_[i].to_json();
  record["schema"] = "warpgrade.submission.v1";
  record["run"] = run_.description().at("run");
  record["submission"] = submission.to_json();
  record["lab"] = run_.lab().name();
  record["hash"] = submission.hash;
  record["files"] = json::array();
  for (const fs::path& file : submission.files) record["files"].push_back(file.string());
  const fs::path folder = run_.folder().submission_folder(submission.id);
  with_patience(events_, run_.options().log_progress, [&] {
    make_directories(folder);
    write_text(folder / "compile.log", compiled_[i].log);
    write_text(folder / "compile.json", json_text(record, 1) + "\n");
  });
  if (GradeWatcher* watcher = run_.options().watcher) watcher->compiled();
}

// The lab's baselines that were asked for, those that the policy speaks of always among them. One that is
// secret is missing in the students' hand-out: their own runs do without it.
std::vector<Baseline> Judging::chosen_baselines() const {
  std::vector<Baseline> chosen = run_.lab().baselines();
  std::erase_if(chosen, [&](const Baseline& baseline) {
    return run_.policy().secret_baselines.contains(baseline.name) &&
           !std::filesystem::exists(project_root() / baseline.folder);
  });
  const std::vector<std::string>& names = run_.options().baselines;
  if (names.empty()) return chosen;
  const auto named = [&](const std::string& name) {
    return std::any_of(chosen.begin(), chosen.end(),
                       [&](const Baseline& baseline) { return baseline.name == name; });
  };
  for (const std::string& name : names) {
    if (!named(name)) throw UsageError("no baseline '{}' in lab {}", name, run_.lab().name());
  }
  std::erase_if(chosen, [&](const Baseline& baseline) {
    return baseline.name != run_.policy().baseline && !run_.policy().faster_than.contains(baseline.name) &&
           std::find(names.begin(), names.end(), baseline.name) == names.end();
  });
  return chosen;
}

void Judging::compile_baselines() {
  if (!run_.on_gpu()) return;
  for (const Baseline& baseline : chosen_baselines()) {
    progress_.update("compiling baseline " + baseline.name);
    const Submission source =
        read_submission(project_root() / baseline.folder, run_.lab().name(), Role::kBaseline);
    CompileOptions options = compile_options();
    options.libraries = baseline.libraries;
    // What the lab's baselines share lies beside their folders.
    options.extra_includes = {source.directory.parent_path(), source.directory};
    const CompileResult result = compiler_.compile(source, options);
    if (!result.ok()) throw JudgeFault("baseline {} does not compile: {}", baseline.name, result.message);
    RunnerSpec spec = runner_spec(baseline.name, result.executable, {});
    spec.sandbox = SandboxMode::kUnsandboxed;  // ours
    spec.vendor_libraries = true;
    spec.executor.clear();
    baselines_.push_back({baseline.name, spec, baseline.every_pair});
  }
}

const JudgeDevice* Judging::device_of(const Share& share) const {
  if (share.device != nullptr) return share.device;
  return run_.backend().devices.empty() ? nullptr : &run_.backend().devices.front();
}

RunnerSpec Judging::runner_spec(const std::string& label, const fs::path& executable,
                                const Share& share) const {
  const Policy::Limits& limits = run_.policy().limits;
  RunnerSpec spec;
  spec.label = label;
  spec.executable = executable;
  spec.sandbox = run_.sandbox();
  spec.gpu = run_.on_gpu();
  if (!run_.options().direct) spec.executor = executor_directory();
  spec.cuda_libraries = spec.gpu ? compiler_.toolchain().library_directory : emulator_directory();
  const double run_s = limits.run_s.at(run_.backend().name);
  spec.limits.run = std::chrono::milliseconds(static_cast<int>(1e3 * run_s));
  spec.limits.plan = spec.limits.run;
  spec.limits.host_memory_bytes = limits.host_memory_mb << 20;
  spec.limits.device_memory_bytes = limits.device_memory_mb << 20;
  spec.limits.output_bytes = limits.output_kb << 10;
  if (spec.gpu && device_of(share) != nullptr && !device_of(share)->visible.empty())
    spec.environment["CUDA_VISIBLE_DEVICES"] = device_of(share)->visible;
  if (!spec.gpu) {
    spec.environment = {{"WARPEMU_THREADS", std::to_string(share.emulator_threads)},
                        {"WARPEMU_CHECKS", run_.options().checks},
                        {"WARPEMU_ARCH", run_.backend().architecture},
                        {"WARPEMU_MEMORY_MB", std::to_string(limits.device_memory_mb)},
                        {"WARPEMU_LAUNCH_TIMEOUT_S", std::to_string(0.9 * run_s)},
                        {"WARPEMU_REPORT", "quiet"}};
    // Whether the emulator compiles kernels is no matter of verdicts: what the caller says, its executor
    // does. A device's name says more than its architecture.
    for (const char* name : {"WARPEMU_NATIVE", "WARPEMU_ISA", "WARPEMU_DEVICE"}) {
      if (const char* value = std::getenv(name)) spec.environment[name] = value;
    }
  }
  return spec;
}

std::vector<CaseInput> Judging::missing(size_t i) const {
  std::vector<CaseInput> cases;
  for (const CaseInput& input : run_.cases()) {
    if (!run_.folder().has_record(run_.submissions()[i].id, input.spec.id)) cases.push_back(input);
  }
  return cases;
}

JudgeJob Judging::outline(const Share& share) const {
  JudgeJob job;
  job.lab = run_.lab().name();
  job.context.backend = run_.backend().name;
  job.context.submission = runner_spec("", {}, share);
  job.context.baselines = baselines_;
  job.context.alone = share.alone;
  job.context.measure_speed = run_.options().measure_speed;
  settle_device(job.context, share);
  return job;
}

// Where the job runs, and by which lock the judges there take turns.
void Judging::settle_device(JudgeContext& context, const Share& share) const {
  const JudgeDevice* device = device_of(share);
  if (device == nullptr) return;
  context.gpu_lease = device->lease;
  for (auto& baseline : context.baselines)
    if (!device->visible.empty()) baseline.spec.environment["CUDA_VISIBLE_DEVICES"] = device->visible;
}

JudgeJob Judging::job_for(size_t i, std::vector<CaseInput> cases, const Share& share) const {
  const Submission& submission = run_.submissions()[i];
  JudgeJob job;
  job.lab = run_.lab().name();
  job.cases = std::move(cases);
  job.context.backend = run_.backend().name;
  job.context.older_interface = is_older_interface(submission.interface, job.lab);
  job.context.submission = runner_spec(submission.id, compiled_[i].executable, share);
  job.context.baselines = baselines_;
  job.context.alone = share.alone;
  settle_device(job.context, share);
  if (run_.options().self_baseline && run_.on_gpu()) {
    job.context.baselines.push_back({"self", runner_spec("self", compiled_[i].executable, share), true});
    RunnerSpec native = runner_spec("native", compiled_[i].executable, share);
    native.executor.clear();
    job.context.baselines.push_back({"native", native, true});
  }
  job.context.seed = Sha256().part(run_.seed()).part(submission.id).hex();
  job.context.threads = share.judge_threads;
  job.context.measure_speed = run_.options().measure_speed;
  job.context.speed_budget_s = run_.options().speed_budget_s;
  job.context.least_runs = run_.options().least_runs;
  job.context.least_pairs = run_.options().least_pairs;
  job.context.baseline_budget_s = run_.options().baseline_budget_s;
  return job;
}

std::vector<std::string> Judging::judge(size_t i, JudgeServer& judge, const Share& share) {
  std::vector<std::string> disturbed;
  std::set<std::string> faulted;
  std::optional<std::string> why = contained([&] { leave_out_cases(i); });
  if (!why && !not_compiled_why_[i].empty()) {
    why = not_compiled_why_[i];
  } else if (!why) {
    const AttemptMark mark(folder_of(i));
    why = contained([&] { disturbed = judge_compiled(i, judge, share, faulted); });
  }
  AttemptMark::forget(folder_of(i));  // it got through
  if (!why) return disturbed;
  disturbed.clear();  // they are among the missing ones
  for (const CaseInput& input : missing(i)) {
    if (!faulted.contains(input.spec.id)) record_fault(i, input.spec.id, *why);
  }
  return disturbed;
}

std::vector<std::string> Judging::judge_compiled(size_t i, JudgeServer& judge, const Share& share,
                                                 std::set<std::string>& faulted) {
  std::vector<CaseInput> cases = missing(i);
  std::vector<std::string> disturbed;
  if (cases.empty()) return disturbed;
  if (!compiled_[i].ok()) {
    for (const CaseInput& input : cases) record_not_compiled(i, input);
    return disturbed;
  }
  const std::string id = run_.submissions()[i].id;
  const auto start = Clock::now();
  json session{{"started_at", format_time(std::time(nullptr))}, {"started_s", seconds_since_1970()}};
  session["phases"] = {{"judge_start", judge.start()}};
  int judged = 0;
  const auto count_phases = [&](const json& phases) {
    for (const auto& [phase, spent] : phases.items())
      session["phases"][phase] = session["phases"].value(phase, 0.0) + spent.get<double>();
  };
  const auto faults_at = [&](const std::string& case_id, const std::string& why) {
    faulted.insert(case_id);
    record_fault(i, case_id, why);
  };
  JudgeEvents happened;
  happened.on_opened = count_phases;
  if (GradeWatcher* watcher = run_.options().watcher) {
    happened.on_started = [watcher](const std::string& case_id) { watcher->case_started(case_id); };
    happened.wants_to_stop = [watcher] { return watcher->wants_to_stop(); };
  }
  happened.on_record = [&](const std::string& case_id, const json& part) {
    const auto why = contained([&] {
      ++judged;
      count_phases(part.value("phases", json::object()));
      if (!share.alone && may_be_disturbed(part.at("outcome"))) {
        disturbed.push_back(case_id);
      } else {
        record_case(i, case_id, part, share);
      }
    });
    if (why) faults_at(case_id, "recording: " + *why);
  };
  happened.on_death = [&](const std::string& case_id, const std::string& why) {
    events_.infrastructure("judge_died", why, {{"submission", id}, {"case", case_id}});
  };
  happened.on_fault = [&](const std::string& case_id, const std::vector<std::string>& causes) {
    if (!share.alone) {
      disturbed.push_back(case_id);
      return;
    }
    settle_fault(i, case_id, causes, share);
    faulted.insert(case_id);
  };
  judge.run(job_for(i, std::move(cases), share), happened);
  session["wall_s"] = seconds_since(start);
  session["cases"] = judged;
  write_session(i, std::move(session), share);
  for (const std::string& case_id : disturbed) {
    events_.infrastructure("judged_alone", "may have been disturbed by others on the GPU; judged again alone",
                           {{"submission", id}, {"case", case_id}});
  }
  return disturbed;
}

// The staff's naive solution as a runner: it goes the whole way of a submission, and is right.
std::optional<RunnerSpec> Judging::trusted_program(const Share& share) {
  const fs::path folder = project_root() / "reference" / run_.lab().name() / "naive";
  if (!fs::is_directory(folder)) return std::nullopt;
  const Submission source = read_submission(folder, run_.lab().name(), Role::kReference);
  const CompileResult result = compiler_.compile(source, compile_options());
  if (!result.ok()) return std::nullopt;
  return runner_spec("a program of the staff's", result.executable, share);
}

// Whether a fresh judge gets through the case with a program of ours. Only asked after two faults, so it may
// cost as much as a case.
bool Judging::follows_submission(size_t i, const std::string& case_id, const Share& share) {
  bool judged = false;
  const auto why = contained([&] {
    const auto program = trusted_program(share);
    if (!program) return;
    std::vector<CaseInput> same;
    for (const CaseInput& input : run_.cases())
      if (input.spec.id == case_id) same.push_back(input);
    JudgeJob job = job_for(i, same, share);
    job.context.submission = *program;
    JudgeEvents happened;
    happened.on_record = [&](const std::string&, const json& part) {
      const std::string verdict = part.at("outcome").at("verdict");
      judged = verdict == verdicts::kAccepted || verdict == verdicts::kTimingRejected;
    };
    happened.on_fault = [](const std::string&, const std::vector<std::string>&) {};
    const JudgeDevice* device = device_of(share);
    JudgeServer(device != nullptr ? device->visible : "").run(std::move(job), happened);
  });
  return judged && !why;
}

void Judging::settle_fault(size_t i, const std::string& case_id, const std::vector<std::string>& causes,
                           const Share& share) {
  if (follows_submission(i, case_id, share))
    record_blamed(i, case_id, causes);
  else
    record_fault(i, case_id, causes.back());
}

void Judging::write_session(size_t i, json session, const Share& share) const {
  const double wall_s = session.at("wall_s"), waited_s = session.at("phases").value(kWaiting, 0.0);
  double between_s = wall_s, gpu_s = -waited_s, runs_s = 0;
  for (const auto& [phase, spent] : session.at("phases").items()) {
    between_s -= spent.get<double>();
    gpu_s += spent.get<double>();
  }
  for (const char* phase : kRuns) runs_s += session.at("phases").value(phase, 0.0);
  session["phases"]["between"] = std::max(0.0, between_s);  // the job read, the GPU checked, records written
  session["waited_s"] = waited_s;
  session["overhead_s"] = std::max(0.0, wall_s - runs_s - waited_s);
  session["overhead_with_waiting_s"] = std::max(0.0, wall_s - runs_s);
  session["compile_s"] = compile_s_[i];
  if (run_.on_gpu()) session["gpu_s"] = gpu_s;
  session["node"] = host_name();
  if (run_.options().event_facts.contains("job")) session["job"] = run_.options().event_facts["job"];
  if (!run_.backend().device.empty()) session["device"] = run_.backend().device.value("name", "");
  if (const JudgeDevice* device = device_of(share)) session["device_uuid"] = device->about.value("uuid", "");
  const std::string id = run_.submissions()[i].id;
  const fs::path file = run_.folder().submission_folder(id) / "judging.json";
  json all{{"schema", "warpgrade.judging.v1"},
           {"run", run_.description().at("run")},
           {"submission", id},
           {"sessions", json::array()}};
  if (fs::exists(file)) {
    const json before = json::parse(read_text(file), nullptr, false);
    if (before.is_object() && before.contains("sessions")) all["sessions"] = before["sessions"];
  }
  all["sessions"].push_back(std::move(session));
  try {
    write_text(file, json_text(all, 1) + "\n");
  } catch (const UsageError&) {
    // A full disk costs the times, not the verdicts.
  }
}

// The identity that every record carries; `part` is what the judge measured.
json Judging::complete(size_t i, json part) const {
  const Submission& submission = run_.submissions()[i];
  part["schema"] = "warpgrade.case.v1";
  part["run"] = run_.description().at("run");
  part["submission"] = submission.to_json();
  part["harness"] = run_.description().at("harness");
  part["lab"] = run_.lab().name();
  part["backend"] = run_.backend().name;
  part["sandbox"] = to_string(run_.sandbox());
  part["isolation"] = run_.isolation().to_json();
  part["host_isolation"] = run_.options().direct ? "direct" : "executor";
  part["seed_commitment"] = run_.description().at("seed_commitment");
  part["toolchain"] = run_.description().at("toolchain");
  part["toolchain"]["flags"] = compiled_[i].flags;
  part["recorded_at"] = format_time(std::time(nullptr));
  json kernels = json::array();
  for (const KernelResources& kernel : compiled_[i].kernels) kernels.push_back(kernel.to_json());
  part["kernels"] = kernels;
  add_estimate(part);
  json& outcome = part["outcome"];
  if (outcome.at("verdict") != verdicts::kAccepted && !outcome.contains("next_step")) {
    outcome["next_step"] = next_step(outcome.at("verdict"), part.at("case").at("id"));
  }
  return part;
}

// For pages alone; no score reads it. `levels` among the checks counts what it needs.
void Judging::add_estimate(json& part) const {
  if (!part.contains("counters") || !part["counters"].contains("launch_groups")) return;
  const char* named = std::getenv("WARPEMU_DEVICE");
  const std::string device = named != nullptr ? named : device_of_architecture(run_.backend().architecture);
  if (const auto rates = find_rates(device))
    part["estimate"] = tell_estimate(part["counters"], part["kernels"], *rates);
  if (part.contains("estimate")) part["estimate"]["text"] = estimate_text(part["estimate"]);
}

std::string Judging::next_step(const std::string& verdict, const std::string& case_id) const {
  const std::string lab = run_.lab().name();
  if (verdict == verdicts::kCompileError) return "compile it again: make test LAB=" + lab;
  if (verdict == verdicts::kNotImplemented) return "write it, then: make test LAB=" + lab;
  return fmt::format("repeat it: make test LAB={} CASE={}", lab, case_id);
}

void Judging::add(const json& record) {
  inject("record", record.at("submission").at("id").get_ref<const std::string&>());
  bool is_new = false;
  with_patience(events_, run_.options().log_progress, [&] { is_new = run_.folder().add_record(record); });
  if (!is_new) return;
  ++recorded_;
  if (GradeWatcher* watcher = run_.options().watcher) watcher->case_recorded(record);
  if (!run_.options().log_progress) return;
  events_.progress("case_recorded", record.at("outcome").at("verdict"),
                   {{"submission", record.at("submission").at("id")}, {"case", record.at("case").at("id")}});
}

void Judging::record_case(size_t i, const std::string& id, json part, const Share& share) {
  if (!run_.on_gpu() && part.contains("device")) {
    part["device"] = {{"name", "libwarpemu"}, {"threads", share.emulator_threads}};
    if (share.device != nullptr) part["device"]["uuid"] = share.device->about.at("uuid");
  }
  if (part.contains("counters")) {
    // Source lines beside the figures are for reading: a record is right without them.
    if (const auto why = contained([&] { quote_source(part["counters"], run_.submissions()[i].directory); }))
      events_.infrastructure("source_not_quoted", *why, {{"submission", run_.submissions()[i].id}});
  }
  add(complete(i, std::move(part)));
  if (told_) told_(i, id);
}

json Judging::bare_case(const std::string& id) const {
  for (const json& spec : run_.description().at("cases")) {
    if (spec.at("id") == id) return {{"case", spec}};
  }
  return {{"case", {{"id", id}}}};
}

void Judging::record_fault(size_t i, const std::string& id, const std::string& why) {
  json part = bare_case(id);
  part["outcome"] = {{"verdict", verdicts::kJudgeFault},
                     {"message", why},
                     {"next_step", "the instructor runs the same command again: only this case is redone"}};
  const json record = complete(i, std::move(part));
  with_patience(events_, run_.options().log_progress, [&] { run_.folder().add_fault(record); });
  events_.infrastructure("judge_fault", why, {{"submission", run_.submissions()[i].id}, {"case", id}});
  ++faults_;
}

// A verdict like any other: it stands until a person has it judged again.
void Judging::record_blamed(size_t i, const std::string& id, const std::vector<std::string>& causes) {
  json part = bare_case(id);
  part["outcome"] = {
      {"verdict", verdicts::kRuntimeError},
      {"reason", kJudgeFaultTwice},
      {"message",
       "the judge failed twice at this case with this program, and got through it with the staff's own"},
      {"next_step", "ask the course's staff: they see what the judge met"}};
  part["judge_faults"] = causes;
  add(complete(i, std::move(part)));
  events_.for_staff(kJudgeFaultTwice, causes.back(),
                    {{"submission", run_.submissions()[i].id}, {"case", id}});
  ++for_staff_;
}

void Judging::record_not_compiled(size_t i, const CaseInput& input) {
  const CompileResult& compiled = compiled_[i];
  json part = bare_case(input.spec.id);
  const bool cheating = compiled.status == "cheating";
  part["outcome"] = {{"verdict", cheating ? verdicts::kCheating : verdicts::kCompileError},
                     {"reason", compiled.reason},
                     {"message", compiled.message}};
  add(complete(i, std::move(part)));
}

// Cases that the submission's interface was never promised are recorded as left out: nobody's failure.
void Judging::leave_out_cases(size_t i) {
  const Submission& submission = run_.submissions()[i];
  if (!is_older_interface(submission.interface, run_.lab().name())) return;
  for (const CaseInput& input : missing(i)) {
    if (input.spec.beyond_older.empty()) continue;
    json part = bare_case(input.spec.id);
    part["outcome"] = {{"verdict", verdicts::kNotRun},
                       {"reason", verdicts::kLeftOut},
                       {"message", fmt::format("left out: the interface {} was never promised this: {}",
                                               submission.interface, input.spec.beyond_older)},
                       {"next_step", "nothing: it earns and costs nothing. Written to " + run_.lab().name() +
                                         ".h the submission is judged on it"}};
    add(complete(i, std::move(part)));
  }
}

std::string Judging::label(size_t i) const {
  const Submission& submission = run_.submissions()[i];
  const std::string name = plain_line(submission.title, 60);
  return name.empty() || name == submission.id ? submission.id : fmt::format("{} ({})", name, submission.id);
}

std::string Judging::summary_line(size_t i) const {
  const Submission& submission = run_.submissions()[i];
  int accepted = 0, total = 0, left_out = 0;
  std::string worst;
  for (const CaseInput& input : run_.cases()) {
    const fs::path file = run_.folder().case_file(submission.id, input.spec.id);
    ++total;
    if (!fs::exists(file)) continue;
    const json record = json::parse(read_text(file), nullptr, false);
    if (!record.is_object()) continue;  // reading all records says which one is damaged
    const std::string verdict = record.at("outcome").at("verdict");
    if (is_left_out(record.at("outcome"))) {
      ++left_out;
      --total;
    } else if (verdict == verdicts::kAccepted)
      ++accepted;
    else if (worst.empty()) {
      worst = fmt::format("{} on {}: {}", verdict, input.spec.id, record["outcome"].value("message", ""));
    }
  }
  return fmt::format("{:<24} {}/{} cases{}{}", label(i), accepted, total,
                     left_out == 0 ? "" : fmt::format(", {} left out", left_out),
                     worst.empty() ? "" : ", " + worst);
}

}  // namespace warpgrade

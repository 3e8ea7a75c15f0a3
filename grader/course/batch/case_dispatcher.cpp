#include "course/batch/case_dispatcher.h"

#include <chrono>
#include <ctime>

#include "base/elapsed.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/toolchain.h"
#include "course/batch/attempt_mark.h"
#include "course/batch/error_of.h"
#include "course/ingest/times.h"
#include "judge/compile/older_interface.h"
#include "record/outcome.h"

namespace warpgrade {
namespace fs = std::filesystem;
using nlohmann::json;

namespace {

// A limit of time that was met while others had the cores. (One that was met although there was a core for
// each is the program's own, and is not tried again: endless loops would cost twice as much.)
bool may_be_starved(const json& part) {
  return outcome_of(part).verdict == Verdict::kTimeLimit &&
         part.value("calls", json::object()).value("busy", false);
}

// A verdict that load on the GPU can bring about: it stands only when the submission had the GPU to itself.
bool may_be_disturbed(const Outcome& outcome) {
  return outcome.verdict == Verdict::kTimeLimit || outcome.verdict == Verdict::kTimingRejected ||
         outcome.verdict == Verdict::kMemoryLimit || outcome.reason == Reason::kCudaError;
}

// started_at has whole seconds; what lies between two sessions is less.
double seconds_since_1970() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

}  // namespace

CaseDispatcher::CaseDispatcher(const ClassRun& run, Progress& progress)
    : run_(run),
      progress_(progress),
      compiler_(find_toolchain(), cache_directory() / "compiled"),
      events_(run.folder().root(), run.options().event_facts),
      compiled_(run.submissions().size()),
      not_compiled_why_(run.submissions().size()),
      compile_s_(run.submissions().size()) {}

fs::path CaseDispatcher::folder_of(size_t i) const {
  return run_.folder().submission_folder(run_.submissions()[i].id);
}

int CaseDispatcher::deaths(size_t i) const {
  return AttemptMark::deaths(folder_of(i));
}

const JudgeDevice* CaseDispatcher::device_of(const Share& share) const {
  if (share.device != nullptr) return share.device;
  return run_.backend().devices.empty() ? nullptr : &run_.backend().devices.front();
}

RunnerSpec CaseDispatcher::runner_spec(const std::string& label, const fs::path& executable,
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
  const auto milliseconds = [](double s) { return std::chrono::milliseconds(static_cast<long>(1e3 * s)); };
  spec.limits.run = milliseconds(run_s);
  spec.limits.all_calls = milliseconds(limits.case_s.at(run_.backend().name));
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

std::vector<Case> CaseDispatcher::missing(size_t i) const {
  std::vector<Case> cases;
  for (const Case& input : run_.cases()) {
    if (!run_.folder().has_record(run_.submissions()[i].id, input.id)) cases.push_back(input);
  }
  return cases;
}

JudgeJob CaseDispatcher::outline(const Share& share) const {
  JudgeJob job = outline_without_baselines(share);
  job.context.baselines = baselines_;
  settle_device(job.context, share);
  return job;
}

JudgeJob CaseDispatcher::outline_without_baselines(const Share& share) const {
  JudgeJob job;
  job.lab = run_.lab().name();
  job.context.backend = run_.backend().name;
  job.context.submission = runner_spec("", {}, share);
  job.context.alone = share.alone;
  job.context.run_seed = run_.seed();
  job.context.threads = share.judge_threads;
  job.context.order_required = run_.policy().order_required;
  job.context.measure_speed = run_.options().measure_speed;
  job.context.another_follows = share.another_follows;
  job.context.speed_budget_s = run_.options().speed_budget_s;
  job.context.keep_answers = run_.repeats_inputs();
  job.context.least_runs = run_.options().least_runs;
  job.context.process_pairs = run_.options().process_pairs;
  job.context.least_pairs = run_.options().least_pairs;
  job.context.baseline_budget_s = run_.options().baseline_budget_s;
  // What a judge makes ahead is for the class's inputs.
  if (!run_.options().inputs_of_their_own) job.cases = run_.cases();
  settle_device(job.context, share);
  return job;
}

// Where the job runs, and by which lock the judges there take turns.
void CaseDispatcher::settle_device(JudgeContext& context, const Share& share) const {
  const JudgeDevice* device = device_of(share);
  if (device == nullptr) return;
  context.gpu_lease = device->lease;
  for (auto& baseline : context.baselines)
    if (!device->visible.empty()) baseline.spec.environment["CUDA_VISIBLE_DEVICES"] = device->visible;
}

JudgeJob CaseDispatcher::job_for(size_t i, std::vector<Case> cases, const Share& share) const {
  const Submission& submission = run_.submissions()[i];
  JudgeJob job = outline(share);
  job.cases = std::move(cases);
  job.context.older_interface = is_older_interface(submission.interface, job.lab);
  job.context.submission = runner_spec(submission.id, compiled_[i].executable, share);
  job.context.submission.vendor_libraries = !vendor_libraries_of(submission).empty();
  if (run_.options().self_baseline && run_.on_gpu()) {
    job.context.baselines.push_back({"self", runner_spec("self", compiled_[i].executable, share), true});
  }
  job.context.seed = Sha256().part(run_.seed()).part(submission.id).hex();
  if (run_.options().untimed.contains(submission.id)) job.context.measure_speed = false;
  job.context.first_refusal_ends = run_.options().until_refused.contains(submission.id);
  if (run_.options().inputs_of_their_own) job.context.run_seed = job.context.seed;
  job.context.keep_calls = run_.options().keep_calls.string();
  return job;
}

std::vector<std::string> CaseDispatcher::judge(size_t i, JudgeClient& judge, const Share& share) {
  std::vector<std::string> disturbed;
  std::set<std::string> faulted;
  std::optional<std::string> why = error_of([&] { leave_out_cases(i); });
  if (!why && !not_compiled_why_[i].empty()) {
    why = not_compiled_why_[i];
  } else if (!why) {
    const AttemptMark mark(folder_of(i));
    why = error_of([&] { disturbed = judge_compiled(i, judge, share, faulted); });
  }
  AttemptMark::forget(folder_of(i));  // it got through
  if (!why) return disturbed;
  disturbed.clear();  // they are among the missing ones
  for (const Case& input : missing(i)) {
    if (!faulted.contains(input.id)) record_fault(i, input.id, *why);
  }
  return disturbed;
}

std::vector<std::string> CaseDispatcher::judge_compiled(size_t i, JudgeClient& judge, const Share& share,
                                                        std::set<std::string>& faulted) {
  std::vector<Case> cases = missing(i);
  std::vector<std::string> disturbed;
  if (cases.empty()) return disturbed;
  if (compiled_[i].busy && !share.last) {
    for (const Case& input : cases) disturbed.push_back(input.id);
    events_.infrastructure("compiled_alone", compiled_[i].message + "; compiled again alone",
                           {{"submission", run_.submissions()[i].id}});
    return disturbed;
  }
  if (!compiled_[i].ok()) {
    for (const Case& input : cases) record_not_compiled(i, input);
    return disturbed;
  }
  const std::string id = run_.submissions()[i].id;
  const auto start = std::chrono::steady_clock::now();
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
    const auto why = error_of([&] {
      ++judged;
      count_phases(part.value("phases", json::object()));
      if ((!share.alone && may_be_disturbed(outcome_of(part))) || (!share.last && may_be_starved(part))) {
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
  happened.on_memory_short = [&](const std::string& case_id, const std::string& why) {
    faults_at(case_id, note_memory_short(i, case_id, why));
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
    events_.infrastructure("judged_alone", "may have been disturbed by others; judged again alone",
                           {{"submission", id}, {"case", case_id}});
  }
  return disturbed;
}

// The staff's naive solution as a runner: it goes the whole way of a submission, and is right.
std::optional<RunnerSpec> CaseDispatcher::trusted_program(const std::string& lab, const Share& share) {
  const fs::path folder = project_root() / "reference" / lab / "naive";
  if (!fs::is_directory(folder)) return std::nullopt;
  const Submission source = read_submission(folder, lab, Role::kReference);
  CompileOptions options = compile_options();
  options.lab = lab;
  const CompileResult result = compiler_.compile(source, options);
  if (!result.ok()) return std::nullopt;
  return runner_spec("a program of the staff's", result.executable, share);
}

JudgeJob CaseDispatcher::job_against_itself(const Lab& lab, const Case& input, const Share& share) {
  const auto program = trusted_program(lab.name(), share);
  if (!program)
    throw JudgeFault("the staff's naive solution of lab {} is not there or does not compile", lab.name());
  JudgeJob job = outline(share);
  job.lab = lab.name();
  job.cases = {input};
  job.context.submission = *program;
  job.context.baselines.clear();
  if (run_.on_gpu()) {
    for (const Baseline& baseline : lab.baselines())
      if (baseline.name == "naive") job.context.baselines.push_back(baseline_runner(lab, baseline));
    job.context.baselines.push_back({"self", *program, true});
    job.context.baselines.back().spec.label = "self";
  }
  job.context.measure_speed = run_.on_gpu();
  settle_device(job.context, share);
  return job;
}

// Whether a fresh judge gets through the case with a program of ours. Only asked after two faults, so it may
// cost as much as a case.
bool CaseDispatcher::follows_submission(size_t i, const std::string& case_id, const Share& share) {
  bool judged = false;
  const auto why = error_of([&] {
    const auto program = trusted_program(run_.lab().name(), share);
    if (!program) return;
    std::vector<Case> same;
    for (const Case& input : run_.cases())
      if (input.id == case_id) same.push_back(input);
    JudgeJob job = job_for(i, same, share);
    job.context.submission = *program;
    JudgeEvents happened;
    happened.on_record = [&](const std::string&, const json& part) {
      const Verdict verdict = outcome_of(part).verdict;
      judged = verdict == Verdict::kAccepted || verdict == Verdict::kTimingRejected;
    };
    happened.on_fault = [](const std::string&, const std::vector<std::string>&) {};
    const JudgeDevice* device = device_of(share);
    JudgeClient(device != nullptr ? device->visible : "").run(std::move(job), happened);
  });
  return judged && !why;
}

void CaseDispatcher::settle_fault(size_t i, const std::string& case_id,
                                  const std::vector<std::string>& causes, const Share& share) {
  if (follows_submission(i, case_id, share))
    record_blamed(i, case_id, causes);
  else
    record_fault(i, case_id, causes.back());
}

}  // namespace warpgrade

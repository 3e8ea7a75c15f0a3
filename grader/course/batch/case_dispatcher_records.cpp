// Records what was found: verdicts, faults, cases left out, and where the time went.
#include <algorithm>
#include <ctime>

#include "base/error.h"
#include "base/files.h"
#include "base/inject.h"
#include "base/json.h"
#include "base/process.h"
#include "base/text.h"
#include "course/batch/case_dispatcher.h"
#include "course/batch/disk_retry.h"
#include "course/batch/error_of.h"
#include "course/ingest/times.h"
#include "course/profile/device_rates.h"
#include "course/profile/estimate_json.h"
#include "course/profile/measured_rates.h"
#include "course/profile/source.h"
#include "judge/compile/older_interface.h"
#include "judge/sandbox/memory_above.h"
#include "record/view.h"

namespace warpgrade {
namespace fs = std::filesystem;
using nlohmann::json;

namespace {

// What the submission itself took; the rest of the wall time is the judge's overhead: its own work, and
// waiting for a turn on a GPU that other judges use.
constexpr const char* kRuns[] = {"plan", "run", "verify", "timed"};
constexpr const char* kWaiting = "lease_wait";
constexpr const char* kBeforeTheJob = "ahead";

}  // namespace

void CaseDispatcher::write_session(size_t i, json session, const Share& share) const {
  const double wall_s = session.at("wall_s"), waited_s = session.at("phases").value(kWaiting, 0.0);
  double between_s = wall_s, gpu_s = -waited_s, runs_s = 0;
  for (const auto& [phase, spent] : session.at("phases").items()) {
    if (phase != kBeforeTheJob) between_s -= spent.get<double>();
    gpu_s += spent.get<double>();
  }
  for (const char* phase : kRuns) runs_s += session.at("phases").value(phase, 0.0);
  session["phases"]["between"] = std::max(0.0, between_s);  // the job read, the GPU checked, records written
  session["waited_s"] = waited_s;
  session["overhead_s"] = std::max(0.0, wall_s - runs_s - waited_s);
  session["overhead_with_waiting_s"] = std::max(0.0, wall_s - runs_s);
  session["compile_s"] = compile_s_[i];
  if (run_.on_gpu()) session["gpu_s"] = gpu_s;
  const json& facts = run_.options().event_facts;                                // null: no task of a cluster
  session["node"] = facts.contains("node") ? facts["node"] : json(host_name());  // as Slurm calls it
  if (facts.contains("job")) session["job"] = facts["job"];
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

// The identity that every record carries, beside what the judge measured.
Record CaseDispatcher::complete(size_t i, Record record) const {
  const Submission& submission = run_.submissions()[i];
  const json& run = run_.description();
  record.schema = "warpgrade.case.v1";
  record.run = run.at("run");
  record.submission = submission.to_json();
  record.harness = run.at("harness").get<std::map<std::string, std::string>>();
  record.lab = run_.lab().name();
  record.backend = run_.backend().name;
  record.sandbox = to_string(run_.sandbox());
  record.isolation = run_.isolation().to_json();
  record.host_isolation = run_.options().direct ? "direct" : "executor";
  record.seed_commitment = run.at("seed_commitment");
  record.toolchain = run.at("toolchain");
  record.toolchain["flags"] = compiled_[i].flags;
  if (const json& facts = run_.options().event_facts; facts.contains("node"))  // null: no task of a cluster
    record.node = facts["node"];
  record.recorded_at = format_time(std::time(nullptr));
  record.kernels = json::array();
  for (const KernelResources& kernel : compiled_[i].kernels) record.kernels.push_back(kernel.to_json());
  add_estimate(record);
  name_allocations(record, submission.directory);
  Outcome& outcome = record.outcome;
  if (!outcome.accepted() && outcome.next_step.empty())
    outcome.next_step = next_step(outcome.verdict, record.test_case.id);
  return record;
}

// For pages alone; no score reads it. `levels` among the checks counts what it needs.
void CaseDispatcher::add_estimate(Record& record) const {
  if (!record.counters.contains("launch_groups")) return;
  const char* named = std::getenv("WARPEMU_DEVICE");
  const std::string device = named != nullptr ? named : device_of_architecture(run_.backend().architecture);
  const auto rates = find_rates(device);
  if (!rates) return;
  record.estimate = estimate_json(record.counters, record.kernels, *rates);
  record.estimate["text"] = estimate_text(record.estimate);
}

std::string CaseDispatcher::next_step(Verdict verdict, const std::string& case_id) const {
  const std::string lab = run_.lab().name();
  if (verdict == Verdict::kCompileError) return "compile it again: make test LAB=" + lab;
  if (verdict == Verdict::kNotImplemented) return "write it, then: make test LAB=" + lab;
  return fmt::format("repeat it: make test LAB={} CASE={}", lab, case_id);
}

void CaseDispatcher::add(const Record& record) {
  inject("record", record.submission.id);
  bool is_new = false;
  retry_when_disk_full(events_, run_.options().log_progress,
                       [&] { is_new = run_.folder().add_record(record); });
  if (!is_new) return;
  ++recorded_;
  if (GradeWatcher* watcher = run_.options().watcher) watcher->case_recorded(record);
  if (!run_.options().log_progress) return;
  events_.progress("case_recorded", std::string(word_of(record.outcome.verdict)),
                   {{"submission", record.submission.id}, {"case", record.test_case.id}});
}

void CaseDispatcher::record_case(size_t i, const std::string& id, Record record, const Share& share) {
  json& device = record.device;
  if (!run_.on_gpu() && !device.is_null()) {
    device = {{"name", "libwarpemu"}, {"threads", share.emulator_threads}};
    if (share.device != nullptr) device["uuid"] = share.device->about.at("uuid");
  } else if (!device.is_null()) {
    if (json rates = measured_rates(device); !rates.is_null()) device["rates"] = std::move(rates);
  }
  // Source lines beside the figures are for reading: a record is right without them.
  if (const auto why = error_of([&] { quote_source(record.counters, run_.submissions()[i].directory); }))
    events_.infrastructure("source_not_quoted", *why, {{"submission", run_.submissions()[i].id}});
  add(complete(i, std::move(record)));
  if (on_record_) on_record_(i, id);
}

Record CaseDispatcher::bare_case(const std::string& id, const Outcome& outcome) const {
  Record record;
  record.test_case.id = id;
  for (const Case& spec : Run(run_.description()).cases)
    if (spec.id == id) record.test_case = spec;
  record.outcome = outcome;
  return record;
}

void CaseDispatcher::record_fault(size_t i, const std::string& id, const std::string& why) {
  const Record record =
      complete(i, bare_case(id, {Verdict::kJudgeFault, Reason::kNone, why,
                                 "the instructor runs the same command again: only this case is redone"}));
  retry_when_disk_full(events_, run_.options().log_progress, [&] { run_.folder().add_fault(record); });
  events_.infrastructure("judge_fault", why, {{"submission", run_.submissions()[i].id}, {"case", id}});
  ++faults_;
}

// The next round of a cluster asks for more, by this event.
std::string CaseDispatcher::note_memory_short(size_t i, const std::string& case_id, const std::string& why) {
  const std::size_t limit_mb = memory_limit_above() >> 20;
  const Policy::Limits& limits = run_.policy().limits;
  const std::string words = fmt::format(
      "{}; the policy lets a submission use {} MiB of host memory{}", why, limits.host_memory_mb,
      run_.on_gpu() ? "" : fmt::format(" and {} MiB of the emulated device", limits.device_memory_mb));
  json facts{{"submission", run_.submissions()[i].id}, {"limit_mb", limit_mb}};
  if (!case_id.empty()) facts["case"] = case_id;
  events_.infrastructure("memory_short", words, facts);
  return words;
}

// A verdict like any other: it stands until a person has it judged again.
void CaseDispatcher::record_blamed(size_t i, const std::string& id, const std::vector<std::string>& causes) {
  Record record = bare_case(
      id, {Verdict::kRuntimeError, Reason::kJudgeFaultTwice,
           "the judge failed twice at this case with this program, and got through it with the staff's own",
           "ask the course's staff: they see what the judge met"});
  record.judge_faults = causes;
  add(complete(i, std::move(record)));
  events_.for_staff(std::string(word_of(Reason::kJudgeFaultTwice)), causes.back(),
                    {{"submission", run_.submissions()[i].id}, {"case", id}});
  ++for_staff_;
}

void CaseDispatcher::record_not_compiled(size_t i, const Case& input) {
  const CompileResult& compiled = compiled_[i];
  add(complete(i, bare_case(input.id, {Verdict::kCompileError, compiled.reason, compiled.message})));
}

// Cases that the submission's interface was never promised are recorded as left out: nobody's failure.
void CaseDispatcher::leave_out_cases(size_t i) {
  const Submission& submission = run_.submissions()[i];
  if (!is_older_interface(submission.interface, run_.lab().name())) return;
  for (const Case& input : missing(i)) {
    if (input.beyond_older.empty()) continue;
    add(complete(
        i, bare_case(input.id,
                     {Verdict::kNotRun, Reason::kLeftOut,
                      fmt::format("left out: submissions with the interface {} need not handle this: {}",
                                  submission.interface, input.beyond_older),
                      "nothing: it earns no points, and no points are lost for it. Written to " +
                          run_.lab().name() + ".h the submission is judged on it"})));
  }
}

std::string CaseDispatcher::label(size_t i) const {
  const Submission& submission = run_.submissions()[i];
  const std::string name = plain_line(submission.title, 60);
  return name.empty() || name == submission.id ? submission.id : fmt::format("{} ({})", name, submission.id);
}

std::string CaseDispatcher::summary_line(size_t i) const {
  const Submission& submission = run_.submissions()[i];
  int accepted = 0, total = 0, left_out = 0;
  std::string worst;
  for (const Case& input : run_.cases()) {
    const fs::path file = run_.folder().case_file(submission.id, input.id);
    ++total;
    if (!fs::exists(file)) continue;
    const json record = json::parse(read_text(file), nullptr, false);
    if (!record.is_object()) continue;  // reading all records says which one is damaged
    const Outcome outcome = outcome_of(record);
    if (outcome.left_out()) {
      ++left_out;
      --total;
    } else if (outcome.accepted())
      ++accepted;
    else if (worst.empty()) {
      worst = fmt::format("{} on {}: {}", word_of(outcome.verdict), input.id, outcome.message);
    }
  }
  return fmt::format("{:<24} {}/{} cases{}{}", label(i), accepted, total,
                     left_out == 0 ? "" : fmt::format(", {} left out", left_out),
                     worst.empty() ? "" : ", " + worst);
}

}  // namespace warpgrade

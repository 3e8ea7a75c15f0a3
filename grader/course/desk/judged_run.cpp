#include "course/desk/judged_run.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "base/error.h"
#include "base/files.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/process.h"
#include "base/reports_module.h"
#include "course/batch/class_run.h"
#include "course/batch/grade_run.h"
#include "course/desk/page.h"
#include "course/desk/protocol.h"
#include "course/exports/exports.h"
#include "course/feedback/view.h"
#include "course/ingest/snapshot.h"
#include "course/ingest/times.h"
#include "course/record/practice.h"
#include "course/score/score.h"
#include "record/view.h"

namespace warpgrade::desk {
namespace fs = std::filesystem;
using nlohmann::json;

JudgedRun::JudgedRun(Queue& queue, const Config& config, const Request& request, std::string gpu)
    : queue_(queue),
      config_(config),
      request_(request),
      gpu_(std::move(gpu)),
      policy_(config.policy(request.lab)),
      folder_(queue.folder_of(request.id) / "run"),
      log_(queue.desk()),
      begun_(now_s()) {}

// The class of one that `grade` reads. What an earlier start made is made again alike.
void JudgedRun::lay_out() {
  make_directories(folder_.root());
  remove_staged(folder_.root() / "snapshots");
  RawAttempt raw;
  raw.origin = fmt::format("run {}", request_.id);
  raw.files = {{queue_.folder_of(request_.id) / "submission.tar.gz", "submission.tar.gz"}};
  const auto taken = take_snapshot(raw, folder_.root() / "snapshots", {});
  if (const auto* refusal = std::get_if<Refusal>(&taken)) throw UsageError("{}", refusal->message);
  const auto& snapshot = std::get<Snapshot>(taken);
  const std::string at = format_time(static_cast<std::int64_t>(request_.arrived));
  const json attempt{{"student", request_.student},
                     {"members", {request_.student}},
                     {"attempt", request_.id},
                     {"origin", raw.origin},
                     {"status", "graded"},
                     {"submitted_at", at},
                     {"submission", safe_submission_id(request_.student)},
                     {"snapshot", "snapshots/" + snapshot.hash},
                     {"hash", snapshot.hash},
                     {"bytes", snapshot.bytes},
                     {"files", snapshot.files}};
  const json taken_in{{"schema", "warpgrade.class.v1"},
                      {"run", folder_.root().filename().string()},
                      {"created_at", at},
                      {"source", {{"layout", "desk"}, {"path", raw.origin}}},
                      {"attempts_policy", "last"},
                      {"timezone", policy_.timezone},
                      {"students", {{{"id", request_.student}}}},
                      {"attempts", {attempt}}};
  write_text(folder_.class_file(), json_text(taken_in, 1) + "\n");
  // Practice never enters a gradebook: `warpgrade collect` refuses a run with this file.
  write_text(folder_.root() / kPracticeFile,
             json_text(json{{"run", request_.id}, {"student", request_.student}}) + "\n");
}

GradeOptions JudgedRun::grade_options() {
  GradeOptions options;
  options.lab = request_.lab;
  options.run = folder_.root();
  options.class_in_run = true;
  options.backend = config_.backend;
  if (!gpu_.empty()) options.gpus = {gpu_};
  options.policy = config_.policy_file(request_.lab);
  // A case whose input is not on this machine is left out, as in a class's run.
  for (const std::string& id : request_.cases) options.cases.push_back("?" + id);
  options.allow_unsandboxed = config_.allow_unsandboxed;
  options.speed_budget_s = config_.speed_budget_s;
  options.quiet = true;
  options.watcher = this;
  return options;
}

// Where the judge met a fault of its own, once more. A run that was begun by another warpgrade, or under
// another policy, is begun anew.
void JudgedRun::judge() {
  const bool begun_before = folder_.exists();
  GradeSummary summary;
  try {
    summary = grade(grade_options());
  } catch (const DiskFull&) {
    throw;
  } catch (const UsageError& error) {
    if (!begun_before) throw;
    log_.add("begun_anew", {{"run", request_.id}, {"student", request_.student}, {"why", error.what()}});
    move_run_aside(folder_.root());
    records_.clear();
    lay_out();
    summary = grade(grade_options());
  }
  if (summary.faults > 0 && !wants_to_stop()) {
    log_.add("repeated", {{"run", request_.id}, {"student", request_.student}, {"faults", summary.faults}});
    grade(grade_options());
  }
}

void JudgedRun::compiled() {
  run_ = folder_.read_run();
  records_ = folder_.read_records();
  std::size_t skipped = run_.value("skipped_cases", json::array()).size();
  json body{{"tell", "compiled"}, {"cases", run_.at("cases").size()}, {"backend", run_.at("backend")}};
  if (run_.at("device").contains("name")) body["device"] = run_["device"]["name"];
  if (skipped > 0) body["skipped"] = skipped;
  // For programs that know nothing of the lab: what was read otherwise than it was handed in, the output's
  // name, and whether the last run is the hand-in.
  for (const json& submission : run_.at("submissions"))
    body["notes"] = submission.value("notes", json::array());
  body["output"] = run_.value("terms", json::object()).value("output", "output");
  body["counts"] = policy_.remote.last_remote_counts;
  queue_.add_event(request_, "compiled", body);
  for (const Record& record : records_) send_case(record.test_case.id);
}

void JudgedRun::case_started(const std::string& case_id) {
  read_view();
  queue_.add_event(request_, "start:" + case_id,
                   {{"tell", "case_started"}, {"case", line_of(case_id).value("id", "a case")}});
}

void JudgedRun::case_recorded(const Record& record) {
  records_.push_back(record);
  send_case(record.test_case.id);
}

bool JudgedRun::wants_to_stop() {
  cancelled_ = cancelled_ || queue_.cancel_asked(request_.id);
  out_of_time_ = out_of_time_ || now_s() - begun_ > policy_.remote.seconds;
  return cancelled_ || out_of_time_;
}

// What the student may see of the records so far: nothing is told that does not come from here.
void JudgedRun::read_view() {
  scores_ = score(policy_, run_, records_);
  const RunParts parts{folder_.root(), run_, scores_, records_, json()};
  const auto views = feedback_views(policy_, parts, {}, {}, fmt::format("run {}", request_.id));
  view_ = views.empty() ? json::object() : views.front();
}

// The view's line of the case; an empty object where the policy shows none. The view has its lines in the
// order of the scored cases, less those that are not shown.
json JudgedRun::line_of(const std::string& case_id) const {
  std::map<std::string, std::string> sets;
  for (const Case& spec : Run(run_).cases) sets[spec.id] = spec.set;
  std::size_t at = 0;
  for (const json& scored : scores_.at("submissions").at(0).at("cases")) {
    const std::string id = scored.at("id");
    const bool shown = policy_.visibility.open_sets.contains(sets[id]) || policy_.visibility.hidden_verdicts;
    if (id == case_id) return shown && at < view_["cases"].size() ? view_.at("cases").at(at) : json::object();
    at += shown ? 1 : 0;
  }
  return json::object();
}

void JudgedRun::send_case(const std::string& case_id) {
  read_view();
  json body{{"tell", "case"}, {"line", line_of(case_id)}};
  if (body["line"].empty()) body["line"] = {{"id", "a hidden case"}, {"open", false}};
  if (body["line"].value("open", false))  // of a hidden case it would tell how large it is
    for (const Record& record : records_)
      if (record.test_case.id == case_id) body["seconds"] = record.wall_s.value_or(0);
  queue_.add_event(request_, "case:" + case_id, body);
}

// Cases whose record was written and not told, and faults of the judge, which are no records.
void JudgedRun::send_remaining_cases() {
  run_ = folder_.read_run();
  records_ = folder_.read_records();
  for (const Record& record : records_) send_case(record.test_case.id);
  read_view();
}

bool JudgedRun::render_page() {
  const fs::path folder = queue_.folder_of(request_.id);
  write_text(folder / "view.json", json_text(view_, 1) + "\n");
  json line = view_;
  line["file"] = "feedback";
  const TemporaryDirectory scratch("warpgrade-page");
  try {
    write_text(scratch.path() / "views.jsonl", json_text(line) + "\n");
    run_reports_module("warpgrade_reports.feedback", {(scratch.path() / "views.jsonl").string(), "--output",
                                                      (scratch.path() / "pages").string()});
    pack_feedback(scratch.path() / "pages", folder);
    return true;
  } catch (const Interrupted&) {
    throw;
  } catch (const std::exception& error) {
    log_.add("no_page", {{"run", request_.id}, {"student", request_.student}, {"why", error.what()}});
    return false;
  }
}

Ending JudgedRun::ending() const {
  const json& scored = scores_.at("submissions").at(0);
  std::size_t judged = 0, right = 0, faults = 0;
  for (const Record& record : records_) {
    const Verdict verdict = record.outcome.verdict;
    faults += verdict == Verdict::kJudgeFault ? 1 : 0;
    judged += verdict == Verdict::kJudgeFault ? 0 : 1;
    right += verdict == Verdict::kAccepted ? 1 : 0;
  }
  const std::size_t all = run_.at("cases").size();
  std::string message = fmt::format("{} of {} cases right", right, all);
  if (faults > 0) message += fmt::format("; at {} the judge failed, which is no fault of yours", faults);
  if (judged + faults < all && out_of_time_)
    message +=
        fmt::format("; {} were not judged: a run has {:g} s", all - judged - faults, policy_.remote.seconds);
  if (const std::string note = view_.value("thresholds_note", ""); !note.empty()) message += "; " + note;
  if (cancelled_ && judged < all) return {"cancelled", "", "you cancelled it; " + message};
  if (judged == 0 && faults > 0)
    return {"failed", "",
            "the judge failed at every case; it costs you nothing, and your instructor is told"};
  return {"judged", scored.value("verdict", ""), message};
}

Ending JudgedRun::execute() {
  lay_out();
  judge();
  send_remaining_cases();
  const bool page = render_page();
  Ending ended = ending();
  if (!page) ended.message += "; there is no page of it";
  return ended;
}

}  // namespace warpgrade::desk

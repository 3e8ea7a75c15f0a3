#include "course/feedback/view.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/error.h"
#include "base/files.h"
#include "base/inject.h"
#include "base/text.h"
#include "course/batch/error_of.h"
#include "course/feedback/class_times.h"
#include "course/ingest/times.h"
#include "record/view.h"

namespace warpgrade {
namespace fs = std::filesystem;
using nlohmann::json;

namespace {

constexpr std::size_t kMostLogBytes = 8000, kMostOutputBytes = 1200, kMostMismatches = 8,
                      kMostDiagnostics = 5;

// Copies the fields that are there; all others stay behind.
json only(const json& object, std::initializer_list<const char*> keys) {
  json copy = json::object();
  for (const char* key : keys) {
    const auto found = object.find(key);
    if (found != object.end() && !found->is_null()) copy[key] = *found;
  }
  return copy;
}

const json& part(const json& object, const char* key) {
  static const json empty = json::object();
  const auto found = object.is_object() ? object.find(key) : object.end();
  return !object.is_object() || found == object.end() || !found->is_object() ? empty : *found;
}

// By reference: pointers into the list outlive the call.
const json& list(const json& object, const char* key) {
  static const json empty = json::array();
  const auto found = object.find(key);
  return found == object.end() || !found->is_array() ? empty : *found;
}

json first_of(const json& items, std::size_t most, std::initializer_list<const char*> fields) {
  json first = json::array();
  if (!items.is_array()) return first;
  for (const json& item : items) {
    if (first.size() == most) break;
    if (item.is_object()) first.push_back(only(item, fields));
  }
  return first;
}

// The lab's words. The first runs, which were all of lab spmm, do not say them.
json terms_of(const json& run) {
  const bool is_spmm = run.value("lab", "") == "spmm";
  const json unsaid = is_spmm ? json{{"width", "K"}, {"work", "nnz"}, {"output", "c"}}
                              : json{{"width", ""}, {"work", "work"}, {"output", "output"}};
  return run.value("terms", unsaid);
}

// What every view begins with.
json begun_view(const json& run) {
  return {{"schema", "warpgrade.feedback.v1"}, {"run", run.at("run")},    {"lab", run.at("lab")},
          {"backend", run.at("backend")},      {"speed_measured", false}, {"cases", json::array()}};
}

// The end of a long text, from a whole line on: a cut must not split a UTF-8 letter.
std::string tail(const std::string& text, std::size_t most) {
  if (text.size() <= most) return text;
  std::size_t from = text.find('\n', text.size() - most);
  from = from == std::string::npos ? text.size() - most : from + 1;
  while (from < text.size() && (static_cast<unsigned char>(text[from]) & 0xC0) == 0x80) ++from;
  return "...\n" + text.substr(from);
}

std::optional<double> median_us(const Record* record) {
  return record != nullptr && record->timing ? std::optional(record->timing->median_us) : std::nullopt;
}

class Viewer {
 public:
  Viewer(const Policy& policy, const RunParts& parts)
      : policy_(policy), parts_(parts), zone_(TimeZone::named(policy.timezone)) {
    for (const Case& spec : Run(parts.run).cases) sets_[spec.id] = spec.set;
    for (const json& submission : list(parts.run, "submissions"))
      notes_.emplace(submission.value("id", ""), &list(submission, "notes"));
    for (const Record& record : parts.records)
      records_[{record.submission.id, record.test_case.id}] = &record;
    if (policy.visibility.speed && policy.visibility.leaderboard) gather_times();
    for (const json& submission : list(parts.scores, "submissions"))
      if (const Scored scored = submission; scored.is_students())
        for (const std::string& student : scored.people()) attempts_[student].push_back(&submission);
    for (auto& [student, attempts] : attempts_)
      std::ranges::stable_sort(attempts, {}, [](const json* scored) { return scored->value("attempt", 0); });
    if (!parts.class_list.is_object()) return;
    for (const json& student : list(parts.class_list, "students")) people_[student.at("id")] = &student;
    for (const json& attempt : list(parts.class_list, "attempts")) {
      if (!attempt.contains("refusal")) continue;
      json refusal = only(attempt.at("refusal"), {"reason", "message", "next_step", "entry"});
      if (attempt.contains("submission")) {
        refusals_[attempt.at("submission")] = std::move(refusal);
        continue;
      }
      refusal.update(only(attempt, {"attempt", "submitted_at"}));
      std::set<std::string> involved{attempt.at("student")};
      for (const json& member : list(attempt, "members")) involved.insert(member);
      for (const std::string& student : involved) outlived_refusals_[student].push_back(refusal);
    }
  }

  // Of a submission whose view cannot be made: its points stand, and the page says that it could not be made.
  json points_alone(const json& scored, const std::string& trouble) const {
    json view = begun_view(parts_.run);
    view.update(only(scored, {"points", "max_points", "measured_points", "verdict", "undecided_cases"}));
    view.update({{"terms", terms_of(parts_.run)},
                 {"submission", only(scored, {"id", "attempt"})},
                 {"trouble", trouble}});
    return view;
  }

  // Everything but the person, which differs between the members of a team.
  json submission(const json& scored) const {
    const std::string id = scored.at("id");
    json view = begun_view(parts_.run);
    view["terms"] = terms_of(parts_.run);
    view["submission"] = only(scored, {"id", "title", "team", "attempt", "submitted_at", "late_s", "hash",
                                       "interface", "language"});
    view.update(only(
        scored, {"points", "max_points", "measured_points", "points_before_late", "verdict", "correct_cases",
                 "total_cases", "undecided_cases", "left_out_cases", "dropped_cases", "bonus"}));
    view.update(only(parts_.scores, {"open_note"}));
    if (const json& journey = part(scored, "journey"); !journey.empty())
      view["journey"] = only(journey, {"versions", "notes", "gains", "points", "max_points", "note"});
    if (const json& late = part(scored, "late"); !late.empty()) {
      view["late"] =
          only(late, {"seconds", "days", "slip_days", "percent", "points_lost", "within_grace", "note"});
    }
    add_times(view["submission"]);
    view["speed_measured"] = scored.value("speed_measured", false) && policy_.visibility.speed;
    if (policy_.visibility.speed) {
      view.update(only(scored, {"over_threshold", "threshold_cases"}));
      view.update(only(parts_.scores, {"thresholds_note", "limits_note", "limits"}));
      view["parts"] = only(part(scored, "parts"), {"correctness", "speed", "limit", "journey", "bonus"});
      const int decided = scored.at("total_cases").get<int>() - scored.value("undecided_cases", 0);
      view["speed_gated"] = scored.value("speed_measured", false) && policy_.speed_needs_all_correct &&
                            scored.at("correct_cases").get<int>() < decided;
    }
    json gates = first_of(list(scored, "gates"), 8, {"baseline", "needed", "reached", "status"});
    for (json& gate : gates)
      if (!policy_.visibility.speed) gate.erase("reached");
    if (!gates.empty()) view["gates"] = std::move(gates);
    if (const json notes = notes_of(id); !notes.empty()) view["notes"] = notes;
    const auto refusal = refusals_.find(id);
    if (refusal != refusals_.end()) view["refusal"] = refusal->second;
    view["compile"] = compilation(id);
    add_cases(scored, view);
    add_class_times(view);
    return view;
  }

  json person(const std::string& id, const std::string& title) const {
    const auto found = people_.find(id);
    if (found == people_.end()) return {{"id", id}, {"name", title}};
    json person = only(*found->second, {"id", "name", "email", "section", "team", "canvas_id", "sis_id",
                                        "login", "moodle_id", "lms_id", "on_roster"});
    if (!person.contains("name")) person["name"] = title.empty() ? id : title;
    return person;
  }

  // What of the hand-in was read otherwise than it was handed in, or left out: sentences.
  json notes_of(const std::string& id) const {
    const auto found = notes_.find(id);
    return found == notes_.end() ? json::array() : *found->second;
  }

  // Refused attempts of a student for whom another one counts.
  json refused_attempts(const std::string& student) const {
    const auto found = outlived_refusals_.find(student);
    return found == outlived_refusals_.end() ? json() : found->second;
  }

  // The student's own attempts in this run in their order, with the times of the cases that the view names;
  // none of a single one.
  json attempts(const std::string& student, const json& view) const {
    json told = json::array();
    const auto found = attempts_.find(student);
    if (found == attempts_.end() || found->second.size() < 2) return told;
    std::set<std::string> named;
    for (const ScoredCase line : view.at("cases"))
      if (line.open || policy_.visibility.leaderboard) named.insert(line.id);
    for (const json* scored : found->second) {
      json attempt = only(*scored, {"attempt", "submitted_at", "points", "correct_cases", "total_cases"});
      add_times(attempt);
      if (policy_.visibility.speed) attempt["times_us"] = own_times(*scored, named);
      told.push_back(std::move(attempt));
    }
    return told;
  }

  const std::map<std::string, const json*>& people() const { return people_; }

 private:
  json compilation(const std::string& id) const {
    const fs::path folder = parts_.folder / "submissions" / id;
    if (!fs::exists(folder / "compile.json")) return nullptr;
    const json file = json::parse(read_text(folder / "compile.json"), nullptr, false);
    if (!file.is_object()) return nullptr;
    json view = only(file, {"status", "message", "warnings", "flags"});
    if (view.contains("warnings") && view["warnings"].is_array()) view["warnings"] = view["warnings"].size();
    view["kernels"] = first_of(
        list(file, "kernels"), 16,
        {"name", "registers", "shared_bytes", "stack_bytes", "spill_store_bytes", "spill_load_bytes"});
    if (view.value("status", "") != "compiled" && fs::exists(folder / "compile.log")) {
      view["log"] = tail(read_text(folder / "compile.log"), kMostLogBytes);
    }
    return view;
  }

  void gather_times() {
    for (const Scored scored : list(parts_.scores, "submissions")) {
      if (!scored.is_students() || !scored.counts) continue;
      for (const ScoredCase& line : scored.cases)
        if (const auto time = median_us(record_of(scored.id, line.id)); time && line.accepted())
          class_times_.add(line.id, *time, line.ratio ? std::optional(line.ratio->median) : std::nullopt);
    }
    class_times_.sort();
  }

  // Of the cases that the view names: a numbered one stays without its class.
  void add_class_times(json& view) const {
    for (const ScoredCase line : view.at("cases")) {
      json times = class_times_.of(line.id, line.accepted() ? line.time_us : std::nullopt);
      if (!times.is_null()) view["class_times"][line.id] = std::move(times);
    }
  }

  json own_times(const Scored& scored, const std::set<std::string>& named) const {
    json times = json::object();
    for (const ScoredCase& line : scored.cases)
      if (const auto time = median_us(record_of(scored.id, line.id));
          time && line.accepted() && named.contains(line.id))
        times[line.id] = *time;
    return times;
  }

  // nullptr: there is none.
  const Record* record_of(const std::string& submission, const std::string& case_id) const {
    const auto found = records_.find({submission, case_id});
    return found == records_.end() ? nullptr : found->second;
  }

  // The time of the hand-in on the course's clocks.
  void add_times(json& submission) const {
    const auto at = parse_time(submission.value("submitted_at", ""));
    if (at) submission["submitted_text"] = zone_.text(*at);
  }

  void add_cases(const json& scored, json& view) const {
    json cases = json::array();
    int hidden = 0, hidden_correct = 0;
    double hidden_points = 0, hidden_possible = 0;
    const std::string submission = scored.at("id");
    for (const json& line : scored.at("cases")) {
      const ScoredCase read = line;
      const Record* record = record_of(submission, read.id);
      const auto set = sets_.find(read.id);
      if (set != sets_.end() && policy_.visibility.open_sets.contains(set->second)) {
        cases.push_back(open_case(record, line));
        continue;
      }
      if (policy_.visibility.hidden_verdicts) cases.push_back(hidden_case(record, line, hidden + 1));
      if (read.left_out || read.dropped) continue;
      ++hidden;
      hidden_correct += read.accepted() ? 1 : 0;
      hidden_points += read.points;
      hidden_possible += read.max_points;
    }
    view["cases"] = std::move(cases);
    view["hidden"] = {{"cases", hidden},
                      {"correct", hidden_correct},
                      {"points", hidden_points},
                      {"max_points", hidden_possible}};
  }

  // What everybody may know of a case: the verdict's kind and what it earned.
  json score_line(const json& line, bool named) const {
    json view = only(line, {"kind", "verdict", "points", "max_points", "note", "left_out", "dropped", "bonus",
                            "cpu_only", "no_kernel"});
    if (named) view.update(only(line, {"id", "dataset", "k"}));
    if (policy_.visibility.speed) {
      view.update(
          only(line, {"threshold", "threshold_status", "baseline", "limit_threshold", "limit_status"}));
      // Its bytes and operations would tell how large a hidden input is.
      if (line.contains("limit"))
        view["limit"] = only(line.at("limit"), {"share", "low", "high", "bound_by"});
      if (line.contains("ratio")) view["ratio"] = only(line.at("ratio"), {"median", "low", "high"});
    }
    return view;
  }

  json hidden_case(const Record* record, const json& line, int number) const {
    json view = score_line(line, policy_.visibility.hidden_names);
    if (!policy_.visibility.hidden_names)
      view["id"] = fmt::format("hidden {}", number);
    else if (policy_.visibility.leaderboard)
      add_time(record, view);  // to find the own place in the class
    view["open"] = false;
    return view;
  }

  json open_case(const Record* record, const json& line) const {
    json view = score_line(line, true);
    view["open"] = true;
    if (record == nullptr) return view;
    const json outcome = record->outcome;
    view.update(only(outcome, {"reason", "message", "next_step"}));
    const std::string output = part(outcome, "details").value("output", "");
    if (!output.empty()) view["output"] = tail(output, kMostOutputBytes);
    if (!record->pattern.empty()) view["pattern"] = record->pattern;
    view["mismatches"] = first_of(record->mismatches, kMostMismatches,
                                  {"output", "index", "row", "col", "row_nnz", "want", "got"});
    view["diagnostics"] =
        first_of(record->diagnostics, kMostDiagnostics,
                 {"kind", "file", "line", "kernel", "block", "thread", "message", "advice", "count"});
    view["findings"] = first_of(list(record->counters, "findings"), 3,
                                {"problem", "disease", "kernel", "message", "advice"});
    add_time(record, view);
    return view;
  }

  void add_time(const Record* record, json& view) const {
    if (const auto time = median_us(record); time && policy_.visibility.speed) view["time_us"] = *time;
  }

  const Policy& policy_;
  const RunParts& parts_;
  TimeZone zone_;
  std::map<std::string, std::string> sets_;
  std::map<std::string, const json*> notes_;  // by submission
  std::map<std::pair<std::string, std::string>, const Record*> records_;
  std::map<std::string, const json*> people_;
  ClassTimes class_times_;
  std::map<std::string, std::vector<const json*>> attempts_;  // by student
  std::map<std::string, json> refusals_;                      // by submission
  std::map<std::string, json> outlived_refusals_;             // by student, a list
};

// Of a submission of this run: points and lateness as the gradebook has them.
void apply_final(const Policy& policy, const std::map<std::string, FinalPoints>& finals, json& view) {
  const auto found = finals.find(view.at("person").at("id").get<std::string>());
  if (found == finals.end() || !found->second.points) return;
  const FinalPoints& final = found->second;
  if (final.overridden) {
    view["computed_points"] = view.at("points");
    view["overridden"] = true;
    if (policy.visibility.override_reasons) view["override_reason"] = final.reason;
  } else if (final.run == view.at("run").get<std::string>()) {
    if (final.slip_days > 0 || view.contains("late")) view["late"]["note"] = final.late_note;
  } else {
    return;  // another run's submission counts: the caller shows that one
  }
  view["points"] = *final.points;
}

int attempt_of(const json& view) {
  return view.at("submission").value("attempt", 0);
}

// The parts that this run measures, of somebody who handed in nothing.
json no_points(const json& scores) {
  json none{{"correctness", 0.0}};
  for (const json& scored : list(scores, "submissions"))
    if (Scored(scored).is_students())
      for (const auto& [name, points] : part(scored, "parts").items())
        if (name != "bonus") none[name] = 0.0;
  return none;
}

// Texts of an older run may hold what is cleaned at the door today. Ids are what everything is found by.
void make_plain_but_ids(json& view) {
  json ids;
  for (const char* part : {"person", "submission"})
    if (view.contains(part) && view[part].contains("id")) ids[part] = view[part]["id"];
  make_plain(view);
  for (const auto& [part, id] : ids.items()) view[part]["id"] = id;
}

}  // namespace

const Fields& view_fields() {
  static const Fields fields{"submission/id", "case/id",     "outcome",           "pattern",
                             "mismatches",    "diagnostics", "counters/findings", "timing/median_us"};
  return fields;
}

std::vector<json> feedback_views(const Policy& policy, const RunParts& parts,
                                 const std::map<std::string, std::string>& names,
                                 const std::map<std::string, FinalPoints>& finals,
                                 const std::string& made_from) {
  const Viewer viewer(policy, parts);
  std::vector<json> views;
  std::map<std::string, std::size_t> place;  // by student
  for (const json& submission : parts.scores.at("submissions")) {
    const Scored scored = submission;
    if (!scored.is_students() || !scored.counts) continue;
    json shared;
    const auto trouble = error_of([&] {
      inject("view", scored.id);
      shared = viewer.submission(submission);
    });
    if (trouble) shared = viewer.points_alone(submission, *trouble);
    const auto name = names.find(scored.id);
    if (policy.visibility.leaderboard && name != names.end()) shared["pseudonym"] = name->second;
    const std::vector<std::string> members = scored.people();
    for (const std::string& member : members) {
      json view;
      if (&member == &members.back())
        view.swap(shared);
      else
        view = shared;
      view["person"] = viewer.person(member, scored.title);
      if (json refused = viewer.refused_attempts(member); !refused.empty())
        view["refused_attempts"] = std::move(refused);
      if (json attempts = viewer.attempts(member, view); !attempts.empty())
        view["attempts"] = std::move(attempts);
      apply_final(policy, finals, view);
      const auto [stands, fresh] = place.emplace(member, views.size());
      if (fresh)
        views.push_back(std::move(view));
      else if (attempt_of(view) >= attempt_of(views[stands->second]))
        views[stands->second] = std::move(view);
    }
  }
  for (const auto& [id, student] : viewer.people()) {
    if (place.contains(id)) continue;
    json view = begun_view(parts.run);
    view.update({{"person", viewer.person(id, "")},
                 {"points", 0.0},
                 {"max_points", parts.scores.at("max_points")},
                 {"measured_points", parts.scores.value("measured_points", parts.scores.at("max_points"))},
                 {"verdict", Verdict::kNotSubmitted}});
    if (policy.visibility.speed) view["parts"] = no_points(parts.scores);
    apply_final(policy, finals, view);
    views.push_back(std::move(view));
  }
  for (json& view : views) {
    view["made_from"] = made_from;
    make_plain_but_ids(view);
  }
  return views;
}

}  // namespace warpgrade

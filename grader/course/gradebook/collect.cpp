// A run folder's parts as rows.
#include "course/gradebook/collect.h"

#include <set>

#include "record/view.h"

namespace warpgrade {
namespace fs = std::filesystem;
using nlohmann::json;

namespace {

const json& or_empty(const json& object, const char* key) {
  static const json empty = json::object();
  const auto found = object.find(key);
  return found == object.end() || !found->is_object() ? empty : *found;
}

std::map<std::string, std::string> refusals_of(const json& class_list) {
  std::map<std::string, std::string> refusals;
  if (!class_list.is_object()) return refusals;
  for (const json& attempt : class_list.value("attempts", json::array())) {
    if (attempt.contains("refusal") && attempt.contains("submission")) {
      refusals[attempt.at("submission")] = or_empty(attempt, "refusal").value("message", "refused");
    }
  }
  return refusals;
}

Value late_rules_of(const json& scores) {
  const json& rules = or_empty(scores, "late_rules");
  return rules.empty() ? Value() : Value(rules.dump());
}

// What courseware calls a student, beside what has a column of its own.
Value keys_of(const json& student) {
  json keys = json::object();
  for (const auto& [key, value] : student.items()) {
    static const std::set<std::string> own{"id", "name", "email", "section", "team", "deadline"};
    if (value.is_string() && !own.contains(key)) keys[key] = value;
  }
  return keys.empty() ? Value() : Value(keys.dump());
}

Row run_row(const RunParts& run) {
  return {text_value(run.run, "run"),
          text_value(run.run, "lab"),
          text_value(run.run, "created_at"),
          text_value(run.run, "backend"),
          text_value(run.scores, "policy_name"),
          text_value(run.scores, "policy_hash"),
          text_value(or_empty(run.run, "harness"), "hash"),
          number_value(run.scores, "max_points"),
          fs::absolute(run.folder).lexically_normal().string(),
          text_value(run.class_list, "deadline"),
          late_rules_of(run.scores)};
}

Row attempt_row(const Value& run, const json& submission, const std::string& refusal) {
  return {run,
          text_value(submission, "id"),
          text_value(submission, "title"),
          text_value(submission, "role"),
          text_value(submission, "team"),
          integer_value(submission, "attempt"),
          text_value(submission, "submitted_at"),
          number_value(submission, "late_s"),
          text_value(submission, "hash"),
          text_value(submission, "interface"),
          refusal.empty() ? Value() : Value(refusal),
          submission.value("late_marked", false) ? Value(std::int64_t{1}) : Value(),
          std::int64_t{0}};
}

Row score_row(const Value& run, const json& scored, const Value& policy_hash) {
  return {run,
          text_value(scored, "id"),
          number_value(scored, "points"),
          number_value(scored, "max_points"),
          number_value(scored, "points_before_late"),
          text_value(or_empty(scored, "late"), "note"),
          static_cast<std::int64_t>(scored.value("counts", true) ? 1 : 0),
          text_value(scored, "verdict"),
          integer_value(scored, "correct_cases"),
          integer_value(scored, "total_cases"),
          integer_value(scored, "undecided_cases"),
          integer_value(scored, "over_threshold"),
          integer_value(scored, "threshold_cases"),
          policy_hash,
          number_value(scored, "measured_points")};
}

Row case_row(const Value& run, const Value& submission, const json& line, const Record& record) {
  const json &ratio = or_empty(line, "ratio"), outcome = record.outcome;
  return {run,
          submission,
          text_value(line, "id"),
          text_value(line, "dataset"),
          integer_value(line, "k"),
          text_value(line, "kind"),
          text_value(line, "verdict"),
          text_value(outcome, "reason"),
          text_value(outcome, "message"),
          number_value(line, "points"),
          number_value(line, "max_points"),
          number_value(line, "threshold"),
          text_value(line, "threshold_status"),
          text_value(line, "baseline"),
          number_value(ratio, "median"),
          number_value(ratio, "low"),
          number_value(ratio, "high"),
          record.timing ? Value(record.timing->median_us) : Value(),
          record.wall_s ? Value(*record.wall_s) : Value(),
          record.checksum.empty() ? Value() : Value(record.checksum)};
}

// The roster where there is one; names of the others come from their folders.
std::vector<Row> student_rows(const Value& run, const RunParts& collected) {
  std::map<std::string, Row> students;
  for (const json& submission : collected.run.at("submissions")) {
    const Scored read = submission;
    if (!read.is_students()) continue;
    for (const std::string& member : read.people()) {
      const bool alone = !submission.contains("team") && !submission.contains("members");
      students[member] = {run,     member,  alone ? text_value(submission, "title") : Value(),
                          Value(), Value(), text_value(submission, "team"),
                          Value()};
    }
  }
  if (collected.class_list.is_object()) {
    for (const json& student : collected.class_list.value("students", json::array())) {
      Row& row = students[student.at("id")];
      const Value team = row.empty() ? text_value(student, "team") : row[5];
      row = {run,
             text_value(student, "id"),
             text_value(student, "name"),
             text_value(student, "email"),
             text_value(student, "section"),
             team == Value() ? text_value(student, "team") : team,
             keys_of(student)};
    }
  }
  std::vector<Row> rows;
  for (auto& [id, row] : students) rows.push_back(std::move(row));
  return rows;
}

}  // namespace

const Fields& row_fields() {
  static const Fields fields{"submission/id",    "case/id", "outcome/reason", "outcome/message",
                             "timing/median_us", "wall_s",  "checksum"};
  return fields;
}

RunRows rows_of(const RunParts& collected) {
  const Value run = text_value(collected.run, "run");
  RunRows rows;
  rows.run = run_row(collected);
  rows.students = student_rows(run, collected);
  const auto refusals = refusals_of(collected.class_list);
  std::map<std::pair<std::string, std::string>, const Record*> records;
  for (const Record& record : collected.records)
    records[{record.submission.id, record.test_case.id}] = &record;
  for (const json& submission : collected.run.at("submissions")) {
    const std::string id = submission.at("id");
    const auto refusal = refusals.find(id);
    rows.attempts.push_back(attempt_row(run, submission, refusal == refusals.end() ? "" : refusal->second));
    for (const std::string& member : Scored(submission).people()) rows.members.push_back({run, id, member});
  }
  static const Record none;
  const Value policy_hash = text_value(collected.scores, "policy_hash");
  for (const json& scored : collected.scores.at("submissions")) {
    const std::string id = scored.at("id");
    rows.scores.push_back(score_row(run, scored, policy_hash));
    for (const json& line : scored.at("cases")) {
      const auto record = records.find({id, line.at("id")});
      rows.cases.push_back(case_row(run, id, line, record == records.end() ? none : *record->second));
    }
  }
  return rows;
}

}  // namespace warpgrade

#include "cli/grades.h"

#include <fmt/core.h>

#include "base/error.h"
#include "base/files.h"
#include "cli/tables.h"
#include "exports/csv.h"
#include "gradebook/gradebook.h"
#include "record/run_folder.h"

namespace warpgrade {
namespace fs = std::filesystem;
using nlohmann::json;

namespace {

json read_object(const fs::path& file) {
  json value = json::parse(read_text(file), nullptr, false);
  if (!value.is_object())
    throw UsageError("{}: expected a JSON object; make it anew with `warpgrade collect`", file.string());
  return value;
}

std::string days(const Grade& grade) {
  if (!grade.late_s || *grade.late_s <= 0) return "";
  return *grade.late_s < 86400 ? fmt::format("{:.1f} h", *grade.late_s / 3600)
                               : fmt::format("{:.1f} d", *grade.late_s / 86400);
}

std::string remark(const Grade& grade) {
  std::string text;
  const auto add = [&](const std::string& part) { text += (text.empty() ? "" : "; ") + part; };
  if (grade.override_by) {
    add(fmt::format("was {}; {} ({})", points_cell(grade.computed_points), grade.override_by->reason,
                    grade.override_by->author));
  }
  if (grade.undecided_cases > 0) add(fmt::format("{} cases not judged", grade.undecided_cases));
  if (!grade.refusal.empty()) add("refused: " + grade.refusal);
  if (!grade.late_note.empty()) add(grade.late_note);
  if (!grade.counts) add("does not count");
  return text;
}

const std::vector<std::string> kHeads{"student", "name",           "lab",     "points", "of",  "verdict",
                                      "correct", "over threshold", "attempt", "late",   "run", "remark"};

std::vector<std::string> table_row(const Grade& g) {
  return {g.student,
          g.name,
          g.lab,
          points_cell(g.points),
          points_cell(g.max_points),
          g.verdict,
          fmt::format("{}/{}", g.correct_cases, g.total_cases),
          fmt::format("{}/{}", g.over_threshold, g.threshold_cases),
          g.attempt ? std::to_string(*g.attempt) : "",
          days(g),
          g.run,
          remark(g)};
}

std::vector<std::string> csv_row(const Grade& g) {
  return {plain_cell(g.student),
          plain_cell(g.name),
          plain_cell(g.email),
          plain_cell(g.section),
          plain_cell(g.team),
          g.lab,
          g.run,
          plain_cell(g.submission),
          g.attempt ? std::to_string(*g.attempt) : "",
          g.submitted_at,
          g.late_s ? points_cell(*g.late_s) : "",
          points_cell(g.points),
          points_cell(g.max_points),
          points_cell(g.computed_points),
          g.verdict,
          std::to_string(g.correct_cases),
          std::to_string(g.total_cases),
          std::to_string(g.undecided_cases),
          std::to_string(g.over_threshold),
          std::to_string(g.threshold_cases),
          g.counts ? "yes" : "no",
          plain_cell(remark(g))};
}

const std::vector<std::string> kCsvHeads{
    "student",       "name",        "email",           "section",         "team",
    "lab",           "run",         "submission",      "attempt",         "submitted_at",
    "late_s",        "points",      "max_points",      "computed_points", "verdict",
    "correct_cases", "total_cases", "undecided_cases", "over_threshold",  "threshold_cases",
    "counts",        "remark"};

// What an audit line's before or after says in a word: points, when it is a score.
std::string brief(const json& line, const char* key) {
  const std::string text = line.value(key, "");
  const json value = json::parse(text, nullptr, false);
  if (value.is_number()) return points_cell(value);
  if (value.is_object() && value.contains("points")) {
    return fmt::format("{} {}", points_cell(value.at("points")), value.value("verdict", ""));
  }
  return text;
}

}  // namespace

void collect_into(const fs::path& gradebook, const fs::path& run, const std::string& author) {
  const RunFolder folder(run);
  CollectedRun collected{folder.read_run(), read_object(folder.scores_file()), folder.read_records(), nullptr,
                         fs::absolute(run).lexically_normal().string()};
  const fs::path class_file = run / "submissions.json";
  if (fs::exists(class_file)) collected.class_list = read_object(class_file);
  Gradebook book(gradebook, GradebookMode::kCreate);
  const CollectSummary summary = book.collect(collected, author);
  if (summary.nothing()) {
    fmt::print("{}: nothing new in {}\n", gradebook.string(), run.string());
  } else {
    fmt::print("{}: {} attempts and {} cases added, {} cases and {} scores changed\n", gradebook.string(),
               summary.attempts_added, summary.cases_added, summary.cases_changed, summary.scores_changed);
  }
}

std::map<std::string, FinalPoints> final_points(const fs::path& gradebook, const std::string& lab) {
  std::map<std::string, FinalPoints> finals;
  GradeFilter filter;
  filter.lab = lab;
  for (const Grade& grade : Gradebook(gradebook, GradebookMode::kRead).grades(filter)) {
    finals[grade.student] = {grade.points, grade.override_by.has_value(),
                             grade.override_by ? grade.override_by->reason : ""};
  }
  return finals;
}

int list_grades(const GradesOptions& options) {
  const Gradebook book(options.gradebook, GradebookMode::kRead);
  const std::vector<Grade> grades =
      book.grades({options.student, options.lab, options.run, options.every_attempt, options.best});
  if (options.format == "json") {
    json lines = json::array();
    for (const Grade& grade : grades) lines.push_back(grade.to_json());
    fmt::print("{}\n", lines.dump(1, ' ', false, json::error_handler_t::replace));
    return kExitGraded;
  }
  const bool csv = options.format == "csv";
  std::vector<std::vector<std::string>> rows{csv ? kCsvHeads : kHeads};
  for (const Grade& grade : grades) rows.push_back(csv ? csv_row(grade) : table_row(grade));
  if (csv) {
    fmt::print("{}", csv_text(rows));
  } else if (grades.empty()) {
    fmt::print("no grade fits; `warpgrade grades` without options lists all\n");
  } else {
    fmt::print("{}", format_table(rows));
  }
  return kExitGraded;
}

int override_grade(const GradesOptions& options) {
  Gradebook book(options.gradebook, GradebookMode::kWrite);
  book.override_grade(*options.student, *options.lab, options.points, options.reason, options.author);
  GradesOptions shown = options;
  shown.format = "table";
  return list_grades(shown);
}

int show_history(const GradesOptions& options) {
  const Gradebook book(options.gradebook, GradebookMode::kRead);
  const std::vector<json> lines = book.history(options.student);
  if (options.format == "json") {
    fmt::print("{}\n", json(lines).dump(1, ' ', false, json::error_handler_t::replace));
    return kExitGraded;
  }
  std::vector<std::vector<std::string>> rows{
      {"when", "who", "what", "lab", "run", "submission", "before", "after", "reason"}};
  for (const json& line : lines) {
    rows.push_back({line.at("at"), line.at("author"), line.at("action"), line.value("lab", ""),
                    line.value("run", ""), line.value("submission", line.value("student", "")),
                    brief(line, "before"), brief(line, "after"), line.value("reason", "")});
  }
  fmt::print("{}", lines.empty() ? "nothing is noted\n" : format_table(rows));
  return kExitGraded;
}

}  // namespace warpgrade

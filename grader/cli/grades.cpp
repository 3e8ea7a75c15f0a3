#include "cli/grades.h"

#include <fmt/ranges.h>
#include <unistd.h>

#include <cstdlib>
#include <set>

#include "base/error.h"
#include "base/files.h"
#include "base/say.h"
#include "base/tables.h"
#include "course/exports/csv.h"
#include "course/gradebook/collect.h"
#include "course/gradebook/gradebook.h"
#include "course/record/practice.h"
#include "course/record/run_folder.h"

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

// A cell without a grade stays empty.
std::string points_cell_of(const std::optional<double>& points) {
  return points ? points_cell(*points) : "";
}

std::string points_or_none(const std::optional<double>& points) {
  return points ? points_cell(*points) : "nothing";
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
    add(fmt::format("was {}; {} ({})", points_or_none(grade.computed_points), grade.override_by->reason,
                    grade.override_by->author));
  }
  if (grade.undecided_cases > 0)
    add(fmt::format("{} of {} cases not judged", grade.undecided_cases, grade.total_cases));
  if (!grade.refusal.empty()) add("refused: " + grade.refusal);
  if (!grade.late_note.empty()) add(grade.late_note);
  if (!grade.counts) add("does not count");
  return text;
}

// Why perfect work has less than the lab is worth.
std::string open_points_text(const std::vector<Grade>& grades) {
  std::set<std::string> lines;
  for (const Grade& grade : grades)
    if (!grade.submission.empty() && grade.measured_points < grade.max_points)
      lines.insert(fmt::format("not everything was measured in run {} (lab {}): {} of {} points are open\n",
                               grade.run, grade.lab, points_cell(grade.max_points - grade.measured_points),
                               points_cell(grade.max_points)));
  std::string text;
  for (const std::string& line : lines) text += line;
  return text;
}

const std::vector<std::string> kHeads{"student", "name",           "lab",     "points", "of",  "verdict",
                                      "correct", "over threshold", "attempt", "late",   "run", "remark"};

std::vector<std::string> table_row(const Grade& g) {
  return {g.student,
          g.name,
          g.lab,
          points_cell_of(g.points),
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
          points_cell_of(g.points),
          points_cell(g.max_points),
          points_cell_of(g.computed_points),
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

namespace {

// RUN/gradebook.json: which gradebook the run is in, and how far that had come when it was last used.
fs::path link_file(const fs::path& run) {
  return run / "gradebook.json";
}

struct Link {
  fs::path gradebook;
  std::int64_t entry = 0;
};

std::optional<Link> link_of(const fs::path& run) {
  if (!fs::exists(link_file(run))) return std::nullopt;
  const json link = read_object(link_file(run));
  return Link{link.value("gradebook", ""), link.value("entry", std::int64_t{0})};
}

void write_link(const fs::path& run, const fs::path& gradebook, const Gradebook::State& state) {
  write_text(link_file(run), json{{"schema", "warpgrade.gradebook-link.v1"},
                                  {"gradebook", fs::absolute(gradebook).lexically_normal().string()},
                                  {"entry", state.entry},
                                  {"at", state.at}}
                                     .dump(1, ' ', false, json::error_handler_t::replace) +
                                 "\n");
}

std::string lab_of(const fs::path& run) {
  return RunFolder(run).read_run().at("lab");
}

std::map<std::string, double> overrides_of(const Gradebook& book, const std::string& lab) {
  std::map<std::string, double> overrides;
  GradeFilter filter;
  filter.lab = lab;
  for (const Grade& grade : book.grades(filter))
    if (grade.override_by) overrides[grade.student] = grade.override_by->points;
  return overrides;
}

// Refuses a gradebook in which overrides are missing that the run's own one has.
void refuse_lost_overrides(const fs::path& run, const fs::path& given) {
  const auto link = link_of(run);
  if (!link) return;
  const bool exists = fs::exists(given);
  const Gradebook::State state = exists ? Gradebook(given, GradebookMode::kRead).state() : Gradebook::State{};
  std::error_code none;
  const bool same = exists && fs::equivalent(given, link->gradebook, none);
  if (same || !fs::exists(link->gradebook)) {
    if (state.entry >= link->entry) return;
    throw UsageError(
        "{}: its last entry is number {}, but {} was already used with entry {} of {}: this is an older copy "
        "or another gradebook, and overrides would be lost. Give the current file with --gradebook",
        given.string(), state.entry, run.string(), link->entry, link->gradebook.string());
  }
  const std::string lab = lab_of(run);
  const auto before = overrides_of(Gradebook(link->gradebook, GradebookMode::kRead), lab);
  const auto now =
      exists ? overrides_of(Gradebook(given, GradebookMode::kRead), lab) : std::map<std::string, double>{};
  std::vector<std::string> lost;
  for (const auto& [student, points] : before)
    if (!now.contains(student) || now.at(student) != points) lost.push_back(student);
  if (lost.empty()) return;
  if (lost.size() > 3) lost.resize(3);
  throw UsageError(
      "{} is in the gradebook {}, which has overrides that {} does not have ({}): they would be lost. Use "
      "that gradebook; or, if the run belongs to this one from now on, say warpgrade collect {} --gradebook "
      "{} --relink",
      run.string(), link->gradebook.string(), given.string(), fmt::join(lost, ", "), run.string(),
      given.string());
}

RunParts read_parts(const fs::path& run) {
  const RunFolder folder(run);
  RunParts parts{run, folder.read_run(), read_object(folder.scores_file()), folder.read_records(row_fields()),
                 nullptr};
  const fs::path class_file = run / "submissions.json";
  if (fs::exists(class_file)) parts.class_list = read_object(class_file);
  return parts;
}

CollectSummary merge_run(const fs::path& gradebook, const RunParts& run, const std::string& author,
                         GradebookMode mode) {
  Gradebook book(gradebook, mode);
  const CollectSummary summary = book.collect(run, author);
  write_link(run.folder, gradebook, book.state());
  return summary;
}

}  // namespace

std::string default_author() {
  const char* user = std::getenv("USER");
  return user != nullptr && *user != '\0' ? user : fmt::format("uid {}", getuid());
}

std::optional<fs::path> gradebook_of(const fs::path& run) {
  const auto link = link_of(run);
  return link ? std::optional<fs::path>(link->gradebook) : std::nullopt;
}

void collect_into(const fs::path& gradebook, const fs::path& run, const std::string& author, bool relink) {
  if (fs::exists(run / kPracticeFile))
    throw UsageError(
        "{} is a student's practice on a desk and no grade; grader/course/desk/README.md says how a last run "
        "counts",
        run.string());
  if (!relink) refuse_lost_overrides(run, gradebook);
  const CollectSummary summary = merge_run(gradebook, read_parts(run), author, GradebookMode::kCreate);
  if (summary.nothing()) {
    tell("{}: nothing new in {}\n", gradebook.string(), run.string());
  } else {
    tell("{}: {} attempts and {} cases added, {} cases and {} scores changed\n", gradebook.string(),
         summary.attempts_added, summary.cases_added, summary.cases_changed, summary.scores_changed);
    if (summary.attempts_superseded > 0)
      tell("{} attempts were superseded and count no more\n", summary.attempts_superseded);
    if (summary.students_renamed > 0)
      tell("{} students have another number; their overrides and appeals went with them\n",
           summary.students_renamed);
    if (summary.changes_noted > 0) tell("{} changes of the class are noted\n", summary.changes_noted);
  }
}

const Fields& final_grade_fields() {
  return row_fields();
}

FinalGrades final_grades(const fs::path& run, const std::optional<fs::path>& given, const RunParts* read) {
  FinalGrades final;
  const auto link = link_of(run);
  if (!given && !link) return final;
  if (!given && !fs::exists(link->gradebook)) {
    throw UsageError(
        "{} was collected into the gradebook {}, which is not there: its overrides would be lost. Say where "
        "it is "
        "now with --gradebook FILE, or take the computed points with --without-overrides",
        run.string(), link->gradebook.string());
  }
  const fs::path gradebook = given ? *given : link->gradebook;
  if (given) refuse_lost_overrides(run, gradebook);
  const CollectSummary summary = merge_run(gradebook, read != nullptr ? *read : read_parts(run),
                                           default_author(), GradebookMode::kWrite);
  if (!summary.nothing()) tell("{} is entered into {} as it is now\n", run.string(), gradebook.string());
  const Gradebook book(gradebook, GradebookMode::kRead);
  const std::string lab = lab_of(run);
  GradeFilter filter;
  filter.lab = lab;
  int overrides = 0;
  for (const Grade& grade : book.grades(filter)) {
    overrides += grade.override_by ? 1 : 0;
    FinalPoints& points = final.points[grade.student];
    points.points = grade.points;
    points.overridden = grade.override_by.has_value();
    if (grade.override_by) points.reason = grade.override_by->reason;
    points.submission = grade.submission;
    points.run = grade.run;
    points.folder = grade.run_folder;
    points.late_note = grade.late_note;
    points.slip_days = grade.slip_days;
    points.undecided_cases = grade.undecided_cases;
    points.total_cases = grade.total_cases;
    points.unfinished = grade.unfinished();
  }
  for (const Appeal& appeal : book.open_appeals())
    if (appeal.lab == lab) final.appeals[appeal.student] = appeal.text;
  const Gradebook::State state = book.state();
  final.gradebook = {{"path", fs::absolute(gradebook).lexically_normal().string()},
                     {"entry", state.entry},
                     {"at", state.at},
                     {"overrides", overrides}};
  return final;
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
    tell("no grade matches these options; `warpgrade grades` without options lists all\n");
  } else {
    tell("{}{}", format_table(rows), open_points_text(grades));
  }
  return kExitGraded;
}

int override_grade(const GradesOptions& options) {
  Gradebook book(options.gradebook, GradebookMode::kWrite);
  book.override_grade(*options.student, *options.lab, options.points, options.reason, options.author,
                      options.above_maximum);
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
  tell("{}", lines.empty() ? "no entry is noted\n" : format_table(rows));
  return kExitGraded;
}

}  // namespace warpgrade

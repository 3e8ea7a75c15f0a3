// What `warpgrade grades` says of a course: totals, appeals, and differences to a table that came back.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <map>

#include "base/error.h"
#include "base/say.h"
#include "base/tables.h"
#include "cli/grades.h"
#include "course/exports/csv.h"
#include "course/gradebook/import.h"
#include "course/gradebook/totals.h"

namespace warpgrade {
using nlohmann::json;

namespace {

json total_json(const Course& course, const StudentTotal& student) {
  json labs = json::object();
  for (std::size_t i = 0; i < course.labs.size(); ++i)
    if (student.grades[i]) labs[course.labs[i].name] = student.grades[i]->to_json();
  return {{"student", student.student},
          {"name", student.name},
          {"total", student.total ? json(*student.total) : json()},
          {"of", course.points},
          {"dropped", student.dropped},
          {"unfinished", student.unfinished},
          {"labs", labs}};
}

std::string total_remark(const StudentTotal& student) {
  std::string text;
  if (!student.dropped.empty()) text += fmt::format("dropped: {}", fmt::join(student.dropped, ", "));
  if (!student.unfinished.empty())
    text += fmt::format("no total: cases of {} are not judged yet", fmt::join(student.unfinished, ", "));
  return text;
}

std::vector<std::vector<std::string>> total_rows(const Course& course, const CourseTotals& totals) {
  std::vector<std::vector<std::string>> rows{{"student", "name"}};
  for (const Course::Lab& lab : course.labs) rows[0].push_back(lab.name);
  for (const char* title : {"total", "of", "remark"}) rows[0].emplace_back(title);
  for (const StudentTotal& student : totals.students) {
    std::vector<std::string> row{plain_cell(student.student), plain_cell(student.name)};
    for (const auto& grade : student.grades)
      row.push_back(grade && grade->points && !grade->unfinished() ? points_cell(*grade->points) : "");
    row.push_back(student.total ? points_cell(*student.total) : "");
    row.push_back(points_cell(course.points));
    row.push_back(total_remark(student));
    rows.push_back(std::move(row));
  }
  return rows;
}

// The rules in a sentence, so that nobody has to guess what an empty cell did.
std::string rules_text(const Course& course, const CourseTotals& totals) {
  std::string text = course.missing_is_zero ? "a lab without a grade counts 0"
                                            : "a lab without a grade is left out of that student's total";
  if (course.drop_lowest > 0)
    text += fmt::format("; the lowest {} of each student are dropped", course.drop_lowest);
  if (!totals.without_runs.empty())
    text +=
        fmt::format("; not in the gradebook yet, so not counted: {}", fmt::join(totals.without_runs, ", "));
  return text + "\n";
}

double as_shown(double points) {
  return std::round(100 * points) / 100;
}

struct Difference {
  const GradeImport::Line* line;
  const Grade* grade;
};

// What differs, and what an override cannot be.
std::vector<Difference> differences_of(const std::map<std::string, Grade>& ours, bool above_maximum,
                                       GradeImport& theirs) {
  std::vector<Difference> differences;
  for (const GradeImport::Line& line : theirs.lines) {
    const Grade& grade = ours.at(line.student);
    const auto shown = [](const std::optional<double>& p) { return p ? std::optional(as_shown(*p)) : p; };
    if (shown(grade.points) == shown(line.points)) continue;
    differences.push_back({&line, &grade});
    if (line.points && (*line.points < 0 || (*line.points > grade.max_points && !above_maximum)))
      theirs.problems.push_back(fmt::format("line {}: {}: {} is not from 0 to {}, which lab {} is worth",
                                            line.line, line.student, points_cell(*line.points),
                                            points_cell(grade.max_points), grade.lab));
  }
  return differences;
}

std::string differences_table(const std::vector<Difference>& differences) {
  std::vector<std::vector<std::string>> rows{{"line", "student", "name", "ours", "theirs"}};
  const auto cell = [](const std::optional<double>& points) {
    return points ? points_cell(*points) : "(empty)";
  };
  for (const auto& [line, grade] : differences)
    rows.push_back(
        {std::to_string(line->line), grade->student, grade->name, cell(grade->points), cell(line->points)});
  return format_table(rows);
}

void print_missing(const std::map<std::string, Grade>& ours, const GradeImport& theirs) {
  std::vector<std::string> missing;
  for (const auto& [student, grade] : ours) {
    const bool there = std::any_of(theirs.lines.begin(), theirs.lines.end(),
                                   [&](const GradeImport::Line& line) { return line.student == student; });
    if (grade.points && !there) missing.push_back(student);
  }
  if (!missing.empty()) tell("not in the file: {}\n", fmt::join(missing, ", "));
}

}  // namespace

int show_totals(const GradesOptions& options) {
  const Course course = read_course(options.course);
  const CourseTotals totals =
      totals_of(course, Gradebook(options.gradebook, GradebookMode::kRead).grades({}));
  if (options.format == "json") {
    json lines = json::array();
    for (const StudentTotal& student : totals.students) lines.push_back(total_json(course, student));
    fmt::print("{}\n", lines.dump(1, ' ', false, json::error_handler_t::replace));
  } else if (options.format == "csv") {
    fmt::print("{}", csv_text(total_rows(course, totals)));
  } else {
    tell("{}{}", format_table(total_rows(course, totals)), rules_text(course, totals));
  }
  return kExitGraded;
}

int import_grades(const GradesOptions& options) {
  const Gradebook book(options.gradebook, GradebookMode::kRead);
  GradeFilter filter;
  filter.lab = options.lab;
  std::map<std::string, Grade> ours;
  double most = 0;
  for (Grade& grade : book.grades(filter)) {
    most = grade.max_points;
    ours.emplace(grade.student, std::move(grade));
  }
  if (ours.empty())
    throw UsageError("{}: no run of lab '{}' is in it; `warpgrade grades` lists what is",
                     options.gradebook.string(), *options.lab);
  GradeImport theirs = read_grades(options.import_file, options.import_format, *options.lab, options.column,
                                   most, book.students_of(*options.lab));
  const std::vector<Difference> differences = differences_of(ours, options.above_maximum, theirs);
  if (differences.empty())
    tell("{}: the same grades as here, of {} students\n", options.import_file.string(), theirs.lines.size());
  else
    tell("{}", differences_table(differences));
  print_missing(ours, theirs);
  for (const std::string& problem : theirs.problems) say("{}: {}\n", options.import_file.string(), problem);
  if (!theirs.problems.empty()) {
    if (options.apply) say("nothing is entered: correct the file first\n");
    return kExitUsage;
  }
  if (!options.apply) return kExitGraded;
  Gradebook writer(options.gradebook, GradebookMode::kWrite);
  int entered = 0;
  for (const auto& [line, grade] : differences) {
    if (!line->points) continue;  // an empty cell decides nothing
    writer.override_grade(line->student, *options.lab, line->points, options.reason, options.author,
                          options.above_maximum);
    ++entered;
  }
  tell("{} overrides are entered\n", entered);
  return kExitGraded;
}

int appeal_grade(const GradesOptions& options) {
  Gradebook book(options.gradebook, GradebookMode::kWrite);
  const std::string author = options.author.empty() ? default_author() : options.author;
  if (!options.close_reason.empty())
    book.close_appeal(*options.student, *options.lab, options.close_reason, author);
  else
    book.appeal(*options.student, *options.lab, options.appeal_text, author);
  return kExitGraded;
}

int list_appeals(const GradesOptions& options) {
  const std::vector<Appeal> appeals = Gradebook(options.gradebook, GradebookMode::kRead).open_appeals();
  if (options.format == "json") {
    json lines = json::array();
    for (const Appeal& appeal : appeals)
      lines.push_back({{"at", appeal.at},
                       {"author", appeal.author},
                       {"student", appeal.student},
                       {"lab", appeal.lab},
                       {"text", appeal.text}});
    fmt::print("{}\n", lines.dump(1, ' ', false, json::error_handler_t::replace));
    return kExitGraded;
  }
  std::vector<std::vector<std::string>> rows{{"since", "student", "lab", "entered by", "appeal"}};
  for (const Appeal& appeal : appeals)
    rows.push_back({appeal.at, appeal.student, appeal.lab, appeal.author, appeal.text});
  tell("{}", appeals.empty() ? "no appeal is open\n" : format_table(rows));
  return kExitGraded;
}

}  // namespace warpgrade

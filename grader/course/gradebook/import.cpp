#include "course/gradebook/import.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <set>

#include "base/error.h"
#include "course/ingest/csv.h"

namespace warpgrade {
namespace {

// A column by which people are found, and what the gradebook knows them by.
struct ImportKey {
  const char* title;
  std::string KnownStudent::*of;
};

struct ImportFormat {
  std::vector<ImportKey> keys;   // in the order in which the platform looks
  std::set<std::string> others;  // columns that are neither keys nor points
  bool percent = false;
};

const std::map<std::string, ImportFormat>& formats() {
  using S = KnownStudent;
  static const std::map<std::string, ImportFormat> known{
      {"canvas",
       {{{"ID", &S::canvas_id},
         {"SIS User ID", &S::sis_id},
         {"SIS User ID", &S::id},
         {"SIS Login ID", &S::login},
         {"SIS Login ID", &S::email}},
        {"Student", "Section", "Integration ID", "Root Account"}}},
      {"moodle",
       {{{"ID number", &S::id},
         {"Email address", &S::email},
         {"Username", &S::login},
         {"Identifier", &S::moodle_id}},
        {"Full name", "Maximum", "Maximum Grade", "Maximum grade", "Feedback", "Feedback comments", "Status",
         "Grade can be changed", "Last modified (submission)", "Last modified (grade)", "Online text",
         "Marking workflow state"}}},
      {"blackboard",
       {{{"Username", &S::login}, {"Username", &S::id}},
        {"Last Name", "First Name", "Student ID", "Last Access", "Availability"}}},
      {"brightspace",
       {{{"OrgDefinedId", &S::id}, {"Username", &S::login}},
        {"End-of-Line Indicator", "Last Name", "First Name", "Email"}}},
      {"sakai", {{{"Student ID", &S::login}, {"Student ID", &S::id}}, {"Name"}}},
      {"prairielearn-csv", {{{"uid", &S::email}}, {"instance", "qid", "feedback"}, true}},
  };
  return known;
}

// What the export put in front of a number of a platform, and of what a spreadsheet would run.
std::string bare_key(const std::string& title, std::string key) {
  if (key.starts_with('\'')) key.erase(0, 1);
  if (title == "OrgDefinedId" && key.starts_with('#')) key.erase(0, 1);
  if (title == "Identifier") key.erase(0, key.find_last_not_of("0123456789") + 1);
  return key;
}

std::optional<double> number_in(std::string text) {
  std::replace(text.begin(), text.end(), ',', '.');
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value)) return std::nullopt;
  return value;
}

std::size_t points_column(const CsvTable& table, const ImportFormat& format, const std::string& lab,
                          const std::optional<std::string>& column) {
  std::vector<std::size_t> possible;
  for (std::size_t i = 0; i < table.header.size(); ++i) {
    const std::string& title = table.header[i];
    const bool key = std::any_of(format.keys.begin(), format.keys.end(),
                                 [&](const ImportKey& known) { return title == known.title; });
    if (!key && !format.others.contains(title)) possible.push_back(i);
  }
  const std::string wanted = column.value_or(lab);
  for (const std::size_t i : possible)
    if (table.header[i] == wanted) return i;
  // "Lab 1 (4711)", "Lab 1 [Total Pts: 100 Score] |4711", "Lab 1 Points Grade"
  for (const std::size_t i : possible)
    if (table.header[i].starts_with(wanted + " ")) return i;
  if (!column && possible.size() == 1) return possible.front();
  std::vector<std::string> titles;
  for (const std::size_t i : possible) titles.push_back(table.header[i]);
  throw UsageError("{}: no column '{}'; name the column of points with --column, of: {}", table.file, wanted,
                   fmt::join(titles, ", "));
}

class PeopleByKey {
 public:
  PeopleByKey(const CsvTable& table, const ImportFormat& format, const std::vector<KnownStudent>& students)
      : students_(students) {
    for (const ImportKey& key : format.keys) {
      const auto column = std::find(table.header.begin(), table.header.end(), key.title);
      if (column != table.header.end())
        keys_.emplace_back(key, static_cast<std::size_t>(column - table.header.begin()));
    }
    if (keys_.empty()) {
      std::set<std::string> titles;
      for (const ImportKey& key : format.keys) titles.insert(key.title);
      throw UsageError("{}: expected a column that says who it is: {}", table.file,
                       fmt::join(titles, " or "));
    }
  }

  // Empty: nobody, or somebody of several.
  std::string student_of(const CsvTable::Row& row) const {
    for (const auto& [key, column] : keys_) {
      const std::string value = bare_key(key.title, row.cells[column]);
      if (value.empty()) continue;
      std::vector<const KnownStudent*> found;
      for (const KnownStudent& student : students_)
        if (student.*key.of == value) found.push_back(&student);
      if (found.size() == 1) return found.front()->id;
    }
    return "";
  }
  std::string called(const CsvTable::Row& row) const {
    for (const auto& [key, column] : keys_)
      if (!row.cells[column].empty()) return row.cells[column];
    return "nobody";
  }

 private:
  const std::vector<KnownStudent>& students_;
  std::vector<std::pair<ImportKey, std::size_t>> keys_;
};

}  // namespace

GradeImport read_grades(const std::filesystem::path& file, const std::string& format_name,
                        const std::string& lab, const std::optional<std::string>& column, double max_points,
                        const std::vector<KnownStudent>& students) {
  const CsvTable table = read_csv(file);
  const ImportFormat& format = formats().at(format_name);
  const std::size_t points = points_column(table, format, lab, column);
  const PeopleByKey people(table, format, students);
  GradeImport result;
  std::map<std::string, int> seen;
  for (const CsvTable::Row& row : table.rows) {
    if (format_name == "canvas" && row.cells.front().find("Points Possible") != std::string::npos) continue;
    const std::string student = people.student_of(row), cell = row.cells[points];
    if (student.empty()) {
      result.problems.push_back(
          fmt::format("line {}: nobody of lab {} is {}", row.line, lab, people.called(row)));
      continue;
    }
    if (const auto [first, fresh] = seen.emplace(student, row.line); !fresh) {
      result.problems.push_back(
          fmt::format("line {}: {} stands in line {} already", row.line, student, first->second));
      continue;
    }
    std::optional<double> value;
    if (!cell.empty() && cell != "-") {
      value = number_in(cell);
      if (!value) {
        result.problems.push_back(fmt::format("line {}: {}: '{}' is no number", row.line, student, cell));
        continue;
      }
      if (format.percent) value = *value * max_points / 100;
    }
    result.lines.push_back({row.line, student, value});
  }
  return result;
}

}  // namespace warpgrade

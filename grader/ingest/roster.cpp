#include "ingest/roster.h"

#include <map>
#include <set>

#include "base/error.h"
#include "ingest/csv.h"
#include "ingest/times.h"

namespace warpgrade {
namespace {

std::string lower(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

// "Lovelace, Ada" and "Ada Lovelace" as Canvas writes them in a file name: lovelaceada.
std::string written_together(const std::string& last, const std::string& first) {
  std::string text;
  for (unsigned char c : last + first)
    if (c >= 0x80 || std::isalnum(c)) text += static_cast<char>(std::tolower(c));
  return text;
}

std::string canvas_form(const std::string& name) {
  if (const std::size_t comma = name.find(','); comma != std::string::npos)
    return written_together(name.substr(0, comma), name.substr(comma + 1));
  const std::size_t space = name.rfind(' ');
  if (space == std::string::npos) return written_together(name, "");
  return written_together(name.substr(space + 1), name.substr(0, space));
}

// Which column holds what, by the names that the LMSs write.
std::map<std::string, std::size_t> columns_of(const CsvTable& table) {
  static const std::map<std::string, std::string> kNames{{"id", "id"},
                                                         {"sid", "id"},
                                                         {"student id", "id"},
                                                         {"student_id", "id"},
                                                         {"studentid", "id"},
                                                         {"sis login id", "id"},
                                                         {"sis user id", "id"},
                                                         {"login", "id"},
                                                         {"username", "id"},
                                                         {"name", "name"},
                                                         {"student", "name"},
                                                         {"full name", "name"},
                                                         {"first name", "first"},
                                                         {"firstname", "first"},
                                                         {"last name", "last"},
                                                         {"surname", "last"},
                                                         {"lastname", "last"},
                                                         {"email", "email"},
                                                         {"e-mail", "email"},
                                                         {"email address", "email"},
                                                         {"canvas id", "canvas"},
                                                         {"canvas_id", "canvas"},
                                                         {"section", "section"},
                                                         {"team", "team"},
                                                         {"group", "team"},
                                                         {"group name", "team"},
                                                         {"deadline", "deadline"},
                                                         {"extension", "deadline"}};
  std::map<std::string, std::size_t> columns;
  for (std::size_t i = 0; i < table.header.size(); ++i) {
    const auto known = kNames.find(lower(table.header[i]));
    if (known != kNames.end()) columns.emplace(known->second, i);
  }
  if (!columns.contains("id") && columns.contains("email")) columns["id"] = columns["email"];
  if (!columns.contains("id")) {
    throw UsageError("{}:1: expected a column named id (or sid, student id, email) among: {}", table.file,
                     fmt::join(table.header, ", "));
  }
  return columns;
}

Student student_of(const CsvTable& table, const CsvTable::Row& row,
                   const std::map<std::string, std::size_t>& columns) {
  const auto cell = [&](const char* what) {
    const auto column = columns.find(what);
    return column == columns.end() ? std::string() : row.cells[column->second];
  };
  Student student;
  student.id = cell("id");
  if (student.id.empty()) throw UsageError("{}:{}: a student without an id", table.file, row.line);
  student.name = cell("name");
  if (student.name.empty() && !cell("last").empty())
    student.name = cell("first").empty() ? cell("last") : cell("first") + " " + cell("last");
  student.email = cell("email");
  student.canvas_id = cell("canvas");
  student.section = cell("section");
  student.team = cell("team");
  if (const std::string deadline = cell("deadline"); !deadline.empty()) {
    student.deadline = parse_time(deadline);
    if (!student.deadline) {
      throw UsageError("{}:{}: deadline: expected a time like 2026-03-18T23:59:00+01:00, got '{}'",
                       table.file, row.line, deadline);
    }
  }
  return student;
}

}  // namespace

nlohmann::json Student::to_json() const {
  nlohmann::json json{{"id", id}};
  const std::pair<const char*, const std::string&> texts[] = {
      {"name", name}, {"email", email}, {"section", section}, {"team", team}};
  for (const auto& [key, text] : texts)
    if (!text.empty()) json[key] = text;
  if (deadline) json["deadline"] = format_time(*deadline);
  if (!on_roster) json["on_roster"] = false;
  return json;
}

Roster Roster::read(const std::filesystem::path& file) {
  const CsvTable table = read_csv(file);
  const auto columns = columns_of(table);
  Roster roster;
  std::map<std::string, int> lines;
  for (const CsvTable::Row& row : table.rows) {
    Student student = student_of(table, row, columns);
    const auto [before, is_new] = lines.emplace(lower(student.id), row.line);
    if (!is_new)
      throw UsageError("{}:{}: the id {} stands in line {} already", table.file, row.line, student.id,
                       before->second);
    roster.students_.push_back(std::move(student));
  }
  if (roster.students_.empty()) throw UsageError("{} has a header but no student", table.file);
  return roster;
}

std::size_t Roster::find_or_add(const std::vector<std::string>& keys, const std::string& name,
                                const std::string& email) {
  for (const std::string& key : keys) {
    if (key.empty()) continue;
    const std::string wanted = lower(key);
    std::size_t found = students_.size(), by_name = 0;
    for (std::size_t i = 0; i < students_.size(); ++i) {
      const Student& student = students_[i];
      if (wanted == lower(student.id) || wanted == lower(student.email) || wanted == lower(student.canvas_id))
        return i;
      if (!student.name.empty() && wanted == canvas_form(student.name)) found = i, ++by_name;
    }
    if (by_name == 1) return found;  // two students of one name are told apart by nothing here
  }
  Student student;
  for (const std::string& key : keys) {
    if (!student.id.empty()) break;
    student.id = key;
  }
  student.name = name;
  student.email = email;
  student.on_roster = false;
  students_.push_back(std::move(student));
  return students_.size() - 1;
}

}  // namespace warpgrade

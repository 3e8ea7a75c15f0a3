#include "course/ingest/roster.h"

#include <algorithm>
#include <set>

#include "base/error.h"
#include "course/ingest/csv.h"
#include "course/ingest/person_name.h"

namespace warpgrade {
namespace {

using Columns = std::map<std::string, std::size_t>;

// Which column holds what, by the names that the LMSs write.
Columns columns_of(const CsvTable& table) {
  static const std::map<std::string, std::string> kNames{{"id", "id"},
                                                         {"sid", "id"},
                                                         {"student id", "id"},
                                                         {"student_id", "id"},
                                                         {"studentid", "id"},
                                                         {"id number", "id"},
                                                         {"idnumber", "id"},
                                                         {"orgdefinedid", "id"},
                                                         {"sis user id", "sis"},
                                                         {"sis_id", "sis"},
                                                         {"sis id", "sis"},
                                                         {"sis login id", "login"},
                                                         {"login", "login"},
                                                         {"username", "login"},
                                                         {"user name", "login"},
                                                         {"identifier", "identifier"},
                                                         {"name", "name"},
                                                         {"student", "name"},
                                                         {"full name", "name"},
                                                         {"fullname", "name"},
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
                                                         {"moodle id", "moodle"},
                                                         {"moodle_id", "moodle"},
                                                         {"github", "github"},
                                                         {"github_username", "github"},
                                                         {"github username", "github"},
                                                         {"section", "section"},
                                                         {"team", "team"},
                                                         {"group", "team"},
                                                         {"group name", "team"},
                                                         {"deadline", "deadline"},
                                                         {"extension", "deadline"}};
  Columns columns;
  for (std::size_t i = 0; i < table.header.size(); ++i) {
    const auto known = kNames.find(folded(table.header[i]));
    if (known != kNames.end()) columns.emplace(known->second, i);
  }
  // Canvas' gradebook: its ID is Canvas' own number.
  if (columns.contains("id") && folded(table.header[columns["id"]]) == "id" && columns.contains("name") &&
      folded(table.header[columns["name"]]) == "student" &&
      (columns.contains("sis") || columns.contains("login"))) {
    columns.emplace("canvas", columns["id"]);
    columns.erase("id");
  }
  for (const char* key : {"id", "sis", "login", "email", "canvas", "moodle", "identifier"})
    if (columns.contains(key)) return columns;
  throw UsageError("{}:1: expected a column named id (or sid, student id, email) among: {}", table.file,
                   fmt::join(table.header, ", "));
}

// Rows of Canvas' gradebook that are nobody: the points possible, posting policies, the test student.
bool is_nobody(const std::string& name, const std::string& id) {
  return name.find("Points Possible") != std::string::npos || name == "Test Student" ||
         (name.empty() && id.empty());
}

Student student_of(const CsvTable& table, const CsvTable::Row& row, const Columns& columns,
                   const TimeZone& zone) {
  const auto cell = [&](const char* what) {
    const auto column = columns.find(what);
    return column == columns.end() ? std::string() : row.cells[column->second];
  };
  Student student;
  student.name = cell("name");
  if (student.name.empty() && !cell("last").empty())
    student.name = cell("first").empty() ? cell("last") : cell("first") + " " + cell("last");
  // "Lovelace, Ada" is for sorting; people read "Ada Lovelace".
  if (const std::size_t comma = student.name.find(", ");
      comma != std::string::npos && student.name.find(", ", comma + 1) == std::string::npos)
    student.name = student.name.substr(comma + 2) + " " + student.name.substr(0, comma);
  student.email = cell("email");
  student.canvas_id = cell("canvas");
  student.sis_id = cell("sis");
  student.login = cell("login");
  student.github = cell("github");
  student.moodle_id = cell("moodle");
  const std::string identifier = cell("identifier");
  constexpr std::string_view kParticipant = "Participant ";  // Moodle's grading worksheet
  if (identifier.starts_with(kParticipant)) student.moodle_id = identifier.substr(kParticipant.size());
  student.section = cell("section");
  student.team = cell("team");
  for (const std::string& id : {cell("id"), student.sis_id, student.login, student.email, student.canvas_id,
                                identifier.starts_with(kParticipant) ? "" : identifier, student.moodle_id})
    if (student.id.empty()) student.id = id;
  // Brightspace writes '#' before ids, so that spreadsheets keep their zeros.
  for (std::string* id : {&student.id, &student.login})
    if (id->size() > 1 && (*id)[0] == '#') id->erase(0, 1);
  if (const std::string deadline = cell("deadline"); !deadline.empty()) {
    student.deadline = parse_time(deadline, zone);
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
      {"name", name},           {"email", email},         {"section", section},
      {"team", team},           {"canvas_id", canvas_id}, {"sis_id", sis_id},
      {"moodle_id", moodle_id}, {"login", login},         {"github", github}};
  for (const auto& [key, text] : texts)
    if (!text.empty()) json[key] = text;
  if (deadline) json["deadline"] = format_time(*deadline);
  if (!on_roster) json["on_roster"] = false;
  if (!former_ids.empty()) json["former_ids"] = former_ids;
  return json;
}

Student Student::from_json(const nlohmann::json& json) {
  Student student;
  student.id = json.at("id");
  const std::pair<const char*, std::string&> texts[] = {
      {"name", student.name},           {"email", student.email},         {"section", student.section},
      {"team", student.team},           {"canvas_id", student.canvas_id}, {"sis_id", student.sis_id},
      {"moodle_id", student.moodle_id}, {"login", student.login},         {"github", student.github}};
  for (const auto& [key, text] : texts) text = json.value(key, "");
  if (json.contains("deadline")) student.deadline = parse_time(json.at("deadline"));
  student.on_roster = json.value("on_roster", true);
  student.former_ids = json.value("former_ids", std::vector<std::string>());
  return student;
}

Roster Roster::read(const std::filesystem::path& file, const TimeZone& zone) {
  const CsvTable table = read_csv(file);
  const Columns columns = columns_of(table);
  std::vector<Student> students;
  std::map<std::string, int> lines;
  for (const CsvTable::Row& row : table.rows) {
    Student student = student_of(table, row, columns, zone);
    if (is_nobody(student.name, student.id)) continue;
    if (student.id.empty()) throw UsageError("{}:{}: this student has no id", table.file, row.line);
    const auto [before, is_new] = lines.emplace(folded(student.id), row.line);
    if (!is_new)
      throw UsageError("{}:{}: the id {} is already in line {}", table.file, row.line, student.id,
                       before->second);
    students.push_back(std::move(student));
  }
  if (students.empty()) throw UsageError("{} has a header but no student", table.file);
  return of(std::move(students));
}

Roster Roster::of(std::vector<Student> students) {
  Roster roster;
  roster.students_ = std::move(students);
  // Ids first: somebody's address or login never hides another one's id.
  for (std::size_t i = 0; i < roster.students_.size(); ++i) roster.ids_[folded(roster.students_[i].id)] = i;
  for (std::size_t i = 0; i < roster.students_.size(); ++i) roster.index(i);
  roster.knows_canvas_ids_ = !roster.canvas_.empty();
  return roster;
}

void Roster::index(std::size_t i) {
  const Student& student = students_[i];
  for (const std::string& key : {student.id, student.email, student.login, student.sis_id})
    if (!key.empty()) ids_.emplace(folded(key), i);
  if (!student.canvas_id.empty()) canvas_.emplace(student.canvas_id, i);
  if (!student.moodle_id.empty()) moodle_.emplace(student.moodle_id, i);
  if (!student.github.empty()) github_.emplace(folded(student.github), i);
  for (const std::string& key : name_keys(student.name)) names_[key].push_back(i);
  if (!student.team.empty()) teams_.emplace(name_key(student.team), i);
}

std::optional<std::size_t> Roster::find(const StudentKeys& keys) const {
  const auto by = [](const auto& map, const std::string& key) -> std::optional<std::size_t> {
    const auto found = key.empty() ? map.end() : map.find(key);
    return found == map.end() ? std::nullopt : std::optional<std::size_t>(found->second);
  };
  if (const auto found = by(canvas_, keys.canvas_id)) return found;
  if (const auto found = by(moodle_, keys.moodle_id)) return found;
  if (const auto found = by(github_, folded(keys.github))) return found;
  // Of two people of one name the LMS' numbers tell which one is meant.
  const auto somebody_else = [&](const Student& student) {
    const auto differ = [](const std::string& a, const std::string& b) {
      return !a.empty() && !b.empty() && a != b;
    };
    return differ(student.canvas_id, keys.canvas_id) || differ(student.moodle_id, keys.moodle_id);
  };
  for (const std::string& key : keys.keys) {
    if (const auto found = by(ids_, folded(key)); found && !somebody_else(students_[*found])) return found;
    const auto named = names_.find(name_key(key));
    if (key.empty() || named == names_.end() || named->second.size() != 1) continue;
    if (!somebody_else(students_[named->second[0]])) return named->second[0];
  }
  for (const std::string& key : keys.keys)
    if (const auto found = by(teams_, name_key(key))) return found;
  if (!knows_canvas_ids_) return by(ids_, keys.canvas_id);  // such a roster may hold them as ids
  return std::nullopt;
}

// What the export says of a student whom the roster knows by another key.
void Roster::learn(std::size_t i, const StudentKeys& keys) {
  Student& student = students_[i];
  if (student.canvas_id.empty() && !keys.canvas_id.empty()) {
    student.canvas_id = keys.canvas_id;
    canvas_.emplace(keys.canvas_id, i);
  }
  if (student.moodle_id.empty() && !keys.moodle_id.empty()) {
    student.moodle_id = keys.moodle_id;
    moodle_.emplace(keys.moodle_id, i);
  }
}

void Roster::note_former_id(std::size_t i, const std::string& id) {
  std::vector<std::string>& former = students_[i].former_ids;
  if (std::find(former.begin(), former.end(), id) == former.end()) former.push_back(id);
  ids_.emplace(folded(id), i);
}

std::size_t Roster::add(const StudentKeys& keys) {
  Student student;
  for (const std::string& key : keys.keys)
    if (student.id.empty()) student.id = key;
  for (const std::string& key : {keys.canvas_id, keys.moodle_id, keys.github})
    if (student.id.empty()) student.id = key;
  // A number that an LMS gave tells two people of one name apart; the name does not.
  if (!keys.canvas_id.empty() || !keys.moodle_id.empty())
    student.id = keys.canvas_id.empty() ? keys.moodle_id : keys.canvas_id;
  while (ids_.contains(folded(student.id))) student.id += "-2";
  student.name = keys.name;
  student.email = keys.email;
  student.canvas_id = keys.canvas_id;
  student.moodle_id = keys.moodle_id;
  student.github = keys.github;
  student.on_roster = false;
  students_.push_back(std::move(student));
  index(students_.size() - 1);
  return students_.size() - 1;
}

std::size_t Roster::find_or_add(const StudentKeys& keys) {
  const auto found = find(keys);
  if (found) learn(*found, keys);
  return found ? *found : add(keys);
}

}  // namespace warpgrade

#include "course/ingest/roster.h"

#include <algorithm>
#include <set>

#include "base/error.h"
#include "base/text.h"
#include "course/ingest/csv.h"
#include "course/ingest/localized_time.h"
#include "course/ingest/person_name.h"

namespace warpgrade {
namespace {

constexpr std::size_t kLongestCell = 1000;

using Columns = std::map<std::string, std::size_t>;

// The words in front of a column's parentheses: "last modified" of "Last modified (grade)".
std::string before_parentheses(const std::string& title) {
  const std::size_t at = title.find(" (");
  return at == std::string::npos || !title.ends_with(')') ? "" : folded(title.substr(0, at));
}

// Moodle's grading worksheet, in any language: where the time of the hand-in stands.
std::optional<std::size_t> worksheet_time(const CsvTable& table) {
  for (std::size_t i = 1; i < table.header.size(); ++i)
    for (std::size_t j = i + 1; j < table.header.size(); ++j)
      if (!before_parentheses(table.header[i]).empty() &&
          before_parentheses(table.header[i]) == before_parentheses(table.header[j]))
        return i;
  return std::nullopt;
}

// "Participant 101", "Teilnehmer/in101".
bool is_participant(const std::string& cell) {
  return !cell.empty() && std::isdigit(static_cast<unsigned char>(cell.back())) != 0 &&
         std::isdigit(static_cast<unsigned char>(cell.front())) == 0;
}

void add_worksheet(const CsvTable& table, Columns& columns) {
  const auto time = worksheet_time(table);
  const bool numbered = std::all_of(table.rows.begin(), table.rows.end(),
                                    [](const CsvTable::Row& row) { return is_participant(row.cells[0]); });
  if (!time || !numbered) return;
  std::erase_if(columns, [](const auto& column) { return column.second == 0; });
  columns["identifier"] = 0;
  columns["submitted"] = *time;
}

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
                                                         {"lms_id", "lms"},
                                                         {"lms id", "lms"},
                                                         {"brightspace_id", "lms"},
                                                         {"ilias_id", "lms"},
                                                         {"anonymous_id", "lms"},
                                                         {"name", "name"},
                                                         {"student", "name"},
                                                         {"full name", "name"},
                                                         {"fullname", "name"},
                                                         {"vollständiger name", "name"},
                                                         {"nom complet", "name"},
                                                         {"nombre completo", "name"},
                                                         {"nome completo", "name"},
                                                         {"volledige naam", "name"},
                                                         {"first name", "first"},
                                                         {"firstname", "first"},
                                                         {"last name", "last"},
                                                         {"surname", "last"},
                                                         {"lastname", "last"},
                                                         {"email", "email"},
                                                         {"e-mail", "email"},
                                                         {"email address", "email"},
                                                         {"e-mail-adresse", "email"},
                                                         {"adresse de courriel", "email"},
                                                         {"dirección de correo", "email"},
                                                         {"endereço de e-mail", "email"},
                                                         {"e-mailadres", "email"},
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
  add_worksheet(table, columns);
  for (const char* key : {"id", "sis", "login", "email", "canvas", "moodle", "lms", "identifier"})
    if (columns.contains(key)) return columns;
  throw UsageError("{}:1: expected a column named id (or sid, student id, email) among: {}", table.file,
                   fmt::join(table.header, ", "));
}

// A time of Moodle's grading worksheet; nothing where nothing was handed in.
std::optional<std::int64_t> submitted_at(const CsvTable& table, const CsvTable::Row& row,
                                         const std::string& cell, const TimeZone& zone) {
  if (cell.empty() || cell == "-") return std::nullopt;
  auto time = parse_time(cell, zone);
  if (!time) time = parse_localized_time(cell, zone);
  if (!time)
    throw UsageError(
        "{}:{}: the time of the hand-in: expected one like \"Wednesday, 18 March 2026, 11:58 PM\", in {}, "
        "got '{}'; download the worksheet again with one of these as your account's language",
        table.file, row.line, kLanguagesOfDates, cell);
  return time;
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
    return column == columns.end() ? std::string() : plain_line(row.cells[column->second], kLongestCell);
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
  student.lms_id = cell("lms");
  const std::string identifier = cell("identifier");
  // "Participant 101" of Moodle's grading worksheet.
  if (columns.contains("submitted") || identifier.starts_with("Participant "))
    student.moodle_id = identifier.substr(identifier.find_last_not_of("0123456789") + 1);
  student.submitted_at = submitted_at(table, row, cell("submitted"), zone);
  student.section = cell("section");
  student.team = cell("team");
  for (const std::string& id :
       {cell("id"), student.sis_id, student.login, student.email, student.canvas_id,
        student.moodle_id.empty() ? identifier : "", student.moodle_id, student.lms_id})
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
      {"name", name},           {"email", email},   {"section", section},     {"team", team},
      {"canvas_id", canvas_id}, {"sis_id", sis_id}, {"moodle_id", moodle_id}, {"login", login},
      {"github", github},       {"lms_id", lms_id}};
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
      {"moodle_id", student.moodle_id}, {"login", student.login},         {"github", student.github},
      {"lms_id", student.lms_id}};
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
  if (!student.lms_id.empty()) lms_.emplace(student.lms_id, i);
  for (const std::string& key : name_keys(student.name)) names_[key].push_back(i);
  if (!student.team.empty()) teams_.emplace(name_key(student.team), i);
}

namespace {

template <typename Map>
std::optional<std::size_t> in(const Map& map, const std::string& key) {
  const auto found = key.empty() ? map.end() : map.find(key);
  return found == map.end() ? std::nullopt : std::optional<std::size_t>(found->second);
}

// Of two people of one name the LMS' numbers tell which one is meant.
bool is_somebody_else(const Student& student, const StudentKeys& keys) {
  const auto differ = [](const std::string& a, const std::string& b) {
    return !a.empty() && !b.empty() && a != b;
  };
  return differ(student.canvas_id, keys.canvas_id) || differ(student.moodle_id, keys.moodle_id) ||
         differ(student.lms_id, keys.lms_id);
}

}  // namespace

bool Roster::is_named(std::size_t student, const std::string& name) const {
  const auto named = names_.find(name_key(name));
  return named != names_.end() &&
         std::find(named->second.begin(), named->second.end(), student) != named->second.end();
}

std::optional<std::size_t> Roster::team_of(const StudentKeys& keys) const {
  for (const std::string& key : keys.keys)
    if (const auto found = in(teams_, name_key(key))) return found;
  return std::nullopt;
}

std::optional<std::size_t> Roster::by_number(const StudentKeys& keys) const {
  if (const auto found = in(canvas_, keys.canvas_id)) return found;
  if (const auto found = in(moodle_, keys.moodle_id)) return found;
  if (const auto found = in(lms_, keys.lms_id)) return found;
  return in(github_, folded(keys.github));
}

std::optional<std::size_t> Roster::by_reading(const StudentKeys& keys) const {
  std::set<std::size_t> meant, agreed;
  for (const StudentKeys::Reading& reading : keys.readings) {
    const auto by_key = in(ids_, folded(reading.key));
    if (by_key) meant.insert(*by_key);
    if (by_key && is_named(*by_key, reading.name)) agreed.insert(*by_key);
    const auto named = reading.name.empty() ? names_.end() : names_.find(name_key(reading.name));
    if (named != names_.end() && named->second.size() == 1) meant.insert(named->second[0]);
  }
  const std::set<std::size_t>& found = agreed.size() == 1 ? agreed : meant;
  if (found.empty()) return std::nullopt;
  if (found.size() > 1)
    throw UsageError(
        "a hand-in of {} may be that of {} or that of {}: put the platform's own number of each student into "
        "the roster, as a column lms_id. Nothing was kept.",
        keys.readings[0].key, students_[*found.begin()].id, students_[*found.rbegin()].id);
  return *found.begin();
}

std::optional<Roster::Found> Roster::look_up(const StudentKeys& keys) const {
  // Where groups hand in, the number is the group's, and may be that of another student as well.
  if (const auto found = by_number(keys)) {
    const auto team = team_of(keys);
    const bool of_group = team && students_[*team].team != students_[*found].team &&
                          std::none_of(keys.keys.begin(), keys.keys.end(),
                                       [&](const std::string& key) { return is_named(*found, key); });
    return of_group ? Found{*team, true} : Found{*found};
  }
  if (!keys.readings.empty()) {
    if (const auto found = by_reading(keys)) return Found{*found};
    return std::nullopt;
  }
  for (const std::string& key : keys.keys) {
    if (const auto found = in(ids_, folded(key)); found && !is_somebody_else(students_[*found], keys))
      return Found{*found};
    const auto named = names_.find(name_key(key));
    if (key.empty() || named == names_.end() || named->second.size() != 1) continue;
    if (!is_somebody_else(students_[named->second[0]], keys)) return Found{named->second[0]};
  }
  if (const auto found = team_of(keys)) return Found{*found, true};
  if (!knows_canvas_ids_)  // such a roster may hold them as ids
    if (const auto found = in(ids_, keys.canvas_id)) return Found{*found};
  return std::nullopt;
}

std::optional<std::size_t> Roster::find(const StudentKeys& keys) const {
  const auto found = look_up(keys);
  return found ? std::optional(found->student) : std::nullopt;
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
  if (student.lms_id.empty() && !keys.lms_id.empty()) {
    student.lms_id = keys.lms_id;
    lms_.emplace(keys.lms_id, i);
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
  for (const std::string& key : {keys.canvas_id, keys.moodle_id, keys.github, keys.lms_id})
    if (student.id.empty()) student.id = key;
  // A number that an LMS gave tells two people of one name apart; the name does not.
  if (!keys.canvas_id.empty() || !keys.moodle_id.empty())
    student.id = keys.canvas_id.empty() ? keys.moodle_id : keys.canvas_id;
  student.id = plain_line(student.id, kLongestCell);
  while (ids_.contains(folded(student.id))) student.id += "-2";
  student.name = plain_line(keys.name, kLongestCell);
  student.email = plain_line(keys.email, kLongestCell);
  student.canvas_id = keys.canvas_id;
  student.moodle_id = keys.moodle_id;
  student.github = keys.github;
  student.lms_id = keys.lms_id;
  student.on_roster = false;
  students_.push_back(std::move(student));
  index(students_.size() - 1);
  return students_.size() - 1;
}

void Roster::ask_about(const StudentKeys& keys) {
  for (const std::string& key : keys.keys) {
    const auto named = key.empty() ? names_.end() : names_.find(name_key(key));
    if (named == names_.end()) continue;
    std::vector<std::string> ids;
    for (const std::size_t i : named->second)
      if (students_[i].on_roster) ids.push_back(students_[i].id);
    if (ids.size() < 2) continue;
    questions_.push_back(
        fmt::format("{} is the name of {}: whose hand-in it is, a column of the roster can tell (the "
                    "platform's own number as canvas_id, moodle_id or lms_id, or the login)",
                    key, fmt::join(ids, " and of ")));
    return;
  }
}

std::size_t Roster::find_or_add(const StudentKeys& keys) {
  if (const auto found = look_up(keys)) {
    if (!found->as_team) learn(found->student, keys);
    return found->student;
  }
  ask_about(keys);
  return add(keys);
}

}  // namespace warpgrade

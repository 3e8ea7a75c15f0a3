// A class changes: students' numbers are corrected, hand-ins take the place of others.
#include <fmt/format.h>

#include <set>

#include "course/gradebook/gradebook_file.h"

namespace warpgrade {
using nlohmann::json;

namespace {

const json& class_list_of(const RunParts& run, const char* key) {
  static const json empty = json::array();
  if (!run.class_list.is_object()) return empty;
  const auto found = run.class_list.find(key);
  return found == run.class_list.end() || !found->is_array() ? empty : *found;
}

std::string text_of(const Value& value) {
  const auto* text = std::get_if<std::string>(&value);
  return text == nullptr ? "" : *text;
}

void run_statement(SQLite::Database& database, const char* sql, const std::vector<std::string>& values) {
  SQLite::Statement statement(database, sql);
  int index = 1;
  for (const std::string& value : values) statement.bind(index++, value);
  statement.exec();
}

// Ids as the class knows them now.
std::set<std::string> ids_of(const RunParts& run) {
  std::set<std::string> ids;
  for (const json& student : class_list_of(run, "students")) ids.insert(student.at("id"));
  return ids;
}

}  // namespace

int Gradebook::Impl::follow_students(const RunParts& run, RunRows& rows, const std::string& author) {
  const std::string name = run.run.at("run");
  const std::set<std::string> ids = ids_of(run);
  int renamed = 0;
  for (const json& student : class_list_of(run, "students")) {
    const std::string now = student.at("id");
    for (const json& former : student.value("former_ids", json::array())) {
      if (ids.contains(former.get<std::string>())) continue;  // somebody else's number, then as now
      SQLite::Statement write(
          *database, "INSERT OR IGNORE INTO former_ids (former, student, at, run) VALUES (?, ?, ?, ?)");
      write.bind(1, former.get<std::string>());
      write.bind(2, now);
      write.bind(3, utc_timestamp());
      write.bind(4, name);
      if (write.exec() == 0) continue;
      ++renamed;
      move_to_new_id(former, now, name, author);
    }
  }
  // A run from before a correction has the earlier id in its own list.
  SQLite::Statement query(*database, "SELECT former, student FROM former_ids WHERE at > ? ORDER BY at");
  query.bind(1, run.run.value("created_at", ""));
  while (query.executeStep()) {
    const std::string former = query.getColumn(0).getString(), now = query.getColumn(1).getString();
    if (ids.contains(now) && ids.contains(former)) continue;
    for (std::vector<Row>* table : {&rows.students, &rows.members}) {
      const std::size_t place = table == &rows.students ? 1 : 2;
      for (Row& row : *table)
        if (text_of(row[place]) == former) row[place] = now;
    }
  }
  return renamed;
}

void Gradebook::Impl::move_to_new_id(const std::string& former, const std::string& now,
                                     const std::string& run, const std::string& author) {
  // In runs that know both, they are two people.
  const std::string both = "run NOT IN (SELECT run FROM students WHERE student = ?2)";
  run_statement(*database, ("UPDATE members SET student = ?2 WHERE student = ?1 AND " + both).c_str(),
                {former, now});
  run_statement(*database, ("UPDATE students SET student = ?2 WHERE student = ?1 AND " + both).c_str(),
                {former, now});
  const std::string today = utc_timestamp();
  for (const auto& [key, by] : overrides()) {
    if (key.first != former) continue;
    write_override(now, key.second, by.points,
                   fmt::format("{} (by {} at {} for this student's former number {})", by.reason, by.author,
                               by.at, former),
                   author);
    write_override(former, key.second, std::nullopt, fmt::format("the student's number is {} now", now),
                   author);
    audit(author, "override carried over",
          {{"lab", key.second},
           {"student", now},
           {"before", former},
           {"after", by.points},
           {"reason", by.reason}});
  }
  for (const Appeal& appeal : open_appeals()) {
    if (appeal.student != former) continue;
    write_appeal(former, appeal.lab, fmt::format("the student's number is {} now", now), author, appeal.id);
    write_appeal(now, appeal.lab, appeal.text, appeal.author, std::nullopt);
  }
  audit(author, "student number corrected",
        {{"run", run}, {"student", now}, {"before", former}, {"after", now}});
}

int Gradebook::Impl::leave_out_superseded(const RunParts& run, const RunRows& rows,
                                          const std::string& author) {
  const std::string name = run.run.at("run");
  std::set<std::string> standing, students;
  std::set<std::pair<std::string, std::string>> members;
  for (const Row& row : rows.attempts) standing.insert(text_of(row[1]));
  for (const Row& row : rows.students) students.insert(text_of(row[1]));
  for (const Row& row : rows.members) members.emplace(text_of(row[1]), text_of(row[2]));
  std::vector<std::pair<std::string, std::string>> gone;
  SQLite::Statement query(*database, "SELECT submission, student FROM members WHERE run = ?");
  query.bind(1, name);
  while (query.executeStep()) {
    const std::pair member(query.getColumn(0).getString(), query.getColumn(1).getString());
    if (standing.contains(member.first) && !members.contains(member)) gone.push_back(member);
  }
  for (const auto& [submission, student] : gone)
    run_statement(*database, "DELETE FROM members WHERE run = ?1 AND submission = ?2 AND student = ?3",
                  {name, submission, student});
  std::vector<std::string> left;
  SQLite::Statement listed(*database, "SELECT student FROM students WHERE run = ?");
  listed.bind(1, name);
  while (listed.executeStep())
    if (!students.contains(listed.getColumn(0).getString())) left.push_back(listed.getColumn(0).getString());
  for (const std::string& student : left)
    run_statement(*database, "DELETE FROM students WHERE run = ?1 AND student = ?2", {name, student});

  std::vector<std::string> superseded;
  SQLite::Statement attempts(*database, "SELECT submission FROM attempts WHERE run = ? AND superseded = 0");
  attempts.bind(1, name);
  while (attempts.executeStep())
    if (!standing.contains(attempts.getColumn(0).getString()))
      superseded.push_back(attempts.getColumn(0).getString());
  for (const std::string& submission : superseded) {
    run_statement(*database, "UPDATE attempts SET superseded = 1 WHERE run = ?1 AND submission = ?2",
                  {name, submission});
    audit(author, "attempt superseded",
          {{"lab", run.run.at("lab")}, {"run", name}, {"submission", submission}});
  }
  return static_cast<int>(superseded.size());
}

int Gradebook::Impl::note_changes(const RunParts& run, const std::string& author) {
  int noted = 0;
  for (const json& change : class_list_of(run, "changes")) {
    const auto text = [&](const char* key) { return change.value(key, ""); };
    const std::string by = text("author").empty() ? author : text("author"), name = run.run.at("run");
    const std::string at = text("at").empty() ? utc_timestamp() : text("at");
    SQLite::Statement known(*database, R"sql(
SELECT 1 FROM audit WHERE run = ?1 AND at = ?2 AND action = ?3 AND coalesce(student, '') = ?4
  AND coalesce(reason, '') = ?5 AND coalesce(after, '') = ?6)sql");
    const std::vector<std::string> values{name,           at,          text("action"), text("student"),
                                          text("reason"), text("text")};
    int index = 1;
    for (const std::string& value : values) known.bind(index++, value);
    if (known.executeStep()) continue;
    json what = {{"lab", run.run.at("lab")}, {"run", name}};
    for (const auto& [column, key] :
         {std::pair("student", "student"), {"reason", "reason"}, {"after", "text"}})
      if (!text(key).empty()) what[column] = text(key);
    audit(by, text("action"), what, at);
    ++noted;
  }
  return noted;
}

}  // namespace warpgrade

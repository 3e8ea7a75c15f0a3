// Which grade of a student in a lab is the current one.
#include <fmt/format.h>

#include "course/gradebook/gradebook_file.h"
#include "course/gradebook/slip_days.h"
#include "record/verdict.h"

namespace warpgrade {
using nlohmann::json;

namespace {

std::string text(SQLite::Statement& query, int index) {
  return query.getColumn(index).isNull() ? "" : query.getColumn(index).getString();
}

std::optional<double> real(SQLite::Statement& query, int index) {
  const SQLite::Column column = query.getColumn(index);
  return column.isNull() ? std::nullopt : std::optional<double>(column.getDouble());
}

// Every attempt of every student, and of those on a roster who handed nothing in; the latest run of a
// lab last. What another hand-in has taken the place of is left out.
constexpr const char* kGradesQuery = R"sql(
SELECT s.student, s.name, s.email, s.section, coalesce(a.team, s.team), r.lab, r.run, a.submission, a.submitted_at,
       c.verdict, a.refusal, c.late_note, a.attempt, a.late_s, c.points_before_late, c.points,
       coalesce(c.max_points, r.max_points), c.correct_cases, c.total_cases, c.undecided_cases, c.over_threshold,
       c.threshold_cases, coalesce(c.counts, 1), r.folder, a.late_marked, r.deadline, r.late_rules,
       c.measured_points
FROM students s JOIN runs r ON r.run = s.run
LEFT JOIN (members m JOIN attempts a ON a.run = m.run AND a.submission = m.submission AND a.superseded = 0
           AND coalesce(a.role, 'student') = 'student') ON m.run = s.run AND m.student = s.student
LEFT JOIN scores c ON c.run = a.run AND c.submission = a.submission
WHERE ?1 IS NULL OR r.run = ?1
ORDER BY r.lab, s.student, r.created_at, r.run, a.attempt, a.submission
)sql";

Attempted read_attempt(SQLite::Statement& query) {
  Attempted attempted;
  Grade& grade = attempted.grade;
  std::string* const texts[] = {&grade.student,      &grade.name,    &grade.email,   &grade.section,
                                &grade.team,         &grade.lab,     &grade.run,     &grade.submission,
                                &grade.submitted_at, &grade.verdict, &grade.refusal, &grade.late_note};
  int index = 0;
  for (std::string* field : texts) *field = text(query, index++);
  if (!query.getColumn(12).isNull()) grade.attempt = query.getColumn(12).getInt();
  grade.late_s = real(query, 13);
  grade.points_before_late = real(query, 14);
  if (!grade.submission.empty()) grade.computed_points = grade.points = real(query, 15).value_or(0);
  grade.max_points = real(query, 16).value_or(0);
  int* const counts[] = {&grade.correct_cases, &grade.total_cases, &grade.undecided_cases,
                         &grade.over_threshold, &grade.threshold_cases};
  index = 17;
  for (int* field : counts) *field = query.getColumn(index++).getInt();
  grade.counts = query.getColumn(22).getInt() != 0;
  grade.run_folder = text(query, 23);
  attempted.late_marked = query.getColumn(24).getInt() != 0;
  attempted.deadline = text(query, 25);
  attempted.late_rules = text(query, 26);
  grade.measured_points = real(query, 27).value_or(grade.max_points);
  if (grade.submission.empty()) grade.verdict = word_of(Verdict::kNotSubmitted);
  return attempted;
}

// Which of a student's attempts in a lab counts: of the latest run with one, the last that ingest lets count;
// or the best.
std::size_t counting(const std::vector<Attempted>& grades, std::size_t first, std::size_t last, bool best) {
  std::size_t chosen = last - 1;
  for (std::size_t i = last - 1; i-- > first;) {
    const Grade &other = grades[i].grade, &now = grades[chosen].grade;
    if (now.submission.empty() && !other.submission.empty()) {
      chosen = i;
    } else if (best ? other.points > now.points : other.run == now.run && other.counts && !now.counts) {
      chosen = i;
    }
  }
  return chosen;
}

}  // namespace

std::vector<Grade> Gradebook::grades(const GradeFilter& filter) const {
  return impl_->guarded([&] {
    SQLite::Statement query(*impl_->database, kGradesQuery);
    if (filter.run)
      query.bind(1, *filter.run);
    else
      query.bind(1);
    std::vector<Attempted> all;
    while (query.executeStep()) all.push_back(read_attempt(query));
    const auto overrides = impl_->overrides();
    std::vector<Attempted*> current;
    for (std::size_t first = 0; first < all.size();) {
      std::size_t last = first;
      const Grade& of = all[first].grade;
      while (last < all.size() && all[last].grade.student == of.student && all[last].grade.lab == of.lab)
        ++last;
      const std::size_t counts = counting(all, first, last, filter.best);
      for (std::size_t i = first; i < last; ++i) all[i].grade.counts = i == counts;
      Grade& chosen = all[counts].grade;
      if (const auto by = overrides.find({chosen.student, chosen.lab}); by != overrides.end()) {
        chosen.override_by = by->second;
        chosen.points = by->second.points;
      }
      current.push_back(&all[counts]);
      first = last;
    }
    // One run, or the best of all, says nothing about the course's order of labs.
    if (!filter.run && !filter.best) spend_slip_days(current);
    std::vector<Grade> chosen;
    for (Attempted& attempted : all) {
      Grade& grade = attempted.grade;
      if (!grade.counts && !filter.every_attempt) continue;
      if (filter.student && grade.student != *filter.student) continue;
      if (filter.lab && grade.lab != *filter.lab) continue;
      chosen.push_back(std::move(grade));
    }
    return chosen;
  });
}

std::vector<KnownStudent> Gradebook::students_of(const std::string& lab) const {
  return impl_->guarded([&] {
    SQLite::Statement query(
        *impl_->database,
        "SELECT s.student, s.name, s.email, s.keys FROM students s JOIN runs r ON r.run = "
        "s.run WHERE r.lab = ? ORDER BY s.student, r.created_at");
    query.bind(1, lab);
    std::vector<KnownStudent> students;
    while (query.executeStep()) {
      KnownStudent student{text(query, 0), text(query, 1), text(query, 2), "", "", "", ""};
      const json keys = json::parse(text(query, 3), nullptr, false);
      const auto key = [&](const char* name) { return keys.is_object() ? keys.value(name, "") : ""; };
      student.canvas_id = key("canvas_id");
      student.sis_id = key("sis_id");
      student.login = key("login");
      student.moodle_id = key("moodle_id");
      if (!students.empty() && students.back().id == student.id)
        students.back() = student;  // as the latest run knows them
      else
        students.push_back(student);
    }
    return students;
  });
}

json Grade::to_json() const {
  json object = {{"student", student},
                 {"lab", lab},
                 {"run", run},
                 {"points", points ? json(*points) : json()},
                 {"max_points", max_points},
                 {"measured_points", measured_points},
                 {"computed_points", computed_points ? json(*computed_points) : json()},
                 {"verdict", verdict},
                 {"correct_cases", correct_cases},
                 {"total_cases", total_cases},
                 {"undecided_cases", undecided_cases},
                 {"over_threshold", over_threshold},
                 {"threshold_cases", threshold_cases},
                 {"counts", counts}};
  const std::pair<const char*, const std::string*> texts[] = {
      {"name", &name},       {"email", &email},           {"section", &section},
      {"team", &team},       {"submission", &submission}, {"submitted_at", &submitted_at},
      {"refusal", &refusal}, {"late_note", &late_note}};
  for (const auto& [key, value] : texts) {
    if (!value->empty()) object[key] = *value;
  }
  if (attempt) object["attempt"] = *attempt;
  if (late_s) object["late_s"] = *late_s;
  if (slip_days > 0) object["slip_days"] = slip_days;
  if (points_before_late) object["points_before_late"] = *points_before_late;
  if (override_by) {
    object["override"] = {{"points", override_by->points},
                          {"reason", override_by->reason},
                          {"author", override_by->author},
                          {"at", override_by->at}};
  }
  return object;
}

}  // namespace warpgrade

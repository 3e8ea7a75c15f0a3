// Who takes the course: a CSV file with a header. Known columns, in any order and case, and as the LMSs write
// them in the lists that they export; others are left alone. README.md of batch lists them.
//
// Moodle's grading worksheet is mod/assign/gradingtable.php of moodle/moodle, downloaded: the first column is
// "Participant <number>" in the account's language, and two columns "Last modified (submission)" and "Last
// modified (grade)" differ in the parentheses alone, the submission's first, in every language. Its times are
// userdate()'s (localized_time.h).
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "course/ingest/times.h"

namespace warpgrade {

struct Student {
  std::string id;
  std::string name, email, section, team;  // empty: not known
  // What the LMSs call this student; empty: not known. canvas_id: Canvas' own user id; sis_id: the SIS user
  // id; login: the SIS login id or user name; moodle_id: the participant's number; github: the account.
  std::string canvas_id, sis_id, login, moodle_id, github;
  std::string lms_id;  // another LMS' own number or code: Brightspace's, ILIAS', Canvas' of anonymous grading
  std::optional<std::int64_t> deadline;      // an extension, seconds since 1970
  std::optional<std::int64_t> submitted_at;  // of Moodle's grading worksheet: the last change of the hand-in
  bool on_roster = true;
  std::vector<std::string> former_ids;  // by which this person was known before the roster was corrected
  nlohmann::json to_json() const;
  static Student from_json(const nlohmann::json& json);  // what to_json() made
};

// How an export names a student.
struct StudentKeys {
  std::vector<std::string> keys;  // what may be an id, an e-mail address, a login or a name, best first
  std::string name, email;
  std::string canvas_id, moodle_id, github;  // numbers and accounts that mean this alone
  std::string lms_id = {};
  // Of an export's name that can be split in several ways, what each way takes for the id or login, and for
  // the name: one of them is meant, and who agrees with both is preferred.
  struct Reading {
    std::string key, name;
  };
  std::vector<Reading> readings = {};
};

class Roster {
 public:
  Roster() = default;
  // Times without a zone are of `zone`. Throws UsageError with file and line: no id column, an id twice,
  // a bad time.
  static Roster read(const std::filesystem::path& file, const TimeZone& zone = {});
  // Of students whose ids differ.
  static Roster of(std::vector<Student> students);

  const std::vector<Student>& students() const { return students_; }
  std::vector<Student>& students() { return students_; }

  // The index of the student whom the keys mean. A number of an LMS is compared with the numbers of that LMS
  // alone. A name that two students have means nobody. A team's name means its first member: where groups hand
  // in, some LMSs name the group, and number it. Throws UsageError where readings mean two students.
  std::optional<std::size_t> find(const StudentKeys& keys) const;
  // The same, or the index of a student added under the first key that is not empty.
  std::size_t find_or_add(const StudentKeys& keys);
  // By which the student is found as well, unless it is somebody else's id now.
  void note_former_id(std::size_t student, const std::string& id);

  // What find_or_add() could not decide: a name that two students have, and what would.
  const std::vector<std::string>& questions() const { return questions_; }

 private:
  struct Found {
    std::size_t student;
    bool as_team = false;
  };
  void index(std::size_t student);
  void learn(std::size_t student, const StudentKeys& keys);
  std::optional<Found> look_up(const StudentKeys& keys) const;
  std::optional<std::size_t> by_number(const StudentKeys& keys) const;
  std::optional<std::size_t> by_reading(const StudentKeys& keys) const;
  std::optional<std::size_t> team_of(const StudentKeys& keys) const;
  bool is_named(std::size_t student, const std::string& name) const;
  void ask_about(const StudentKeys& keys);
  std::size_t add(const StudentKeys& keys);

  std::vector<Student> students_;
  std::map<std::string, std::size_t> ids_;                 // folded ids, addresses, logins
  std::map<std::string, std::vector<std::size_t>> names_;  // keys of names
  std::map<std::string, std::size_t> teams_;               // keys of teams' names: the first member
  std::map<std::string, std::size_t> canvas_, moodle_, github_, lms_;
  std::vector<std::string> questions_;
  bool knows_canvas_ids_ = false;
};

}  // namespace warpgrade

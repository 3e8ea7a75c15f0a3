// Who takes the course: a CSV file with a header. Known columns, in any order and case; others are left
// alone: id (or sid, student id, sis login id), name (or first name and last name), email, canvas id,
// section, team, deadline.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace warpgrade {

struct Student {
  std::string id;
  std::string name, email, canvas_id, section, team;  // empty: not known
  std::optional<std::int64_t> deadline;               // an extension, seconds since 1970
  bool on_roster = true;
  nlohmann::json to_json() const;
};

class Roster {
 public:
  Roster() = default;
  // Throws UsageError with file and line: no id column, an id twice, a bad time.
  static Roster read(const std::filesystem::path& file);

  const std::vector<Student>& students() const { return students_; }
  std::vector<Student>& students() { return students_; }

  // The student whom any of the keys names (an id, an e-mail address, a Canvas id, or a name written together
  // as Canvas does); their index, or that of a student added under the first key that is not empty.
  std::size_t find_or_add(const std::vector<std::string>& keys, const std::string& name,
                          const std::string& email);

 private:
  std::vector<Student> students_;
};

}  // namespace warpgrade

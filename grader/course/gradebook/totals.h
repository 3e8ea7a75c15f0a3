// A course's total over its labs: weights, dropped labs, bonus labs. course.yaml says them (README.md here).
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "course/gradebook/gradebook.h"

namespace warpgrade {

struct Course {
  struct Lab {
    std::string name;
    double weight = 1;
    bool bonus = false;  // adds to the total, and costs nothing where it is missing
  };
  std::vector<Lab> labs;
  double points = 100;          // what the whole course is worth
  int drop_lowest = 0;          // labs of each student, of those that are no bonus
  bool missing_is_zero = true;  // or a lab without a grade is left out of this student's total
};

// Throws UsageError naming file, line and key.
Course read_course(const std::filesystem::path& file);

struct StudentTotal {
  std::string student, name;
  std::vector<std::optional<Grade>> grades;  // by the course's labs
  std::vector<std::string> dropped;          // labs
  std::vector<std::string> unfinished;       // labs with cases that are not judged: there is no total then
  std::optional<double> total;
};

struct CourseTotals {
  std::vector<StudentTotal> students;
  std::vector<std::string>
      without_runs;  // labs of the course that the gradebook does not have: they do not count yet
};

CourseTotals totals_of(const Course& course, const std::vector<Grade>& grades);

}  // namespace warpgrade

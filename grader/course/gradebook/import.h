// A table of grades that was exported, and perhaps changed by hand, read back.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "course/gradebook/gradebook.h"

namespace warpgrade {

struct GradeImport {
  struct Line {
    int line = 0;
    std::string student;
    std::optional<double> points;  // none: the cell is empty
  };
  std::vector<Line> lines;
  std::vector<std::string> problems;  // nobody, twice, no number: each with its line
};

// `format` is one of canvas, moodle, blackboard, brightspace, sakai, prairielearn-csv. People are found as
// the export names them. `column`: the title of the column of points; without one the lab's, with what the
// platform adds to it, or the only one that it can be. `max_points`: of the lab, for formats of percentages.
// Throws UsageError for a file without the columns that it must have.
GradeImport read_grades(const std::filesystem::path& file, const std::string& format, const std::string& lab,
                        const std::optional<std::string>& column, double max_points,
                        const std::vector<KnownStudent>& students);

}  // namespace warpgrade

// Grades in a sheet that courseware gave out: the cells of the known students are filled, everything else
// stays as it was, byte by byte.
//
// Moodle's grading worksheet (mod/assign/feedback/offline/importgradeslib.php, locallib.php): its upload
// wants Identifier, Grade and "Last modified (grade)", skips empty grades and grades above the maximum, and
// enters no grade of 0. Sakai's grades.csv of "Download All" (assignment's tool,
// AssignmentAction.uploadAll_parseZipFile): three lines of head, then the user's id in the second and the
// grade in the fifth column.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "course/exports/views.h"

namespace warpgrade {

struct FilledWorksheet {
  std::string text, note;  // the note tells who was not found and what the upload will not take
};

// `column`: the title of the column of grades, where the sheet is not in English. Throws UsageError for a
// file that is neither sheet.
FilledWorksheet fill_worksheet(const std::filesystem::path& file, const Views& views,
                               const std::optional<std::string>& column);

}  // namespace warpgrade

// A run folder's parts as the gradebook's rows.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "course/gradebook/gradebook.h"
#include "course/gradebook/rows.h"
#include "course/record/record_text.h"

namespace warpgrade {

struct RunRows {
  Row run;
  std::vector<Row> students, attempts, members, cases, scores;
};

// Columns stand as in course/gradebook/schema.h. A score without its submission in the run, or the reverse,
// is an error of the run folder and thrown by nlohmann::json.
RunRows rows_of(const RunParts& run);
// Of a record, what its row has; no other field is read.
const Fields& row_fields();

}  // namespace warpgrade

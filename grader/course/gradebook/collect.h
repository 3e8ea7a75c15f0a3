// A run folder's parts as the gradebook's rows.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "course/gradebook/gradebook.h"
#include "course/gradebook/rows.h"

namespace warpgrade {

struct RunRows {
  Row run;
  std::vector<Row> students, attempts, members, cases, scores;
};

// Columns stand as in course/gradebook/schema.h. A score without its submission in the run, or the reverse,
// is an error of the run folder and thrown by nlohmann::json.
RunRows rows_of(const CollectedRun& run);

}  // namespace warpgrade

// What `warpgrade batch` says of a class that was taken in.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "course/record/run_folder.h"

namespace warpgrade {

// Who was refused, and what was nobody's; with `table` a line a hand-in before it, with its people, its time
// and the files that will be judged, and who handed in nothing. Returns how many attempts are to be graded.
int print_class(const RunFolder& folder, const nlohmann::json& taken, const std::string& lab, bool table);

}  // namespace warpgrade

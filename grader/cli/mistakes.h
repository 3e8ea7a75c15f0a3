// The failed cases of a submission, sorted by mistake: one mistake that ten cases show is told once.
#pragma once

#include <string>
#include <vector>

#include "record/record.h"

namespace warpgrade {

struct Mistake {
  Record record;                         // of the first case that shows it
  std::vector<std::string> other_cases;  // that show it, too
};

// The mistakes behind the failed cases of one submission, what to mend first in front: what does not compile,
// then what ends the program, then what never ends, then wrong answers; within these in the order of the
// cases. Two cases show the same mistake when their verdict and reason agree, and the place that a finding
// names, or without one their messages but for the numbers.
std::vector<Mistake> sort_by_mistake(const std::vector<Record>& records);

}  // namespace warpgrade

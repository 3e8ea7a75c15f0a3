// What a person reads about a case that was not accepted, whatever the lab.
#pragma once

#include <string>
#include <vector>

#include "course/record/record_text.h"

namespace warpgrade {

// Place, wanted and got, what the wrong cells have in common, the first mistake that the emulator found, what
// the program printed, and `repeat`, the command that judges the case again. Lines, each ended. Takes a
// record of any lab: what it does not hold is left out.
std::string failure_text(const Record& record, const std::string& repeat);

// What the emulator found in cases that were accepted all the same (a leak, a race that did no harm), each
// mistake once, with the first case that shows it. Empty when there is none.
std::string findings_text(const std::vector<Record>& records);

// What a program printed in cases that were accepted: of the first such case, with how many more there are.
// Empty where it printed nothing.
std::string printed_text(const std::vector<Record>& records);

// Which accepted cases were the CPU's work (writers_note() in course/score/score.h): a line a reason, with
// the cases. Empty when kernels did all.
std::string writers_text(const std::vector<Record>& records);

// What a run's staff has to know beside the verdicts, a line a case: where the judge failed, and where it
// failed twice because of the submission. Empty where there is nothing.
std::string trouble_text(const std::vector<Record>& records);
// Of a record, what trouble_text() reads.
const Fields& trouble_fields();

}  // namespace warpgrade

// Slip days over a course: each student's, or each team's, are spent on the labs in the order of
// their deadlines.
#pragma once

#include <string>
#include <vector>

#include "course/gradebook/gradebook.h"

namespace warpgrade {

// An attempt of a student with what its lateness is counted from.
struct Attempted {
  Grade grade;
  bool late_marked = false;  // an LMS called it late, without saying by how much
  std::string deadline;      // of the run; empty: not known
  std::string late_rules;    // of the run's policy, as JSON; empty: there are none
};

// Of the grades that count: takes the days from each account and sets points and late notes anew, where the
// lab's policy has slip days. A grade that a person set uses none.
void spend_slip_days(const std::vector<Attempted*>& current);

}  // namespace warpgrade

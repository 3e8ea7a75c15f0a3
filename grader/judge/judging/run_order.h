// In which order a case's plans, checked runs and timed pairs come. It follows from the run's hidden seed, so
// that no program can tell from the number of its calls what a run is for.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace warpgrade {

// One plan, from the plan call to the free call.
struct PlannedRuns {
  int before = 0;      // checked runs before the timed phase, or all of them
  bool timed = false;  // the timed phase belongs to this plan
  int after = 0;       // checked runs after it
};

struct RunOrder {
  std::vector<PlannedRuns> plans;
  // Within the timed phase: the submission plans anew, for the same matrix, before these pairs.
  std::vector<int> replans;

  int checked_runs() const;
  // For the record: "plan run run | plan run timed".
  std::string text() const;
};

// `least` checked runs; where a phase is timed, one more for every fourth seed (elsewhere the same number
// for everybody, so that counters compare). From three runs on there are two plans, or, of four, sometimes
// three; one of them has at least two runs, the second of which catches what was kept from the first.
// `timed`: the timed phase stands behind a checked run, in any plan.
RunOrder draw_run_order(std::uint64_t seed, int least, bool timed);

// Of four timed pairs in a row one, which the seed chooses, is checked more closely.
bool is_checked_closely(std::uint64_t seed, int pair);

}  // namespace warpgrade

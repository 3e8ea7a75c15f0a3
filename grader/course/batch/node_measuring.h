// A node of a cluster before it judges: a program of the staff's is timed beside a copy of itself, and how
// much memory it moves in a second. The judge measures as it does for a class; there is no other clock.
#pragma once

#include "course/batch/case_dispatcher.h"
#include "course/batch/node_tests.h"

namespace warpgrade {

// Measures on the first device of the run, where this process is, on behalf of `node`. Where the program
// cannot be judged the test says so in `problem`. Throws Interrupted, DiskFull, GpuWedged.
NodeTest measure_node(CaseDispatcher& dispatcher, const ClassRun& run, const std::string& node, int threads);

}  // namespace warpgrade

// Options that several commands share.
#pragma once

#include <CLI/CLI.hpp>

#include "course/batch/grade_run.h"

namespace warpgrade {

// Of whatever judges: `check` and the commands below.
void add_judging_options(CLI::App& command, GradeOptions& options);

// Of what judges into a run's folder: `grade`, `bench`, `sweep`, `batch`.
void add_run_options(CLI::App& command, GradeOptions& options);

}  // namespace warpgrade

// `warpgrade batch` and what belongs to it: status, resume, cancel, regrade, rescore, diff.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>

#include "batch/options.h"

namespace warpgrade {

// `add_run_options` adds what `grade` takes as well. What the commands return goes to `code`.
void add_batch_commands(CLI::App& app, const std::function<void(CLI::App&, GradeOptions&)>& add_run_options,
                        int& code);

}  // namespace warpgrade

// What a sweep found: the best variant of each case and the best single choice, from records alone.
#pragma once

#include <nlohmann/json.hpp>
#include <vector>

#include "course/sweep/variants.h"
#include "record/record.h"
#include "record/view.h"

namespace warpgrade {

// warpgrade.sweep.v1 (grader/course/record/README.md). The measure is the median time on a GPU and the number
// of warp instructions on the emulator, which measures no time; less is better. Variants that are not
// accepted on a case have no value there and can't be chosen.
nlohmann::json summarize_sweep(const Run& run, const std::vector<Record>& records,
                               const std::vector<SweepVariant>& variants);

// For a terminal: a line a case with its best variant, a line a variant, and the choice.
std::string sweep_tables(const nlohmann::json& summary);

}  // namespace warpgrade

// Grades a class on this machine: compiles, judges every case of every submission, records as it goes. On a
// GPU submissions are compiled while others are judged, and several judges share the GPU outside their timed
// phases. The same call on the same folder goes on where it stopped.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>

#include "course/batch/class_run.h"
#include "course/batch/options.h"

namespace warpgrade {

// What happened, for the caller's last lines and exit code.
struct GradeSummary {
  std::filesystem::path run;
  size_t recorded = 0, resumed = 0;
  size_t faults = 0;     // cases that the next call judges again
  size_t for_staff = 0;  // cases at which the judge failed twice because of the submission
  nlohmann::json scores;
};

GradeSummary grade(const GradeOptions& options);

// Compiles what grade() would, into the cache: a run of the same class finds it there. The run's folder is of no use.
void compile_only(const GradeOptions& options);

// Reads records and policy of a run and writes scores.json. A policy that is given holds for the run from
// then on (policy.yaml in its folder).
nlohmann::json score_run(const RunFolder& folder, const std::optional<std::filesystem::path>& policy);

// The same, and collects the records on the way.
nlohmann::json collect_and_score(const RunFolder& folder, const std::optional<std::filesystem::path>& policy);

}  // namespace warpgrade

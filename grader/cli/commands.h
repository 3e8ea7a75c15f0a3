// The commands of `warpgrade`; main.cpp reads the options.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "batch/grade_run.h"

namespace warpgrade {

// `warpgrade labs [LAB]`: the labs, or one lab's cases.
int list_labs(const std::optional<std::string>& lab);

// `warpgrade labs --baselines`: the folders, a line each, of what submissions are measured against.
int list_baselines();

// `warpgrade check FOLDER`: one submission, on the students' public cases, into a scratch run; prints every
// failure.
struct CheckOptions {
  std::filesystem::path submission;
  GradeOptions grade;
  bool verbose = false;
};
int check(CheckOptions options);

// Every solution of the staff for the lab: naive, the ladder's steps, optimized.
std::vector<std::filesystem::path> reference_solutions(const std::string& lab);

// `warpgrade bench`: the staff's solutions (and a submission) against thresholds, as a table.
int bench(GradeOptions options);

int grade_class(GradeOptions options, bool with_references);
int score_again(const std::filesystem::path& run, const std::optional<std::filesystem::path>& policy);
// Proposes thresholds over `baseline`; none: the one that the run's policy speaks of.
int calibrate(const std::filesystem::path& run, const std::optional<std::string>& baseline, double share);

int report(const std::filesystem::path& run);

// Runs a module of the Python package under reports/ on a run's folder, showing what it says.
int render(const std::string& module, const std::filesystem::path& run);

std::filesystem::path default_run_folder(const std::string& lab);

// Exit code of `check` when a case was not accepted.
inline constexpr int kExitNotAccepted = 3;

}  // namespace warpgrade

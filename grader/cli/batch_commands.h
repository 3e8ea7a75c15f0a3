// What the files of `warpgrade batch` share.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "cli/commands.h"
#include "course/batch/grade_run.h"
#include "course/batch/watch.h"
#include "course/ingest/ingest.h"
#include "course/record/run_folder.h"

namespace warpgrade {

struct BatchOptions {
  GradeOptions grade;
  IngestOptions ingest;
  std::optional<std::filesystem::path> source, site;
  std::string executor;
  bool take_in = false;
  std::optional<std::filesystem::path> watch;  // rolling hand-ins
  WatchOptions watching;
};

// What the first call was told of a batch. Throws UsageError where `warpgrade batch` did not make the run.
nlohmann::json read_batch(const RunFolder& folder);
// Begins a batch, or goes on with one that was begun before. What the first call was told is kept, so that
// later ones need no more than the run's name. Throws UsageError where this call says something else.
nlohmann::json open_batch(const BatchOptions& given);
// Judges what is missing, here or on a cluster; the exit code.
int continue_batch(const std::filesystem::path& run, const nlohmann::json& batch, bool quiet);

// A command that takes a run's folder.
CLI::App* add_run_command(CLI::App& app, std::filesystem::path& run, const char* name, const char* what);

void add_status_commands(CLI::App& app, int& code);  // status, cancel
void add_regrade_command(CLI::App& app, int& code);
void add_rescore_commands(CLI::App& app, int& code);  // rescore, diff

}  // namespace warpgrade

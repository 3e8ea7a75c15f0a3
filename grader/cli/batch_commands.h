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
  bool dry_run = false;
  // Of a class that was taken in before; the roster, deadline and attempts of `ingest` as well, if given.
  ClassChange change;
  bool yes = false;                            // change it without asking
  std::optional<std::filesystem::path> watch;  // rolling hand-ins
  WatchOptions watching;
};

// What the first call was told of a batch. Throws UsageError where `warpgrade batch` did not make the run.
nlohmann::json read_batch(const RunFolder& folder);
// The site's file for this call and later ones.
void keep_site(const RunFolder& folder, const std::filesystem::path& site, nlohmann::json& batch);
// Begins a batch, or goes on with one that was begun before. What the first call was told is kept, so that
// later ones need no more than the run's name. What a later call says of hand-ins, roster and deadlines
// changes the class; where it says something else that decides verdicts, it throws UsageError. Nothing: the
// class was to be changed, and the answer was no.
std::optional<nlohmann::json> open_batch(const BatchOptions& given);
// Changes a batch's class as this call says: shows what changes, asks, writes it with its author and reason.
// False: the answer was no, and nothing was written.
bool change_batch(const BatchOptions& given, const RunFolder& folder, nlohmann::json& batch);
// Tells of hand-ins that lie where the class was taken from and that the run does not have.
void print_new_hand_ins(const BatchOptions& given, const RunFolder& folder, const nlohmann::json& batch);
// Judges what is missing, here or on a cluster; the exit code.
int continue_batch(const std::filesystem::path& run, const nlohmann::json& batch, bool quiet,
                   const std::string& same_node = "");

// A command that takes a run's folder.
CLI::App* add_run_command(CLI::App& app, std::filesystem::path& run, const char* name, const char* what);

void add_status_commands(CLI::App& app, int& code);  // status, cancel
void add_regrade_command(CLI::App& app, int& code);
void add_rescore_commands(CLI::App& app, int& code);  // rescore, diff

}  // namespace warpgrade

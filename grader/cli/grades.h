// `warpgrade collect` and `warpgrade grades`: from run folders into the gradebook, and what it answers.
#pragma once

#include <CLI/CLI.hpp>
#include <filesystem>
#include <optional>
#include <string>

namespace warpgrade {

struct GradesOptions {
  std::filesystem::path gradebook = "gradebook.sqlite";
  std::optional<std::string> student, lab, run;
  std::string format = "table";  // table, csv, json
  bool every_attempt = false, best = false;

  std::optional<double> points;  // of an override
  bool withdraw = false;
  std::string reason, author;
};

// Adds both commands; what they return goes to `code`.
void add_grade_commands(CLI::App& app, int& code);

// Merges the run's records, scores them and, with a gradebook, merges the run into it.
int collect(const std::filesystem::path& run, const std::optional<std::filesystem::path>& gradebook,
            const std::string& author);

// The parts that need SQLite; a build without it has no_gradebook.cpp, which says so.
void collect_into(const std::filesystem::path& gradebook, const std::filesystem::path& run,
                  const std::string& author);
int list_grades(const GradesOptions& options);
int override_grade(const GradesOptions& options);
int show_history(const GradesOptions& options);

}  // namespace warpgrade

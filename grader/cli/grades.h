// What the commands ask of the gradebook. Needs SQLite; a build without it has no_gradebook.cpp, which
// says so.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include "course/feedback/view.h"

namespace warpgrade {

struct GradesOptions {
  std::filesystem::path gradebook = "gradebook.sqlite";
  std::optional<std::string> student, lab, run;
  std::string format = "table";  // table, csv, json
  bool every_attempt = false, best = false;

  std::optional<double> points;  // of an override
  bool withdraw = false, above_maximum = false;
  std::string reason, author;

  std::filesystem::path course, import_file;
  std::string import_format, appeal_text, close_reason;
  std::optional<std::string> column;
  bool apply = false;
};

// Merges a run's records and scores into the gradebook, which is made where there is none, and notes in the
// run's folder (gradebook.json) that this is its gradebook. Throws UsageError where overrides that the run's
// former gradebook has would be lost, unless `relink`.
void collect_into(const std::filesystem::path& gradebook, const std::filesystem::path& run,
                  const std::string& author, bool relink = false);
int list_grades(const GradesOptions& options);
int override_grade(const GradesOptions& options);
int show_history(const GradesOptions& options);
int show_totals(const GradesOptions& options);
int import_grades(const GradesOptions& options);
int appeal_grade(const GradesOptions& options);
int list_appeals(const GradesOptions& options);

// The grades that count for a run, and what they were made from.
struct FinalGrades {
  std::map<std::string, FinalPoints> points;   // by student, of those whom the gradebook has
  std::map<std::string, std::string> appeals;  // open ones of the lab, by student
  nlohmann::json gradebook;                    // {path, entry, at, overrides}; null: there is none
};

// Asks `gradebook`, or the one that the run was collected into; brings the run's scores in it up to date
// first. Throws UsageError where overrides would be lost: the run's gradebook is gone, or another one or an
// older copy of it is given.
// `read`: the run's parts where the caller has them, of each record final_grade_fields() at least.
FinalGrades final_grades(const std::filesystem::path& run,
                         const std::optional<std::filesystem::path>& gradebook,
                         const RunParts* read = nullptr);
const Fields& final_grade_fields();

// The gradebook that the run was collected into; nullopt: none.
std::optional<std::filesystem::path> gradebook_of(const std::filesystem::path& run);

// You, for the audit trail.
std::string default_author();

}  // namespace warpgrade

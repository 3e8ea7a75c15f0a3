// What the commands ask of the gradebook. Needs SQLite; a build without it has no_gradebook.cpp, which says
// so.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include "feedback/view.h"

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

// Merges a run's records and scores into the gradebook, which is made where there is none.
void collect_into(const std::filesystem::path& gradebook, const std::filesystem::path& run,
                  const std::string& author);
int list_grades(const GradesOptions& options);
int override_grade(const GradesOptions& options);
int show_history(const GradesOptions& options);

// The points that a gradebook has for a lab's students.
std::map<std::string, FinalPoints> final_points(const std::filesystem::path& gradebook,
                                                const std::string& lab);

}  // namespace warpgrade

// Who is in an export, and from which run: each student's current grade in the lab.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cli/grades.h"
#include "course/exports/exports.h"
#include "course/feedback/view.h"

namespace warpgrade {

struct ExportChoice {
  bool zero_for_absent = false;  // who handed in nothing in any run of the lab gets 0 on purpose
  bool all_graded = false;       // also of the roster's students who have a submission in other runs alone
};

struct ExportedClass {
  struct Unfinished {
    std::string student;
    int undecided = 0, total = 0;
  };
  Views own;       // of this run's own submissions, for the leaderboard
  Views everyone;  // this run's students as their current grade shows them; without `points`: there is none
  Views graded;    // of these, whom the exports carry
  std::vector<Unfinished> unfinished;
  std::vector<std::string> absent;                         // handed in nothing, in no run: no cell
  std::vector<std::string> graded_elsewhere;               // have a grade, but no submission in this run
  std::map<std::string, std::string> from_other_runs;      // student, run: exported from there
  std::map<std::string, std::string> without_that_folder;  // of these, whose run's folder is not there
};

ExportedClass exported_class(const Policy& policy, const RunParts& parts, const FinalGrades& finals,
                             const std::string& made_from, const ExportChoice& choice);

// "s0003 (2 of 7 cases), s0007 (1 of 7 cases)".
std::string unfinished_text(const ExportedClass& students);

}  // namespace warpgrade

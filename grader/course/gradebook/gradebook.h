// The gradebook: one SQLite file for a course. Runs are merged into it by one writer at a time; grades
// are asked of it; a person's override stands above the computed points and never replaces them.
// Tables: README.md here.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "course/record/run_folder.h"

namespace warpgrade {

enum class GradebookMode { kRead, kWrite, kCreate };  // kCreate: write, into a new file where there is none

// What `collect` did. All zero: the gradebook had all of it.
struct CollectSummary {
  int attempts_added = 0, cases_added = 0, cases_changed = 0, scores_changed = 0;
  int attempts_superseded = 0, students_renamed = 0, changes_noted = 0;
  bool nothing() const {
    return attempts_added + cases_added + cases_changed + scores_changed + attempts_superseded +
               students_renamed + changes_noted ==
           0;
  }
};

struct GradeFilter {
  std::optional<std::string> student = {}, lab = {}, run = {};
  bool every_attempt = false;  // not only the one that counts
  bool best = false;           // the attempt with most points counts, not the last one of the latest run
};

// The grade of one student in one lab.
struct Grade {
  std::string student, name, email, section, team;
  std::string lab, run, submission;  // no submission: the student is on the roster and handed nothing in
  std::string submitted_at, verdict, refusal, late_note;
  std::string run_folder;  // where the run was when it was collected
  std::optional<int> attempt;
  std::optional<double> late_s, points_before_late;
  // None: nothing was handed in, which is no 0. `points` has the override, where there is one.
  std::optional<double> computed_points, points;
  double max_points = 0, measured_points = 0;  // less was measured where there was no GPU
  double slip_days = 0;                        // that this lab used of the student's or team's
  int correct_cases = 0, total_cases = 0, undecided_cases = 0, over_threshold = 0, threshold_cases = 0;
  bool counts = true;
  struct Override {
    double points = 0;
    std::string reason, author, at;
  };
  std::optional<Override> override_by;
  // Cases are not judged yet, so the points are out of less than they are worth. A person's decision holds.
  bool unfinished() const { return !submission.empty() && undecided_cases > 0 && !override_by; }
  nlohmann::json to_json() const;
};

// A student's objection to a grade that nobody has answered yet.
struct Appeal {
  std::int64_t id = 0;
  std::string at, author, student, lab, text;
};

// A student by every name that courseware knows, for imports.
struct KnownStudent {
  std::string id, name, email, canvas_id, sis_id, login, moodle_id;
};

class Gradebook {
 public:
  // Writing holds FILE.lock until the object goes: a second writer waits up to `wait_s` and is then
  // refused. Throws UsageError: locked, no gradebook, one of a newer version.
  Gradebook(const std::filesystem::path& file, GradebookMode mode, double wait_s = 10);
  ~Gradebook();
  Gradebook(const Gradebook&) = delete;
  Gradebook& operator=(const Gradebook&) = delete;

  // Merges a run with its records and scores, all or nothing, and notes what changed in the audit trail. The
  // same run again changes no byte. Throws UsageError when a run of that name was made at another time.
  CollectSummary collect(const RunParts& run, const std::string& author);

  // Sorted by lab, student, run and attempt. Of each student and lab the one grade that counts, or
  // every attempt. The one that counts is of the last run in which the student handed something in; slip days
  // are spent over all labs, in the order of their deadlines.
  std::vector<Grade> grades(const GradeFilter& filter) const;

  // Sets a student's points in a lab; no points takes the last override back. Throws UsageError for a student
  // or lab without a grade, points that are negative, not finite or (unless `above_maximum`) more than there
  // are, an empty reason or author.
  void override_grade(const std::string& student, const std::string& lab, std::optional<double> points,
                      const std::string& reason, const std::string& author, bool above_maximum = false);

  // Opens an appeal, or closes the student's open ones of that lab with the reason. An override closes them,
  // too. Throws UsageError for a student or lab that the gradebook does not know, an empty text or author,
  // nothing to close.
  void appeal(const std::string& student, const std::string& lab, const std::string& text,
              const std::string& author);
  void close_appeal(const std::string& student, const std::string& lab, const std::string& reason,
                    const std::string& author);
  std::vector<Appeal> open_appeals() const;  // oldest first

  // Everybody who is on the roster of one of the lab's runs.
  std::vector<KnownStudent> students_of(const std::string& lab) const;

  // How far the gradebook has come: the number of its last entry in the audit trail and when that was made.
  struct State {
    std::int64_t entry = 0;  // 0: nothing was ever entered
    std::string at;
  };
  State state() const;

  // Everything that happened to a student's grades, oldest first; every student's without one.
  std::vector<nlohmann::json> history(const std::optional<std::string>& student) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// UTC, "2026-03-01T10:15:00Z".
std::string utc_timestamp();

}  // namespace warpgrade

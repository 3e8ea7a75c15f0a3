// What run.json, scores.json and a student's view (course/feedback) say, for those who read them: of their
// fields those that are read. Whoever writes them copies field by field.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "record/case.h"

namespace warpgrade {

struct Run {
  std::string run, lab, backend, attempts = "best";
  bool speed_measured = false;
  bool imagined = false;  // for a policy's examples: what no GPU has measured
  std::vector<Case> cases;
  nlohmann::json device, submissions;
  WARPGRADE_FIELDS(Run, run, lab, backend, attempts, speed_measured, imagined, cases, device, submissions)

  bool on_gpu() const { return backend == "cuda"; }
  std::string device_name() const {
    return device.is_object() ? device.value("name", std::string()) : std::string();
  }
};

// A mistake with its place, of a record or a view. A submission's process may have written it.
struct Diagnostic : typed::Object {
  std::string kind, file, message, advice;
  std::optional<std::int64_t> line;
  WARPGRADE_FIELDS(Diagnostic, kind, file, message, advice, line)
};

// What a submission earned with one case.
struct ScoredCase {
  struct SpeedUp {
    double median = 0;
    std::optional<double> low, high;
    WARPGRADE_FIELDS(SpeedUp, median, low, high)
  };
  struct Limit {
    std::optional<double> share;
    WARPGRADE_FIELDS(Limit, share)
  };
  std::string id, kind, verdict, message, pattern, note, baseline, next_step, threshold_status;
  int k = 0;  // its width
  double points = 0, max_points = 0;
  bool left_out = false, dropped = false, cpu_only = false, no_kernel = false, open = false;
  std::optional<double> threshold, time_us;
  std::optional<SpeedUp> ratio;
  Limit limit;
  std::vector<Diagnostic> diagnostics;
  WARPGRADE_FIELDS(ScoredCase, id, kind, verdict, message, pattern, note, baseline, next_step,
                   threshold_status, k, points, max_points, left_out, dropped, cpu_only, no_kernel, open,
                   threshold, time_us, ratio, limit, diagnostics)

  Verdict outcome() const { return verdict_named(verdict); }
  bool accepted() const { return outcome() == Verdict::kAccepted; }
  std::string over() const { return baseline.empty() ? "the baseline" : baseline; }
};

struct Person {
  std::string id, name, email, section, canvas_id, sis_id, login, moodle_id, lms_id;
  bool on_roster = true;
  WARPGRADE_FIELDS(Person, id, name, email, section, canvas_id, sis_id, login, moodle_id, lms_id, on_roster)
};

// A submission in scores.json.
struct Scored {
  std::string id, title, submitted_at, verdict, role = "student", student;
  std::vector<std::string> members;
  int attempt = 0, undecided_cases = 0;
  double points = 0;
  bool counts = true;
  std::vector<ScoredCase> cases;
  WARPGRADE_FIELDS(Scored, id, title, submitted_at, verdict, role, student, members, attempt, undecided_cases,
                   points, counts, cases)

  bool is_students() const { return role == "student"; }
  // What ingest found, else the submission itself is the student.
  std::vector<std::string> people() const {
    return members.empty() ? std::vector{student.empty() ? id : student} : members;
  }
};

struct View {
  struct HandIn {
    std::string id, hash, language = "CUDA";
    int attempt = 0;
    WARPGRADE_FIELDS(HandIn, id, hash, language, attempt)
  };
  struct Gate {
    std::string baseline, status;
    double needed = 0;
    std::optional<double> reached;
    WARPGRADE_FIELDS(Gate, baseline, status, needed, reached)
  };
  struct Refusal {
    std::string message, next_step;
    int attempt = 0;
    WARPGRADE_FIELDS(Refusal, message, next_step, attempt)
  };
  struct Part {
    std::string note;
    double points = 0, max_points = 0;
    WARPGRADE_FIELDS(Part, note, points, max_points)
  };
  struct Compiled {
    std::string status = "compiled", message, log;
    WARPGRADE_FIELDS(Compiled, status, message, log)
    bool failed() const { return status != "compiled"; }
  };
  struct Hidden {
    int cases = 0, correct = 0;
    double points = 0, max_points = 0;
    WARPGRADE_FIELDS(Hidden, cases, correct, points, max_points)
  };
  std::string run, lab, verdict, pseudonym, override_reason, graded_in, judged_by, made_from, open_note,
      limits_note;
  Person person;
  std::optional<double> points, measured_points, computed_points;  // none: nothing was judged
  double max_points = 0;
  int correct_cases = 0, total_cases = 0, undecided_cases = 0, over_threshold = 0, threshold_cases = 0;
  bool speed_measured = false, overridden = false, unfinished = false;
  std::vector<std::string> notes;
  std::vector<ScoredCase> cases;
  std::vector<Gate> gates;
  std::vector<Refusal> refused_attempts;
  HandIn submission;
  Compiled compile;
  Hidden hidden;
  std::optional<Part> journey, late;
  std::optional<Refusal> refusal;
  std::map<std::string, double> parts;
  std::map<std::string, std::string> terms;
  WARPGRADE_FIELDS(View, run, lab, verdict, pseudonym, override_reason, graded_in, judged_by, made_from,
                   open_note, limits_note, person, points, measured_points, computed_points, max_points,
                   correct_cases, total_cases, undecided_cases, over_threshold, threshold_cases,
                   speed_measured, overridden, unfinished, notes, cases, gates, refused_attempts, submission,
                   compile, hidden, journey, late, refusal, parts, terms)

  // By its own cases: what a person decided, or a late hand-in took, is not in it.
  double earned() const { return computed_points.value_or(points.value_or(0)); }
};

}  // namespace warpgrade

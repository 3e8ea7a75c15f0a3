// A student's way to the result, from the hand-ins of one run or several: the versions of the program, the
// notes, and what each version gained over the one before. A policy may give points for it (Policy::journey).
// It decides on no verdict.
#pragma once

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "course/record/run_folder.h"
#include "course/score/policy.h"

namespace warpgrade {

// A ratio's logarithm, and half of its interval of 95 %.
struct LogRatio {
  double middle = 0, half = 0;
};

// How many times as fast (on the emulator: as sparing of instructions) as the version before: the geometric
// mean over the cases that both have right. Two runs' times are not comparable beyond noise (a process keeps
// its own cost of a launch, a GPU its clocks). So a case compares speed-ups over one baseline, which was
// timed beside each of the two. `low` to `high` holds the mean with 95 %, by the speed-ups' intervals.
struct Gain {
  double factor = 1, low = 1, high = 1;
  int cases = 0, slower = 0;  // `slower`: of these, beyond noise
  std::string of;             // "time" or "instructions"

  bool is_certain() const { return low > 1 || high < 1; }
};

// What one run found of a version.
struct JudgedVersion {
  std::filesystem::path run;
  std::string submission;  // its id there
  std::string backend, device;
  struct Case {
    bool accepted = false;
    std::map<std::string, LogRatio> speedups;  // by baseline; only those with an interval
    double warp_instructions = 0;              // 0: they were not counted
    nlohmann::json limit;  // what the GPU allows (limit_of_record); null: it was not timed there
  };
  std::map<std::string, Case> cases;

  bool all_right() const;
};

// A state of the program: what is compiled, by Submission::hash, is that of no attempt before. A note
// alone makes none.
struct Version {
  std::filesystem::path snapshot;
  std::string program;  // Submission::hash
  int attempt = 0;
  std::string at;                  // as the run wrote it
  std::vector<std::string> notes;  // of all attempts with this program
  std::vector<JudgedVersion> judged;
  std::vector<std::filesystem::path> counted;  // what ncu counted of it on a GPU (warpgrade.hardware.v1)
  std::optional<Gain> gain;                    // none: it is the first, or nothing can be compared

  const JudgedVersion* fullest() const;  // of the runs that judged it the one with most cases
};

// What points and the staff's list ask of a way.
struct CountedJourney {
  JourneyCounts counts;
  bool arrived_whole = false;  // all in one version that is right: listed, and never judged
};

struct Journey {
  std::vector<Version> versions;
  CountedJourney counted() const;
};
using Journeys = std::map<std::string, Journey>;  // by student

// Of everybody who handed in a program. Runs of other labs, and those that keep no hand-ins, are left out.
// Throws UsageError where a hand-in is gone from a run's folder.
Journeys journeys_of(const std::vector<std::filesystem::path>& runs, const std::string& lab);

// Gives each version what was counted of its program on a GPU: `summaries` are files of `warpgrade profile
// --hardware` or of the desk. What is no such summary, or is of no version, is left out.
void add_counted(const std::vector<std::filesystem::path>& summaries, const std::string& lab,
                 Journeys& journeys);

// For pages and programs (schema warpgrade.journeys.v1; grader/course/record/README.md).
nlohmann::json journeys_json(const Journeys& journeys, const std::string& lab);

// What was counted over other runs as well stands in the run's folder from then on (warpgrade.journey.v1).
void keep_counts(const std::filesystem::path& run, const Journeys& journeys,
                 const std::vector<std::filesystem::path>& counted);

// By student, for the points of a run: of its own hand-ins and of what keep_counts() left there the
// larger number each. Nothing where the policy gives no points for it, where the run keeps no hand-ins,
// and of a student's practice.
using CountsByStudent = std::map<std::string, CountedJourney>;
std::optional<CountsByStudent> journey_counts(const RunFolder& run, const Policy& policy);

// Of these people together the larger number each: what one member of a team did, the team did.
CountedJourney counted_of(const CountsByStudent& counts, const std::vector<std::string>& people);

// The share of the points for the way, 0 to 1: each part that is asked for is worth the same.
double journey_share(const JourneyCounts& asked, const JourneyCounts& reached);

}  // namespace warpgrade

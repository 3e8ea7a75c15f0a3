// What a student may see, and nothing else: made by copying single named fields, so that what nobody
// thought of stays behind. Everything that reaches a student (pages, Gradescope, Autolab, JUnit) is made
// from views alone.
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

// Of a record, what a view may show of an open case; no other field is read.
const Fields& view_fields();

// A student's current grade in the lab, as the gradebook knows it.
struct FinalPoints {
  std::optional<double> points;  // none: nothing was handed in
  bool overridden = false;
  std::string reason;
  std::string submission, run, folder;  // which one counts; the run may be another one
  std::string late_note;                // with the slip days that the whole course leaves
  double slip_days = 0;
  int undecided_cases = 0, total_cases = 0;
  bool unfinished = false;  // points would be out of less than they are worth
};

// `parts` has of each record at least view_fields(). One object a student (schema warpgrade.feedback.v1,
// README.md here), in the run's order, then the roster's students without a submission; of several attempts
// the one that counts. `pseudonyms` by submission;
// `finals` by student; `made_from` tells people which state of which sources the points are.
std::vector<nlohmann::json> feedback_views(const Policy& policy, const RunParts& parts,
                                           const std::map<std::string, std::string>& pseudonyms,
                                           const std::map<std::string, FinalPoints>& finals,
                                           const std::string& made_from);

// Names that nobody can trace without the run's secret key: "teal-otter-417", by submission, all different.
std::map<std::string, std::string> pseudonyms(const std::string& key, const nlohmann::json& run);

// The key of the run's pseudonyms; made on first use, readable by its owner alone.
std::string pseudonym_key(const std::filesystem::path& run);

}  // namespace warpgrade

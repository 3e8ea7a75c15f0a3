// What one case of a submission earns by its record, as shares: score.cpp divides the points.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "course/score/limit.h"
#include "course/score/policy.h"
#include "record/view.h"

namespace warpgrade {

struct CaseScore {
  nlohmann::json line;
  std::string id;
  Verdict verdict = Verdict::kNotRun;
  double weight = 1;
  std::optional<double> bonus;  // its points, which are none of the maximum
  bool dropped = false;         // by the staff
  bool earns_nothing = false;   // no kernel wrote the outputs, and the policy wants one
  double speed_share = 0;       // 0 .. 1 of the case's speed points
  double limit_share = 0;       // and of those for the share of the limit
  bool has_threshold = false, over_threshold = false, has_limit = false;
  bool left_out = false;  // beyond what the submission's older interface was promised: none of its cases

  bool is_judged() const { return !left_out && !dropped && !is_undecided(verdict); }
  bool shares_points() const { return is_judged() && !bonus; }
};

// What noise excuses is what it does to an honest program: a submission's own interval is as wide as it
// likes. Records from before there was this number have the interval alone.
struct HonestSpan {
  explicit HonestSpan(const Ratio& ratio);
  double least, most;
};

// `record` of that case, nullptr: there is none.
CaseScore score_case(const Policy& policy, const Run& run, const Case& spec, const Record* record,
                     KnownRates& rates);

// The GPU that measured: the record's own, else the run's.
std::string device_of(const Run& run, const Record* record = nullptr);

// Neither dropped nor for bonus points alone.
bool is_of_maximum(const Policy& policy, const Case& spec);

}  // namespace warpgrade

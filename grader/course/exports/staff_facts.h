// What the staff has to know of a submission and no student's view holds: it is made from scores and the
// class list themselves, whatever the policy hides.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "course/feedback/view.h"
#include "course/ingest/times.h"

namespace warpgrade {

// Of a run, whose parts outlive this.
class StaffFacts {
 public:
  StaffFacts(const RunParts& parts, const Policy& policy);

  // {no_source, no_kernel, cpu_only, near, claimed_time, journey} of the submission with this id, those that
  // apply: see warpgrade.people.v1 in reports/warpgrade_reports/people.py. `near`: cases whose interval holds
  // the threshold, or whose speed-up differs from it by at most 3 %.
  nlohmann::json of(const std::string& submission) const;

 private:
  const RunParts& parts_;
  TimeZone zone_;
  std::map<std::string, const nlohmann::json*> scored_, handed_in_;  // by submission
};

}  // namespace warpgrade

// What the staff has to know of a submission and no student's view holds: it is made from scores and the
// class list themselves, whatever the policy hides.
#pragma once

#include <nlohmann/json.hpp>

#include "course/feedback/view.h"

namespace warpgrade {

// {no_source, no_kernel, cpu_only, near, claimed_time} of the submission with this id, those that apply: see
// warpgrade.people.v1 in reports/warpgrade_reports/people.py. `near`: cases whose interval holds the
// threshold, or whose speed-up differs from it by at most 3 %.
nlohmann::json staff_facts(const RunParts& parts, const Policy& policy, const std::string& submission);

}  // namespace warpgrade

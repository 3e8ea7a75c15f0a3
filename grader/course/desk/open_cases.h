// Which cases of a lab students' runs judge here.
#pragma once

#include <string>
#include <vector>

#include "course/score/policy.h"

namespace warpgrade::desk {

// Ids of the cases that the policy opens for runs on this backend, in the lab's order, less what the student
// did not ask for. `pattern`: a shell pattern of a case's or a dataset's name; empty: all. A case whose name
// the policy hides cannot be asked for by name. Throws UsageError where the policy names a case that the lab
// does not have.
std::vector<std::string> open_cases(const std::string& lab, const Policy& policy, const std::string& backend,
                                    const std::string& pattern = "");

}  // namespace warpgrade::desk

#include "course/desk/open_cases.h"

#include <fnmatch.h>

#include "course/batch/class_run.h"
#include "judge/labs/registry.h"

namespace warpgrade::desk {

std::vector<std::string> open_cases(const std::string& lab, const Policy& policy, const std::string& backend,
                                    const std::string& pattern) {
  const std::vector<std::string> open(policy.remote.cases.begin(), policy.remote.cases.end());
  std::vector<std::string> ids;
  for (const Case& spec : select_cases(find_lab(lab), policy, open, backend)) {
    const bool named = policy.visibility.hidden_names || policy.visibility.open_sets.contains(spec.set);
    const bool asked = pattern.empty() || (named && (fnmatch(pattern.c_str(), spec.id.c_str(), 0) == 0 ||
                                                     fnmatch(pattern.c_str(), spec.dataset.c_str(), 0) == 0));
    if (asked) ids.push_back(spec.id);
  }
  return ids;
}

}  // namespace warpgrade::desk

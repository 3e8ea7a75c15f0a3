#include "judge/judging/lab.h"

#include <algorithm>
#include <set>

#include "base/error.h"
#include "base/yaml_place.h"

namespace warpgrade {

std::vector<Case> Lab::read_cases(const YamlPlace& list) const {
  std::vector<Case> cases;
  std::set<std::string> ids;
  for (const YamlPlace& item : list.items("a list of cases, for instance [{id: one, why: one number}]")) {
    if (!item.is_map()) item.fail("a map, for instance {id: one, why: one number}");
    for (Case& spec : read_item(item)) {
      if (!ids.insert(spec.id).second) item["id"].refuse("another case has the id " + spec.id);
      spec.place = item.where();
      cases.push_back(std::move(spec));
    }
  }
  return cases;
}

std::vector<Case> Lab::cases_of_input(const std::filesystem::path&) const {
  throw UsageError("lab {} takes no --input: its cases are drawn or datasets, see `warpgrade labs {}`",
                   name(), name());
}

nlohmann::json Lab::dry_run_cases(const std::vector<Case>& judged) const {
  std::vector<Case> inputs = cases();
  inputs.insert(inputs.end(), judged.begin(), judged.end());
  nlohmann::json list = nlohmann::json::array();
  for (const Case& input : inputs) {
    for (nlohmann::json& values : call_numbers(input)) {
      nlohmann::json entry{{"public", input.set != "hidden"}, {"values", std::move(values)}};
      if (std::find(list.begin(), list.end(), entry) == list.end()) list.push_back(std::move(entry));
    }
  }
  return list;
}

void Lab::check_dataset(const Case&, const std::filesystem::path&) const {}

}  // namespace warpgrade

#include "labs/lab.h"

#include <algorithm>
#include <set>

#include "base/error.h"
#include "base/yaml_place.h"
#include "labs/declared/declared_lab.h"

namespace warpgrade {
namespace {

struct Registry {
  std::map<std::string, std::function<std::unique_ptr<Lab>()>> written;  // those whose judge is C++
  std::vector<std::unique_ptr<Lab>> owned;
  std::vector<const Lab*> list;
  std::map<std::string, std::string> unusable;

  void take(std::unique_ptr<Lab> lab) {
    list.push_back(lab.get());
    owned.push_back(std::move(lab));
  }
};

Registry& registry() {
  static Registry instance;
  return instance;
}

// Files are read when the labs are first asked for: before main() nothing may go wrong.
const Registry& complete_registry() {
  static const bool once = [] {
    for (const auto& [name, make] : registry().written) {
      try {
        registry().take(make());
      } catch (const UsageError& error) {
        registry().unusable[name] = error.what();
      }
    }
    DeclaredLabs declared = load_declared_labs();
    for (auto& lab : declared.labs) registry().take(std::move(lab));
    registry().unusable.merge(declared.mistakes);
    return true;
  }();
  (void)once;
  return registry();
}

}  // namespace

LabRegistration::LabRegistration(std::string name, std::function<std::unique_ptr<Lab>()> make) {
  registry().written.emplace(std::move(name), std::move(make));
}

std::vector<CaseSpec> Lab::read_cases(const YamlPlace& list) const {
  std::vector<CaseSpec> cases;
  std::set<std::string> ids;
  for (const YamlPlace& item : list.items("a list of cases, for instance [{id: one, why: one number}]")) {
    if (!item.is_map()) item.fail("a map, for instance {id: one, why: one number}");
    for (CaseSpec& spec : read_item(item)) {
      if (!ids.insert(spec.id).second) item["id"].refuse("another case has the id " + spec.id);
      spec.place = item.where();
      cases.push_back(std::move(spec));
    }
  }
  return cases;
}

std::vector<CaseInput> Lab::cases_of_input(const std::filesystem::path&) const {
  throw UsageError("lab {} takes no --input: its cases are drawn or datasets, see `warpgrade labs {}`",
                   name(), name());
}

void Lab::check_dataset(const CaseSpec&, const std::filesystem::path&) const {}

const std::vector<const Lab*>& labs() {
  return complete_registry().list;
}

const std::map<std::string, std::string>& unusable_labs() {
  return complete_registry().unusable;
}

const Lab& find_lab(const std::string& name) {
  const auto mistake = unusable_labs().find(name);
  if (mistake != unusable_labs().end()) throw UsageError("{}", mistake->second);
  std::string known;
  for (const Lab* lab : labs()) {
    if (lab->name() == name) return *lab;
    known += (known.empty() ? "" : ", ") + lab->name();
  }
  throw UsageError("no lab named '{}'; there is: {}", name, known);
}

}  // namespace warpgrade

#include "labs/lab.h"

#include "base/error.h"
#include "labs/declared/declared_lab.h"

namespace warpgrade {
namespace {

struct Registry {
  std::vector<std::unique_ptr<Lab>> owned;
  std::vector<const Lab*> list;
  std::map<std::string, std::string> unusable;
};

Registry& registry() {
  static Registry instance;
  return instance;
}

// Those that are declared join when the labs are first asked for: before main() nothing may go wrong.
const Registry& complete_registry() {
  static const bool once = [] {
    DeclaredLabs declared = load_declared_labs();
    for (auto& lab : declared.labs) {
      registry().list.push_back(lab.get());
      registry().owned.push_back(std::move(lab));
    }
    registry().unusable = std::move(declared.mistakes);
    return true;
  }();
  (void)once;
  return registry();
}

}  // namespace

LabRegistration::LabRegistration(std::unique_ptr<Lab> lab) {
  registry().list.push_back(lab.get());
  registry().owned.push_back(std::move(lab));
}

std::vector<CaseInput> Lab::cases_of_input(const std::filesystem::path&) const {
  throw UsageError("lab {} takes no --input: its cases are drawn or datasets, see `warpgrade labs {}`",
                   name(), name());
}

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

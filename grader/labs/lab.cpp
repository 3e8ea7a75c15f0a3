#include "labs/lab.h"

#include "base/error.h"

namespace warpgrade {
namespace {

struct Registry {
  std::vector<std::unique_ptr<Lab>> owned;
  std::vector<const Lab*> list;
};

Registry& registry() {
  static Registry instance;
  return instance;
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
  return registry().list;
}

const Lab& find_lab(const std::string& name) {
  std::string known;
  for (const Lab* lab : labs()) {
    if (lab->name() == name) return *lab;
    known += (known.empty() ? "" : ", ") + lab->name();
  }
  throw UsageError("no lab named '{}'; there is: {}", name, known);
}

}  // namespace warpgrade

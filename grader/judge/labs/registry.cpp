#include "judge/labs/registry.h"

#include "base/error.h"
#include "judge/labs/declared/declared_lab.h"

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
  const bool is_path = name.find('/') != std::string::npos;
  throw UsageError("no lab is named '{}'{}; the labs are: {}", name,
                   is_path ? " (a lab's name is one word, without a folder before it)" : "", known);
}

}  // namespace warpgrade

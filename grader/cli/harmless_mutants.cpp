#include "cli/harmless_mutants.h"

#include <algorithm>

#include "base/files.h"
#include "base/yaml_place.h"

namespace warpgrade {

bool HarmlessMutant::is(const Mutant& mutant) const {
  return solution == mutant.solution_id && file == mutant.file && line == mutant.line &&
         operation == mutant.operation && nth == mutant.nth;
}

std::vector<HarmlessMutant> read_harmless_mutants(const std::filesystem::path& file) {
  constexpr int kMost = 1'000'000;
  std::vector<HarmlessMutant> all;
  if (!std::filesystem::exists(file)) return all;
  const YamlPlace root = YamlPlace::parse(read_text(file), file.string());
  root.only({"solutions", "survivors"});
  for (const YamlPlace& place : root["survivors"].items("a list of mutants")) {
    place.only({"solution", "file", "line", "operator", "ordinal", "reason"});
    HarmlessMutant one;
    one.solution = place["solution"].text();
    one.file = place["file"].text();
    one.line = static_cast<int>(place["line"].whole(0, kMost));
    one.operation = place["operator"].text();
    one.nth = static_cast<int>(place["ordinal"].whole(1, kMost));
    one.reason = place["reason"].text();
    if (one.reason.empty()) place["reason"].fail("a reason that a reader can check");
    all.push_back(std::move(one));
  }
  return all;
}

std::vector<std::string> solutions_with_reasons(const std::filesystem::path& file) {
  std::vector<std::string> all;
  const YamlPlace root = YamlPlace::parse(read_text(file), file.string());
  if (!root["solutions"].defined()) return {""};
  for (const YamlPlace& place : root["solutions"].items("a list of solutions")) all.push_back(place.text());
  if (all.empty()) root["solutions"].refuse("expected a solution's name; without this line all are tried");
  return all;
}

const std::string* reason_of(const std::vector<HarmlessMutant>& harmless, const Mutant& mutant) {
  const auto found = std::find_if(harmless.begin(), harmless.end(),
                                  [&](const HarmlessMutant& one) { return one.is(mutant); });
  return found == harmless.end() ? nullptr : &found->reason;
}

}  // namespace warpgrade

#include "cli/harmless_mutants.h"

#include <algorithm>
#include <set>

#include "base/files.h"
#include "base/toolchain.h"
#include "base/yaml_place.h"

namespace warpgrade {
namespace fs = std::filesystem;
namespace {

HarmlessMutant read_harmless(const YamlPlace& place, const std::set<std::string>& solutions) {
  constexpr int kMost = 1'000'000;
  place.only({"solution", "file", "line", "operator", "ordinal", "reason"});
  HarmlessMutant one;
  one.solution = place["solution"].word(solutions);
  one.file = place["file"].text();
  one.line = static_cast<int>(place["line"].whole(0, kMost));
  one.operation = place["operator"].text();
  one.nth = static_cast<int>(place["ordinal"].whole(1, kMost));
  one.reason = place["reason"].text();
  if (one.reason.empty()) place["reason"].fail("a reason that a reader can check");
  return one;
}

std::vector<std::string> read_solutions(const YamlPlace& list, const std::set<std::string>& known) {
  std::vector<std::string> all;
  for (const YamlPlace& place : list.items("a list of solutions")) all.push_back(place.word(known));
  return all;
}

}  // namespace

bool HarmlessMutant::is(const Mutant& mutant) const {
  return solution == mutant.solution_id && file == mutant.file && line == mutant.line &&
         operation == mutant.operation && nth == mutant.nth;
}

std::vector<std::pair<std::string, fs::path>> solutions_of(const std::string& lab) {
  const fs::path room = project_root() / "reference" / lab;
  std::vector<std::pair<std::string, fs::path>> found;
  std::vector<fs::path> steps;
  if (fs::is_directory(room / "steps")) {
    for (const auto& entry : fs::directory_iterator(room / "steps"))
      if (entry.is_directory()) steps.push_back(entry.path());
  }
  std::sort(steps.begin(), steps.end());
  if (fs::is_directory(room / "naive")) found.emplace_back("naive", room / "naive");
  for (const fs::path& step : steps) found.emplace_back("step-" + step.filename().string(), step);
  if (fs::is_directory(room / "optimized")) found.emplace_back("optimized", room / "optimized");
  return found;
}

fs::path survivors_file(const std::string& lab) {
  return project_root() / "reference" / lab / "survivors.yaml";
}

Survivors read_survivors(const std::string& lab) {
  const fs::path file = survivors_file(lab);
  Survivors all;
  if (!fs::exists(file)) return all;
  std::set<std::string> known;
  for (const auto& [id, folder] : solutions_of(lab)) known.insert(id);
  const YamlPlace root = YamlPlace::parse(read_text(file), file.string());
  root.only({"solutions", "survivors"});
  if (root["solutions"].defined()) all.solutions = read_solutions(root["solutions"], known);
  for (const YamlPlace& place : root["survivors"].items("a list of mutants"))
    all.harmless.push_back(read_harmless(place, known));
  return all;
}

const std::string* reason_of(const std::vector<HarmlessMutant>& harmless, const Mutant& mutant) {
  const auto found = std::find_if(harmless.begin(), harmless.end(),
                                  [&](const HarmlessMutant& one) { return one.is(mutant); });
  return found == harmless.end() ? nullptr : &found->reason;
}

}  // namespace warpgrade

#include "cli/expected_verdicts.h"

#include <algorithm>

#include "base/toolchain.h"

namespace warpgrade {
namespace fs = std::filesystem;
namespace {

std::vector<fs::path> folders_in(const fs::path& folder) {
  std::vector<fs::path> found;
  if (!fs::is_directory(folder)) return found;
  for (const auto& entry : fs::directory_iterator(folder))
    if (entry.is_directory()) found.push_back(entry.path());
  std::sort(found.begin(), found.end());
  return found;
}

Verdict verdict_of_wrong(const std::string& name) {
  for (const Verdict verdict : {Verdict::kRuntimeError, Verdict::kTimeLimit, Verdict::kMemoryLimit,
                                Verdict::kCompileError, Verdict::kCheating, Verdict::kTimingRejected})
    if (name.starts_with(word_of(verdict))) return verdict;
  return Verdict::kWrongAnswer;
}

}  // namespace

bool Expected::is_wrong() const {
  return verdict != Verdict::kAccepted && verdict != Verdict::kNotImplemented;
}

std::vector<Expected> expected_verdicts(const declaration::LabDeclaration& lab) {
  const fs::path reference = project_root() / "reference" / lab.name;
  std::vector<Expected> all;
  all.push_back({"stub", project_root() / "student" / lab.name, Verdict::kNotImplemented});
  for (const fs::path& solution : folders_in(reference)) {
    const std::string name = solution.filename().string();
    if (name == "naive" || name.starts_with("optimized")) all.push_back({name, solution, Verdict::kAccepted});
  }
  if (!lab.device_truth.empty() && fs::is_directory(reference / lab.device_truth))
    all.push_back({"device-truth", reference / lab.device_truth, Verdict::kAccepted});
  for (const fs::path& step : folders_in(reference / "steps"))
    all.push_back({"step-" + step.filename().string(), step, Verdict::kAccepted});
  for (const fs::path& wrong : folders_in(reference / "wrong")) {
    const std::string name = wrong.filename().string();
    all.push_back({"wrong-" + name, wrong, verdict_of_wrong(name)});
  }
  return all;
}

}  // namespace warpgrade

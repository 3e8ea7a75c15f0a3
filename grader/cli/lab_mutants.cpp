// `warpgrade labs mutants NAME`: how much a lab's correctness cases see.
#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/files.h"
#include "base/json.h"
#include "base/tables.h"
#include "base/text.h"
#include "base/toolchain.h"
#include "cli/harmless_mutants.h"
#include "cli/lab_commands.h"
#include "cli/mutant_trials.h"
#include "judge/labs/registry.h"

namespace warpgrade {
namespace {

using nlohmann::json;
using Fate = Mutant::Fate;

constexpr int kExitSurvivors = 1;
constexpr std::size_t kLongestPlace = 100;

std::string place_of(const Mutant& mutant) {
  const std::string inlined = mutant.inlined_from.empty() ? "" : fmt::format(" (in {})", mutant.inlined_from);
  return fmt::format("{}/{}:{}{}", mutant.solution_id, mutant.file, mutant.line, inlined);
}

json json_of(const Mutant& mutant) {
  return {{"solution", mutant.solution_id},
          {"file", mutant.file},
          {"line", mutant.line},
          {"inlined_from", mutant.inlined_from},
          {"operator", mutant.operation},
          {"ordinal", mutant.nth},
          {"mutant", mutant.key},
          {"kernel", mutant.title},
          {"instruction", mutant.instruction}};
}

// Of a report that `--json` printed.
std::set<std::string> not_refused(const std::string& file) {
  const json report = json::parse(read_text(file), nullptr, false);
  std::set<std::string> names;
  for (const char* list : {"survivors", "explained", "unchanged", "unreached", "not_judged"}) {
    if (!report.is_object() || !report.value(list, json()).is_array()) continue;
    for (const json& one : report.at(list)) {
      if (one.is_object() && one.value("solution", json()).is_string() &&
          one.value("mutant", json()).is_string())
        names.insert(one.at("solution").get<std::string>() + " " + one.at("mutant").get<std::string>());
    }
  }
  if (names.empty())
    throw UsageError("{}: expected a report of `warpgrade labs mutants LAB --json` with mutants in it", file);
  return names;
}

// What came of all mutants, for people and programs.
class MutantReport {
 public:
  MutantReport(const MutantsOptions& options, const MutantTrials& trials,
               const std::vector<HarmlessMutant>& harmless)
      : options_(options), trials_(trials), harmless_(harmless) {
    for (const Mutant& mutant : trials.mutants()) {
      ++count_[mutant.fate];
      if (mutant.fate == Fate::kSurvived) (is_explained(mutant) ? explained_ : survivors_).push_back(&mutant);
    }
  }

  bool has_survivors() const { return !survivors_.empty(); }

  MutantSample sample() const {
    MutantSample sample{{}, score()};
    for (const Mutant* one : survivors_)
      sample.survivors.push_back(
          fmt::format("{}: {} {}: {}", place_of(*one), one->operation, one->nth, one->instruction));
    return sample;
  }

  std::string text() const {
    std::string text;
    std::vector<std::vector<std::string>> rows{
        {"survivor", "operator", "ordinal", "instruction", "shows in"}};
    for (const Mutant* one : survivors_)
      rows.push_back({place_of(*one), one->operation, std::to_string(one->nth), one->instruction,
                      plain_line(one->shows_in, kLongestPlace)});
    if (rows.size() > 1) text += format_table(rows) + "\n";
    for (const std::string& line : unreached_lines()) text += line + "\n";
    for (const Mutant& one : trials_.mutants())
      if (one.fate == Fate::kNotJudged) text += fmt::format("not judged: {}: {}\n", one.key, one.verdict);
    return text + score() + "\n";
  }

  json to_json() const {
    json report{{"schema", "warpgrade.mutants.v1"},
                {"lab", options_.lab},
                {"seed", options_.seed},
                {"cases", trials_.cases()},
                {"listed", trials_.mutants().size()},
                {"tried", tried()},
                {"refused", count(Fate::kRefused)},
                {"shapes", trials_.shapes()},
                {"seconds", trials_.wall_s()}};
    for (const char* list : {"survivors", "explained", "unchanged", "unreached", "not_judged"})
      report[list] = json::array();
    for (const Mutant* one : survivors_) {
      report["survivors"].push_back(json_of(*one));
      report["survivors"].back()["passed"] = one->passed;
      report["survivors"].back()["shows_in"] = one->shows_in;
      report["survivors"].back()["wrong"] = one->is_wrong;
    }
    for (const Mutant* one : explained_) {
      report["explained"].push_back(json_of(*one));
      report["explained"].back()["reason"] = *reason_of(harmless_, *one);
    }
    for (const Mutant& one : trials_.mutants()) {
      if (one.fate == Fate::kUnchanged) report["unchanged"].push_back(json_of(one));
      if (one.fate == Fate::kUnreached) report["unreached"].push_back(json_of(one));
      if (one.fate != Fate::kNotJudged) continue;
      report["not_judged"].push_back(json_of(one));
      report["not_judged"].back()["why"] = one.verdict;
    }
    return report;
  }

 private:
  // Nothing explains a program that is wrong in a legal shape: a case is missing.
  bool is_explained(const Mutant& mutant) const {
    return !mutant.is_wrong && reason_of(harmless_, mutant) != nullptr;
  }
  std::size_t wrong() const {
    return static_cast<std::size_t>(
        std::count_if(survivors_.begin(), survivors_.end(), [](const Mutant* one) { return one->is_wrong; }));
  }
  // Of those that change an output.
  double share_refused() const {
    const std::size_t refused = count(Fate::kRefused), all = refused + survivors_.size() + explained_.size();
    return all == 0 ? 1 : static_cast<double>(refused) / static_cast<double>(all);
  }

  std::size_t count(Fate fate) const {
    const auto found = count_.find(fate);
    return found == count_.end() ? 0 : found->second;
  }
  std::size_t tried() const { return trials_.mutants().size() - count(Fate::kUntried); }

  // A line each place: "no case reaches naive/scan.cu:31".
  std::vector<std::string> unreached_lines() const {
    std::map<std::string, int> places;
    for (const Mutant& one : trials_.mutants())
      if (one.fate == Fate::kUnreached) ++places[place_of(one)];
    std::vector<std::string> lines;
    for (const auto& [place, mutants] : places)
      lines.push_back(fmt::format("no case reaches {} ({} mutants)", place, mutants));
    return lines;
  }

  std::string score() const {
    return fmt::format(
        "{}: {} of {} mutants tried: {} refused ({:.1f} % of those that change an output), {} survive ({} of "
        "them wrong in a random shape), {} survive with a reason, {} change no output, {} not reached, {} "
        "not judged",
        options_.lab, tried(), trials_.mutants().size(), count(Fate::kRefused), 100 * share_refused(),
        survivors_.size(), wrong(), explained_.size(), count(Fate::kUnchanged), count(Fate::kUnreached),
        count(Fate::kNotJudged));
  }

  const MutantsOptions& options_;
  const MutantTrials& trials_;
  const std::vector<HarmlessMutant>& harmless_;
  std::map<Fate, std::size_t> count_;
  std::vector<const Mutant*> survivors_, explained_;
};

}  // namespace

MutantSample sample_mutants(const MutantsOptions& options, const std::vector<HarmlessMutant>& harmless,
                            VerifyProgress& progress) {
  MutantTrials trials(options, harmless, progress);
  trials.run();
  return MutantReport(options, trials, harmless).sample();
}

int try_mutants(const MutantsOptions& given) {
  MutantsOptions options = given;
  find_lab(options.lab);
  if (!options.again.empty()) options.only = not_refused(options.again);
  const Survivors known = read_survivors(options.lab);
  VerifyProgress progress;
  MutantTrials trials(options, known.harmless, progress);
  trials.run();
  const MutantReport report(options, trials, known.harmless);
  if (options.json) {
    fmt::print("{}\n", json_text(report.to_json(), 1));
  } else {
    fmt::print("{}", report.text());
    progress.print(progress.summary());
  }
  return options.check && report.has_survivors() ? kExitSurvivors : kExitGraded;
}

}  // namespace warpgrade

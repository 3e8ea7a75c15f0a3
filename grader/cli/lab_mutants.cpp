// `warpgrade labs mutants NAME`: how much a lab's correctness cases see.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/files.h"
#include "base/json.h"
#include "base/process.h"
#include "base/reports_module.h"
#include "base/say.h"
#include "base/tables.h"
#include "base/text.h"
#include "base/toolchain.h"
#include "cli/harmless_mutants.h"
#include "cli/kept_mutants.h"
#include "cli/lab_commands.h"
#include "cli/mutant_trials.h"
#include "judge/labs/registry.h"

namespace warpgrade {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using Fate = Mutant::Fate;

constexpr int kExitSurvivors = 1;
constexpr std::size_t kLongestPlace = 100;
constexpr const char* kReportSchema = "warpgrade.mutants.v1";
// Of mutants that no case refused, by what is known of them.
constexpr std::array<const char*, 5> kLists{"survivors", "explained", "unchanged", "unreached", "not_judged"};

// The solutions' lines.
class SourceLines {
 public:
  explicit SourceLines(const std::string& lab) {
    for (const auto& [id, folder] : solutions_of(lab)) folders_[id] = folder;
  }
  std::string line_of(const Mutant& mutant) {
    const std::vector<std::string>& lines = lines_of(mutant.solution_id, mutant.file);
    const auto place = static_cast<std::size_t>(mutant.line);
    return place >= 1 && place <= lines.size() ? plain_line(lines[place - 1].substr(indent(lines[place - 1])))
                                               : "";
  }

 private:
  static std::size_t indent(const std::string& line) {
    return std::min(line.find_first_not_of(" \t"), line.size());
  }
  const std::vector<std::string>& lines_of(const std::string& solution, const std::string& file) {
    const auto [found, is_new] = lines_.try_emplace({solution, file});
    if (!is_new || !folders_.contains(solution)) return found->second;
    for (const auto& entry : fs::recursive_directory_iterator(folders_.at(solution))) {
      if (!entry.is_regular_file() || entry.path().filename() != file) continue;
      std::istringstream text(read_text(entry.path()));
      for (std::string line; std::getline(text, line);) found->second.push_back(line);
      break;
    }
    return found->second;
  }

  std::map<std::string, fs::path> folders_;
  std::map<std::pair<std::string, std::string>, std::vector<std::string>> lines_;
};

json json_of(const Mutant& mutant, SourceLines& sources) {
  json one{{"solution", mutant.solution_id},
           {"file", mutant.file},
           {"line", mutant.line},
           {"source", sources.line_of(mutant)},
           {"inlined_from", mutant.inlined_from},
           {"operator", mutant.operation},
           {"ordinal", mutant.nth},
           {"mutant", mutant.key},
           {"kernel", mutant.title},
           {"instruction", mutant.instruction}};
  if (mutant.fate == Fate::kNotJudged) one["why"] = mutant.verdict;
  if (mutant.fate != Fate::kSurvived) return one;
  one["passed"] = mutant.passed;
  one["shows_in"] = mutant.shows_in;
  one["wrong"] = mutant.is_wrong;
  return one;
}

Mutant named_in(const json& one) {
  Mutant mutant;
  mutant.solution_id = one.at("solution");
  mutant.file = one.at("file");
  mutant.line = one.at("line");
  mutant.operation = one.at("operator");
  mutant.nth = one.at("ordinal");
  return mutant;
}

// Nothing explains a program that is wrong in a legal shape: a case is missing.
void sort_by_reasons(json& report, const std::vector<HarmlessMutant>& harmless) {
  std::vector<json> survived = report.at("survivors");
  for (json& one : report.at("explained")) survived.push_back(std::move(one));
  report["survivors"] = report["explained"] = json::array();
  for (json& one : survived) {
    const std::string* reason = one.value("wrong", false) ? nullptr : reason_of(harmless, named_in(one));
    one.erase("reason");
    if (reason != nullptr) one["reason"] = *reason;
    report[reason != nullptr ? "explained" : "survivors"].push_back(std::move(one));
  }
}

// What no trial changes. It is asked before them: after Ctrl-C no program can be started.
struct Asked {
  std::string key, toolkit;
};

json report_of(const MutantsOptions& options, const MutantTrials& trials, const Asked& asked) {
  json report{{"schema", kReportSchema},
              {"lab", options.lab},
              {"of", asked.key},
              {"toolkit", asked.toolkit},
              {"is_whole", options.solution.empty() && options.again.empty()},
              {"seed", options.seed},
              {"cases", trials.cases()},
              {"listed", trials.mutants().size()},
              {"shapes", trials.shapes()},
              {"seconds", trials.wall_s()}};
  for (const char* list : kLists) report[list] = json::array();
  const std::map<Fate, const char*> lists{{Fate::kSurvived, "survivors"},
                                          {Fate::kUnchanged, "unchanged"},
                                          {Fate::kUnreached, "unreached"},
                                          {Fate::kNotJudged, "not_judged"}};
  SourceLines sources(options.lab);
  std::size_t tried = 0, refused = 0;
  for (const Mutant& one : trials.mutants()) {
    if (one.fate == Fate::kUntried) continue;
    ++tried;
    if (one.fate == Fate::kRefused) ++refused;
    if (lists.contains(one.fate)) report[lists.at(one.fate)].push_back(json_of(one, sources));
  }
  report["never_launched"] = json::array();
  for (const auto& [kernel, mutants] : trials.never_launched())
    report["never_launched"].push_back(
        {{"solution", kernel.first}, {"kernel", kernel.second}, {"mutants", mutants}});
  report["tried"] = tried;
  report["refused"] = refused;
  return report;
}

// `has` lists of mutants, each of which can be told from others.
bool is_report(const json& report) {
  if (!report.is_object() || report.value("schema", json()) != kReportSchema) return false;
  return std::all_of(kLists.begin(), kLists.end(), [&](const char* list) {
    const json mutants = report.value(list, json());
    return mutants.is_array() && std::all_of(mutants.begin(), mutants.end(), [](const json& one) {
             return one.is_object() && one.value("solution", json()).is_string() &&
                    one.value("mutant", json()).is_string();
           });
  });
}

// That `--json` printed.
json read_report(const std::string& file) {
  json report = json::parse(read_text(file), nullptr, false);
  if (!is_report(report))
    throw UsageError("{}: expected a report of `warpgrade labs mutants LAB --json`", file);
  return report;
}

std::set<std::string> not_refused(const std::string& file) {
  const json report = read_report(file);
  std::set<std::string> names;
  for (const char* list : kLists)
    for (const json& one : report.at(list))
      names.insert(one.at("solution").get<std::string>() + " " + one.at("mutant").get<std::string>());
  if (names.empty()) throw UsageError("{}: the cases refused every mutant in it", file);
  return names;
}

std::string place_of(const json& one) {
  const std::string from = one.at("inlined_from");
  const std::string inlined = from.empty() ? "" : fmt::format(" (in {})", from);
  return fmt::format("{}/{}:{}{}", one.at("solution").get<std::string>(), one.at("file").get<std::string>(),
                     one.at("line").get<int>(), inlined);
}

std::string score_words(const json& report) {
  const MutantScore score = score_of_mutants(report);
  if (score.tried == 0)
    return fmt::format("{}: none of {} mutants was tried: there is no score",
                       report.at("lab").get<std::string>(), score.listed);
  const json& survivors = report.at("survivors");
  const auto wrong = std::count_if(survivors.begin(), survivors.end(),
                                   [](const json& one) { return one.value("wrong", false); });
  return fmt::format(
      "{}: {} of {} mutants tried: {} refused ({:.1f} % of those that change an output), {} survive ({} of "
      "them wrong in a random shape), {} survive with a reason, {} change no output, {} not reached, {} not "
      "judged",
      report.at("lab").get<std::string>(), score.tried, score.listed, score.refused,
      100 * score.share_refused(), score.survivors, wrong, score.explained, report.at("unchanged").size(),
      score.unreached, report.at("not_judged").size());
}

std::string text_of(const json& report) {
  std::string text;
  std::vector<std::vector<std::string>> rows{{"survivor", "operator", "ordinal", "instruction", "shows in"}};
  for (const json& one : report.at("survivors"))
    rows.push_back({place_of(one), one.at("operator"), std::to_string(one.at("ordinal").get<int>()),
                    one.at("instruction"), plain_line(one.value("shows_in", ""), kLongestPlace)});
  if (rows.size() > 1) text += format_table(rows) + "\n";
  std::map<std::string, int> unreached;
  for (const json& one : report.at("unreached")) ++unreached[place_of(one)];
  for (const auto& [place, mutants] : unreached)
    text += fmt::format("no case reaches {} ({} mutants)\n", place, mutants);
  for (const json& one : report.value("never_launched", json::array()))
    text += fmt::format("no case launches {} of {} ({} mutants, tried last)\n",
                        one.at("kernel").get<std::string>(), one.at("solution").get<std::string>(),
                        one.at("mutants").get<std::size_t>());
  for (const json& one : report.at("not_judged"))
    text += fmt::format("not judged: {}: {}\n", one.at("mutant").get<std::string>(),
                        one.at("why").get<std::string>());
  return text + score_words(report) + "\n";
}

void keep(const json& report) {
  const std::string lab = report.at("lab");
  if (!report.value("is_whole", false))
    throw UsageError("a score is kept of all solutions: leave out --solution and --again");
  if (score_of_mutants(report).tried == 0)
    throw UsageError("no mutant was tried, so there is no score to keep");
  keep_mutants(lab, score_of_mutants(report));
  say("kept {}\n", kept_mutants_file(lab).string());
}

void make_page(const json& report, const std::string& page) {
  const TemporaryDirectory scratch("warpgrade-mutants");
  write_text(scratch.path() / "report.json", json_text(report));
  say("{}", run_reports_module("warpgrade_reports.mutants",
                               {(scratch.path() / "report.json").string(), "--output", page}));
}

json tried(MutantsOptions options, const Survivors& known, VerifyProgress& progress) {
  if (!options.again.empty()) options.only = not_refused(options.again);
  const Asked asked{key_of_mutants(options.lab), find_toolchain().version};
  MutantTrials trials(options, known.harmless, progress);
  bool was_interrupted = false;
  try {
    trials.run();
  } catch (const Interrupted&) {
    if (trials.tried() == 0) throw;
    was_interrupted = true;
  }
  json report = report_of(options, trials, asked);
  if (was_interrupted) report["was_interrupted"] = true;
  return report;
}

}  // namespace

MutantSample sample_mutants(const MutantsOptions& options, const std::vector<HarmlessMutant>& harmless,
                            VerifyProgress& progress) {
  MutantTrials trials(options, harmless, progress);
  trials.run();
  json report = report_of(options, trials, {});
  sort_by_reasons(report, harmless);
  MutantSample sample{{}, score_words(report)};
  for (const json& one : report.at("survivors"))
    sample.survivors.push_back(
        fmt::format("{}: {} {}: {}", place_of(one), one.at("operator").get<std::string>(),
                    one.at("ordinal").get<int>(), one.at("instruction").get<std::string>()));
  return sample;
}

static int report_on_mutants(const MutantsOptions& options) {
  find_lab(options.lab);
  const Survivors known = read_survivors(options.lab);
  VerifyProgress progress;
  json report = options.report.empty() ? tried(options, known, progress) : read_report(options.report);
  if (report.at("lab") != options.lab)
    throw UsageError("{} is of lab {}", options.report, report.at("lab").get<std::string>());
  sort_by_reasons(report, known.harmless);
  const bool is_cut = options.report.empty() && report.value("was_interrupted", false);
  if (options.keep && !is_cut) keep(report);
  if (!options.page.empty()) make_page(report, options.page);
  if (options.json) {
    fmt::print("{}\n", json_text(report, 1));
  } else {
    fmt::print("{}", text_of(report));
    if (options.report.empty()) progress.print(progress.summary());
  }
  if (is_cut) {
    say("\ninterrupted; the report is of the mutants that were tried until then{}\n",
        options.keep ? ", its score is not kept" : "");
    return kExitInterrupted;
  }
  return options.check && !report.at("survivors").empty() ? kExitSurvivors : kExitGraded;
}

int try_mutants(const MutantsOptions& options) try {
  return report_on_mutants(options);
} catch (const json::exception& missing) {
  if (options.report.empty()) throw;
  throw UsageError("{}: expected a whole report of `warpgrade labs mutants LAB --json` ({})", options.report,
                   missing.what());
}

}  // namespace warpgrade

// `warpgrade journey` and `warpgrade note`: the way that a student's work went, and what the student says
// of it.
#include "course/score/journey.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/files.h"
#include "base/json.h"
#include "base/own_command.h"
#include "base/reports_module.h"
#include "base/say.h"
#include "base/text.h"
#include "base/toolchain.h"
#include "cli/commands.h"
#include "course/record/run_folder.h"
#include "judge/compile/manifest.h"
#include "judge/labs/registry.h"

namespace warpgrade {
namespace fs = std::filesystem;

namespace {

// The manifest without its note: the line that begins with the key, and what is indented below it.
std::string without_note(const std::string& manifest) {
  std::istringstream lines(manifest);
  std::string kept;
  bool inside = false;
  for (std::string line; std::getline(lines, line);) {
    const bool continues = inside && (line.empty() || line[0] == ' ' || line[0] == '-');
    inside = continues || line.starts_with("note:");
    if (!inside) kept += line + "\n";
  }
  return kept;
}

int note(const std::string& lab, const fs::path& folder, const std::string& text) {
  find_lab(lab);
  const fs::path own = folder / lab;
  if (!fs::is_directory(own))
    throw UsageError("{}: expected your folder of lab {}; name the folder above it with --folder",
                     own.string(), lab);
  const std::string plain = plain_line(text, kLongestNote);
  if (plain.empty())
    throw UsageError("expected a sentence, for instance: warpgrade note {} \"tiles in shared memory: 1.5x\"",
                     lab);
  const fs::path file = own / "submission.yaml";
  const std::string before = fs::exists(file) ? without_note(read_text(file)) : "";
  // A text of JSON is one of YAML.
  const std::string after = before + "note: " + nlohmann::json(plain).dump() + "\n";
  if (after.size() > kMostManifestBytes)
    throw UsageError("{}: it would be longer than {} bytes, which the judge does not read", file.string(),
                     kMostManifestBytes);
  write_text(file, after);
  tell("{}: {}\n", file.string(), plain);
  return kExitGraded;
}

struct JourneyOptions {
  std::vector<fs::path> places;  // runs, or a desk's folder
  std::optional<std::string> student, lab;
  fs::path output;
  bool as_json = false;
  std::optional<fs::path> keep_in;  // a run whose points take what is counted
};

bool is_run(const fs::path& folder) {
  return fs::is_regular_file(folder / "run.json");
}

struct Found {
  std::vector<fs::path> runs, summaries;  // the latter of a GPU's counters
};

void sort_out(std::vector<fs::path>& paths) {
  std::ranges::sort(paths);
  paths.erase(std::ranges::unique(paths).begin(), paths.end());
}

// The runs and summaries themselves, and those below a folder, for instance a desk's.
Found found_in(const std::vector<fs::path>& places) {
  Found found;
  for (const fs::path& place : places) {
    const std::size_t before = found.runs.size() + found.summaries.size();
    if (is_run(place)) {
      found.runs.push_back(place);
    } else if (fs::is_directory(place)) {
      for (auto at = fs::recursive_directory_iterator(place); at != fs::recursive_directory_iterator();
           ++at) {
        if (at->path().filename() == "hardware.json" && at->is_regular_file() && !at->is_symlink())
          found.summaries.push_back(at->path());
        if (!at->is_directory()) continue;
        const bool is_students = at->path().filename() == "snapshots";  // what a student packed is no run
        if (!is_students && !is_run(at->path())) continue;
        if (!is_students) found.runs.push_back(at->path());
        at.disable_recursion_pending();
      }
    }
    if (found.runs.size() + found.summaries.size() == before)
      throw UsageError(
          "{}: expected a run's folder, or a desk's with runs in it; name run folders (runs/NAME), or the "
          "desk's folder",
          place.string());
  }
  if (found.runs.empty())
    throw UsageError("{}: there are a GPU's counters and no run; name the runs of the class, too",
                     places.front().string());
  sort_out(found.runs);
  sort_out(found.summaries);
  return found;
}

std::string lab_of(const JourneyOptions& options, const std::vector<fs::path>& runs) {
  if (options.keep_in) return RunFolder(*options.keep_in).read_run().at("lab");
  if (options.lab) return find_lab(*options.lab).name();
  std::set<std::string> labs;
  for (const fs::path& run : runs) labs.insert(RunFolder(run).read_run().at("lab").get<std::string>());
  if (labs.size() > 1)
    throw UsageError("these runs are of the labs {}: choose one with --lab", fmt::join(labs, ", "));
  return *labs.begin();
}

Journeys counted(const JourneyOptions& options, const std::vector<fs::path>& runs, const std::string& lab) {
  Journeys journeys = journeys_of(runs, lab);
  if (journeys.empty())
    throw UsageError(
        "{}: expected hand-ins (submissions.json with snapshots) of lab {}, got none; judge the class with "
        "`warpgrade batch`, which keeps them: `grade` does not",
        runs.front().string(), lab);
  if (!options.student) return journeys;
  if (auto own = journeys.extract(*options.student)) {
    journeys.clear();
    journeys.insert(std::move(own));
    return journeys;
  }
  std::vector<std::string> some;
  for (const auto& [student, journey] : journeys)
    if (some.size() < 8) some.push_back(student);
  throw UsageError("nothing was handed in by '{}' in lab {}; there is {}", *options.student, lab,
                   fmt::join(some, ", "));
}

int journey(const JourneyOptions& options) {
  if (options.keep_in && options.student) throw UsageError("--keep-in is for everybody: leave --student out");
  const auto [runs, summaries] = found_in(options.places);
  const std::string lab = lab_of(options, runs);
  Journeys journeys = counted(options, runs, lab);
  if (options.keep_in) {
    keep_counts(*options.keep_in, journeys, runs);
    tell("{}: what was counted of {} students over {} runs; `warpgrade score {}` makes its points anew\n",
         options.keep_in->string(), journeys.size(), runs.size(), shell_word(options.keep_in->string()));
    return kExitGraded;
  }
  add_counted(summaries, lab, journeys);
  const std::string text = json_text(journeys_json(journeys, lab), 1) + "\n";
  if (options.as_json) {
    fmt::print("{}", text);
    return kExitGraded;
  }
  const TemporaryDirectory scratch("warpgrade-journey");
  write_text(scratch.path() / "counted.json", text);
  fs::path output = options.output;
  if (output.empty()) output = options.student ? fs::path("journey.html") : fs::path("journeys");
  std::vector<std::string> arguments{(scratch.path() / "counted.json").string(), "--output", output.string()};
  if (options.student) arguments.emplace_back("--single");
  fmt::print("{}", run_reports_module("warpgrade_reports.work_log_page", arguments));
  return kExitGraded;
}

}  // namespace

void add_journey_command(CLI::App& app, int& code) {
  const auto options = std::make_shared<JourneyOptions>();
  CLI::App* command = app.add_subcommand(
      "journey", "how students' work went: versions, what changed, what it gained, what was said of it");
  command
      ->add_option("runs", options->places,
                   "run folders of one lab, or the desk's folder; also folders with a GPU's counters "
                   "(warpgrade profile --hardware --output)")
      ->required();
  command->add_option("--student", options->student, "whose; without it everybody's, with a list");
  command->add_option("--lab", options->lab, "of a desk of several labs: which");
  command->add_option("--output", options->output, "the page, or the folder of everybody's pages");
  command->add_flag("--json", options->as_json, "what was counted, for programs; no page is made");
  command->add_option("--keep-in", options->keep_in,
                      "a run whose points for the way there count these runs too; no page is made");
  command->callback([options, &code] { code = journey(*options); });

  const auto lab = std::make_shared<std::string>(), text = std::make_shared<std::string>();
  const auto folder = std::make_shared<fs::path>(project_root() / "student");
  CLI::App* note_command =
      app.add_subcommand("note", "write down what your next version tries, and what you expect of it");
  note_command->add_option("lab", *lab, "the lab")->required();
  note_command->add_option("text", *text, "a sentence; 1.5x or 20 % less are compared with what is measured")
      ->required();
  note_command->add_option("--folder", *folder, "where your labs lie, if not in student/");
  note_command->callback([lab, text, folder, &code] { code = note(*lab, *folder, *text); });
}

}  // namespace warpgrade

// `warpgrade journey` and `warpgrade note`: the way that a student's work went, and what the student says
// of it.
#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/files.h"
#include "base/reports_module.h"
#include "base/say.h"
#include "base/text.h"
#include "base/toolchain.h"
#include "cli/commands.h"
#include "judge/compile/manifest.h"
#include "judge/labs/registry.h"

namespace warpgrade {
namespace fs = std::filesystem;

namespace {

constexpr std::size_t kLongestNote = 500;  // as reports/warpgrade_reports/work_log.py shows them

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
  std::vector<fs::path> runs;
  std::optional<std::string> student;
  fs::path output;
};

int journey(const JourneyOptions& options) {
  std::vector<std::string> arguments;
  for (const fs::path& run : options.runs) arguments.push_back(run.string());
  if (options.student) arguments.insert(arguments.end(), {"--student", *options.student});
  fs::path output = options.output;
  if (output.empty()) output = options.student ? fs::path("journey.html") : fs::path("journeys");
  arguments.insert(arguments.end(), {"--output", output.string()});
  fmt::print("{}", run_reports_module("warpgrade_reports.work_log_page", arguments));
  return kExitGraded;
}

}  // namespace

void add_journey_command(CLI::App& app, int& code) {
  const auto options = std::make_shared<JourneyOptions>();
  CLI::App* command = app.add_subcommand(
      "journey", "how students' work went: versions, what changed, what it gained, what was said of it");
  command->add_option("runs", options->runs, "run folders of one lab, or the desk's folder")->required();
  command->add_option("--student", options->student, "whose; without it everybody's, with a list");
  command->add_option("--output", options->output, "the page, or the folder of everybody's pages");
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

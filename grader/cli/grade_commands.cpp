// `warpgrade collect` and `warpgrade grades`: from run folders into the gradebook, and what it answers.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "base/error.h"
#include "base/say.h"
#include "base/tables.h"
#include "cli/commands.h"
#include "cli/grades.h"
#include "course/batch/grade_run.h"

namespace warpgrade {
namespace fs = std::filesystem;

namespace {

void add_gradebook_option(CLI::App& command, GradesOptions& options) {
  command.add_option("--gradebook", options.gradebook, "the course's SQLite file")
      ->envname("WARPGRADE_GRADEBOOK")
      ->capture_default_str();
}

void add_override_command(CLI::App& grades, const std::shared_ptr<GradesOptions>& options, int& code) {
  CLI::App* command =
      grades.add_subcommand("override", "set a student's points in a lab, or withdraw an earlier override");
  command->add_option("student", options->student, "the student's id")->required();
  command->add_option("--lab", options->lab, "the lab")->required();
  auto* points = command->add_option("--points", options->points, "what the student gets instead");
  auto* withdraw = command->add_flag("--withdraw", options->withdraw,
                                     "withdraw the override: the computed points count again");
  points->excludes(withdraw);
  command->add_flag("--above-maximum", options->above_maximum, "allow more points than the lab is worth");
  command->add_option("--reason", options->reason, "why; it stays in the history")->required();
  command->add_option("--author", options->author, "who decided")->required();
  add_gradebook_option(*command, *options);
  command->callback([options, &code] {
    if (options->points.has_value() == options->withdraw) {
      throw UsageError("give --points NUMBER, or --withdraw");
    }
    code = override_grade(*options);
  });
}

void add_format_option(CLI::App& command, GradesOptions& options, const std::vector<std::string>& formats) {
  command.add_option("--format", options.format, fmt::format("{}", fmt::join(formats, " or ")))
      ->check(CLI::IsMember(formats))
      ->capture_default_str();
}

void add_total_command(CLI::App& grades, const std::shared_ptr<GradesOptions>& options, int& code) {
  CLI::App* command = grades.add_subcommand("total", "each student's total over the course's labs");
  command
      ->add_option("--course", options->course,
                   "the course's YAML file: labs, weights, what a missing one is")
      ->required()
      ->check(CLI::ExistingFile);
  add_format_option(*command, *options, {"table", "csv", "json"});
  add_gradebook_option(*command, *options);
  command->callback([options, &code] { code = show_totals(*options); });
}

void add_import_command(CLI::App& grades, const std::shared_ptr<GradesOptions>& options, int& code) {
  static const std::vector<std::string> kFormats{"canvas",      "moodle", "blackboard",
                                                 "brightspace", "sakai",  "prairielearn-csv"};
  CLI::App* command = grades.add_subcommand(
      "import", "what differs between the gradebook and a table that was changed by hand");
  command
      ->add_option("file", options->import_file,
                   "a CSV file, as `warpgrade export` or the platform writes it")
      ->required()
      ->check(CLI::ExistingFile);
  command->add_option("--format", options->import_format, fmt::format("{}", fmt::join(kFormats, ", ")))
      ->required()
      ->check(CLI::IsMember(kFormats));
  command->add_option("--lab", options->lab, "the lab")->required();
  command->add_option("--column", options->column, "the title of the column of points; default: the lab's");
  CLI::Option* apply = command->add_flag("--apply", options->apply, "enter the differences as overrides");
  command->add_option("--reason", options->reason, "why; it stays in the history")->needs(apply);
  command->add_option("--author", options->author, "who decided")->needs(apply);
  command->add_flag("--above-maximum", options->above_maximum, "allow more points than the lab is worth");
  add_gradebook_option(*command, *options);
  command->callback([options, &code] {
    if (options->apply && (options->reason.empty() || options->author.empty()))
      throw UsageError("--apply enters overrides: say --reason and --author, the history keeps them");
    code = import_grades(*options);
  });
}

void add_appeal_commands(CLI::App& grades, const std::shared_ptr<GradesOptions>& options, int& code) {
  CLI::App* command = grades.add_subcommand("appeal", "note a student's appeal against a grade, or close it");
  command->add_option("student", options->student, "the student's id")->required();
  command->add_option("--lab", options->lab, "the lab")->required();
  CLI::Option* text = command->add_option("--text", options->appeal_text, "what the student objects to");
  command->add_option("--close", options->close_reason, "close the open appeal: why")->excludes(text);
  command->add_option("--author", options->author, "who notes it; default: you");
  add_gradebook_option(*command, *options);
  command->callback([options, &code] {
    if (options->appeal_text.empty() && options->close_reason.empty())
      throw UsageError("give --text with what the student objects to, or --close with the reason");
    code = appeal_grade(*options);
  });
  CLI::App* list = grades.add_subcommand("appeals", "the appeals that are open, oldest first");
  add_format_option(*list, *options, {"table", "json"});
  add_gradebook_option(*list, *options);
  list->callback([options, &code] { code = list_appeals(*options); });
}

// Merges the run's records, scores them and, with a gradebook, merges the run into it.
int collect(const fs::path& run, std::optional<fs::path> gradebook, const std::string& author, bool relink) {
  const RunFolder folder(run);
  folder.collect();
  const nlohmann::json scores = score_run(folder, std::nullopt);
  if (!gradebook) gradebook = gradebook_of(run);
  if (gradebook) {
    collect_into(*gradebook, run, author.empty() ? default_author() : author, relink);
  } else {
    tell("{}", class_table(scores));
  }
  return kExitGraded;
}

void add_collect_command(CLI::App& app, int& code) {
  struct CollectOptions {
    fs::path run;
    std::optional<fs::path> gradebook;
    std::string author;
    bool relink = false;
  };
  const auto collecting = std::make_shared<CollectOptions>();
  CLI::App* collect_command =
      app.add_subcommand("collect", "merge a run's records, score them, enter them into a gradebook");
  collect_command->add_option("run", collecting->run, "a run's folder")->required();
  collect_command
      ->add_option("--gradebook", collecting->gradebook,
                   "an SQLite file, made where there is none; default: the one that the run is in")
      ->envname("WARPGRADE_GRADEBOOK");
  collect_command->add_flag("--relink", collecting->relink,
                            "the run belongs to this gradebook from now on, whatever its former one says");
  collect_command->add_option("--author", collecting->author,
                              "who does it, for the audit trail; default: you");
  collect_command->callback([collecting, &code] {
    code = collect(collecting->run, collecting->gradebook, collecting->author, collecting->relink);
  });
}

void add_grades_command(CLI::App& app, int& code) {
  const auto options = std::make_shared<GradesOptions>();
  CLI::App* grades = app.add_subcommand("grades", "ask the gradebook, or change a grade by hand");
  add_gradebook_option(*grades, *options);
  grades->add_option("--student", options->student, "of this student alone");
  grades->add_option("--lab", options->lab, "of this lab alone");
  grades->add_option("--run", options->run, "of this run alone");
  add_format_option(*grades, *options, {"table", "csv", "json"});
  grades->add_flag("--attempts", options->every_attempt, "every attempt, not only the one that counts");
  grades->add_flag("--best", options->best, "the best attempt counts, not the last of the latest run");
  add_override_command(*grades, options, code);
  add_total_command(*grades, options, code);
  add_import_command(*grades, options, code);
  add_appeal_commands(*grades, options, code);
  CLI::App* history = grades->add_subcommand("history", "everything that happened to a student's grades");
  history->add_option("student", options->student, "the student's id; without one: everybody's");
  add_format_option(*history, *options, {"table", "json"});
  add_gradebook_option(*history, *options);
  history->callback([options, &code] { code = show_history(*options); });
  grades->callback([options, grades, &code] {
    if (grades->get_subcommands().empty()) code = list_grades(*options);
  });
}

}  // namespace

void add_grade_commands(CLI::App& app, int& code) {
  add_collect_command(app, code);
  add_grades_command(app, code);
}

}  // namespace warpgrade

// `warpgrade batch` and `warpgrade resume`; what else belongs to a batch: batch_<topic>.cpp.
#include <fmt/format.h>

#include <memory>

#include "base/error.h"
#include "base/files.h"
#include "base/say.h"
#include "base/tables.h"
#include "cli/batch_commands.h"
#include "cli/failure_text.h"
#include "cli/judging_options.h"
#include "course/batch/class_run.h"
#include "course/batch/publish.h"
#include "course/ingest/layout.h"
#include "course/ingest/times.h"
#include "course/record/events.h"
#include "course/slurm/rounds.h"
#include "course/slurm/task.h"

namespace warpgrade {
namespace fs = std::filesystem;
using nlohmann::json;

namespace {

int grade_locally(const fs::path& run, const json& batch, bool quiet) {
  GradeOptions options = GradeOptions::from_json(batch.at("options"));
  options.run = run;
  options.quiet = quiet;
  const RunLock lock{RunFolder(run)};
  const GradeSummary summary = grade(options);
  std::string published;
  {
    EventLog events(run);
    published = publish(RunFolder(run), events);
    events.progress("scored", fmt::format("{} cases judged", summary.recorded));
  }
  collect_events(RunFolder(run));
  tell("{}\n{} cases judged, {} recorded before; records: {}\n{}\n", class_table(summary.scores),
       summary.recorded, summary.resumed, (summary.run / "records.jsonl").string(), published);
  tell("{}", trouble_text(RunFolder(run).read_records(trouble_fields())));
  // Made with the class report: who needs a person.
  if (const fs::path list = run / "export/class-report/attention.txt"; fs::exists(list))
    fmt::print("\n{}", read_text(list));
  return summary.faults == 0 ? kExitGraded : kExitJudgeFault;
}

// As the first call was asked; the roster is read again at each look, so that extensions can be added.
int watch(const fs::path& run, const json& batch, bool quiet) {
  GradeOptions options = GradeOptions::from_json(batch.at("options"));
  options.run = run;
  options.quiet = quiet;
  const json& asked = batch.at("asked");
  IngestOptions ingesting;
  ingesting.source = batch.at("source").get<std::string>();
  ingesting.lab = options.lab;
  ingesting.layout = asked.at("layout");
  ingesting.attempts = asked.at("attempts");
  if (const std::string roster = asked.at("roster"); !roster.empty()) ingesting.roster = roster;
  if (const std::string deadline = asked.at("deadline"); !deadline.empty()) ingesting.deadline = deadline;
  const RunLock lock{RunFolder(run)};
  ingesting.timezone = RunFolder(run).read_class().at("timezone");
  return watch_class(options, ingesting, WatchOptions::from_json(batch.at("watch")));
}

void add_watch_options(CLI::App& command, BatchOptions& options) {
  command.add_option(
      "--watch", options.watch,
      "rolling hand-ins: judge what arrives in this folder until the deadline, and keep feedback and "
      "leaderboard current");
  command
      .add_option("--attempts-per-day", options.watching.attempts_per_day,
                  "with --watch: how many hand-ins of a student or team are judged on one day; 0: all")
      ->check(CLI::NonNegativeNumber);
  command
      .add_option(
          "--settle", options.watching.settle_s,
          "with --watch: a hand-in is taken when none of its files has changed for this many seconds (3)")
      ->check(CLI::NonNegativeNumber);
  command.add_option(
      "--until", options.watching.until,
      "with --watch: watch until this time; default: the last deadline with the policy's grace");
}

// "ID=TEXT", of a student.
std::pair<std::string, std::string> of_student(const char* option, const std::string& text) {
  const std::size_t at = text.find('=');
  if (at == std::string::npos || at == 0 || at + 1 == text.size())
    throw UsageError("{}: expected STUDENT=..., for instance {} ada=..., got '{}'", option, option, text);
  return {text.substr(0, at), text.substr(at + 1)};
}

void add_change_options(CLI::App& command, BatchOptions& options) {
  ClassChange& change = options.change;
  command.add_option("--add", change.add,
                     "more hand-ins for a class that was taken in: an export, a folder or an archive");
  command.add_option_function<std::vector<std::string>>(
      "--replace",
      [&change](const std::vector<std::string>& all) {
        for (const std::string& one : all) {
          const auto [who, path] = of_student("--replace", one);
          change.replace[who] = path;
        }
      },
      "STUDENT=FOLDER or STUDENT=ARCHIVE: what the staff takes in the place of the student's hand-in");
  command.add_option("--handed-in", change.handed_in,
                     "with --replace: when that was handed in; default: when the one before was");
  command.add_option_function<std::vector<std::string>>(
      "--extend",
      [&change](const std::vector<std::string>& all) {
        for (const std::string& one : all) change.extend.insert(of_student("--extend", one));
      },
      "STUDENT=TIME: another deadline for a student; STUDENT=none takes it back");
  command.add_option_function<std::vector<std::string>>(
      "--confirm-time",
      [&change](const std::vector<std::string>& all) {
        for (const std::string& one : all) {
          const bool timed = one.find('=') != std::string::npos;
          change.confirm.insert(timed ? of_student("--confirm-time", one) : std::pair(one, std::string()));
        }
      },
      "STUDENT, STUDENT=TIME or all: the time that a commit claims is right, or which one is");
  command.add_option("--reason", change.reason, "why the class is changed; it stays in the history");
  command.add_option("--author", change.author, "who changes it; default: you");
  command.add_flag("--yes", options.yes, "change the class without asking");
}

// Options that say something together which cannot be done.
void require_sense(BatchOptions& options) {
  if (options.change.handed_in && options.change.replace.empty())
    throw UsageError(
        "--handed-in says when a replacement was handed in: give --replace STUDENT=FOLDER with it; "
        "--confirm-time STUDENT=TIME corrects the time of a hand-in");
  if (!options.watch) return;
  if (options.source)
    throw UsageError("--watch FOLDER takes the hand-ins from that folder; leave out --submissions");
  if (options.executor == "slurm")
    throw UsageError("--watch judges on this machine; leave out --executor slurm");
  if (!fs::is_directory(*options.watch))
    throw UsageError("--watch: {} is not a folder; make the folder first", options.watch->string());
  const auto& until = options.watching.until;
  if (until && !parse_time(*until))
    throw UsageError("--until: expected a time like 2026-03-18T23:59:00+01:00, got '{}'", *until);
  options.source = options.watch;
}

int rehearse(const fs::path& run, const json& batch) {
  if (batch.at("executor") != "slurm")
    throw UsageError("--dry-run shows what Slurm would be given: add --executor slurm");
  EventLog events(run);
  tell("{}", Rounds(RunFolder(run), Site::from_json(batch.at("site")), events).rehearse());
  return kExitGraded;
}

void add_batch(CLI::App& app, int& code) {
  const auto options = std::make_shared<BatchOptions>();
  CLI::App* command =
      app.add_subcommand("batch", "judge a class from an LMS's export, here or on a Slurm cluster");
  add_run_options(*command, options->grade);
  command->remove_option(command->get_option("--run"));
  command
      ->add_option("run", options->grade.run,
                   "the run's folder; the same command continues where the run stopped")
      ->required();
  command->add_option(
      "--submissions", options->source,
      "a class: a folder, an archive, what a learning platform exports (see --layout), or a list of "
      "repositories (CSV with student and url)");
  command->add_option("--layout", options->ingest.layout, layout_names())->capture_default_str();
  command->add_option("--roster", options->change.roster, "CSV: id, name, email, section, team, deadline");
  command->add_option("--attempts", options->change.attempts,
                      "which attempt counts: last (default), first or best");
  command->add_option("--deadline", options->change.deadline, "for example 2026-03-18T23:59:00+01:00");
  command->add_flag("--accept-unmatched", options->ingest.accept_unmatched,
                    "go on even when the hand-ins hold nobody of the roster, or less than half of it");
  command->add_flag("--take-in", options->take_in,
                    "read the hand-ins, show which student each belongs to, and judge nothing yet");
  command->add_flag("--dry-run", options->dry_run,
                    "with --executor slurm: take the class in, show what would be submitted, and ask Slurm "
                    "whether it would take it");
  command->add_option("--executor", options->executor, "local (default) or slurm")
      ->check(CLI::IsMember({"local", "slurm"}));
  command->add_option("--site", options->site, "YAML: the settings that the cluster needs");
  add_watch_options(*command, *options);
  add_change_options(*command, *options);
  command->callback([options, &code] {
    require_sense(*options);
    const std::optional<json> batch = open_batch(*options);
    if (options->dry_run && batch) {
      code = rehearse(options->grade.run, *batch);
      return;
    }
    code = options->take_in || !batch ? kExitGraded
                                      : continue_batch(options->grade.run, *batch, options->grade.quiet);
  });
}

}  // namespace

int continue_batch(const fs::path& run, const json& batch, bool quiet, const std::string& same_node) {
  if (batch.contains("watch")) return watch(run, batch, quiet);
  if (batch.at("executor") == "local") return grade_locally(run, batch, quiet);
  {  // run.json as the class is now; tasks on the nodes only read it
    GradeOptions options = GradeOptions::from_json(batch.at("options"));
    options.run = run;
    options.judged_elsewhere = true;
    Progress progress(quiet);
    const ClassRun opened(options, progress);
  }
  EventLog events(run);
  tell("{}\n", Rounds(RunFolder(run), Site::from_json(batch.at("site")), events, same_node).advance());
  return kExitGraded;
}

CLI::App* add_run_command(CLI::App& app, fs::path& run, const char* name, const char* what) {
  CLI::App* command = app.add_subcommand(name, what);
  command->add_option("run", run, "a run's folder")->required();
  return command;
}

void add_batch_commands(CLI::App& app, int& code) {
  add_batch(app, code);
  const auto run = std::make_shared<fs::path>();
  const auto site = std::make_shared<std::optional<fs::path>>();
  CLI::App* resume = add_run_command(app, *run, "resume", "go on with a batch");
  resume->add_option("--site", *site, "YAML: other settings of the cluster, from now on");
  resume->callback([run, site, &code] {
    const RunFolder folder(*run);
    json batch = read_batch(folder);
    if (*site) keep_site(folder, **site, batch);
    code = continue_batch(*run, batch, false);
  });
  add_status_commands(app, code);
  add_regrade_command(app, code);
  add_rescore_commands(app, code);

  const auto task = std::make_shared<TaskRequest>();
  CLI::App* task_command =
      app.add_subcommand("batch-task", "one task of a batch, as Slurm starts it")->group("");
  task_command->add_option("kind", task->kind)
      ->required()
      ->check(CLI::IsMember({"compile", "judge", "aggregate", "guard"}));
  task_command->add_option("run", task->run)->required();
  task_command->add_option("round", task->round)->required();
  task_command->add_option("offset", task->offset)->required();
  task_command->callback([task, &code] { code = run_batch_task(*task); });
}

}  // namespace warpgrade

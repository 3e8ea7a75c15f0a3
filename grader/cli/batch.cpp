// `warpgrade batch` and what belongs to it: status, resume, cancel, regrade, rescore, diff.
#include <fmt/ranges.h>
#include <fnmatch.h>
#include <unistd.h>

#include <chrono>
#include <iostream>
#include <map>
#include <memory>
#include <set>
#include <thread>

#include "base/error.h"
#include "base/files.h"
#include "base/process.h"
#include "base/tables.h"
#include "base/toolchain.h"
#include "cli/commands.h"
#include "cli/compare.h"
#include "cli/failure_text.h"
#include "cli/judging_options.h"
#include "cli/taken_text.h"
#include "course/batch/class_run.h"
#include "course/batch/grade_run.h"
#include "course/batch/publish.h"
#include "course/batch/watch.h"
#include "course/ingest/ingest.h"
#include "course/ingest/times.h"
#include "course/score/score.h"
#include "course/slurm/rounds.h"
#include "course/slurm/task.h"
#include "judge/labs/registry.h"

namespace warpgrade {
namespace fs = std::filesystem;
using nlohmann::json;

namespace {

struct BatchOptions {
  GradeOptions grade;
  IngestOptions ingest;
  std::optional<fs::path> source, site;
  std::string executor;
  bool take_in = false;
  std::optional<fs::path> watch;  // rolling hand-ins
  WatchOptions watching;
};

json read_batch(const RunFolder& folder) {
  folder.read_run();  // says what is wrong when it is none
  if (!fs::exists(folder.batch_file()))
    throw UsageError("{} is a run that `warpgrade batch` did not make; give the folder of a run that it made",
                     folder.root().string());
  return json::parse(read_text(folder.batch_file()));
}

// ---- batch, resume

// What decides verdicts and grades; how the work is done (jobs, executor, site) may change from call to call.
json requested(const BatchOptions& options) {
  json asked = options.grade.to_json();
  for (const char* how : {"class_in_run", "jobs", "gpus", "architecture"}) asked.erase(how);
  const auto path = [](const std::optional<fs::path>& given) {
    return given ? identity_of(*given) : std::string();
  };
  asked["policy"] = path(options.grade.policy);
  asked["roster"] = path(options.ingest.roster);
  asked["layout"] = options.ingest.layout;
  asked["attempts"] = options.ingest.attempts;
  asked["deadline"] = options.ingest.deadline.value_or("");
  return asked;
}

// A later call says less than the first, but nothing else: it would not be done.
void refuse_what_differs(const BatchOptions& given, const json& batch, const fs::path& run) {
  const json before = batch.value("asked", json::object()), usual = requested({}), now = requested(given);
  std::vector<std::string> differing;
  for (const auto& [key, value] : now.items()) {
    if (before.contains(key) && value != usual.value(key, json()) && value != before[key])
      differing.push_back(key);
  }
  if (differing.empty()) return;
  throw UsageError(
      "{} was begun with other {}: add --fresh to start a new run (the earlier run is kept), or leave that "
      "option out to continue the earlier run. `warpgrade rescore` scores a run with another policy",
      run.string(), fmt::join(differing, ", "));
}

// A batch that was begun before; what this call says of how the work is done is kept from now on.
std::optional<json> begun_batch(const BatchOptions& given, const RunFolder& folder) {
  if (!fs::exists(folder.batch_file()) || !folder.exists()) return std::nullopt;
  json batch = json::parse(read_text(folder.batch_file()));
  const std::string source = batch.value("source", "");
  if (given.source && identity_of(*given.source) != identity_of(source))
    throw UsageError("{} holds the class of {}; choose another run folder, or add --fresh",
                     folder.root().string(), source);
  refuse_what_differs(given, batch, folder.root());
  if (!given.executor.empty()) batch["executor"] = given.executor;
  if (given.grade.jobs != 0) batch["options"]["jobs"] = given.grade.jobs;
  if (!given.grade.gpus.empty()) batch["options"]["gpus"] = given.grade.gpus;
  if (given.site) batch["site"] = Site::read(*given.site).to_json();
  if (given.watch && !batch.contains("watch"))
    throw UsageError("{} was begun without --watch; choose another run folder, or add --fresh",
                     folder.root().string());
  if (given.watch) batch["watch"].update(given.watching.to_json());
  write_text(folder.batch_file(), batch.dump(1) + "\n");
  return batch;
}

// The policy that a new batch will follow.
Policy policy_for(const GradeOptions& options) {
  const Lab& lab = find_lab(options.lab);
  return load_policy(policy_file(lab, options.policy), vocabulary_of(lab));
}

json begin_batch(const BatchOptions& given, const RunFolder& folder, const Site& site) {
  GradeOptions options = given.grade;
  options.fresh_on_change = false;
  options.class_in_run = true;
  if (given.executor == "slurm" && !site.architecture.empty())
    options.planned_architecture = site.architecture;
  IngestOptions ingesting = given.ingest;
  ingesting.source = *given.source;
  ingesting.lab = options.lab;
  ingesting.timezone = policy_for(options).timezone;
  if (given.watch) ingesting.rolling = rolling_options(given.watching, std::nullopt);
  const json taken = ingest(ingesting, folder);
  if (given.take_in) print_matched_names(taken);
  const int graded = print_taken(taken, ingesting.roster.has_value());
  json batch{{"schema", "warpgrade.batch.v1"},
             {"executor", given.executor.empty() ? "local" : given.executor},
             {"source", fs::absolute(*given.source).string()},
             {"asked", requested(given)},
             {"options", options.to_json()},
             {"site", site.to_json()}};
  if (given.watch) batch["watch"] = given.watching.to_json();
  {
    options.log_progress = true;
    options.judged_elsewhere = given.executor == "slurm";
    Progress progress(options.quiet);
    const ClassRun made(options, progress);  // run.json
  }
  write_text(folder.batch_file(), batch.dump(1) + "\n");
  EventLog(folder.root()).progress("run_opened", fmt::format("{} submissions", graded));
  return batch;
}

// Snapshots are read-only: their folders are made writable first.
void remove_tree(const fs::path& root) {
  std::error_code none;
  for (const auto& entry : fs::recursive_directory_iterator(root, none))
    if (entry.is_directory() && !entry.is_symlink())
      fs::permissions(entry.path(), fs::perms::owner_all, fs::perm_options::add, none);
  fs::remove_all(root, none);
}

// What the first call was told is kept, so that later ones need no more than the run's name.
json open_batch(const BatchOptions& given) {
  const RunFolder folder(given.grade.run);
  if (given.grade.fresh_on_change && folder.exists())
    fmt::print("the earlier run is kept as {}\n", move_run_aside(folder.root()).string());
  if (auto batch = begun_batch(given, folder)) return *batch;
  if (!given.source)
    throw UsageError("{} is not a run yet: give --submissions FOLDER or EXPORT", folder.root().string());
  const Site site = given.site ? Site::read(*given.site) : Site();
  find_lab(given.grade.lab);  // before anything is copied
  const bool fresh = !fs::exists(folder.root());
  make_directories(folder.root());
  try {
    const RunLock lock(
        folder);  // of two first calls one takes the class in, and the other goes on from there
    if (auto batch = begun_batch(given, folder)) return *batch;
    return begin_batch(given, folder, site);
  } catch (const UsageError&) {
    // What could not be begun leaves nothing behind that a later call would stumble over.
    if (fresh && !folder.exists()) remove_tree(folder.root());
    throw;
  }
}

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
  fmt::print("{}\n{} cases judged, {} recorded before; records: {}\n{}\n", class_table(summary.scores),
             summary.recorded, summary.resumed, (summary.run / "records.jsonl").string(), published);
  fmt::print("{}", trouble_text(RunFolder(run).read_records()));
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

int continue_batch(const fs::path& run, const json& batch, bool quiet) {
  if (batch.contains("watch")) return watch(run, batch, quiet);
  if (batch.at("executor") == "local") return grade_locally(run, batch, quiet);
  EventLog events(run);
  fmt::print("{}\n", Rounds(RunFolder(run), Site::from_json(batch.at("site")), events).advance());
  return kExitGraded;
}

// ---- status

json count_records(const RunFolder& folder, const json& run) {
  size_t recorded = 0, faults = 0, finished = 0;
  for (const json& submission : run.at("submissions")) {
    size_t of_this = 0;
    for (const json& spec : run.at("cases")) {
      fs::path fault = folder.case_file(submission.at("id"), spec.at("id"));
      if (folder.has_record(submission.at("id"), spec.at("id"))) {
        ++of_this;
        continue;
      }
      if (fs::exists(fault.replace_extension(".fault.json"))) ++faults;
    }
    recorded += of_this;
    finished += of_this == run.at("cases").size() ? 1 : 0;
  }
  return {{"recorded", recorded}, {"faults", faults}, {"finished", finished}};
}

std::string bar(size_t done, size_t all) {
  const size_t width = 40, full = all == 0 ? width : done * width / all;
  return std::string(full, '#') + std::string(width - full, '.');
}

// Asked once: who looks at a batch is not kept waiting for a silent controller.
void print_round(const RunFolder& folder, const json& batch) {
  EventLog events(folder.root());
  Site site = Site::from_json(batch.at("site"));
  site.controller_patience_s = 0;
  Rounds rounds(folder, site, events);
  const int round = rounds.latest();
  if (round == 0) return;
  fmt::print("\nround {}{}\n", round, rounds.done(round) ? ", ended" : "");
  try {
    for (const auto& [state, tasks] : rounds.states(round)) fmt::print("  {:<24} {:>6}\n", state, tasks);
  } catch (const UsageError& error) {
    fmt::print("  {}\n", error.what());
  }
}

// One screen; true when nothing is left to do.
bool print_status(const fs::path& path) {
  const RunFolder folder(path);
  const json run = folder.read_run(), batch = read_batch(folder);
  const json count = count_records(folder, run);
  const size_t submissions = run.at("submissions").size(), all = submissions * run.at("cases").size();
  const size_t recorded = count["recorded"];
  fmt::print("{}  lab {}  {}  {}\n\n", run.at("run").get<std::string>(), run.at("lab").get<std::string>(),
             run.at("backend").get<std::string>(), batch.at("executor").get<std::string>());
  fmt::print("cases        [{}] {}/{}\n", bar(recorded, all), recorded, all);
  const size_t finished = count["finished"];
  fmt::print("submissions  [{}] {}/{}\n", bar(finished, submissions), finished, submissions);
  if (count["faults"] > 0)
    fmt::print("judge faults waiting for another try: {}\n", count["faults"].get<size_t>());
  if (batch.at("executor") == "slurm") {
    print_round(folder, batch);
  }
  if (batch.contains("watch")) fmt::print("watching {}\n", batch.at("source").get<std::string>());
  std::map<std::string, int> faults;
  std::vector<json> last;
  for (const json& event : read_events(folder)) {
    if (event.value("kind", "") == "progress") continue;
    ++faults[event.value("event", "")];
    last.push_back(event);
  }
  if (!faults.empty()) fmt::print("\nevents of the machines and for the staff\n");
  for (const auto& [event, times] : faults) fmt::print("  {:<24} {:>6}\n", event, times);
  for (size_t i = last.size() > 5 ? last.size() - 5 : 0; i < last.size(); ++i)
    fmt::print("  {} {} {} {}\n", last[i].value("at", ""), last[i].value("node", ""),
               last[i].value("event", ""), last[i].value("message", "").substr(0, 80));
  return recorded == all;
}

// The same for programs.
void print_status_json(const fs::path& path) {
  const RunFolder folder(path);
  const json run = folder.read_run(), batch = read_batch(folder), count = count_records(folder, run);
  const size_t submissions = run.at("submissions").size(), all = submissions * run.at("cases").size();
  json events = json::object();
  for (const json& event : read_events(folder))
    if (event.value("kind", "") != "progress")
      events[event.value("event", "")] = events.value(event.value("event", ""), 0) + 1;
  fmt::print("{}\n",
             json{{"schema", "warpgrade.status.v1"},
                  {"run", run.at("run")},
                  {"lab", run.at("lab")},
                  {"backend", run.at("backend")},
                  {"executor", batch.at("executor")},
                  {"cases", {{"recorded", count["recorded"]}, {"all", all}, {"faults", count["faults"]}}},
                  {"submissions", {{"finished", count["finished"]}, {"all", submissions}}},
                  {"done", count["recorded"] == all},
                  {"events", events}}
                 .dump(1, ' ', false, json::error_handler_t::replace));
}

int status(const fs::path& run, double every_s, bool as_json) {
  if (as_json) {
    print_status_json(run);
    return kExitGraded;
  }
  if (every_s <= 0) {
    print_status(run);
    return kExitGraded;
  }
  for (;;) {
    if (isatty(STDOUT_FILENO) == 1) fmt::print("\033[H\033[2J");
    if (print_status(run)) return kExitGraded;
    std::fflush(stdout);
    for (double slept = 0; slept < every_s; slept += 0.1) {
      throw_if_interrupted();
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
  }
}

int cancel(const fs::path& run) {
  const RunFolder folder(run);
  const json batch = read_batch(folder);
  if (batch.at("executor") == "local")
    throw UsageError(
        "this batch runs on one machine, without Slurm: press Ctrl-C in the terminal where it runs");
  EventLog events(run);
  fmt::print("{}\n", Rounds(folder, Site::from_json(batch.at("site")), events).cancel());
  return kExitGraded;
}

// ---- regrade, rescore, diff

struct RegradeOptions {
  fs::path run;
  std::vector<std::string> only, cases, verdicts;
  bool quiet = false;
};

bool any_match(const std::vector<std::string>& patterns, const std::string& name) {
  if (patterns.empty()) return true;
  for (const std::string& pattern : patterns)
    if (fnmatch(pattern.c_str(), name.c_str(), 0) == 0) return true;
  return false;
}

// Ids of submissions that the patterns mean: by their own id, their title, or a student whom they count for.
std::set<std::string> meant_submissions(const json& run, const std::vector<std::string>& patterns) {
  std::set<std::string> ids;
  for (const json& submission : run.at("submissions")) {
    const std::string id = submission.at("id");
    bool meant = any_match(patterns, id) || any_match(patterns, submission.value("title", id)) ||
                 any_match(patterns, submission.value("student", id));
    for (const json& member : submission.value("members", json::array()))
      meant = meant || any_match(patterns, member.get<std::string>());
    if (meant) ids.insert(id);
  }
  return ids;
}

// What one regrade is about: the records that it has moved aside, under superseded/<n>, and what it
// was asked.
class Superseded {
 public:
  // The latest one when it was asked the same and has not come to its end, else a new one.
  Superseded(const RunFolder& folder, json request) : folder_(folder), request_(std::move(request)) {
    while (fs::exists(path(number_ + 1))) ++number_;
    if (!is_unfinished()) ++number_;
  }

  bool has(const std::string& id, const std::string& case_id) const {
    return fs::exists(place() / id / (case_id + ".json"));
  }
  void take(const std::string& id, const std::string& case_id) const {
    make_directories(place() / id);
    if (!fs::exists(request_file())) note(false);
    fs::rename(folder_.case_file(id, case_id), place() / id / (case_id + ".json"));
  }
  void note(bool ended) const {
    json kept = request_;
    kept["ended"] = ended;
    write_text(request_file(), kept.dump(1) + "\n");
  }
  fs::path place() const { return path(number_); }

  struct Count {
    int all = 0, missing = 0;  // of which not judged again so far
  };
  Count count() const {
    Count count;
    std::error_code none;
    for (const auto& submission : fs::directory_iterator(place(), none)) {
      if (!submission.is_directory()) continue;
      for (const auto& record : fs::directory_iterator(submission.path())) {
        ++count.all;
        if (!folder_.has_record(submission.path().filename().string(), record.path().stem().string()))
          ++count.missing;
      }
    }
    return count;
  }

 private:
  fs::path path(int number) const { return folder_.root() / "superseded" / std::to_string(number); }
  fs::path request_file() const { return place() / "request.json"; }
  bool is_unfinished() const {
    if (number_ == 0 || !fs::exists(request_file())) return false;
    json kept = json::parse(read_text(request_file()), nullptr, false);
    if (!kept.is_object()) return false;
    const bool ended = kept.value("ended", true) && count().missing == 0;
    kept.erase("ended");
    return kept == request_ && !ended;
  }

  const RunFolder& folder_;
  json request_;
  int number_ = 0;
};

// Verdicts are never overwritten: those to be found anew are moved aside, and the batch goes on. The same
// command after an interruption goes on with that and moves nothing twice.
int regrade(const RegradeOptions& options) {
  if (options.only.empty() && options.verdicts.empty() && options.cases.empty())
    throw UsageError(
        "tell what to judge again: give --only SUBMISSIONS, --cases CASES or --verdict VERDICTS");
  const RunFolder folder(options.run);
  const json batch = read_batch(folder);
  auto lock = std::make_unique<RunLock>(folder);  // whoever judges here is not disturbed
  const Superseded aside(folder,
                         {{"only", options.only}, {"cases", options.cases}, {"verdicts", options.verdicts}});
  const std::set<std::string> meant = meant_submissions(folder.read_run(), options.only);
  for (const json& record : folder.read_records()) {
    const std::string id = record.at("submission").at("id"), case_id = record.at("case").at("id");
    if (meant.contains(id) && any_match(options.cases, case_id) &&
        any_match(options.verdicts, record.at("outcome").at("verdict")) && folder.has_record(id, case_id) &&
        !aside.has(id, case_id))
      aside.take(id, case_id);
  }
  if (!fs::exists(aside.place()))
    throw UsageError(
        "no record of {} fits --only, --cases and --verdict; `warpgrade status` shows what the run holds",
        folder.root().string());
  const auto count = aside.count();
  fmt::print("{} records are judged again, {} of them are to come; the old ones are kept in {}\n", count.all,
             count.missing, aside.place().string());
  lock.reset();
  const int code = continue_batch(options.run, batch, options.quiet);
  if (code == kExitGraded) aside.note(true);
  return code;
}

int rescore(const fs::path& run, const fs::path& policy_file, bool yes) {
  const RunFolder folder(run);
  const json description = folder.read_run();
  const std::string lab_name = description.at("lab");
  const Policy policy = load_policy(policy_file, vocabulary_of(description));
  if (policy.lab != lab_name)
    throw UsageError("{} is a policy of lab {}, not of {}", policy_file.string(), policy.lab, lab_name);
  const std::vector<json> records = folder.read_records();
  const json after = score(policy, description, records);
  const json before = fs::exists(folder.scores_file())
                          ? json::parse(read_text(folder.scores_file()))
                          : score(policy_of(folder, description), description, records);
  const std::string changes = score_changes(before, after);
  fmt::print("{}", changes.empty() ? "no grade changes\n" : changes);
  if (!yes && isatty(STDIN_FILENO) == 1) {
    fmt::print("write these scores? [y/N] ");
    std::fflush(stdout);
    std::string answer;
    std::getline(std::cin, answer);
    yes = answer == "y" || answer == "yes";
  }
  if (!yes) {
    fmt::print("nothing was written; add --yes to write them\n");
    return kExitGraded;
  }
  write_text(folder.root() / "policy.yaml", read_text(policy_file));
  score_run(folder, std::nullopt);
  EventLog events(run);
  events.progress("scored", "with the policy " + policy.name);
  fmt::print("{} is written\n{}\n", folder.scores_file().string(), publish(folder, events));
  return kExitGraded;
}

int diff(const fs::path& first, const fs::path& second) {
  const RunFolder before(first), after(second);
  const std::string records = record_changes(before.read_records(), after.read_records());
  std::string scores;
  if (fs::exists(before.scores_file()) && fs::exists(after.scores_file()))
    scores = score_changes(json::parse(read_text(before.scores_file())),
                           json::parse(read_text(after.scores_file())));
  if (records.empty() && scores.empty()) {
    fmt::print("no verdict, ratio or grade differs\n");
    return kExitGraded;
  }
  fmt::print("{}{}{}", scores, scores.empty() || records.empty() ? "" : "\n", records);
  return kExitGraded;
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

// Options that say something together which cannot be done.
void require_sense(BatchOptions& options) {
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
      "a class: a folder, an archive, or what Gradescope, Canvas, Moodle, Autolab, Blackboard, "
      "Brightspace or GitHub Classroom export");
  command
      ->add_option(
          "--layout", options->ingest.layout,
          "auto, folder, archives, gradescope, canvas, moodle, autolab, blackboard, brightspace or github")
      ->capture_default_str();
  command->add_option("--roster", options->ingest.roster, "CSV: id, name, email, section, team, deadline");
  command->add_option("--attempts", options->ingest.attempts, "which attempt counts: last, first or best")
      ->capture_default_str();
  command->add_option("--deadline", options->ingest.deadline, "for example 2026-03-18T23:59:00+01:00");
  command->add_flag("--accept-unmatched", options->ingest.accept_unmatched,
                    "go on even when the hand-ins hold nobody of the roster, or less than half of it");
  command->add_flag("--take-in", options->take_in,
                    "read the hand-ins, show which student each belongs to, and judge nothing yet");
  command->add_option("--executor", options->executor, "local (default) or slurm")
      ->check(CLI::IsMember({"local", "slurm"}));
  command->add_option("--site", options->site, "YAML: the settings that the cluster needs");
  add_watch_options(*command, *options);
  command->callback([options, &code] {
    require_sense(*options);
    const json batch = open_batch(*options);
    code = options->take_in ? kExitGraded : continue_batch(options->grade.run, batch, options->grade.quiet);
  });
}

}  // namespace

void add_batch_commands(CLI::App& app, int& code) {
  add_batch(app, code);
  const auto run = std::make_shared<fs::path>();
  const auto with_run = [&](const char* name, const char* what) {
    CLI::App* command = app.add_subcommand(name, what);
    command->add_option("run", *run, "a run's folder")->required();
    return command;
  };
  with_run("resume", "go on with a batch")->callback([run, &code] {
    code = continue_batch(*run, read_batch(RunFolder(*run)), false);
  });
  with_run("cancel", "end a batch's jobs; what was recorded is kept")->callback([run, &code] {
    code = cancel(*run);
  });
  const auto every_s = std::make_shared<double>(0);
  CLI::App* status_command = with_run("status", "how far a batch is, and what happened to it");
  status_command
      ->add_option("--watch", *every_s,
                   "show it again after every this many seconds, until the batch is done")
      ->check(CLI::PositiveNumber);
  const auto as_json = std::make_shared<bool>(false);
  status_command->add_flag("--json", *as_json, "for programs");
  status_command->callback([run, every_s, as_json, &code] { code = status(*run, *every_s, *as_json); });

  const auto again = std::make_shared<RegradeOptions>();
  CLI::App* regrade_command = app.add_subcommand("regrade", "judge some of a batch anew");
  regrade_command->add_option("run", again->run, "a run's folder")->required();
  regrade_command
      ->add_option("--only", again->only, "ids or names of students, teams or submissions; * matches")
      ->delimiter(',');
  regrade_command->add_option("--cases", again->cases, "ids of cases; * matches")->delimiter(',');
  regrade_command->add_option("--verdict", again->verdicts, "those with this verdict")->delimiter(',');
  regrade_command->add_flag("--quiet", again->quiet, "no progress");
  regrade_command->callback([again, &code] { code = regrade(*again); });

  const auto policy = std::make_shared<fs::path>();
  const auto yes = std::make_shared<bool>(false);
  CLI::App* rescore_command =
      with_run("rescore", "score the records with another policy; shows what changes first");
  rescore_command->add_option("--policy", *policy, "YAML")->required();
  rescore_command->add_flag("--yes", *yes, "write without asking");
  rescore_command->callback([run, policy, yes, &code] { code = rescore(*run, *policy, *yes); });

  const auto second = std::make_shared<fs::path>();
  CLI::App* diff_command = with_run("diff", "verdicts, speed-ups and grades that differ between two runs");
  diff_command->add_option("second", *second, "another run's folder")->required();
  diff_command->callback([run, second, &code] { code = diff(*run, *second); });

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

// A batch is begun, or one that was begun before is opened again.
#include <fmt/ranges.h>

#include "base/error.h"
#include "base/files.h"
#include "base/say.h"
#include "cli/batch_commands.h"
#include "cli/intake_text.h"
#include "cli/judging_options.h"
#include "course/batch/class_run.h"
#include "course/slurm/rounds.h"
#include "judge/labs/registry.h"

namespace warpgrade {
namespace fs = std::filesystem;
using nlohmann::json;

namespace {

// What decides verdicts and grades; how the work is done (jobs, executor, site) may change from call to call.
json requested(const BatchOptions& options) {
  json asked = options.grade.to_json();
  for (const char* how : {"class_in_run", "jobs", "gpus", "architecture"}) asked.erase(how);
  const auto path = [](const std::optional<fs::path>& given) {
    return given ? identity_of(*given) : std::string();
  };
  asked["policy"] = path(options.grade.policy);
  asked["roster"] = path(options.change.roster);
  asked["layout"] = options.ingest.layout;
  asked["attempts"] = options.change.attempts.value_or("last");
  asked["deadline"] = options.change.deadline.value_or("");
  return asked;
}

// A later call says less than the first, but nothing else: it would not be done.
void refuse_what_differs(const BatchOptions& given, const json& batch, const fs::path& run) {
  const json before = batch.value("asked", json::object()), usual = requested({}), now = requested(given);
  std::vector<std::string> differing;
  for (const auto& [key, value] : now.items()) {
    // What changes the class is no other run.
    if (key == "roster" || key == "attempts" || key == "deadline") continue;
    if (key == "layout" && given.change.add) continue;  // of what is added
    if (before.contains(key) && value != usual.value(key, json()) && value != before[key])
      differing.push_back(key);
  }
  if (differing.empty()) return;
  throw UsageError(
      "{} was begun with other {}: add --fresh to start a new run (the earlier run is kept), or leave that "
      "option out to continue the earlier run. `warpgrade rescore` scores a run with another policy; --add, "
      "--replace, --extend, --roster, --deadline and --attempts change the class of a run",
      run.string(), fmt::join(differing, ", "));
}

// A batch that was begun before; what this call says of how the work is done is kept from now on.
std::optional<json> begun_batch(const BatchOptions& given, const RunFolder& folder) {
  if (!fs::exists(folder.batch_file()) || !folder.exists()) return std::nullopt;
  json batch = json::parse(read_text(folder.batch_file()));
  const std::string source = batch.value("source", "");
  if (given.source && identity_of(*given.source) != identity_of(source))
    throw UsageError(
        "{} holds the class of {}; say --add {} to take these hand-ins into it, choose another run folder, "
        "or add --fresh",
        folder.root().string(), source, given.source->string());
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

void refuse_changes_of_nothing(const BatchOptions& given, const RunFolder& folder) {
  const ClassChange& change = given.change;
  if (change.add || !change.replace.empty() || !change.extend.empty() || change.handed_in)
    throw UsageError(
        "{} is not a run yet: --add, --replace and --extend change a class that was taken in before; take it "
        "in with --submissions first",
        folder.root().string());
}

json begin_batch(const BatchOptions& given, const RunFolder& folder, const Site& site) {
  GradeOptions options = given.grade;
  options.fresh_on_change = false;
  options.class_in_run = true;
  if (given.executor == "slurm" && !site.architecture.empty())
    options.planned_architecture = site.architecture;
  IngestOptions ingesting = given.ingest;
  ingesting.source = *given.source;
  ingesting.roster = given.change.roster;
  ingesting.deadline = given.change.deadline;
  ingesting.attempts = given.change.attempts.value_or("last");
  ingesting.lab = options.lab;
  ingesting.timezone = policy_for(options).timezone;
  if (given.watch) ingesting.rolling = rolling_options(given.watching, std::nullopt);
  const json taken = ingest(ingesting, folder);
  const int graded = print_class(folder, taken, options.lab, given.take_in);
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

}  // namespace

json read_batch(const RunFolder& folder) {
  folder.read_run();  // says what is wrong when it is none
  if (!fs::exists(folder.batch_file()))
    throw UsageError("{} is a run that `warpgrade batch` did not make; give the folder of a run that it made",
                     folder.root().string());
  return json::parse(read_text(folder.batch_file()));
}

void keep_site(const RunFolder& folder, const fs::path& site, json& batch) {
  batch["site"] = Site::read(site).to_json();
  write_text(folder.batch_file(), batch.dump(1) + "\n");
}

std::optional<json> open_batch(const BatchOptions& given) {
  const RunFolder folder(given.grade.run);
  if (given.grade.fresh_on_change && folder.exists())
    tell("the earlier run is kept as {}\n", move_run_aside(folder.root()).string());
  if (auto batch = begun_batch(given, folder)) {
    if (!change_batch(given, folder, *batch)) return std::nullopt;
    if (given.source && !given.watch) print_new_hand_ins(given, folder, *batch);
    if (given.take_in) print_class(folder, folder.read_class(), batch->at("options").at("lab"), true);
    return batch;
  }
  if (!given.source)
    throw UsageError("{} is not a run yet: give --submissions FOLDER or EXPORT", folder.root().string());
  refuse_changes_of_nothing(given, folder);
  const Site site = given.site ? Site::read(*given.site) : Site();
  find_lab(given.grade.lab);  // before anything is copied
  const bool fresh = !fs::exists(folder.root());
  make_directories(folder.root());
  try {
    const RunLock lock(
        folder);  // of two first calls one takes the class in, and the other goes on from there
    if (auto batch = begun_batch(given, folder)) return batch;
    return begin_batch(given, folder, site);
  } catch (const UsageError&) {
    // What could not be begun leaves nothing behind that a later call would stumble over.
    if (fresh && !folder.exists()) remove_tree(folder.root());
    throw;
  }
}

}  // namespace warpgrade

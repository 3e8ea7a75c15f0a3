// A round planned and handed to Slurm: what is missing, in arrays that have what the policy lets it use.
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "base/error.h"
#include "base/files.h"
#include "base/hash.h"
#include "base/process.h"
#include "base/say.h"
#include "base/toolchain.h"
#include "course/batch/class_run.h"
#include "course/slurm/need.h"
#include "course/slurm/refusal.h"
#include "course/slurm/rounds.h"
#include "course/slurm/units.h"

namespace warpgrade {
namespace fs = std::filesystem;
using nlohmann::json;

namespace {

constexpr const char* kKinds[] = {"compile", "judge"};

// Letters that any cluster's tools show, and not too many of them.
std::string name_part(const std::string& text) {
  constexpr std::size_t kLongest = 24;
  std::string part;
  for (const char c : text) {
    const bool plain = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.';
    if (plain || (!part.empty() && part.back() != '_')) part += plain ? c : '_';
  }
  return part.substr(0, kLongest);
}

std::size_t fullest(const std::vector<std::vector<std::string>>& tasks) {
  std::size_t most = 0;
  for (const auto& task : tasks) most = std::max(most, task.size());
  return most;
}

std::string words_of(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) {
    const bool plain =
        word.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789=-_./:,%+@") ==
        std::string::npos;
    text += (text.empty() ? "" : " ") + (plain ? word : shell_quoted(word));
  }
  return text;
}

}  // namespace

// "wg-week7-spmm-": of the run and its lab, so that squeue shows whose job it is.
std::string Rounds::name_beginning() const {
  const json run = folder_.read_run();
  return fmt::format("{}{}-{}-", site_.name, name_part(folder_.root().filename().string()),
                     name_part(run.at("lab").get<std::string>()));
}

// The run's own, so that a job can be found again by its name alone.
std::string Rounds::name_of(int round, const std::string& what) const {
  const json run = folder_.read_run();
  const std::string id = sha256(identity_of(folder_.root()) + run.at("seed_commitment").get<std::string>());
  const fs::path file = folder_of(round) / "plan.json";
  // Rounds of an older version have no beginning in their plan.
  const std::string beginning = fs::exists(file) ? plan_file(round).value("names", "") : name_beginning();
  if (beginning.empty()) return fmt::format("wg-{}-{}-{}", id.substr(0, 10), round, what);
  return fmt::format("{}{}-{}-{}", beginning, round, what, id.substr(0, 10));
}

std::vector<std::string> Rounds::names_of(int round) const {
  const RoundPlan plan = plan_of(round);
  std::vector<std::string> names{name_of(round, "aggregate"), name_of(round, "guard")};
  for (const ArrayPart& part : plan.compile_arrays)
    names.push_back(name_of(round, fmt::format("compile-{}", part.offset)));
  for (const ArrayPart& part : plan.judge_arrays)
    names.push_back(name_of(round, fmt::format("judge-{}", part.offset)));
  return names;
}

// By what was measured in this run, else the site's guess.
double Rounds::seconds_a_submission() const {
  double sum = 0;
  int count = 0;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder_.root() / "submissions", error)) {
    const fs::path file = entry.path() / "judging.json";
    if (!fs::exists(file)) continue;
    const json judging = read_object(file);
    for (const json& session : judging.at("sessions")) {
      sum += session.value("wall_s", 0.0);
      ++count;
    }
  }
  return count > 0 ? sum / count : 60 * site_.submission_minutes;
}

// A task of the round before met its memory limit: this one's have twice as much, where Slurm has that.
int Rounds::memory_times(int round, const json& planned) {
  if (round < 2) return 1;
  const int before = plan_file(round - 1).value("memory_times", 1);
  const std::vector<json> events = read_events(folder_);
  const bool was_short = std::any_of(events.begin(), events.end(), [&](const json& event) {
    const std::string what = event.value("event", "");
    return event.value("round", 0) == round - 1 && (what == "memory_short" || what == "out_of_memory");
  });
  if (!was_short) return before;
  json more = planned;
  more["memory_times"] = 2 * before;
  for (const char* kind : kKinds) {
    const fs::path script = folder_of(round - 1) / fmt::format("{}.sh", kind);
    const TestedJob tested = cluster_.test(task_of(kind, more).sbatch_options(), {script.string()});
    if (tested.taken) continue;
    events_.for_staff("memory_not_given",
                      refusal_text(tested.words, task_of(kind, more), kind, site_.file) +
                          "; the round before met its limit, and the next one has no more",
                      {{"round", round}});
    return before;
  }
  return 2 * before;
}

json Rounds::make_plan(int round, int chain_begin) {
  const std::vector<std::string> ids = missing();
  std::vector<std::string> to_compile;
  for (const std::string& id : ids)
    if (!fs::exists(folder_.submission_folder(id) / "compile.json")) to_compile.push_back(id);
  const RoundPlan made = plan_round(to_compile, ids, seconds_a_submission(), site_, cluster_.limits());
  json planned{{"schema", "warpgrade.round.v1"}, {"round", round},
               {"chain_begin", chain_begin},     {"plan", made.to_json()},
               {"names", name_beginning()},      {"memory_times", 1}};
  if (const std::string node = pinned_node(round, chain_begin); !node.empty()) planned["same_node"] = node;
  if (round > chain_begin) planned["more_rounds"] = more_rounds(round - 1);
  choose_nodes(planned);
  planned["memory_times"] = memory_times(round, planned);
  return planned;
}

json Rounds::plan(int round, int chain_begin) {
  const json planned = make_plan(round, chain_begin);
  for (const char* kind : kKinds) task_of(kind, planned);  // throws where the site gives too little
  aggregate_task();
  make_directories(folder_of(round) / "log");
  write_new_text(folder_of(round) / "plan.json", planned.dump(1) + "\n");
  if (const json& admitted = planned.at("admit"); !admitted.empty())
    events_.for_staff("node_admitted",
                      fmt::format("{}: left out by its tests or after a fault, and used all the same: {}",
                                  fmt::join(admitted.get<std::vector<std::string>>(), ", "),
                                  planned.contains("same_node") ? "--same-node names it"
                                                                : "Slurm has no other node for these tasks"),
                      {{"round", round}});
  return plan_file(round);
}

// With the memory and the time that the policy's limits ask for.
SiteTask Rounds::task_of(const char* kind, const json& planned) {
  const json run = folder_.read_run();
  const RoundPlan plan = RoundPlan::from_json(planned.at("plan"));
  const bool judges = std::string(kind) == "judge";
  const RoundWork work{policy_of(folder_, run).limits, run.at("backend"), run.at("cases").size(),
                       fullest(judges ? plan.judge : plan.compile)};
  SiteTask task = site_.task(kind);
  const Need need = judges ? need_of_judge(work) : need_of_compile(work);
  const double most_s = task.time.empty() ? cluster_.most_time_s(task.partition) : 0;
  task = with_need(std::move(task), need, kind, site_.file, most_s, planned.value("memory_times", 1));
  if (const std::string node = planned.value("same_node", ""); judges && !node.empty()) task.nodelist = node;
  if (const auto bad = planned.value("exclude", std::vector<std::string>()); judges && !bad.empty())
    task.exclude += fmt::format("{}{}", task.exclude.empty() ? "" : ",", fmt::join(bad, ","));
  return task;
}

// With the memory that reading all records of the class takes.
SiteTask Rounds::aggregate_task() const {
  const json run = folder_.read_run();
  const Need need = need_of_aggregate(run.at("submissions").size() * run.at("cases").size());
  return with_memory(site_.task("aggregate"), need, "aggregate", site_.file);
}

std::vector<std::string> Rounds::task_options(const SiteTask& task, int round,
                                              const std::string& output) const {
  std::vector<std::string> options{"--output=" + (folder_of(round) / "log" / output).string(),
                                   "--open-mode=append", "--chdir=" + folder_.root().string(), "--requeue"};
  for (std::string& option : task.sbatch_options()) options.push_back(std::move(option));
  return options;
}

std::vector<std::string> Rounds::array_options(const SiteTask& task, int round, const char* kind,
                                               const ArrayPart& part) const {
  std::vector<std::string> options =
      task_options(task, round, fmt::format("{}-{}_%a.out", kind, part.offset));
  options.push_back(fmt::format("--array=0-{}{}", part.count - 1,
                                task.at_once > 0 ? fmt::format("%{}", task.at_once) : ""));
  return options;
}

std::string Rounds::script_text(const char* kind) const {
  return site_.task(kind).script("batch-task \"$@\"", site_.shown_to_container(folder_.root()));
}

std::vector<std::string> Rounds::script_words(int round, const char* kind, std::size_t offset) const {
  return {(folder_of(round) / fmt::format("{}.sh", kind)).string(), kind, folder_.root().string(),
          std::to_string(round), std::to_string(offset)};
}

// Logs are there before their tasks start: Slurm holds a task whose log it cannot make, as on a full disk,
// and a file that is there can be opened all the same.
void Rounds::make_logs(int round, const char* kind, const ArrayPart& part) const {
  for (std::size_t task = 0; task < part.count; ++task)
    write_new_text(folder_of(round) / "log" / fmt::format("{}-{}_{}.out", kind, part.offset, task), "");
}

void Rounds::submit_arrays(int round, const char* kind, const json& planned,
                           const std::vector<std::string>& after, std::vector<std::string>& submitted,
                           json& ids) {
  const RoundPlan plan = RoundPlan::from_json(planned.at("plan"));
  const SiteTask task = task_of(kind, planned);
  ids = json::array();
  for (const ArrayPart& part : std::string(kind) == "judge" ? plan.judge_arrays : plan.compile_arrays) {
    throw_if_interrupted();
    std::vector<std::string> options = array_options(task, round, kind, part);
    make_logs(round, kind, part);
    if (!after.empty()) options.push_back(fmt::format("--dependency=afterany:{}", fmt::join(after, ":")));
    try {
      submitted.push_back(cluster_.submit(name_of(round, fmt::format("{}-{}", kind, part.offset)), options,
                                          script_words(round, kind, part.offset)));
    } catch (const SbatchRefusal& refusal) {
      throw UsageError(refusal_text(refusal.what(), task, kind, site_.file));
    }
    ids.push_back(submitted.back());
  }
}

// Compilers, judges behind them, the aggregator behind those, and a guard that does the aggregator's work
// when that is lost.
json Rounds::submit_all(int round, const json& planned, std::vector<std::string>& submitted) {
  json ids;
  submit_arrays(round, "compile", planned, {}, submitted, ids["compile"]);
  submit_arrays(round, "judge", planned, ids["compile"].get<std::vector<std::string>>(), submitted,
                ids["judge"]);
  std::vector<std::string> before = ids["judge"].get<std::vector<std::string>>();
  const SiteTask task = aggregate_task();
  for (const char* what : {"aggregate", "guard"}) {
    const std::string log = fmt::format("{}.out", what);
    write_new_text(folder_of(round) / "log" / log, "");
    std::vector<std::string> options = task_options(task, round, log);
    options.push_back(fmt::format("--dependency=afterany:{}", fmt::join(before, ":")));
    try {
      submitted.push_back(cluster_.submit(name_of(round, what), options, script_words(round, what, 0)));
    } catch (const SbatchRefusal& refusal) {
      throw UsageError(refusal_text(refusal.what(), task, "aggregate", site_.file));
    }
    ids[what] = submitted.back();
    before = {submitted.back()};
  }
  return ids;
}

// Half a round is none: what was submitted of it would judge without anybody who looks at the records.
void Rounds::withdraw(const std::vector<std::string>& submitted, const UsageError& why) {
  cluster_.cancel(submitted);
  const std::string run = folder_.root().string();
  throw UsageError("{}\n{}Correct the file and give it again: warpgrade batch {} --site {}", why.what(),
                   submitted.empty()
                       ? ""
                       : fmt::format("Nothing of this round runs: the {} job{} submitted before ({}) {} "
                                     "cancelled. ",
                                     submitted.size(), submitted.size() == 1 ? "" : "s",
                                     fmt::join(submitted, ", "), submitted.size() == 1 ? "is" : "are"),
                   run, site_.file);
}

// An sbatch that was ended with us may have entered its job: the next call finds it by its name.
std::string Rounds::entered_text(int round, const std::vector<std::string>& jobs) const {
  const std::string run = folder_.root().string();
  return fmt::format(
      "{} of the {} jobs of round {} are entered{}{}; `warpgrade resume {}` enters the others, `warpgrade "
      "cancel {}` ends those that are",
      jobs.size(), names_of(round).size(), round, jobs.empty() ? "" : ": ", fmt::join(jobs, ", "), run, run);
}

std::string Rounds::submit(int round) {
  const json planned = plan_file(round);
  const RoundPlan plan = plan_of(round);
  for (const char* kind : {"compile", "judge", "aggregate", "guard"})
    write_text(folder_of(round) / fmt::format("{}.sh", kind), script_text(kind));
  std::vector<std::string> submitted;
  json ids;
  try {
    ids = submit_all(round, planned, submitted);
  } catch (const Interrupted&) {
    say("\n{}\n", entered_text(round, submitted));
    throw;
  } catch (const DiskFull&) {
    throw;  // what was submitted is found again by its name
  } catch (const UsageError& why) {
    withdraw(submitted, why);
  }
  write_text(folder_of(round) / "submitted.json", ids.dump(1) + "\n");
  const std::string message =
      fmt::format("round {}: {} compile tasks, {} judge tasks in {} arrays", round, plan.compile.size(),
                  plan.judge.size(), plan.compile_arrays.size() + plan.judge_arrays.size());
  events_.progress("round_submitted", message, {{"round", round}});
  return message;
}

std::string Rounds::rehearse() {
  const int round = latest();
  if (round > 0 && !done(round))
    return fmt::format("round {} is on its way: `warpgrade status {}` shows it", round,
                       folder_.root().string());
  if (missing().empty()) return "every case has a verdict: nothing would be submitted";
  const json planned = make_plan(round + 1, round + 1);
  const RoundPlan plan = RoundPlan::from_json(planned.at("plan"));
  const TemporaryDirectory scratch("warpgrade-dry-run");
  std::string text = fmt::format("round {} would be submitted so; nothing is submitted now\n", round + 1);
  std::string latest_start;
  for (const char* kind : {"compile", "judge", "aggregate"}) {
    const bool is_array = std::string(kind) != "aggregate";
    const auto& parts = std::string(kind) == "judge" ? plan.judge_arrays : plan.compile_arrays;
    const std::size_t tasks = !is_array                      ? 1
                              : std::string(kind) == "judge" ? plan.judge.size()
                                                             : plan.compile.size();
    if (tasks == 0) continue;
    const SiteTask task = is_array ? task_of(kind, planned) : aggregate_task();
    std::vector<std::string> options = is_array ? array_options(task, round + 1, kind, parts.front())
                                                : task_options(task, round + 1, "aggregate.out");
    const fs::path script = scratch.path() / (std::string(kind) + ".sh");
    write_text(script, script_text(kind));
    const double limit_s = task.time.empty() ? 0 : time_s(task.time).value_or(0);
    text += fmt::format(
        "\n{}: {} task{}{}, {} each, {} at most each{}\n  sbatch --job-name={} {} {}\n", kind, tasks,
        tasks == 1 ? "" : "s",
        is_array ? fmt::format(" in {} array{}", parts.size(), parts.size() == 1 ? "" : "s") : "",
        task.memory.empty() ? "the cluster's usual memory" : "memory " + task.memory,
        limit_s > 0 ? fmt::format("{} minutes", minutes_text(limit_s)) : "no limit of time",
        limit_s > 0
            ? fmt::format(", {:.1f} hours of tasks at most", limit_s * static_cast<double>(tasks) / 3600)
            : "",
        name_of(round + 1, is_array ? fmt::format("{}-0", kind) : kind), words_of(options),
        words_of(script_words(round + 1, kind, 0)));
    const TestedJob tested = cluster_.test(options, {script.string()});
    if (!tested.taken) throw UsageError(refusal_text(tested.words, task, kind, site_.file));
    text += fmt::format("  {}\n", cluster_.nodes_text(task.partition));
    text += fmt::format("  Slurm takes it{}\n",
                        tested.starts.empty() ? "" : ", and the first task could start at " + tested.starts);
    latest_start = std::max(latest_start, tested.starts);
    text += fmt::format("  {}.sh:\n    ", kind);
    for (const char c : script_text(kind)) text += c == '\n' ? std::string("\n    ") : std::string(1, c);
    text.erase(text.find_last_not_of(' ') + 1);
  }
  return text +
         fmt::format(
             "\n{} submissions; judging them takes about {:.1f} hours of tasks by {}{}\n", missing().size(),
             seconds_a_submission() * static_cast<double>(missing().size()) / 3600,
             fs::exists(folder_.root() / "rounds") ? "what was measured in this run"
                                                   : "`submission_minutes` of the site",
             latest_start.empty() ? "" : ". The longest wait for a first task ends at " + latest_start);
}

}  // namespace warpgrade

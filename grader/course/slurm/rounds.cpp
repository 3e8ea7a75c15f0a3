#include "course/slurm/rounds.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <set>
#include <thread>

#include "base/error.h"
#include "base/files.h"
#include "base/hash.h"
#include "base/process.h"
#include "base/toolchain.h"
#include "base/waiting.h"
#include "course/batch/grade_run.h"
#include "course/batch/patience.h"
#include "course/batch/publish.h"

namespace warpgrade {
namespace fs = std::filesystem;
using nlohmann::json;

namespace {

std::string quoted(const std::string& text) {
  std::string result = "'";
  for (char c : text) result += c == '\'' ? "'\\''" : std::string(1, c);
  return result + "'";
}

json read_object(const fs::path& file) {
  json value = json::parse(read_text(file), nullptr, false);
  if (!value.is_object())
    throw UsageError("{} is damaged: expected a JSON object; move it away and run the same command again",
                     file.string());
  return value;
}

}  // namespace

RunLock::RunLock(const RunFolder& folder) {
  const fs::path path = folder.root() / "batch.lock";
  file_ = FileDescriptor(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
  if (!file_) throw UsageError("cannot open {}: {}", path.string(), std::strerror(errno));
  lock_with_notice(file_.get(), path, "the run " + folder.root().string());
}

Rounds::Rounds(const RunFolder& folder, Site site, EventLog& events)
    : folder_(fs::absolute(folder.root()).lexically_normal()),  // tasks start elsewhere
      site_(std::move(site)),
      events_(events),
      cluster_(site_, [this](const std::string& why) { events_.infrastructure("controller_silent", why); }) {}

fs::path Rounds::folder_of(int round) const {
  return folder_.root() / "rounds" / std::to_string(round);
}

int Rounds::latest() const {
  int round = 0;
  while (fs::exists(folder_of(round + 1) / "plan.json")) ++round;
  return round;
}

bool Rounds::done(int round) const {
  return fs::exists(folder_of(round) / "done.json");
}

RoundPlan Rounds::plan_of(int round) const {
  return RoundPlan::from_json(read_object(folder_of(round) / "plan.json").at("plan"));
}

// The run's own, so that a job can be found again by its name alone.
std::string Rounds::name_of(int round, const std::string& what) const {
  const json run = folder_.read_run();
  const std::string id = sha256(identity_of(folder_.root()) + run.at("seed_commitment").get<std::string>());
  return fmt::format("wg-{}-{}-{}", id.substr(0, 10), round, what);
}

std::vector<std::string> Rounds::missing() const {
  const json run = folder_.read_run();
  std::vector<std::string> ids;
  for (const json& submission : run.at("submissions")) {
    const std::string id = submission.at("id");
    const bool complete = std::all_of(run.at("cases").begin(), run.at("cases").end(), [&](const json& spec) {
      return folder_.has_record(id, spec.at("id"));
    });
    if (!complete) ids.push_back(id);
  }
  return ids;
}

// Nodes whose GPU did not answer, or was of another model.
std::vector<std::string> Rounds::bad_nodes() const {
  std::set<std::string> nodes;
  for (const json& event : read_events(folder_)) {
    const std::string what = event.value("event", "");
    if ((what == "gpu_wedged" || what == "wrong_gpu") && event.contains("node"))
      nodes.insert(event["node"].get<std::string>());
  }
  return {nodes.begin(), nodes.end()};
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

json Rounds::plan(int round, int chain_begin) {
  const std::vector<std::string> ids = missing();
  std::vector<std::string> to_compile;
  for (const std::string& id : ids)
    if (!fs::exists(folder_.submission_folder(id) / "compile.json")) to_compile.push_back(id);
  const RoundPlan made = plan_round(to_compile, ids, seconds_a_submission(), site_, cluster_.limits());
  const json planned{{"schema", "warpgrade.round.v1"},
                     {"round", round},
                     {"chain_begin", chain_begin},
                     {"plan", made.to_json()},
                     {"exclude", bad_nodes()}};
  make_directories(folder_of(round) / "log");
  write_new_text(folder_of(round) / "plan.json", planned.dump(1) + "\n");
  return read_object(folder_of(round) / "plan.json");
}

std::vector<std::string> Rounds::task_options(const SiteTask& task, int round,
                                              const std::string& output) const {
  std::vector<std::string> options{"--output=" + (folder_of(round) / "log" / output).string(),
                                   "--open-mode=append", "--chdir=" + folder_.root().string(), "--requeue",
                                   fmt::format("--cpus-per-task={}", task.cpus)};
  const std::pair<const char*, const std::string&> given[] = {
      {"--partition=", task.partition}, {"--account=", task.account},       {"--qos=", task.qos},
      {"--gres=", task.gres},           {"--constraint=", task.constraint}, {"--time=", task.time},
      {"--mem=", task.memory}};
  for (const auto& [name, value] : given)
    if (!value.empty()) options.push_back(name + value);
  options.insert(options.end(), task.options.begin(), task.options.end());
  return options;
}

std::vector<std::string> Rounds::array_options(const SiteTask& task, int round, const char* kind,
                                               const ArrayPart& part) const {
  std::vector<std::string> options = task_options(task, round, fmt::format("{}-%A_%a.out", kind));
  options.push_back(fmt::format("--array=0-{}{}", part.count - 1,
                                task.at_once > 0 ? fmt::format("%{}", task.at_once) : ""));
  if (std::string(kind) == "judge") {
    const json planned = read_object(folder_of(round) / "plan.json");
    if (!planned.at("exclude").empty())
      options.push_back(
          fmt::format("--exclude={}", fmt::join(planned["exclude"].get<std::vector<std::string>>(), ",")));
  }
  return options;
}

std::vector<std::string> Rounds::submit_arrays(int round, const char* kind,
                                               const std::vector<ArrayPart>& parts, const SiteTask& task,
                                               const std::vector<std::string>& after) {
  std::vector<std::string> ids;
  for (const ArrayPart& part : parts) {
    throw_if_interrupted();
    std::vector<std::string> options = array_options(task, round, kind, part);
    if (!after.empty()) options.push_back(fmt::format("--dependency=afterany:{}", fmt::join(after, ":")));
    ids.push_back(cluster_.submit(name_of(round, fmt::format("{}-{}", kind, part.offset)), options,
                                  {(folder_of(round) / "task.sh").string(), kind, folder_.root().string(),
                                   std::to_string(round), std::to_string(part.offset)}));
  }
  return ids;
}

// Compilers, judges behind them, the aggregator behind those, and a guard that does the aggregator's work
// when that is lost.
std::string Rounds::submit(int round) {
  const RoundPlan plan = plan_of(round);
  const fs::path script = folder_of(round) / "task.sh";
  write_text(script, fmt::format("#!/bin/sh\nexec {} batch-task \"$@\"\n",
                                 quoted((program_directory() / "warpgrade").string())));
  const auto compile = submit_arrays(round, "compile", plan.compile_arrays, site_.compile, {});
  const auto judge = submit_arrays(round, "judge", plan.judge_arrays, site_.judge, compile);
  std::vector<std::string> before = judge;
  std::vector<std::string> aggregators;
  for (const char* what : {"aggregate", "guard"}) {
    std::vector<std::string> options = task_options(site_.aggregate, round, fmt::format("{}-%j.out", what));
    options.push_back(fmt::format("--dependency=afterany:{}", fmt::join(before, ":")));
    aggregators.push_back(
        cluster_.submit(name_of(round, what), options,
                        {script.string(), what, folder_.root().string(), std::to_string(round), "0"}));
    before = {aggregators.back()};
  }
  write_text(
      folder_of(round) / "submitted.json",
      json{{"compile", compile}, {"judge", judge}, {"aggregate", aggregators[0]}, {"guard", aggregators[1]}}
              .dump(1) +
          "\n");
  const std::string message =
      fmt::format("round {}: {} compile tasks, {} judge tasks in {} arrays", round, plan.compile.size(),
                  plan.judge.size(), plan.compile_arrays.size() + plan.judge_arrays.size());
  events_.progress("round_submitted", message, {{"round", round}});
  return message;
}

std::vector<std::string> Rounds::live_jobs(int round) {
  std::vector<std::string> live;
  const RoundPlan plan = plan_of(round);
  std::vector<std::string> names{name_of(round, "aggregate"), name_of(round, "guard")};
  for (const ArrayPart& part : plan.compile_arrays)
    names.push_back(name_of(round, fmt::format("compile-{}", part.offset)));
  for (const ArrayPart& part : plan.judge_arrays)
    names.push_back(name_of(round, fmt::format("judge-{}", part.offset)));
  return cluster_.jobs(fmt::format("{}", fmt::join(names, ",")), true);
}

std::string Rounds::advance() {
  const RunLock lock(folder_);
  const int round = latest();
  if (round > 0 && !done(round)) {
    if (!fs::exists(folder_of(round) / "submitted.json")) return submit(round);
    if (const auto live = live_jobs(round); !live.empty())
      return fmt::format("round {} is on its way: {} jobs wait or run; `warpgrade status` shows them", round,
                         live.size());
    return aggregate(round, false);
  }
  if (missing().empty()) return finish(round, {});
  plan(round + 1, round + 1);
  return submit(round + 1);
}

std::string Rounds::aggregate(int round, bool expected) {
  if (done(round)) return fmt::format("round {} is done", round);
  if (!expected)
    events_.infrastructure("aggregator_lost", "the round's tasks have ended and nobody had looked at them",
                           {{"round", round}});
  log_lost_tasks(round);
  log_unended_tasks(round);
  const std::vector<std::string> left = missing();
  const int begun = read_object(folder_of(round) / "plan.json").at("chain_begin");
  if (left.empty() || round - begun + 1 >= site_.rounds) return finish(round, left);
  for (const std::string& id : left)
    events_.infrastructure("requeued", "cases without a verdict go into the next round",
                           {{"submission", id}, {"round", round}});
  plan(round + 1, begun);
  const std::string message = submit(round + 1);
  write_text(folder_of(round) / "done.json", json{{"left", left}}.dump(1) + "\n");
  return message;
}

std::string Rounds::finish(int round, const std::vector<std::string>& left) {
  for (const std::string& id : left)
    events_.infrastructure(
        "gave_up",
        fmt::format(
            "{} rounds left cases without a verdict; look at the log, then run the same command again",
            site_.rounds),
        {{"submission", id}, {"round", round}});
  with_patience(events_, true, [&] {
    note_device();
    folder_.collect();
    score_run(folder_, std::nullopt);
  });
  const std::string published = publish(folder_, events_);
  with_patience(events_, true, [&] {
    if (round > 0) write_text(folder_of(round) / "done.json", json{{"left", left}}.dump(1) + "\n");
  });
  events_.progress("scored", fmt::format("{} submissions have cases without a verdict", left.size()));
  with_patience(events_, true, [&] { collect_events(folder_); });
  return fmt::format("{}\n{}",
                     left.empty() ? "every case has a verdict; scores.json is written"
                                  : fmt::format("{} submissions have cases without a verdict", left.size()),
                     published);
}

// The submit host may have had no GPU: what the first judge found is the run's.
void Rounds::note_device() const {
  const fs::path claim = folder_.root() / "device.json";
  json run = folder_.read_run();
  if (!run.value("device", json::object()).empty() || !fs::exists(claim)) return;
  run["device"] = read_object(claim);
  folder_.write_run(run);
}

// What Slurm says of tasks that did not simply end.
void Rounds::log_lost_tasks(int round) {
  static const std::map<std::string, const char*> kEvents{
      {"NODE_FAIL", "node_lost"},         {"PREEMPTED", "preempted"}, {"TIMEOUT", "task_timeout"},
      {"OUT_OF_MEMORY", "out_of_memory"}, {"FAILED", "task_lost"},    {"CANCELLED", "task_lost"},
      {"BOOT_FAIL", "node_lost"},         {"REQUEUED", "preempted"}};
  const fs::path file = folder_of(round) / "submitted.json";
  if (!fs::exists(file)) return;
  const json submitted = read_object(file);
  std::vector<std::string> jobs;
  for (const char* kind : {"compile", "judge"})
    for (const json& id : submitted.at(kind)) jobs.push_back(id);
  std::map<std::string, TaskState> states = cluster_.states(jobs);
  // Accounting may lag behind the controller, which has ended these tasks.
  static const std::set<std::string> kUnended{"PENDING", "RUNNING", "COMPLETING", "REQUEUED"};
  const RoundPlan plan = plan_of(round);
  const std::size_t tasks = plan.compile.size() + plan.judge.size();
  const auto unended = [&] {
    if (cluster_.limits().accounting && states.size() < tasks) return true;
    return std::any_of(states.begin(), states.end(), [](const auto& entry) {
      return entry.first.find('#') == std::string::npos && kUnended.contains(entry.second.state);
    });
  };
  for (int tries = 0; tries < 30 && unended(); ++tries) {
    throw_if_interrupted();
    std::this_thread::sleep_for(std::chrono::seconds(1));
    states = cluster_.states(jobs);
  }
  for (const auto& [task, state] : states) {
    const auto event = kEvents.find(state.state);
    const json facts{{"node", state.node}, {"job", task}, {"round", round}};
    if (event != kEvents.end())
      events_.infrastructure(event->second, fmt::format("Slurm: {} {}", state.state, state.exit_code), facts);
    if (state.restarts > 0 && task.find('#') == std::string::npos)
      events_.infrastructure(
          "requeued",
          fmt::format("Slurm started the task again {} times: its node was lost or it was preempted",
                      state.restarts),
          facts);
  }
}

// What the tasks say themselves: who began and did not end was lost, whatever Slurm knows of it.
void Rounds::log_unended_tasks(int round) {
  std::map<std::string, json> begun;
  for (const json& event : read_events(folder_)) {
    if (event.value("round", 0) != round || !event.contains("process")) continue;
    const std::string process = event["process"];
    if (event.value("event", "") == "task_started") begun[process] = event;
    if (event.value("event", "") == "task_ended") begun.erase(process);
  }
  for (const auto& [process, event] : begun) {
    const std::string kind = event.value("message", "");
    if (kind == "guard" || process == events_.common().value("process", "")) continue;
    events_.infrastructure(
        kind == "aggregate" ? "aggregator_lost" : "task_lost",
        fmt::format("the {} task began and never ended", kind),
        {{"node", event.value("node", "")}, {"job", event.value("job", "")}, {"round", round}});
  }
}

std::map<std::string, int> Rounds::states(int round) {
  std::map<std::string, int> count;
  const fs::path file = folder_of(round) / "submitted.json";
  if (!fs::exists(file)) return count;
  const json submitted = read_object(file);
  for (const char* kind : {"compile", "judge"}) {
    std::vector<std::string> jobs;
    for (const json& id : submitted.at(kind)) jobs.push_back(id);
    for (const auto& [task, state] : cluster_.states(jobs))
      if (task.find('#') == std::string::npos) ++count[fmt::format("{} {}", kind, state.state)];
  }
  return count;
}

std::string Rounds::cancel() {
  const RunLock lock(folder_);
  const int round = latest();
  if (round == 0 || done(round)) return "nothing is under way";
  // First those behind, which would go on with a next round.
  const auto live = live_jobs(round);
  cluster_.cancel(
      cluster_.jobs(fmt::format("{},{}", name_of(round, "guard"), name_of(round, "aggregate")), true));
  cluster_.cancel(live);
  write_text(folder_of(round) / "done.json", json{{"left", missing()}, {"cancelled", true}}.dump(1) + "\n");
  events_.progress("cancelled", fmt::format("{} jobs were cancelled", live.size()), {{"round", round}});
  return fmt::format("{} jobs cancelled; what was recorded is kept, `warpgrade resume` goes on from there",
                     live.size());
}

}  // namespace warpgrade

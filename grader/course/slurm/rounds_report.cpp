// What became of a round's tasks: for the log, and for who asks.
#include <algorithm>
#include <chrono>
#include <set>
#include <thread>

#include "base/error.h"
#include "base/files.h"
#include "base/process.h"
#include "course/slurm/rounds.h"

namespace warpgrade {
namespace fs = std::filesystem;
using nlohmann::json;

// "12_3" -> what that task is about.
std::map<std::string, TaskPlace> Rounds::places(int round) const {
  std::map<std::string, TaskPlace> places;
  const fs::path file = folder_of(round) / "submitted.json", logs = folder_of(round) / "log";
  if (!fs::exists(file)) return places;
  const json submitted = read_object(file);
  const RoundPlan plan = plan_of(round);
  for (const std::string kind : {"compile", "judge"}) {
    const auto& parts = kind == "judge" ? plan.judge_arrays : plan.compile_arrays;
    const auto& tasks = kind == "judge" ? plan.judge : plan.compile;
    for (std::size_t i = 0; i < parts.size() && i < submitted.at(kind).size(); ++i) {
      const std::string array = submitted[kind][i];
      for (std::size_t task = 0; task < parts[i].count; ++task) {
        const std::string name = fmt::format("{}_{}", array, task);
        places[name] = {kind, tasks.at(parts[i].offset + task),
                        (logs / fmt::format("{}-{}_{}.out", kind, parts[i].offset, task)).string()};
      }
    }
  }
  for (const std::string kind : {"aggregate", "guard"})
    places[submitted.at(kind).get<std::string>()] = {kind, {}, (logs / (kind + ".out")).string()};
  return places;
}

// Whom it cost something: what of the task has no verdict, and which case is first among it. Cases are judged
// in their order, so that is the one at which the task ended.
json Rounds::facts_of_lost(const std::string& task, const TaskState& state, int round) const {
  json facts{{"node", state.node}, {"job", task}, {"round", round}, {"submissions", json::array()}};
  const auto all = places(round);
  const auto place = all.find(task.substr(0, task.find('#')));
  if (place == all.end()) return facts;
  facts["task"] = place->second.kind;
  facts["log"] = place->second.log;
  const json run = folder_.read_run();
  for (const std::string& id : place->second.submissions) {
    if (place->second.kind == "compile") {
      if (!fs::exists(folder_.submission_folder(id) / "compile.json")) facts["submissions"].push_back(id);
      continue;
    }
    for (const json& spec : run.at("cases")) {
      if (folder_.has_record(id, spec.at("id"))) continue;
      if (!facts.contains("case")) facts["case"] = spec.at("id");
      facts["submissions"].push_back(id);
      break;
    }
  }
  if (!facts["submissions"].empty()) facts["submission"] = facts["submissions"][0];
  return facts;
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
    if (event == kEvents.end() && state.restarts == 0) continue;
    const json facts = facts_of_lost(task, state, round);
    const std::string whose = facts.at("submissions").empty()
                                  ? "its submissions have verdicts"
                                  : fmt::format("without a verdict: {}", facts.at("submissions").dump());
    if (event != kEvents.end())
      events_.infrastructure(event->second,
                             fmt::format("Slurm: {} {}; {}", state.state, state.exit_code, whose), facts);
    if (state.restarts > 0 && task.find('#') == std::string::npos)
      events_.infrastructure(
          "requeued",
          fmt::format("Slurm started the task again {} times: its node was lost or it was preempted; {}",
                      state.restarts, whose),
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

// Asks the controller once for what waits and runs, and for what became of the rest.
RoundReport Rounds::report(int round) {
  RoundReport report;
  report.round = round;
  if (round == 0) return report;
  report.done = done(round);
  report.logs = (folder_of(round) / "log").string();
  const auto all = places(round);
  if (all.empty() && !report.done) {
    report.problem =
        entered_text(round, cluster_.jobs(fmt::format("{}", fmt::join(names_of(round), ",")), false));
    return report;
  }
  std::map<std::string, ReportedTask> tasks;
  const auto add = [&](const std::string& name, ReportedTask task) {
    if (const auto place = all.find(name); place != all.end()) {
      task.task = name;
      task.kind = place->second.kind;
      task.log = place->second.log;
      task.submissions = place->second.submissions;
      tasks.emplace(name, std::move(task));
    }
  };
  bool looked_after = false;
  for (const QueuedTask& queued : cluster_.queue(names_of(round))) {
    add(queued.task,
        {"", "", queued.state, queued.node, queued.reason, queued.starts, "", {}, queued.elapsed_s});
    const auto place = all.find(queued.task);
    if (place != all.end())
      looked_after = looked_after || place->second.kind == "aggregate" || place->second.kind == "guard";
  }
  std::set<std::string> jobs;
  for (const auto& [name, place] : all)
    if (!tasks.contains(name)) jobs.insert(name.substr(0, name.find('_')));
  for (const auto& [name, state] : cluster_.states({jobs.begin(), jobs.end()}))
    add(name, {"", "", state.state, state.node, "", "", "", {}, state.elapsed_s});
  for (auto& [name, task] : tasks) report.tasks.push_back(std::move(task));
  if (!report.done) report.remaining = remaining_of(report.tasks, seconds_a_submission());
  if (!report.done && !looked_after)
    report.problem = fmt::format(
        "its aggregator and the guard are gone, so nobody goes on when its tasks end: `warpgrade resume {}` "
        "does",
        folder_.root().string());
  return report;
}

}  // namespace warpgrade

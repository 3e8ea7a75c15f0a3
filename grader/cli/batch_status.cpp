// `warpgrade status` and `warpgrade cancel`.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <set>
#include <thread>

#include "base/error.h"
#include "base/process.h"
#include "base/say.h"
#include "base/terminal.h"
#include "cli/batch_commands.h"
#include "course/batch/node_tests.h"
#include "course/batch/nodes.h"
#include "course/ingest/times.h"
#include "course/record/events.h"
#include "course/slurm/reasons.h"
#include "course/slurm/rounds.h"
#include "course/slurm/units.h"

namespace warpgrade {
namespace fs = std::filesystem;
using nlohmann::json;

namespace {

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
RoundReport report_of(const RunFolder& folder, const json& batch) {
  if (batch.at("executor") != "slurm") return {};
  EventLog events(folder.root());
  Site site = Site::from_json(batch.at("site"));
  site.controller_patience_s = 0;
  Rounds rounds(folder, site, events);
  const int round = rounds.latest();
  try {
    return rounds.report(round);
  } catch (const UsageError& error) {
    RoundReport report;
    report.round = round;
    report.done = rounds.done(round);
    report.logs = rounds.logs_of(round);
    report.problem = error.what();
    return report;
  }
}

std::string names(const std::vector<std::string>& submissions) {
  constexpr std::size_t kShown = 3;
  std::string text;
  for (std::size_t i = 0; i < submissions.size() && i < kShown; ++i)
    text += (i > 0 ? ", " : "") + submissions[i];
  if (submissions.size() > kShown) text += fmt::format(" and {} more", submissions.size() - kShown);
  return text;
}

void print_running(const RoundReport& report) {
  constexpr int kShown = 20;
  int shown = 0, running = 0;
  for (const ReportedTask& task : report.tasks) {
    if (task.state != "RUNNING" && task.state != "COMPLETING") continue;
    if (++running > kShown) continue;
    if (shown++ == 0) tell("  running now\n");
    tell("    {:<10} {:<10} on {:<12} {}\n", task.kind, task.task, task.node, names(task.submissions));
  }
  if (running > kShown) tell("    and {} more\n", running - kShown);
}

void print_waiting(const RoundReport& report) {
  std::map<std::string, std::vector<const ReportedTask*>> reasons;
  for (const ReportedTask& task : report.tasks)
    if (task.state == "PENDING" && !task.reason.empty() && task.reason != "None")
      reasons[task.reason].push_back(&task);
  for (const auto& [reason, tasks] : reasons) {
    const std::string cure = cure_of(reason);
    std::vector<std::string> whose;
    for (const ReportedTask* task : tasks)
      whose.insert(whose.end(), task->submissions.begin(), task->submissions.end());
    tell("  {} wait{}: {}{}{}{}\n", tasks.size(), tasks.size() == 1 ? "s" : "", reason,
         cure.empty() ? "" : " -> ", cure, whose.empty() ? "" : "; for " + names(whose));
  }
}

void print_remaining(const RoundReport& report) {
  if (!report.remaining) return;
  const auto& [s, at_once] = *report.remaining;
  const auto end = std::chrono::system_clock::now() + std::chrono::seconds(static_cast<long>(s));
  const std::string minutes = fmt::format("{} minute{}", minutes_text(s), s <= 60 ? "" : "s");
  if (at_once == 0)
    tell("  about {} of judging are left for one task at a time; none runs now\n", minutes);
  else
    tell("  about {} of judging are left with {} task{} at a time: done at about {} UTC\n", minutes, at_once,
         at_once == 1 ? "" : "s", format_time(std::chrono::system_clock::to_time_t(end)).substr(11, 5));
}

void print_round(const RoundReport& report) {
  if (report.round == 0) return;
  tell("\nround {}{}\n", report.round, report.done ? ", ended" : "");
  std::map<std::string, int> states;
  for (const ReportedTask& task : report.tasks)
    if (task.kind != "guard") ++states[fmt::format("{} {}", task.kind, task.state)];
  for (const auto& [state, tasks] : states) tell("  {:<24} {:>6}\n", state, tasks);
  print_running(report);
  if (!report.done) print_waiting(report);
  print_remaining(report);
  if (!report.problem.empty()) tell("  {}\n", report.problem);
  tell("  logs of the tasks: {}\n", report.logs);
}

void print_nodes(const RunFolder& folder, const json& run) {
  const std::string text = node_tests_text(folder, judging_nodes(folder, run));
  if (!text.empty()) tell("\n{}", text);
}

json nodes_json(const RunFolder& folder) {
  json nodes = json::array();
  const std::vector<NodeTest> tests = read_node_tests(folder);
  for (const NodeTest& test : tests) {
    json node = test.to_json();
    if (const auto why = why_left_out(tests, test.node)) node["left_out"] = *why;
    nodes.push_back(std::move(node));
  }
  return nodes;
}

// Events that ask for nothing any more: their submissions have all verdicts, or, where they name none, the
// rounds are over.
class Trouble {
 public:
  Trouble(const RunFolder& folder, const json& run, bool is_over) {
    std::set<std::string> unfinished;
    for (const json& submission : run.at("submissions")) {
      const std::string id = submission.at("id");
      for (const json& spec : run.at("cases"))
        if (!folder.has_record(id, spec.at("id"))) unfinished.insert(id);
    }
    for (const json& event : read_events(folder)) {
      if (event.value("kind", "") == "progress") continue;
      const std::string whose = event.value("submission", "");
      const bool asks = event.value("kind", "") == "staff";
      const bool has_ended = !asks && (whose.empty() ? is_over : !unfinished.contains(whose));
      (has_ended ? ended_ : open_).push_back(event);
    }
  }
  const std::vector<json>& open() const { return open_; }
  const std::vector<json>& ended() const { return ended_; }

 private:
  std::vector<json> open_, ended_;
};

std::map<std::string, int> count_of(const std::vector<json>& events) {
  std::map<std::string, int> count;
  for (const json& event : events) ++count[event.value("event", "")];
  return count;
}

void print_event(const json& event) {
  std::string whose = event.value("submission", "");
  if (event.contains("case")) whose += " " + event.value("case", "");
  tell("  {} {} {} {}{}{}\n", event.value("at", ""), event.value("node", ""), event.value("event", ""), whose,
       whose.empty() ? "" : ": ", event.value("message", "").substr(0, 160));
  if (event.contains("log")) tell("      log: {}\n", event.value("log", ""));
}

void print_trouble(const Trouble& trouble) {
  constexpr std::size_t kShown = 5;
  if (!trouble.open().empty()) tell("\nevents of the machines and for the staff\n");
  for (const auto& [event, times] : count_of(trouble.open())) tell("  {:<24} {:>6}\n", event, times);
  for (std::size_t i = trouble.open().size() - std::min(kShown, trouble.open().size());
       i < trouble.open().size(); ++i)
    print_event(trouble.open()[i]);
  if (trouble.ended().empty()) return;
  std::string text;
  for (const auto& [event, times] : count_of(trouble.ended()))
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", times, event);
  tell("\nearlier trouble that is over: {}\n", text);
}

// One screen; true when nothing is left to do.
bool print_status(const fs::path& path) {
  const RunFolder folder(path);
  const json run = folder.read_run(), batch = read_batch(folder);
  const json count = count_records(folder, run);
  const size_t submissions = run.at("submissions").size(), all = submissions * run.at("cases").size();
  const size_t recorded = count["recorded"];
  tell("{}  lab {}  {}  {}\n\n", run.at("run").get<std::string>(), run.at("lab").get<std::string>(),
       run.at("backend").get<std::string>(), batch.at("executor").get<std::string>());
  tell("cases        [{}] {}/{}\n", bar(recorded, all), recorded, all);
  const size_t finished = count["finished"];
  tell("submissions  [{}] {}/{}\n", bar(finished, submissions), finished, submissions);
  if (count["faults"] > 0) tell("judge faults waiting for another try: {}\n", count["faults"].get<size_t>());
  print_round(report_of(folder, batch));
  print_nodes(folder, run);
  if (batch.contains("watch")) tell("watching {}\n", batch.at("source").get<std::string>());
  print_trouble(Trouble(folder, run, recorded == all));
  return recorded == all;
}

json round_json(const RoundReport& report) {
  if (report.round == 0) return nullptr;
  json tasks = json::array();
  for (const ReportedTask& task : report.tasks)
    tasks.push_back({{"task", task.task},
                     {"kind", task.kind},
                     {"state", task.state},
                     {"node", task.node},
                     {"reason", task.reason},
                     {"cure", task.state == "PENDING" ? cure_of(task.reason) : ""},
                     {"starts", task.starts},
                     {"submissions", task.submissions},
                     {"elapsed_s", task.elapsed_s},
                     {"log", task.log}});
  json left;
  if (report.remaining) left = {{"seconds", report.remaining->s}, {"at_once", report.remaining->at_once}};
  return {{"round", report.round},     {"done", report.done}, {"remaining", left},
          {"problem", report.problem}, {"logs", report.logs}, {"tasks", tasks}};
}

// The same for programs.
void print_status_json(const fs::path& path) {
  const RunFolder folder(path);
  const json run = folder.read_run(), batch = read_batch(folder), count = count_records(folder, run);
  const size_t submissions = run.at("submissions").size(), all = submissions * run.at("cases").size();
  const Trouble trouble(folder, run, count["recorded"] == all);
  json events = json::object();
  for (const auto* some : {&trouble.open(), &trouble.ended()})
    for (const auto& [event, times] : count_of(*some)) events[event] = events.value(event, 0) + times;
  tell("{}\n", json{{"schema", "warpgrade.status.v1"},
                    {"run", run.at("run")},
                    {"lab", run.at("lab")},
                    {"backend", run.at("backend")},
                    {"executor", batch.at("executor")},
                    {"cases", {{"recorded", count["recorded"]}, {"all", all}, {"faults", count["faults"]}}},
                    {"submissions", {{"finished", count["finished"]}, {"all", submissions}}},
                    {"done", count["recorded"] == all},
                    {"round", round_json(report_of(folder, batch))},
                    {"nodes", nodes_json(folder)},
                    {"trouble", trouble.open()},
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
    if (takes_escape_codes(STDOUT_FILENO)) tell("\033[H\033[2J");
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
  tell("{}\n", Rounds(folder, Site::from_json(batch.at("site")), events).cancel());
  return kExitGraded;
}

}  // namespace

void add_status_commands(CLI::App& app, int& code) {
  const auto run = std::make_shared<fs::path>();
  add_run_command(app, *run, "cancel", "end a batch's jobs; what was recorded is kept")
      ->callback([run, &code] { code = cancel(*run); });
  const auto every_s = std::make_shared<double>(0);
  CLI::App* command = add_run_command(app, *run, "status", "how far a batch is, and what happened to it");
  command
      ->add_option("--watch", *every_s,
                   "show it again after every this many seconds, until the batch is done")
      ->check(CLI::PositiveNumber);
  const auto as_json = std::make_shared<bool>(false);
  command->add_flag("--json", *as_json, "for programs");
  command->callback([run, every_s, as_json, &code] { code = status(*run, *every_s, *as_json); });
}

}  // namespace warpgrade

// `warpgrade status` and `warpgrade cancel`.
#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <map>
#include <memory>
#include <thread>

#include "base/error.h"
#include "base/process.h"
#include "base/terminal.h"
#include "cli/batch_commands.h"
#include "course/record/events.h"
#include "course/slurm/rounds.h"

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
    if (takes_escape_codes(STDOUT_FILENO)) fmt::print("\033[H\033[2J");
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

#include "course/slurm/cluster.h"

#include <fmt/ranges.h>
#include <pwd.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <sstream>
#include <thread>

#include "base/error.h"
#include "base/process.h"
#include "base/waiting.h"

namespace warpgrade {
namespace {

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, separator);) parts.push_back(part);
  return parts;
}

bool is_controller_unreachable(const ProcessResult& result) {
  const std::string& words = result.standard_error;
  for (const char* sign : {"Unable to contact slurm controller", "Connection refused", "Socket timed out",
                           "backup controller", "Unable to contact", "Connection timed out",
                           "slurm_persist_conn_open", "Zero Bytes were transmitted"}) {
    if (words.find(sign) != std::string::npos) return true;
  }
  return result.timed_out;
}

// "PREEMPTED by 0" and "CANCELLED by 1000" carry more than the state.
std::string first_word(const std::string& text) {
  return text.substr(0, text.find(' '));
}

std::string task_name(const std::string& job, const std::string& task) {
  return task.empty() ? job : job + "_" + task;
}

}  // namespace

Cluster::Cluster(const Site& site, std::function<void(const std::string&)> silent)
    : patience_s_(site.controller_patience_s), silent_(std::move(silent)) {
  for (const SiteTask* task : {&site.compile, &site.judge, &site.aggregate}) {
    if (!task->account.empty()) accounts_.insert(task->account);
    qos_.insert(task->qos.empty() ? "normal" : task->qos);
  }
}

std::string Cluster::ask(const std::vector<std::string>& command, bool may_fail) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(patience_s_);
  const SlowNote note("waiting for Slurm's controller: it has not answered `" + command[0] + "` yet");
  for (bool reported = false;;) {
    ProcessOptions options;
    options.command = command;
    options.timeout = std::chrono::seconds(120);
    options.output_bytes = 64 << 20;
    const ProcessResult result = run_process(options);
    if (result.ok()) return result.standard_output;
    if (result.exit_code == 127)
      throw UsageError("{} was not found: --executor slurm needs Slurm's commands in PATH", command[0]);
    if (!is_controller_unreachable(result)) {
      if (may_fail) return result.standard_output;
      throw UsageError("{}: {} ({})", command[0], result.standard_error.substr(0, 500), result.describe());
    }
    if (!reported && silent_) silent_(result.standard_error.substr(0, 200));
    reported = true;
    if (std::chrono::steady_clock::now() > deadline)
      throw UsageError("Slurm's controller does not answer: {}; run the same command again when it does",
                       result.standard_error.substr(0, 200));
    for (int i = 0; i < 10; ++i) {
      throw_if_interrupted();
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
  }
}

ClusterLimits parse_config(const std::string& text) {
  ClusterLimits limits;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    const std::size_t equals = line.find('=');
    if (equals == std::string::npos) continue;
    const std::string key = first_word(line);
    std::string value = line.substr(equals + 1);
    value.erase(0, value.find_first_not_of(' '));
    if (key == "MaxArraySize") limits.max_array = std::strtoul(value.c_str(), nullptr, 10);
    if (key == "MaxJobCount") limits.max_submit = std::strtoul(value.c_str(), nullptr, 10);
    if (key == "AccountingStorageType") limits.accounting = value.find("slurmdbd") != std::string::npos;
  }
  // An array has indices up to MaxArraySize - 1.
  if (limits.max_array > 1) --limits.max_array;
  return limits;
}

void lower_to_submit_limits(ClusterLimits& limits, const std::string& text) {
  for (const std::string& line : split(text, '\n')) {
    for (const std::string& field : split(line, '|')) {
      const std::size_t value = std::strtoul(field.c_str(), nullptr, 10);
      if (value > 0) limits.max_submit = std::min(limits.max_submit, value);
    }
  }
}

ClusterLimits Cluster::limits() {
  if (limits_) return *limits_;
  ClusterLimits limits = parse_config(ask({"scontrol", "show", "config"}));
  if (limits.accounting) {
    const passwd* user = getpwuid(getuid());  // not $USER: cron has none
    std::vector<std::string> associations{
        "sacctmgr", "-nP", "show", "assoc",
        "user=" + (user != nullptr ? user->pw_name : std::to_string(getuid()))};
    if (!accounts_.empty()) associations.push_back(fmt::format("account={}", fmt::join(accounts_, ",")));
    associations.emplace_back("format=MaxSubmitJobs,GrpSubmitJobs");
    lower_to_submit_limits(limits, ask(associations, true));
    for (const std::string& qos : qos_)
      lower_to_submit_limits(
          limits,
          ask({"sacctmgr", "-nP", "show", "qos", qos, "format=MaxSubmitJobsPerUser,GrpSubmitJobs"}, true));
  }
  limits_ = limits;
  return limits;
}

std::vector<std::string> Cluster::jobs(const std::string& name, bool live_only) {
  std::vector<std::string> command{"squeue", "-h", "--name=" + name, "-o", "%F"};
  if (!live_only) command.push_back("--states=all");
  std::vector<std::string> ids;
  for (const std::string& line : split(ask(command), '\n')) {
    if (!line.empty() && (ids.empty() || ids.back() != line)) ids.push_back(line);
  }
  return ids;
}

std::vector<std::string> Cluster::tasks(const std::string& beginning) {
  std::vector<std::string> ids;
  const std::string user = fmt::format("--user={}", getuid());
  for (const std::string& line : split(ask({"squeue", "-h", "--array", user, "-o", "%A %j"}), '\n')) {
    const std::size_t space = line.find(' ');
    if (space != std::string::npos && line.substr(space + 1).starts_with(beginning))
      ids.push_back(line.substr(0, space));
  }
  return ids;
}

std::string Cluster::submit(const std::string& name, const std::vector<std::string>& options,
                            const std::vector<std::string>& script_and_arguments) {
  // An earlier call may have submitted it and not lived to note the id.
  if (const auto known = jobs(name, false); !known.empty()) return known.back();
  std::vector<std::string> command{"sbatch", "--parsable", "--job-name=" + name};
  command.insert(command.end(), options.begin(), options.end());
  command.insert(command.end(), script_and_arguments.begin(), script_and_arguments.end());
  const std::string answer = ask(command);
  return answer.substr(0, answer.find_first_of(";\n"));
}

void Cluster::cancel(const std::vector<std::string>& jobs) {
  if (jobs.empty()) return;
  std::vector<std::string> command{"scancel"};
  command.insert(command.end(), jobs.begin(), jobs.end());
  ask(command, true);
}

std::map<std::string, TaskState> Cluster::states(const std::vector<std::string>& jobs) {
  if (jobs.empty()) return {};
  return limits().accounting ? from_sacct(jobs) : from_scontrol(jobs);
}

// Duplicates (-D) are the earlier lives of a task that was requeued: the last line of an id is its last life.
std::map<std::string, TaskState> parse_sacct(const std::string& text) {
  std::map<std::string, TaskState> states;
  for (const std::string& line : split(text, '\n')) {
    const std::vector<std::string> field = split(line, '|');
    if (field.size() < 4) continue;
    TaskState now{first_word(field[1]), field[3], field[2], 0};
    const auto before = states.find(field[0]);
    if (before != states.end()) {
      now.restarts = before->second.restarts + 1;
      states[fmt::format("{}#{}", field[0], now.restarts)] = before->second;
    }
    states[field[0]] = now;
  }
  return states;
}

std::map<std::string, TaskState> Cluster::from_sacct(const std::vector<std::string>& jobs) {
  return parse_sacct(ask({"sacct", "-nPXD", "-j", fmt::format("{}", fmt::join(jobs, ",")),
                          "--format=JobID,State,ExitCode,NodeList"}));
}

std::map<std::string, TaskState> parse_scontrol(const std::string& text) {
  std::map<std::string, TaskState> states;
  for (const std::string& line : split(text, '\n')) {
    std::map<std::string, std::string> field;
    for (const std::string& word : split(line, ' ')) {
      const std::size_t equals = word.find('=');
      if (equals != std::string::npos) field.emplace(word.substr(0, equals), word.substr(equals + 1));
    }
    if (!field.contains("JobId")) continue;
    TaskState state{field["JobState"], field["NodeList"], field["ExitCode"],
                    std::atoi(field["Restarts"].c_str())};
    const std::string job = field.contains("ArrayJobId") ? field["ArrayJobId"] : field["JobId"];
    states[task_name(job, field.contains("ArrayTaskId") ? field["ArrayTaskId"] : "")] = state;
  }
  return states;
}

std::map<std::string, TaskState> Cluster::from_scontrol(const std::vector<std::string>& jobs) {
  std::map<std::string, TaskState> states;
  for (const std::string& job : jobs)
    states.merge(parse_scontrol(ask({"scontrol", "-o", "show", "job", job}, true)));
  return states;
}

}  // namespace warpgrade

#include "course/slurm/cluster.h"

#include <fmt/ranges.h>
#include <pwd.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <sstream>
#include <thread>

#include "base/error.h"
#include "base/waiting.h"
#include "course/slurm/refusal.h"
#include "course/slurm/units.h"

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

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

ProcessResult run_slurm(const std::vector<std::string>& command, std::chrono::seconds timeout) {
  ProcessOptions options;
  options.command = command;
  options.timeout = timeout;
  options.output_bytes = 64 << 20;
  try {
    return run_process(options);
  } catch (const JudgeFault& fault) {
    throw UsageError("{}: --executor slurm needs Slurm's commands in PATH", fault.what());
  }
}

bool asked_once(const std::vector<std::string>& command) {
  return run_slurm(command, std::chrono::seconds(60)).ok();
}

}  // namespace

OwnTask OwnTask::find() {
  return {variable("SLURMD_NODENAME"), variable("SLURM_JOB_ID"), variable("SLURM_ARRAY_JOB_ID"),
          variable("SLURM_ARRAY_TASK_ID"), std::atoi(variable("SLURM_RESTART_COUNT").c_str())};
}

bool ask_for_restart(const OwnTask& task) {
  return !task.job.empty() && asked_once({"scontrol", "requeue", task.job});
}

bool keep_array_off(const OwnTask& task, const std::string& nodes) {
  return !task.array.empty() &&
         asked_once({"scontrol", "update", "JobId=" + task.array, "ExcNodeList=" + nodes});
}

Cluster::Cluster(const Site& site, std::function<void(const std::string&)> silent)
    : wait_s_(site.controller_patience_s), silent_(std::move(silent)) {
  for (const SiteTask* task : {&site.compile, &site.judge, &site.aggregate}) {
    if (!task->account.empty()) accounts_.insert(task->account);
    qos_.insert(task->qos.empty() ? "normal" : task->qos);
  }
}

// What the controller answers, asked again while it does not.
ProcessResult Cluster::ask_patiently(const std::vector<std::string>& command) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(wait_s_);
  const SlowNote note("waiting for Slurm's controller: it has not answered `" + command[0] + "` yet");
  for (bool reported = false;;) {
    const ProcessResult result = run_slurm(command, std::chrono::seconds(120));
    if (result.ok() || !is_controller_unreachable(result)) return result;
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

std::string Cluster::ask(const std::vector<std::string>& command, bool may_fail) {
  const ProcessResult result = ask_patiently(command);
  if (result.ok() || may_fail) return result.standard_output;
  if (command[0] == "sbatch") throw SbatchRefusal(result.standard_error.substr(0, 1000));
  throw UsageError("{}: {} ({})", command[0], result.standard_error.substr(0, 500), result.describe());
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
  std::vector<std::string> command{"squeue", "-h", "--name=" + name, "-o", "%F %T"};
  if (!live_only) command.push_back("--states=all");
  std::vector<std::string> ids;
  for (const std::string& line : split(ask(command), '\n')) {
    const std::string id = first_word(line);
    // One that was cancelled is as if it had not been submitted. One that sbatch refused stays for a while,
    // as FAILED; of a task that ran and failed the records are what counts.
    const bool is_none = line.ends_with(" CANCELLED") || line.ends_with(" FAILED");
    if (id.empty() || is_none || std::find(ids.begin(), ids.end(), id) != ids.end()) continue;
    ids.push_back(id);
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

bool names_node(const std::string& list, const std::string& node) {
  if (list.empty()) return false;
  const ProcessResult result = run_slurm({"scontrol", "show", "hostnames", list}, std::chrono::seconds(60));
  if (!result.ok())
    throw UsageError("{}: expected nodes as Slurm lists them, for instance n[1-3,9]; scontrol: {}", list,
                     result.standard_error.substr(0, 200));
  const std::vector<std::string> names = split(result.standard_output, '\n');
  return std::find(names.begin(), names.end(), node) != names.end();
}

TestedJob Cluster::test(const std::vector<std::string>& options,
                        const std::vector<std::string>& script_and_arguments) {
  std::vector<std::string> command{"sbatch", "--test-only"};
  command.insert(command.end(), options.begin(), options.end());
  command.insert(command.end(), script_and_arguments.begin(), script_and_arguments.end());
  const ProcessResult result = ask_patiently(command);
  return {result.ok(), result.ok() ? "" : result.standard_error.substr(0, 1000),
          parse_test_only(result.standard_error)};
}

std::string parse_test_only(const std::string& text) {
  const std::string sign = " to start at ";
  const std::size_t at = text.find(sign);
  if (at == std::string::npos) return {};
  const std::size_t begin = at + sign.size();
  return text.substr(begin, text.find_first_of(" \n", begin) - begin);
}

namespace {

// sinfo's %P: the default partition has a star.
bool is_meant(const std::string& written, const std::string& partition) {
  const bool is_default = written.ends_with('*');
  return partition.empty() ? is_default
                           : written.substr(0, written.size() - (is_default ? 1 : 0)) == partition;
}

}  // namespace

double parse_most_time(const std::string& text, const std::string& partition) {
  for (const std::string& line : split(text, '\n')) {
    const std::vector<std::string> field = split(line, '|');
    if (field.size() >= 2 && is_meant(field[0], partition)) return time_s(field[1]).value_or(0);
  }
  return 0;
}

std::string parse_nodes(const std::string& text, const std::string& partition) {
  std::map<std::string, long> states;
  long all = 0;
  for (const std::string& line : split(text, '\n')) {
    const std::vector<std::string> field = split(line, '|');
    if (field.size() < 3 || !is_meant(field[0], partition)) continue;
    const long count = std::strtol(field[1].c_str(), nullptr, 10);
    states[field[2]] += count;
    all += count;
  }
  std::vector<std::string> words;
  for (const auto& [state, count] : states) words.push_back(fmt::format("{} {}", count, state));
  return fmt::format("{} node{}{}{}", all, all == 1 ? "" : "s", words.empty() ? "" : ": ",
                     fmt::join(words, ", "));
}

// Of several partitions each by itself.
std::string Cluster::nodes_text(const std::string& partition) {
  const std::string answer = ask({"sinfo", "-h", "-o", "%P|%D|%T"}, true);
  if (partition.empty()) return "the default partition: " + parse_nodes(answer, "");
  std::vector<std::string> words;
  for (const std::string& name : split(partition, ','))
    words.push_back(fmt::format("partition {}: {}", name, parse_nodes(answer, name)));
  return fmt::format("{}", fmt::join(words, "; "));
}

// Of several partitions (sbatch takes a list) the one with the least time counts.
double Cluster::most_time_s(const std::string& partition) {
  const std::string answer = ask({"sinfo", "-h", "-o", "%P|%l"}, true);
  double least = 0;
  for (const std::string& name : partition.empty() ? std::vector<std::string>{""} : split(partition, ',')) {
    const double most = parse_most_time(answer, name);
    if (most > 0) least = least == 0 ? most : std::min(least, most);
  }
  return least;
}

std::vector<std::string> each_task(const std::string& job, const std::string& tasks) {
  std::vector<std::string> all;
  std::string list = tasks.substr(0, tasks.find('%'));
  std::erase_if(list, [](char c) { return c == '[' || c == ']'; });
  for (const std::string& part : split(list, ',')) {
    char* end = nullptr;
    const unsigned long first = std::strtoul(part.c_str(), &end, 10);
    const unsigned long last = *end == '-' ? std::strtoul(end + 1, nullptr, 10) : first;
    for (unsigned long task = first; task <= last && all.size() < 1'000'000; ++task)
      all.push_back(fmt::format("{}_{}", job, task));
  }
  return all;
}

std::vector<QueuedTask> parse_queue(const std::string& text) {
  std::vector<QueuedTask> tasks;
  for (const std::string& line : split(text, '\n')) {
    const std::vector<std::string> field = split(line, '|');
    if (field.size() < 7) continue;
    const bool single = field[1] == "N/A" || field[1].empty();
    tasks.push_back({task_name(field[0], single ? "" : field[1]), field[2], field[3], field[4], field[6],
                     field[5] == "N/A" ? "" : field[5], field.size() > 7 ? time_s(field[7]).value_or(0) : 0});
  }
  return tasks;
}

std::vector<QueuedTask> Cluster::queue(const std::vector<std::string>& names) {
  if (names.empty()) return {};
  return parse_queue(ask({"squeue", "-h", "--array", fmt::format("--name={}", fmt::join(names, ",")), "-o",
                          "%F|%K|%j|%T|%N|%S|%r|%M"}));
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
    TaskState now{first_word(field[1]), field[3], field[2], 0,
                  field.size() > 4 ? std::strtod(field[4].c_str(), nullptr) : 0};
    if (const std::size_t bracket = field[0].find("_["); bracket != std::string::npos) {
      for (const std::string& task : each_task(field[0].substr(0, bracket), field[0].substr(bracket + 1)))
        states.emplace(task, now);
      continue;
    }
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
                          "--format=JobID,State,ExitCode,NodeList,ElapsedRaw"}));
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
                    std::atoi(field["Restarts"].c_str()), time_s(field["RunTime"]).value_or(0)};
    const std::string job = field.contains("ArrayJobId") ? field["ArrayJobId"] : field["JobId"];
    if (!field.contains("ArrayTaskId"))
      states[job] = state;
    else
      for (const std::string& task : each_task(job, field["ArrayTaskId"])) states[task] = state;
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

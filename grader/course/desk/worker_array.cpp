#include "course/desk/worker_array.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/files.h"
#include "base/hash.h"
#include "base/process.h"
#include "base/toolchain.h"

namespace warpgrade::desk {
namespace fs = std::filesystem;

namespace {

constexpr double kLost = 60;             // seconds without a sign of life
constexpr double kLostWithoutTask = 10;  // where Slurm says that the task has ended: an answer may be old
constexpr const char* kWorkerName = "slurm-";
constexpr const char* kGeneration = "slurm_generation";

Site site_of(const Config& config) {
  Site site = config.site.empty() ? Site() : Site::read(config.site);
  site.controller_patience_s = 5;  // who serves does not wait for a silent controller
  return site;
}

std::vector<std::string> options_of(const SiteTask& task, const fs::path& desk, int count) {
  std::vector<std::string> options{"--output=" + (desk / "slurm" / "%A_%a.out").string(),
                                   "--open-mode=append", "--chdir=" + desk.string(), "--no-requeue",
                                   fmt::format("--array=0-{}", count - 1)};
  for (const std::string& option : task.sbatch_options()) options.push_back(option);
  return options;
}

}  // namespace

int tasks_to_submit(int most, int wanted, int there) {
  return std::max(0, std::min(most, wanted) - there);
}

WorkerArray::WorkerArray(Queue& queue, const Config& config, const Log& log)
    : queue_(queue),
      config_(config),
      log_(log),
      site_(site_of(config)),
      cluster_(site_, [&log](const std::string& why) {
        log.add("controller_silent", {{"why", why}});
      }) {
  make_directories(queue.desk() / "slurm");
}

// One desk's jobs have a name of their own on the cluster.
std::string WorkerArray::name() const {
  return fmt::format("warpgrade-desk-{}-", sha256(fs::absolute(queue_.desk()).string()).substr(0, 8));
}

// A task is a worker from the moment when it runs until it ends; the controller knows before and after.
void WorkerArray::keep() {
  const int wanted = static_cast<int>(queue_.waiting().size() + queue_.running().size());
  if (wanted == 0) return;  // the controller is not asked for nothing
  std::optional<std::vector<std::string>> tasks;
  try {
    tasks = cluster_.tasks(name());
  } catch (const UsageError& error) {
    log_.add("controller_silent", {{"why", error.what()}});
  }
  give_back_lost(tasks);
  if (tasks) submit(tasks_to_submit(config_.tasks, wanted, static_cast<int>(tasks->size())));
}

void WorkerArray::submit(int count) {
  if (count == 0) return;
  try {
    const std::string before = queue_.setting(kGeneration);
    const std::string generation = std::to_string(std::atoi(before.c_str()) + 1);
    const fs::path script = queue_.desk() / "slurm" / "work.sh";
    const std::string folder = fs::absolute(queue_.desk()).string();
    write_text(script,
               site_.judge.script(fmt::format("desk work --folder {} --idle {} --name \"{}$SLURM_JOB_ID\"",
                                              shell_quoted(folder), config_.idle_s, kWorkerName),
                                  site_.shown_to_container(folder)));
    const std::string job = cluster_.submit(
        name() + generation, options_of(site_.judge, fs::absolute(queue_.desk()), count), {script.string()});
    queue_.set(kGeneration, generation);
    log_.add("submitted", {{"job", job}, {"tasks", count}});
  } catch (const UsageError& error) {
    log_.add("not_submitted", {{"why", error.what()}});
  }
}

// A worker whose task the controller knows no more is dead; one is also when it has been silent for long.
void WorkerArray::give_back_lost(const std::optional<std::vector<std::string>>& tasks) {
  for (const Worker& worker : queue_.workers()) {
    const double silent = now_s() - worker.seen;
    const bool is_there = !tasks || std::ranges::any_of(*tasks, [&](const std::string& task) {
      return worker.name == kWorkerName + task;
    });
    if (silent < (is_there ? kLost : kLostWithoutTask)) continue;
    const auto request = queue_.running_at(worker.name);
    log_.add("worker_died", {{"worker", worker.name},
                             {"how", is_there ? "gave no sign of life" : "its task has ended"},
                             {"run", request ? request->id : 0}});
    if (request) queue_.give_back(*request, true, now_s());
    queue_.forget_worker(worker.name);
  }
}

void WorkerArray::cancel() {
  try {
    cluster_.cancel(cluster_.tasks(name()));
  } catch (const UsageError& error) {
    log_.add("not_cancelled", {{"why", error.what()}});
  }
}

}  // namespace warpgrade::desk

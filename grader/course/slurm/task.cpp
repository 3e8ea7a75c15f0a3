#include "course/slurm/task.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <thread>

#include "base/error.h"
#include "base/files.h"
#include "base/hash.h"
#include "base/process.h"
#include "base/say.h"
#include "course/batch/case_dispatcher.h"
#include "course/batch/disk_retry.h"
#include "course/batch/node_measuring.h"
#include "course/batch/node_tests.h"
#include "course/slurm/rounds.h"

namespace warpgrade {
namespace fs = std::filesystem;
using nlohmann::json;

namespace {

json facts_of(const TaskRequest& request, const OwnTask& own) {
  json facts{{"node", own.node.empty() ? host_name() : own.node}, {"round", request.round}};
  facts["job"] = own.name();
  facts["process"] = fmt::format("{}-{}-{}", host_name(), getpid(), utc_now_ms());
  return facts;
}

json read_batch(const RunFolder& folder) {
  const json batch = json::parse(read_text(folder.batch_file()), nullptr, false);
  if (!batch.is_object() || batch.value("schema", "") != "warpgrade.batch.v1")
    throw UsageError("{}: expected schema warpgrade.batch.v1", folder.batch_file().string());
  return batch;
}

// A node's tasks take turns here: the first one brings the datasets in, the others find them.
class NodeTurn {
 public:
  explicit NodeTurn(const std::string& what) {
    const fs::path path =
        fs::temp_directory_path() / fmt::format("warpgrade-{}-{}.lock", getuid(), sha256(what).substr(0, 16));
    stamp_ = path.string() + ".done";
    file_ = FileDescriptor(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    while (file_ && flock(file_.get(), LOCK_EX) != 0) throw_if_interrupted();
  }
  bool first() const { return !fs::exists(stamp_); }
  void done() const { std::ofstream(stamp_) << "1"; }

 private:
  FileDescriptor file_;
  fs::path stamp_;
};

// Asks for it and waits for the signal that comes then.
void start_again(const OwnTask& own) {
  try {
    if (!ask_for_restart(own)) return;
    for (int i = 0; i < 100; ++i) {
      throw_if_interrupted();
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
  } catch (const std::exception&) {  // the signal has come
  }
}

// Reads a file once, so that the judges find it in the page cache.
void warm(const fs::path& file) {
  const FileDescriptor in(open(file.c_str(), O_RDONLY | O_CLOEXEC));
  std::vector<char> chunk(1 << 20);
  while (in && read(in.get(), chunk.data(), chunk.size()) > 0) throw_if_interrupted();
}

class Task {
 public:
  explicit Task(TaskRequest request)
      : request_(std::move(request)),
        folder_(request_.run),
        own_(OwnTask::find()),
        facts_(facts_of(request_, own_)),
        events_(request_.run, facts_) {}

  int execute() {
    events_.progress("task_started", request_.kind);
    if (own_.restarts != 0)
      events_.infrastructure("requeued",
                             "Slurm started this task again: its node was lost or it was preempted",
                             {{"count", own_.restarts}});
    int code = kExitGraded;
    std::string ending = "done";
    try {
      code = work();
      if (code != kExitGraded) ending = "to be done again elsewhere";
    } catch (const Interrupted&) {
      code = kExitInterrupted;
      ending = "ended by a signal";
      events_.infrastructure("preempted", "the task was told to end; what it recorded is kept");
    } catch (const DiskFull& full) {
      code = kExitTryAgain;
      ending = full.what();
      start_again_later();
    } catch (const std::exception& error) {
      code = kExitTryAgain;
      ending = error.what();
      events_.infrastructure("task_lost", error.what());
    }
    events_.progress("task_ended", ending);
    if (ending != "done") say("warpgrade batch-task {}: {}\n", request_.kind, ending);
    return code;
  }

 private:
  // Whoever plans the next round is started anew until there is room for a plan: nobody else would go on. The
  // others' work is done in the next round.
  void start_again_later() {
    constexpr int kMostStarts = 1000;  // a day and more: Slurm lets some two minutes pass before each
    if (request_.kind != "aggregate" && request_.kind != "guard") return;
    if (own_.restarts >= kMostStarts) return;
    events_.infrastructure("waits_for_room", "the disk is full: Slurm is asked to start this task again");
    events_.flush();
    say("warpgrade batch-task {}: the disk is full; Slurm is asked to start this task again\n",
        request_.kind);
    start_again(own_);
  }

  int work() {
    const json batch = read_batch(folder_);
    site_ = Site::from_json(batch.at("site"));
    if (request_.kind == "aggregate" || request_.kind == "guard") return aggregate();
    options_ = GradeOptions::from_json(batch.at("options"));
    options_.run = request_.run;
    options_.event_facts = facts_;
    options_.quiet = true;
    if (!site_.node_cache.empty()) options_.datasets = fs::path(site_.node_cache);
    const RoundPlan plan = Rounds(folder_, site_, events_).plan_of(request_.round);
    const auto& tasks = request_.kind == "compile" ? plan.compile : plan.judge;
    const size_t task = static_cast<size_t>(request_.offset) + std::strtoul(own_.index.c_str(), nullptr, 10);
    if (task >= tasks.size())
      throw UsageError("round {} has no {} task {}", request_.round, request_.kind, task);
    return request_.kind == "compile" ? compile(tasks[task]) : judge(tasks[task]);
  }

  int aggregate() {
    const RunLock lock(folder_);
    Rounds rounds(folder_, site_, events_);
    const bool expected = request_.kind == "aggregate";
    say("{}\n", rounds.aggregate(request_.round, expected));
    return kExitGraded;
  }

  int compile(const std::vector<std::string>& ids) {
    Progress progress(true);
    const ClassRun run(options_, progress);
    CaseDispatcher dispatcher(run, progress);
    for (const std::string& id : ids) {
      throw_if_interrupted();
      dispatcher.compile(run.index_of(id));
    }
    return kExitGraded;
  }

  int judge(const std::vector<std::string>& ids) {
    if (options_.backend == "cuda") {
      if (!right_gpu() || !device_answers()) return kExitTryAgain;
    }
    Progress progress(true);
    auto turn = std::make_unique<NodeTurn>(identity_of(request_.run));
    const ClassRun run(options_, progress);
    if (turn->first()) {
      for (const Case& input : run.cases())
        if (!input.file.empty()) warm(input.file);
      turn->done();
    }
    turn.reset();
    return judge_each(run, ids, progress);
  }

  int judge_each(const ClassRun& run, const std::vector<std::string>& ids, Progress& progress) {
    CaseDispatcher dispatcher(run, progress);
    dispatcher.compile_baselines();
    try {
      test_node(dispatcher, run);
    } catch (const GpuWedged& wedged) {
      return give_up_node(wedged.what());
    }
    const auto& devices = run.backend().devices;  // of those that the task was given the first
    JudgeClient server(devices.empty() ? "" : devices.front().visible);
    CaseDispatcher::Share share;
    share.emulator_threads = share.judge_threads = site_.judge.cpus;
    for (const std::string& id : ids) {
      throw_if_interrupted();
      const size_t i = run.index_of(id);
      if (dispatcher.missing(i).empty()) continue;
      if (hands_back()) return kExitTryAgain;
      dispatcher.compile(i);
      try {
        dispatcher.judge(i, server, share);
      } catch (const GpuWedged& wedged) {
        return give_up_node(wedged.what());
      }
      if (const auto fault = probe()) return give_up_node(*fault);
    }
    return dispatcher.faults() > 0 ? kExitTryAgain : kExitGraded;
  }

  bool tests_nodes(const ClassRun& run) const {
    if (site_.node_test != "timed") return site_.node_test == "always";
    return run.on_gpu() && options_.measure_speed &&
           std::any_of(run.cases().begin(), run.cases().end(),
                       [](const Case& input) { return input.kind == "speed"; });
  }

  // Once for each device of a node; its other tasks wait meanwhile.
  void test_node(CaseDispatcher& dispatcher, const ClassRun& run) {
    if (!tests_nodes(run)) return;
    const auto& devices = run.backend().devices;
    const std::string uuid = devices.empty() ? "" : devices.front().about.value("uuid", "");
    const fs::path file = node_test_file(folder_, node(), uuid);
    const NodeTurn turn(file.string());
    if (fs::exists(file)) return;
    const NodeTest test = measure_node(dispatcher, run, node(), site_.judge.cpus);
    retry_when_disk_full(events_, true, [&] {
      make_directories(file.parent_path());
      write_new_text(file, test.to_json().dump(1, ' ', false, json::error_handler_t::replace) + "\n");
    });
    if (!test.problem.empty()) events_.infrastructure("node_not_tested", test.problem);
    events_.progress("node_tested", file.string());
  }

  // Whether this node differs from the others by what is known now: what is left is judged elsewhere.
  bool hands_back() {
    const auto why = why_left_out(read_node_tests(folder_), node());
    if (!why) return false;
    Rounds rounds(folder_, site_, events_);
    if (rounds.admits(request_.round, node())) return false;
    events_.infrastructure("node_left_out", *why);
    rounds.keep_array_off_bad_nodes(request_.round, own_);
    return true;
  }

  std::string node() const { return facts_.at("node"); }

  // The site's own check of the device.
  std::optional<std::string> probe() const {
    if (site_.probe.empty()) return std::nullopt;
    ProcessOptions options;
    options.command = site_.probe;
    options.timeout = std::chrono::seconds(60);
    const ProcessResult result = run_process(options);
    if (result.ok()) return std::nullopt;
    return fmt::format("the site's probe {}: {}", site_.probe[0], result.describe());
  }

  bool device_answers() {
    auto fault = JudgeClient().device_fault();
    if (!fault) fault = probe();
    if (fault) give_up_node(*fault);
    return !fault;
  }

  // The array's tasks that still wait go to other nodes, so that this one does not swallow them all.
  int give_up_node(const std::string& why) {
    events_.infrastructure("gpu_wedged", why);
    Rounds(folder_, site_, events_).keep_array_off_bad_nodes(request_.round, own_);
    return kExitTryAgain;
  }

  // The first task's GPU is the run's.
  bool right_gpu() {
    const json device = probe_gpu();
    const std::string name = device.value("name", "");
    if (name.empty()) {
      give_up_node("no GPU with a working driver");
      return false;
    }
    if (!site_.gpu_model.empty() && name.find(site_.gpu_model) == std::string::npos)
      return refuse_gpu(name, site_.gpu_model);
    const fs::path claim = folder_.root() / "device.json";
    write_new_text(claim, device.dump(1) + "\n");
    const json claimed = json::parse(read_text(claim), nullptr, false);
    const std::string wanted = claimed.is_object() ? claimed.value("name", "") : "";
    return name == wanted || refuse_gpu(name, wanted);
  }

  bool refuse_gpu(const std::string& name, const std::string& wanted) {
    events_.infrastructure("wrong_gpu",
                           fmt::format("this node has {}, the run is judged on {}", name, wanted));
    Rounds(folder_, site_, events_).keep_array_off_bad_nodes(request_.round, own_);
    return false;
  }

  TaskRequest request_;
  RunFolder folder_;
  OwnTask own_;
  json facts_;
  EventLog events_;
  Site site_;
  GradeOptions options_;
};

}  // namespace

int run_batch_task(const TaskRequest& request) {
  // Slurm's own process is this one's parent: when the node's daemons die, so does the work.
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  return Task(request).execute();
}

}  // namespace warpgrade

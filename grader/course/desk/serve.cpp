#include "course/desk/serve.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <map>
#include <optional>
#include <thread>
#include <vector>

#include "base/error.h"
#include "base/files.h"
#include "base/process.h"
#include "base/toolchain.h"
#include "base/waiting.h"
#include "course/batch/class_run.h"
#include "course/desk/config.h"
#include "course/desk/housekeeping.h"
#include "course/desk/queue.h"
#include "course/desk/worker_array.h"
#include "course/hardware/hardware_profile.h"
#include "course/ingest/unpack.h"

namespace warpgrade::desk {
namespace fs = std::filesystem;

namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::milliseconds kLookAround{200};
constexpr std::chrono::seconds kPlaces{1}, kMetrics{5}, kBoard{20}, kCleaning{600}, kCluster{2};
constexpr std::chrono::seconds kLongestPause{60};  // before a worker that keeps dying is started again

FileDescriptor only_server(const fs::path& desk) {
  const fs::path file = desk / "serve.lock";
  FileDescriptor lock(open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!lock) throw UsageError("{}: cannot be written; does the desk belong to this user?", file.string());
  if (flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
    const auto owner = lock_owner(file);
    throw UsageError("{} is already being served{}", desk.string(), owner ? ": " + owner->text : "");
  }
  return lock;
}

// A process that judges; it dies with this one.
class Place {
 public:
  Place(std::string name, std::string gpu) : name_(std::move(name)), gpu_(std::move(gpu)) {}

  const std::string& name() const { return name_; }
  bool alive() const { return pid_ > 0; }

  void start(const fs::path& desk) {
    if (alive() || Clock::now() < next_) return;
    const std::string program = (program_directory() / "warpgrade").string();
    std::vector<std::string> words{program, "desk", "work", "--folder", desk.string(), "--name", name_};
    if (!gpu_.empty()) words.insert(words.end(), {"--gpu", gpu_});
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    const pid_t parent = getpid();
    pid_ = fork();
    if (pid_ == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      setpgid(0, 0);  // Ctrl-C reaches the supervisor, which ends its workers
      if (getppid() != parent) _exit(127);
      execv(program.c_str(), arguments.data());
      _exit(127);
    }
    begun_ = Clock::now();
  }

  // How it ended, where it has.
  std::optional<std::string> ended() {
    int status = 0;
    if (!alive() || waitpid(pid_, &status, WNOHANG) != pid_) return std::nullopt;
    pid_ = -1;
    // One that dies at once dies again: each time later.
    pause_ =
        Clock::now() - begun_ > kLongestPause ? std::chrono::seconds(1) : std::min(kLongestPause, 2 * pause_);
    next_ = Clock::now() + (WIFSIGNALED(status) ? std::chrono::seconds(0) : pause_);
    return WIFSIGNALED(status) ? fmt::format("was killed by signal {}", WTERMSIG(status))
                               : fmt::format("ended with exit code {}", WEXITSTATUS(status));
  }

  void end() {
    if (!alive()) return;
    kill(pid_, SIGTERM);
    for (int i = 0; i < 500 && alive(); ++i) {
      if (waitpid(pid_, nullptr, WNOHANG) == pid_) pid_ = -1;
      if (alive()) usleep(20'000);
    }
    if (!alive()) return;
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }

 private:
  std::string name_, gpu_;
  pid_t pid_ = -1;
  Clock::time_point begun_, next_;
  std::chrono::seconds pause_{1};
};

class Server {
 public:
  explicit Server(const ServeOptions& options)
      : options_(options),
        config_(Config::read(options.desk)),
        lock_(only_server(options.desk)),
        queue_(options.desk, config_.executor == "slurm"),
        log_(options.desk) {}

  int execute() {
    begin();
    Clock::time_point idle_since = Clock::now();
    for (;;) {
      if (interrupted()) break;
      if (config_.executor == "local")
        look_after_workers();
      else if (due(cluster_, kCluster))
        array_->keep();
      const bool busy = !queue_.running().empty() || !queue_.waiting().empty();
      if (busy) idle_since = Clock::now();
      if (due(places_, kPlaces))
        queue_.write_places(config_.executor == "local" ? static_cast<int>(workers_.size()) : config_.tasks);
      if (due(metrics_, kMetrics)) write_metrics(queue_, config_);
      if (due(board_, kBoard)) publish_class_files();
      if (due(cleaning_, kCleaning)) remove_old_files(queue_, config_, log_);
      if (options_.until_idle_s > 0 &&
          Clock::now() - idle_since > std::chrono::duration<double>(options_.until_idle_s))
        break;
      std::this_thread::sleep_for(kLookAround);
    }
    end_workers();
    publish_class_files();
    write_metrics(queue_, config_);
    log_.add("stopped", {});
    return kExitGraded;
  }

 private:
  // What was judged when the last supervisor died has lost its worker: workers do not outlive it.
  void begin() {
    remove_left_staged();
    queue_.set(kCountersEnded, "");  // whoever starts the desk again has looked at the GPU
    if (config_.counters)
      if (const std::string why = hardware::refusal(); !why.empty()) {
        log_.add("no_counters", {{"why", why}});
        fmt::print("runs with counters are not offered: {}\n", why);
        queue_.set(kCountersEnded, why);
      }
    if (config_.executor == "slurm") return begin_cluster();
    const Backend backend = choose_backend(config_.backend);
    queue_.set("backend", backend.name);
    for (const Worker& worker : queue_.workers()) queue_.forget_worker(worker.name);
    for (const Request& request : queue_.running()) {
      log_.add("given_back",
               {{"run", request.id}, {"student", request.student}, {"why", "the desk was restarted"}});
      queue_.give_back(request, false, now_s());
    }
    std::vector<std::string> gpus;
    if (backend.name == "cuda") {
      std::vector<std::string> left_out;
      for (const JudgeDevice& device : find_devices("cuda", config_.gpus, left_out))
        gpus.push_back(device.visible);
      for (const std::string& why : left_out) log_.add("left_out", {{"why", why}});
    }
    if (gpus.empty()) gpus.push_back("");
    const int count = config_.workers > 0 ? config_.workers : static_cast<int>(gpus.size());
    for (int i = 0; i < count; ++i)
      workers_.emplace_back(fmt::format("worker-{}", i + 1), gpus[static_cast<std::size_t>(i) % gpus.size()]);
    log_.add("serving", {{"backend", backend.name}, {"workers", count}});
    fmt::print("serving {}: {} worker{} on {}\n", options_.desk.string(), count, count == 1 ? "" : "s",
               backend.name);
    std::fflush(stdout);
  }

  // What connections left that died; those of this moment are younger.
  void remove_left_staged() const {
    constexpr std::chrono::minutes kLongest{30};
    std::error_code none;
    for (const auto& entry : fs::directory_iterator(options_.desk / "staged", none)) {
      const auto at = entry.last_write_time(none);
      if (!none && fs::file_time_type::clock::now() - at > kLongest) fs::remove_all(entry.path(), none);
    }
  }

  // Workers on a cluster outlive a supervisor: what they judge is left to them.
  void begin_cluster() {
    queue_.set("backend", config_.backend == "auto" ? "cuda" : config_.backend);
    array_.emplace(queue_, config_, log_);
    log_.add("serving", {{"executor", "slurm"}, {"tasks", config_.tasks}});
    fmt::print("serving {}: at most {} tasks on Slurm\n", options_.desk.string(), config_.tasks);
    std::fflush(stdout);
  }

  // Tasks of a cluster are told to end; what they had goes back into the queue as they do.
  void end_workers() {
    if (array_) return array_->cancel();
    for (Place& worker : workers_) worker.end();
    for (const Request& request : queue_.running()) queue_.give_back(request, false, now_s());
  }

  void look_after_workers() {
    for (Place& worker : workers_) {
      if (const auto how = worker.ended()) {
        queue_.forget_worker(worker.name());
        const auto request = queue_.running_at(worker.name());
        log_.add("worker_died",
                 {{"worker", worker.name()}, {"how", *how}, {"run", request ? request->id : 0}});
        if (request) queue_.give_back(*request, true, now_s());
      }
      worker.start(options_.desk);
    }
  }

  void publish_class_files() {
    try {
      config_ = Config::read(options_.desk);  // an instructor may have changed it
    } catch (const UsageError& error) {
      log_.add("fault", {{"why", error.what()}});
    }
    write_hand_ins(queue_, config_, log_);
    write_leaderboards(queue_, config_, log_);
  }

  static bool due(Clock::time_point& next, std::chrono::seconds every) {
    if (Clock::now() < next) return false;
    next = Clock::now() + every;
    return true;
  }

  ServeOptions options_;
  Config config_;
  FileDescriptor lock_;
  Queue queue_;
  Log log_;
  std::vector<Place> workers_;
  std::optional<WorkerArray> array_;
  Clock::time_point places_, metrics_, board_, cleaning_, cluster_;
};

}  // namespace

int serve(const ServeOptions& options) {
  if (!can_unpack())
    throw UsageError(
        "this warpgrade was built without libarchive, so it cannot open hand-ins: install libarchive-dev and "
        "build again (`make build`)");
  return Server(options).execute();
}

}  // namespace warpgrade::desk

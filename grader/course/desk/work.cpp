#include "course/desk/work.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <csignal>
#include <mutex>
#include <optional>
#include <thread>

#include "base/error.h"
#include "base/files.h"
#include "base/process.h"
#include "course/desk/config.h"
#include "course/desk/counted_run.h"
#include "course/desk/housekeeping.h"
#include "course/desk/judged_run.h"
#include "course/desk/queue.h"

namespace warpgrade::desk {
namespace fs = std::filesystem;

namespace {

constexpr std::chrono::milliseconds kLookForRuns{100};
constexpr double kSeen = 5;  // seconds between two signs of life

// Who holds DESK/first.lock is served before any student (`warpgrade desk first`).
bool somebody_is_first(const fs::path& desk) {
  const FileDescriptor file(open((desk / "first.lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  return file && flock(file.get(), LOCK_EX | LOCK_NB) != 0;
}

// Tells the supervisor that this process lives, also while it judges. With a connection to the queue of
// its own.
class Heartbeat {
 public:
  Heartbeat(const fs::path& desk, Worker worker)
      : thread_([desk, worker = std::move(worker)](const std::stop_token& stop) {
          try {
            Queue queue(desk);
            // Woken when the run has ended: the next one does not wait for this thread.
            std::mutex mutex;
            std::condition_variable_any woken;
            std::unique_lock lock(mutex);
            while (!stop.stop_requested()) {
              queue.see_worker(worker, now_s());
              woken.wait_for(lock, stop, std::chrono::duration<double>(kSeen), [] { return false; });
            }
          } catch (const std::exception& error) {
            Log(desk).add("fault", {{"worker", worker.name}, {"why", error.what()}});
          }
        }) {}

 private:
  std::jthread thread_;
};

class WorkLoop {
 public:
  explicit WorkLoop(const WorkerOptions& options)
      : options_(options),
        config_(Config::read(options.desk)),
        queue_(options.desk, config_.executor == "slurm"),
        log_(options.desk) {}

  int execute() {
    double idle_since = now_s();
    for (;;) {
      throw_if_interrupted();
      if (now_s() - seen_ > kSeen) see(0);
      auto request = somebody_is_first(options_.desk) ? std::nullopt : queue_.take(options_.name, now_s());
      if (!request) {
        if (options_.idle_s > 0 && now_s() - idle_since > options_.idle_s) {
          queue_.forget_worker(options_.name);
          return kExitGraded;
        }
        std::this_thread::sleep_for(kLookForRuns);
        continue;
      }
      serve(*request);
      idle_since = now_s();
    }
  }

 private:
  Worker worker(std::int64_t request) const {
    const double now = now_s();
    return {options_.name, options_.gpu.empty() ? config_.backend : options_.gpu, request, now, now};
  }

  void see(std::int64_t request) {
    seen_ = now_s();
    queue_.see_worker(worker(request), seen_);
  }

  // One process at a time judges a run, also where a supervisor believes that this one is dead.
  FileDescriptor lock_of(const Request& request) const {
    const fs::path file = queue_.folder_of(request.id) / "lock";
    FileDescriptor lock(open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    while (lock && flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
      throw_if_interrupted();
      std::this_thread::sleep_for(kLookForRuns);
    }
    return lock;
  }

  void serve(const Request& request) {
    log_.add("begun", {{"run", request.id},
                       {"student", request.student},
                       {"lab", request.lab},
                       {"worker", options_.name},
                       {"start", request.starts},
                       {"waited_s", request.started - request.arrived}});
    try {
      const Heartbeat alive(options_.desk, worker(request.id));
      const FileDescriptor lock = lock_of(request);
      config_ = Config::read(options_.desk);  // an instructor may have changed it meanwhile
      queue_.add_event(request, "begun", {{"tell", "begun"}});
      const Ending ended = request.kind == kProfile
                               ? CountedRun(queue_, config_, request, options_.gpu).execute()
                               : JudgedRun(queue_, config_, request, options_.gpu).execute();
      const bool counted = queue_.end(request, ended.state, ended.verdict, ended.message, now_s());
      if (counted) keep_what_counts(queue_, request.id, ended.state);
      log_.add("ended", {{"run", request.id},
                         {"student", request.student},
                         {"state", ended.state},
                         {"verdict", ended.verdict},
                         {"counted", counted},
                         {"seconds", now_s() - request.started}});
    } catch (const Interrupted&) {
      queue_.give_back(request, false, now_s());
      throw;
    } catch (const GpuWedged& error) {
      return leave(request, error);
    } catch (const DiskFull& error) {
      return leave(request, error);
    } catch (const std::exception& error) {
      // Once more, then it ends with a word.
      log_.add("fault", {{"run", request.id}, {"worker", options_.name}, {"why", error.what()}});
      queue_.give_back(request, true, now_s());
    }
    see(0);
  }

  // The machine's own trouble: this worker ends, and a new one tries again after a while.
  template <typename Error>
  void leave(const Request& request, const Error& error) {
    log_.add("fault", {{"run", request.id}, {"worker", options_.name}, {"why", error.what()}});
    queue_.give_back(request, false, now_s());
    throw error;
  }

  WorkerOptions options_;
  Config config_;
  Queue queue_;
  Log log_;
  double seen_ = 0;
};

}  // namespace

int work(const WorkerOptions& options) {
  return WorkLoop(options).execute();
}

}  // namespace warpgrade::desk

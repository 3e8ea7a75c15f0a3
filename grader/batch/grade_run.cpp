#include "batch/grade_run.h"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <condition_variable>
#include <cstdlib>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <string_view>
#include <thread>

#include "base/error.h"
#include "base/files.h"
#include "base/json.h"
#include "base/process.h"
#include "batch/judging.h"
#include "score/score.h"

namespace warpgrade {
namespace fs = std::filesystem;
using nlohmann::json;

namespace {

int cores() {
  return static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
}

// WARPEMU_THREADS, as the emulator's own programs read it: workers of each runner, instead of a share of the
// cores.
std::optional<int> emulator_threads_asked() {
  const char* text = std::getenv("WARPEMU_THREADS");
  if (text == nullptr || *text == '\0') return std::nullopt;
  constexpr int kMost = 1024;
  const std::string_view digits = text;
  int threads = 0;
  const auto [end, error] = std::from_chars(digits.begin(), digits.end(), threads);
  if (error != std::errc() || end != digits.end() || threads < 1 || threads > kMost)
    throw UsageError("WARPEMU_THREADS is '{}'; it must be a number from 1 to {}, or not be set", text, kMost);
  return threads;
}

// Calls work(i) for i in [0, count) on `workers` threads; the first exception stops the rest and is thrown
// again.
void parallel(size_t count, size_t workers, const std::function<void(size_t)>& work) {
  std::atomic<size_t> next{0};
  std::exception_ptr failure;
  std::mutex mutex;
  const auto loop = [&] {
    for (size_t i; (i = next++) < count;) {
      try {
        work(i);
      } catch (...) {
        const std::lock_guard lock(mutex);
        if (!failure) failure = std::current_exception();
        next = count;
      }
    }
  };
  std::vector<std::jthread> threads;
  for (size_t i = 1; i < std::min(workers, count); ++i) threads.emplace_back(loop);
  loop();
  threads.clear();
  if (failure) std::rethrow_exception(failure);
}

// Submissions that are compiled and wait for a judge.
class ReadyQueue {
 public:
  void put(size_t i) {
    const std::lock_guard lock(mutex_);
    ready_.push_back(i);
    changed_.notify_one();
  }
  void close() {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    changed_.notify_all();
  }
  std::optional<size_t> take() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return closed_ || !ready_.empty(); });
    if (ready_.empty()) return std::nullopt;
    const size_t i = ready_.front();
    ready_.pop_front();
    return i;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<size_t> ready_;
  bool closed_ = false;
};

class LocalGrading {
 public:
  explicit LocalGrading(const GradeOptions& options)
      : progress_(options.quiet), run_(options, progress_), judging_(run_, progress_) {}

  GradeSummary execute() {
    const size_t count = run_.submissions().size();
    size_t before = count * run_.cases().size();
    for (size_t i = 0; i < count; ++i) before -= judging_.missing(i).size();
    judging_.compile_baselines();
    // The emulator's time limits are the CPU's: compiling beside it would be unfair.
    if (run_.on_gpu()) {
      std::jthread compiling([&] { guarded([&] { compile_all(); }); });
      judge_all();
    } else {
      compile_all();
      judge_all();
    }
    if (failure_) std::rethrow_exception(failure_);
    judge_spoilt();
    run_.folder().collect();
    return {run_.folder().root(), judging_.recorded(),  before,
            judging_.faults(),    judging_.for_staff(), score_run(run_.folder(), std::nullopt)};
  }

 private:
  // The first failure of any thread ends the others' work.
  void guarded(const std::function<void()>& work) {
    try {
      work();
    } catch (...) {
      const std::lock_guard lock(mutex_);
      if (!failure_) failure_ = std::current_exception();
      failed_ = true;
    }
  }

  void compile_all() {
    std::atomic<size_t> done{0};
    const size_t count = run_.submissions().size();
    // Judges spin while they time: on a GPU they keep their cores.
    const int compilers = run_.on_gpu() ? std::max(1, cores() - 2 * workers() - 1) : cores();
    const struct Closing {
      ReadyQueue& queue;
      ~Closing() { queue.close(); }
    } closing{ready_};
    const auto compile = [&](size_t i) {
      throw_if_interrupted();
      if (failed_) return;
      judging_.compile(i);
      ready_.put(i);
      progress_.update(fmt::format("compiled {}/{}: {}", ++done, count, run_.submissions()[i].id));
    };
    // Where an earlier call died, this one may die too: one at a time, so that the next call knows where.
    std::vector<size_t> first, last;
    for (size_t i = 0; i < count; ++i) (judging_.deaths(i) == 0 ? first : last).push_back(i);
    parallel(first.size(), static_cast<size_t>(compilers), [&](size_t k) { compile(first[k]); });
    for (const size_t i : last) compile(i);
  }

  // On a GPU one: what others do outside of their timed phases has to wait for those of each, and takes
  // longer while several bring up and end their contexts. Measured: reports/published/README.md.
  int workers() const {
    int jobs = run_.options().jobs;
    if (jobs <= 0) jobs = run_.on_gpu() ? 1 : cores();
    return std::max(1, std::min<int>(jobs, static_cast<int>(run_.submissions().size())));
  }

  Judging::Share share() const {
    Judging::Share share;
    share.emulator_threads = emulator_threads_asked().value_or(std::max(1, cores() / workers()));
    share.judge_threads = run_.on_gpu() ? cores() : share.emulator_threads;
    share.alone = !run_.on_gpu() || workers() == 1;
    return share;
  }

  void judge_all() {
    std::vector<std::jthread> threads;
    for (int worker = 1; worker < workers(); ++worker)
      threads.emplace_back([&] { guarded([&] { judge_ready(); }); });
    guarded([&] { judge_ready(); });
  }

  void judge_ready() {
    JudgeServer judge;
    while (const auto i = ready_.take()) {
      throw_if_interrupted();
      if (failed_) return;
      if (!judging_.judge(*i, judge, share()).empty()) {
        const std::lock_guard lock(mutex_);
        spoilt_.push_back(*i);
      }
      progress_.note(
          fmt::format("[{}/{}] {}", ++done_, run_.submissions().size(), judging_.summary_line(*i)));
    }
  }

  // Verdicts that others on the GPU may have brought about are found anew with nobody else there.
  void judge_spoilt() {
    if (spoilt_.empty()) return;
    JudgeServer judge;
    Judging::Share alone = share();
    alone.alone = true;
    for (const size_t i : spoilt_) {
      throw_if_interrupted();
      judging_.judge(i, judge, alone);
      progress_.note(fmt::format("[alone] {}", judging_.summary_line(i)));
    }
  }

  Progress progress_;
  ClassRun run_;
  Judging judging_;
  ReadyQueue ready_;
  std::mutex mutex_;
  std::vector<size_t> spoilt_;
  std::exception_ptr failure_;
  std::atomic<bool> failed_{false};
  std::atomic<size_t> done_{0};
};

}  // namespace

json score_run(const RunFolder& folder, const std::optional<fs::path>& policy_file) {
  const json run = folder.read_run();
  // A policy that was given holds from then on: whatever is made of the run later follows it.
  if (policy_file) {
    load_policy(*policy_file, dataset_names(find_lab(run.at("lab"))));
    write_text(folder.root() / "policy.yaml", read_text(*policy_file));
  }
  const Policy policy = policy_of(folder, run);
  const json scores = score(policy, run, folder.read_records());
  write_text(folder.scores_file(), json_text(scores, 1) + "\n");
  return scores;
}

GradeSummary grade(const GradeOptions& options) {
  return LocalGrading(options).execute();
}

}  // namespace warpgrade

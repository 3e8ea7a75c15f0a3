#include "course/batch/grade_run.h"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <functional>
#include <latch>
#include <mutex>
#include <optional>
#include <set>
#include <string_view>
#include <thread>

#include "base/error.h"
#include "base/files.h"
#include "base/json.h"
#include "base/parallel.h"
#include "base/process.h"
#include "base/waiting.h"
#include "course/batch/case_dispatcher.h"
#include "course/score/score.h"
#include "judge/sandbox/usable_cores.h"

namespace warpgrade {
namespace fs = std::filesystem;
using nlohmann::json;

namespace {

using Clock = std::chrono::steady_clock;

std::string time_text(double seconds) {
  if (seconds < 90) return fmt::format("{:.0f} s", std::max(1.0, seconds));
  if (seconds < 90 * 60) return fmt::format("{:.0f} min", seconds / 60);
  return fmt::format("{:.1f} h", seconds / 3600);
}

// WARPEMU_THREADS, as the emulator's own programs read it: workers of each runner, instead of a share of
// the cores.
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

// What is wrong with WARPEMU_ISA, of which the emulator's own words do not reach who judges; empty: nothing.
std::string unknown_level_text() {
  const char* text = std::getenv("WARPEMU_ISA");
  if (text == nullptr || *text == '\0') return "";
  for (const std::string_view level : {"v2", "v3", "v4", "base"}) {
    if (text == level) return "";
  }
  return fmt::format(
      "WARPEMU_ISA is '{}', which is no level: the emulator ignores it. Set it to v2, v3 or v4, or do not "
      "set it",
      text);
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
      : progress_(options.quiet), run_(options, progress_), dispatcher_(run_, progress_) {}

  GradeSummary execute() {
    size_t before = run_.submissions().size() * run_.cases().size();
    for (size_t i = 0; i < run_.submissions().size(); ++i) {
      const size_t missing = dispatcher_.missing(i).size();
      cases_ += missing;
      if (missing > 0) todo_.push_back(i);
    }
    before -= cases_;
    if (!todo_.empty()) work();
    run_.folder().collect();
    return {run_.folder().root(), dispatcher_.recorded(),  before,
            dispatcher_.faults(), dispatcher_.for_staff(), score_run(run_.folder(), std::nullopt)};
  }

  // What execute() would compile, into the cache that all runs share.
  void compile_only() {
    for (size_t i = 0; i < run_.submissions().size(); ++i) todo_.push_back(i);
    std::jthread compiling([&] { guarded([&] { compile_all(); }); });
    guarded([&] { compile_baselines(); });
  }

 private:
  void work() {
    dispatcher_.on_record([this](size_t i, const std::string& case_id) {
      progress_.update(fmt::format("[{}/{}] {}: {}; {}", done_ + 1, todo_.size(), dispatcher_.label(i),
                                   case_id, forecast()));
    });
    // The emulator's time limits are the CPU's: compiling beside it would be unfair.
    if (run_.on_gpu()) {
      std::jthread compiling([&] { guarded([&] { compile_all(); }); });
      std::jthread baselines([&] {
        guarded([&] { compile_baselines(); });
        baselines_compiled_.count_down();
      });
      began_ = Clock::now();
      judge_all();
    } else {
      compile_baselines();
      compile_all();
      began_ = Clock::now();
      judge_all();
    }
    if (failure_) std::rethrow_exception(failure_);
    judge_disturbed();
  }

  void compile_baselines() {
    const SlowNote note("compiling the lab's baselines",
                        [this](const std::string& text) { progress_.note(text); });
    dispatcher_.compile_baselines();
  }

  // "41 of 96 cases, about 3 min left": what is left takes as long a case as what was judged so far.
  std::string forecast() const {
    constexpr size_t kFewest = 3;
    const size_t done = std::min(cases_, dispatcher_.recorded() + dispatcher_.faults());
    std::string text = fmt::format("{} of {} cases", done, cases_);
    if (done < kFewest || done == cases_) return text;
    const double spent = std::chrono::duration<double>(Clock::now() - began_).count();
    return text + ", about " +
           time_text(spent / static_cast<double>(done) * static_cast<double>(cases_ - done)) + " left";
  }

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
    // Judges spin while they time: on a GPU they keep their cores.
    const int compilers = run_.on_gpu() ? std::max(1, usable_cores() - 2 * workers() - 1) : usable_cores();
    const struct Closing {
      ReadyQueue& queue;
      ~Closing() { queue.close(); }
    } closing{ready_};
    const auto compile = [&](size_t i) {
      throw_if_interrupted();
      if (failed_) return;
      dispatcher_.compile(i);
      ready_.put(i);
      progress_.update(fmt::format("compiled {}/{}: {}", ++done, todo_.size(), dispatcher_.label(i)));
    };
    // Where an earlier call died, this one may die too: one at a time, so that the next call knows where.
    std::vector<size_t> first, last;
    for (const size_t i : todo_) (dispatcher_.deaths(i) == 0 ? first : last).push_back(i);
    parallel(first.size(), static_cast<size_t>(compilers), [&](size_t k) { compile(first[k]); });
    for (const size_t i : last) compile(i);
  }

  const std::vector<JudgeDevice>& devices() const { return run_.backend().devices; }

  // On a GPU one each: what others do outside of their timed phases has to wait for those of each, and takes
  // longer while several bring up and end their contexts. Measured: reports/published/README.md.
  int workers() const {
    int jobs = run_.options().jobs;
    if (jobs <= 0)
      jobs = run_.on_gpu() || !devices().empty() ? std::max(1, static_cast<int>(devices().size()))
                                                 : usable_cores();
    return std::max(1, std::min<int>(jobs, static_cast<int>(todo_.size())));
  }

  const JudgeDevice* device_of(int worker) const {
    return devices().empty() ? nullptr : &devices()[static_cast<size_t>(worker) % devices().size()];
  }

  CaseDispatcher::Share share(int worker) const {
    CaseDispatcher::Share share;
    const int judges =
        run_.on_gpu() ? std::min(workers(), std::max(1, static_cast<int>(devices().size()))) : workers();
    const int own_cores = std::max(1, usable_cores() / judges);
    share.emulator_threads = emulator_threads_asked().value_or(own_cores);
    share.judge_threads = run_.on_gpu() ? own_cores : share.emulator_threads;
    const bool has_device = workers() <= std::max(1, static_cast<int>(devices().size()));
    share.alone = !run_.on_gpu() || (has_device && !run_.options().beside_others);
    share.device = device_of(worker);
    return share;
  }

  void judge_all() {
    // `check` asks for no progress, but is to show this.
    if (const std::string text = unknown_level_text(); !run_.on_gpu() && !text.empty())
      std::fprintf(stderr, "warpgrade: %s\n", text.c_str());
    {
      std::vector<std::jthread> threads;
      for (int worker = 1; worker < workers(); ++worker)
        threads.emplace_back([this, worker] { guarded([&] { judge_ready(worker); }); });
      guarded([&] { judge_ready(0); });
    }
    // What a GPU left when it was given up, after the other judges had come to their end.
    for (int worker = 0; worker < workers(); ++worker) {
      if (!is_given_up(device_of(worker))) return guarded([&] { judge_ready(worker); });
    }
  }

  void judge_ready(int worker) {
    const CaseDispatcher::Share own = share(worker);
    JudgeClient judge(own.device != nullptr ? own.device->visible : "");
    if (own.device != nullptr)
      judge.report_waits(own.device->name, [this](const std::string& text) { progress_.note(text); });
    if (run_.on_gpu()) {  // nothing is compiled yet
      judge.start_early(dispatcher_.outline_without_baselines(own));
      baselines_compiled_.wait();
      if (failed_) return;
      judge.start_early(dispatcher_.outline(own));
    }
    while (!is_given_up(own.device)) {
      const auto i = ready_.take();
      if (!i) return;
      throw_if_interrupted();
      if (failed_) return;
      try {
        judge_one(*i, judge, own);
      } catch (const GpuWedged& wedged) {
        if (!give_up(own.device, wedged.what())) throw;
        ready_.put(*i);
      }
    }
  }

  void judge_one(size_t i, JudgeClient& judge, CaseDispatcher::Share own) {
    own.another_follows = ++begun_ < todo_.size();
    if (!dispatcher_.judge(i, judge, own).empty()) {
      const std::lock_guard lock(mutex_);
      disturbed_.push_back(i);
    }
    progress_.note(
        fmt::format("[{}/{}] {}; {}", ++done_, todo_.size(), dispatcher_.summary_line(i), forecast()));
  }

  bool is_given_up(const JudgeDevice* device) {
    const std::lock_guard lock(mutex_);
    return device != nullptr && given_up_.contains(device);
  }

  // A GPU that answers nothing is left alone while there is another one; false: it was the last.
  bool give_up(const JudgeDevice* device, const std::string& why) {
    const std::lock_guard lock(mutex_);
    const size_t used = std::min(devices().size(), static_cast<size_t>(workers()));
    if (device == nullptr || given_up_.size() + 1 >= used) return false;
    given_up_.insert(device);
    dispatcher_.events().infrastructure("gpu_wedged", device->name + ": " + why);
    progress_.note(
        fmt::format("no more cases are judged on {}: {}; the other GPUs go on", device->name, why));
    return true;
  }

  // Verdicts that others on the GPU or the cores may have brought about are found anew with nobody of this
  // run beside them.
  void judge_disturbed() {
    if (disturbed_.empty()) return;
    int worker = 0;
    while (worker + 1 < workers() && is_given_up(device_of(worker))) ++worker;
    CaseDispatcher::Share alone = share(worker);
    alone.last = true;
    if (!run_.on_gpu())
      alone.emulator_threads = alone.judge_threads = emulator_threads_asked().value_or(usable_cores());
    JudgeClient judge(alone.device != nullptr ? alone.device->visible : "");
    alone.alone = true;
    for (const size_t i : disturbed_) {
      throw_if_interrupted();
      if (GradeWatcher* watcher = run_.options().watcher; watcher != nullptr && watcher->wants_to_stop())
        return;
      dispatcher_.compile_again(i);
      dispatcher_.judge(i, judge, alone);
      progress_.note(fmt::format("[alone] {}", dispatcher_.summary_line(i)));
    }
  }

  Progress progress_;
  ClassRun run_;
  CaseDispatcher dispatcher_;
  ReadyQueue ready_;
  std::mutex mutex_;
  std::vector<size_t> todo_;  // submissions of which a case has no verdict
  size_t cases_ = 0;          // of them, to be judged
  Clock::time_point began_;
  std::vector<size_t> disturbed_;
  std::set<const JudgeDevice*> given_up_;
  std::atomic<size_t> begun_{0};  // of todo_
  std::latch baselines_compiled_{1};
  std::exception_ptr failure_;
  std::atomic<bool> failed_{false};
  std::atomic<size_t> done_{0};
};

}  // namespace

namespace {

Policy policy_from_now_on(const RunFolder& folder, const json& run,
                          const std::optional<fs::path>& policy_file) {
  // A policy that was given holds from then on: whatever is made of the run later follows it.
  if (policy_file) {
    load_policy(*policy_file, vocabulary_of(run));
    write_text(folder.root() / "policy.yaml", read_text(*policy_file));
  }
  return policy_of(folder, run);
}

json write_scores(const RunFolder& folder, const Policy& policy, const json& run, const RecordsOf& records) {
  json scores = score_by_submission(policy, run, records, journey_counts(folder, policy));
  write_text(folder.scores_file(), json_text(scores, 1) + "\n");
  return scores;
}

}  // namespace

json score_run(const RunFolder& folder, const std::optional<fs::path>& policy_file) {
  const json run = folder.read_run();
  const Policy policy = policy_from_now_on(folder, run, policy_file);
  return write_scores(folder, policy, run, folder.records_of(run, score_fields()));
}

json collect_and_score(const RunFolder& folder, const std::optional<fs::path>& policy_file) {
  const json run = folder.read_run();
  const Policy policy = policy_from_now_on(folder, run, policy_file);
  json scores;
  folder.collect(run, score_fields(),
                 [&](const RecordsOf& records) { scores = write_scores(folder, policy, run, records); });
  return scores;
}

GradeSummary grade(const GradeOptions& options) {
  return LocalGrading(options).execute();
}

void compile_only(const GradeOptions& options) {
  LocalGrading(options).compile_only();
}

}  // namespace warpgrade

#include "batch/grade_run.h"

#include <algorithm>
#include <atomic>
#include <functional>
#include <mutex>
#include <thread>

#include "base/error.h"
#include "base/files.h"
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

class LocalGrading {
 public:
  explicit LocalGrading(const GradeOptions& options)
      : progress_(options.quiet), run_(options, progress_), judging_(run_, progress_) {}

  GradeSummary execute() {
    const size_t count = run_.submissions().size();
    size_t before = count * run_.cases().size();
    for (size_t i = 0; i < count; ++i) before -= judging_.missing(i).size();
    judging_.compile_baselines();
    compile_all();
    judge_all();
    run_.folder().collect();
    return {run_.folder().root(), judging_.recorded(), before, judging_.faults(),
            score_run(run_.folder(), run_.options().policy)};
  }

 private:
  void compile_all() {
    std::atomic<size_t> done{0};
    const size_t count = run_.submissions().size();
    parallel(count, static_cast<size_t>(cores()), [&](size_t i) {
      throw_if_interrupted();
      judging_.compile(i);
      progress_.update(fmt::format("compiled {}/{}: {}", ++done, count, run_.submissions()[i].id));
    });
  }

  int workers() const {
    if (run_.on_gpu()) return 1;  // one submission at a time has the device
    const int jobs = run_.options().jobs > 0 ? run_.options().jobs : cores();
    return std::max(1, std::min<int>(jobs, static_cast<int>(run_.submissions().size())));
  }

  void judge_all() {
    std::atomic<size_t> done{0};
    const size_t count = run_.submissions().size();
    Judging::Share share;
    share.emulator_threads = std::max(1, cores() / workers());
    share.judge_threads = run_.on_gpu() ? cores() : share.emulator_threads;
    parallel(count, static_cast<size_t>(workers()), [&](size_t i) {
      JudgeServer judge;
      judging_.judge(i, judge, share);
      progress_.note(fmt::format("[{}/{}] {}", ++done, count, judging_.summary_line(i)));
    });
  }

  Progress progress_;
  ClassRun run_;
  Judging judging_;
};

}  // namespace

json score_run(const RunFolder& folder, const std::optional<fs::path>& policy_file) {
  const json run = folder.read_run();
  const std::string lab_name = run.at("lab");
  const Lab& lab = find_lab(lab_name);
  const std::set<std::string> known = dataset_names(lab);
  const Policy policy = policy_file
                            ? load_policy(*policy_file, known)
                            : parse_policy(run.at("policy"), folder.run_file().string() + " (policy)", known);
  const json scores = score(policy, run, folder.read_records());
  write_text(folder.scores_file(), scores.dump(1, ' ', false, json::error_handler_t::replace) + "\n");
  return scores;
}

GradeSummary grade(const GradeOptions& options) {
  return LocalGrading(options).execute();
}

}  // namespace warpgrade

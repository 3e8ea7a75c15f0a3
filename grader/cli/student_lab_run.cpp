#include "cli/student_lab_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/files.h"
#include "base/process.h"
#include "base/toolchain.h"
#include "judge/compile/compiler.h"
#include "judge/labs/registry.h"
#include "record/outcome.h"

namespace warpgrade {
using nlohmann::json;

StudentLabRun::StudentLabRun(StudentRunOptions options, std::string lab)
    : options_(std::move(options)), lab_(std::move(lab)) {}

StudentLabRun::~StudentLabRun() {
  StudentLabRun::wait_for_end();
}

std::string StudentLabRun::title() const {
  return fmt::format("{}: {} case{}", lab_, cases_.size(), cases_.size() == 1 ? "" : "s");
}

void StudentLabRun::wait_for_end() {
  if (compiled_ahead_.valid()) compiled_ahead_.wait();
  if (thread_.joinable()) thread_.join();
}

void StudentLabRun::compile_ahead(const std::string& backend) {
  compiled_ahead_ = std::async(std::launch::async, [this, backend] {
    try {
      const Submission submission = read_submission(folder(), lab_, Role::kStudent);
      if (submission.problem) return;
      CompileOptions options;
      options.lab = lab_;
      const Backend chosen = choose_backend(backend);
      options.architecture = chosen.architecture;
      options.for_gpu = chosen.name == "cuda";
      if (is_python(submission)) {
        const Lab& lab = find_lab(lab_);
        const std::vector<Case> cases = lab.cases();
        const auto is_drawn = [](const Case& spec) { return spec.drawn; };
        // What is compiled follows from inputs that nobody has looked for yet.
        if (!std::all_of(cases.begin(), cases.end(), is_drawn)) return;
        options.dry_run_cases = lab.dry_run_cases({});
      }
      if (!probe_sandbox().works) options.sandbox = SandboxMode::kUnsandboxed;
      Compiler(find_toolchain(), cache_directory() / "compiled").compile(submission, options);
    } catch (const std::exception&) {
      return;  // the lab's own run meets it again and tells it
    }
  });
}

void StudentLabRun::start() {
  if (std::exchange(started_, true)) return;
  begun_ = Clock::now();
  thread_ = std::thread([this] {
    try {
      if (compiled_ahead_.valid()) compiled_ahead_.wait();
      judge();
      finish(nullptr);
    } catch (...) {
      finish(std::current_exception());
    }
  });
}

void StudentLabRun::judge() {
  const TemporaryDirectory scratch("warpgrade-test");
  GradeOptions options;
  options.lab = lab_;
  options.submissions = folder();
  options.run = scratch.path() / "run";
  options.backend = options_.backend;
  options.cases = cases_;
  options.policy = options_.policy;
  options.allow_unsandboxed = true;  // your own code, on your own machine
  options.measure_speed = false;
  options.own_run = true;
  options.quiet = true;
  options.watcher = this;
  grade(options);
  // What has no verdict for a fault of the judge is no record that was announced.
  for (const Record& record : RunFolder(options.run).read_records()) {
    const std::lock_guard lock(mutex_);
    records_.try_emplace(record.test_case.id, record);
  }
}

void StudentLabRun::finish(std::exception_ptr failure) {
  const std::lock_guard lock(mutex_);
  failure_ = failure;
  compiled_ = ended_ = true;
  in_work_.clear();
  changed_.notify_all();
}

void StudentLabRun::compiled() {
  const std::lock_guard lock(mutex_);
  compiled_ = true;
  begun_ = Clock::now();
  changed_.notify_all();
}

void StudentLabRun::case_started(const std::string& case_id) {
  const std::lock_guard lock(mutex_);
  in_work_ = case_id;
  case_begun_ = Clock::now();
}

void StudentLabRun::case_recorded(const Record& record) {
  const std::lock_guard lock(mutex_);
  const std::string& id = record.test_case.id;
  records_.insert_or_assign(id, record);
  in_work_.clear();
  if (record.outcome.verdict == Verdict::kTimeLimit && stopped_at_.empty()) stopped_at_ = id;
  changed_.notify_all();
}

bool StudentLabRun::wants_to_stop() {
  const std::lock_guard lock(mutex_);
  return !stopped_at_.empty();
}

void StudentLabRun::wait_until_compiled() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return compiled_; });
}

const Record* StudentLabRun::wait_for(const std::string& case_id) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return ended_ || records_.contains(case_id); });
  const auto found = records_.find(case_id);
  if (found != records_.end()) return &found->second;
  if (failure_) std::rethrow_exception(failure_);
  return nullptr;
}

StudentProgress StudentLabRun::progress() const {
  const std::lock_guard lock(mutex_);
  const auto seconds_since = [](Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
  };
  StudentProgress progress;
  progress.compiling = !compiled_;
  progress.done = records_.size();
  progress.total = cases_.size();
  progress.case_id = in_work_;
  if (!in_work_.empty()) progress.case_s = seconds_since(case_begun_);
  if (progress.done > 0) {
    const double each = (seconds_since(begun_) - progress.case_s) / static_cast<double>(progress.done);
    const double rest = static_cast<double>(progress.total - std::min(progress.done, progress.total));
    progress.left_s = std::max(0.0, each * rest - progress.case_s);
  }
  return progress;
}

std::vector<Record> StudentLabRun::records() const {
  const std::lock_guard lock(mutex_);
  std::vector<Record> list;
  for (const std::string& id : cases_) {
    if (const auto found = records_.find(id); found != records_.end()) list.push_back(found->second);
  }
  return list;
}

std::string StudentLabRun::stopped_at() const {
  const std::lock_guard lock(mutex_);
  return stopped_at_;
}

}  // namespace warpgrade

#include "judge/judging/services.h"

#include <algorithm>
#include <cstdlib>

#include "base/process.h"

namespace warpgrade {

using protocol::Op;

std::unique_ptr<RunnerProcess> JudgeServices::borrow(const RunnerSpec& spec) {
  auto& idle = idle_[spec.executable.string()];
  if (idle.empty()) {
    planned_.clear();  // a new process has chosen nothing yet
    return std::make_unique<RunnerProcess>(spec);
  }
  std::unique_ptr<RunnerProcess> runner = std::move(idle.back());
  idle.pop_back();
  runner->resume();
  return runner;
}

void JudgeServices::keep_ready(const RunnerSpec& spec) {
  auto& idle = idle_[spec.executable.string()];
  if (!idle.empty()) return;
  auto runner = std::make_unique<RunnerProcess>(spec);
  if (!runner->call(Op::kNull).ok()) return reap_later(std::move(runner));
  runner->pause();
  idle.push_back(std::move(runner));
}

void JudgeServices::give_back(const RunnerSpec& spec, std::unique_ptr<RunnerProcess> runner) {
  runner->resume();
  if (runner->alive() && runner->call(Op::kFree).ok() && runner->call(Op::kDetach).ok())
    idle_[spec.executable.string()].push_back(std::move(runner));
  else
    reap_later(std::move(runner));
}

namespace {

// A context is what takes long, and a GPU's: on the emulator each case has an executor of its own, unless a
// test wants one a submission there, too.
bool keeps_executor(const RunnerSpec& spec) {
  static const bool wanted = std::getenv("WARPGRADE_ONE_EXECUTOR") != nullptr;
  return (spec.gpu || wanted) && !spec.executor.empty();
}

}  // namespace

std::unique_ptr<RunnerProcess> JudgeServices::start(const RunnerSpec& spec) {
  working_ = 1;
  while (!prepared_.empty()) {
    std::unique_ptr<RunnerProcess> runner = std::move(prepared_.front().runner);
    prepared_.pop_front();
    runner->resume();
    if (runner->alive() && (!keeps_executor(spec) || runner->has_taken_host())) return runner;
    reap_later(std::move(runner));
  }
  return make(spec);
}

// An executor that waits for its program comes first.
std::unique_ptr<RunnerProcess> JudgeServices::make(const RunnerSpec& spec) {
  std::unique_ptr<ExecutorProcess> spare;
  if (spare_ && keeps_executor(spec) && spare_->fits(spec)) {
    spare = std::move(spare_);
    spare->box().resume();
  }
  return std::make_unique<RunnerProcess>(spec, std::move(spare));
}

void JudgeServices::prepare_executor(const RunnerSpec& spec) {
  if (!keeps_executor(spec) || spare_) return;
  spare_ = std::make_unique<ExecutorProcess>(spec);
  spare_is_up_ = false;
}

void JudgeServices::retire(const RunnerSpec& spec, std::unique_ptr<RunnerProcess> runner, bool next) {
  working_ = 0;
  if (runner && next && keeps_executor(spec)) {
    auto executor = runner->give_executor();
    lost_executor_ = executor == nullptr;
    prepared_.push_front(
        {executor ? std::make_unique<RunnerProcess>(spec, std::move(executor)) : make(spec), false});
  }
  reap_later(std::move(runner));
}

void JudgeServices::prepare(const RunnerSpec& spec, int count) {
  if (keeps_executor(spec)) count = std::min(count, 1 - working_);
  while (static_cast<int>(prepared_.size()) < count) prepared_.push_back({make(spec), false});
}

void JudgeServices::forget_prepared() {
  for (Prepared& prepared : prepared_) reap_later(std::move(prepared.runner));
  prepared_.clear();
  lost_executor_ = false;
}

void JudgeServices::reap_later(std::unique_ptr<RunnerProcess> runner) {
  if (!runner) return;
  ending_.push_back(std::async(std::launch::async, [dying = std::move(runner)]() mutable { dying.reset(); }));
}

void JudgeServices::settle() {
  for (std::future<void>& end : ending_) end.get();
  ending_.clear();
  for (Prepared& prepared : prepared_) {
    if (prepared.up) continue;
    try {
      prepared.up = prepared.runner->call(Op::kNull).ok();
    } catch (const Interrupted&) {
      // This may be the end of the process: whoever goes on from here notices it too.
    }
    if (!prepared.up) break;
    prepared.runner->pause();
  }
  if (spare_ && !spare_is_up_) {
    try {
      spare_is_up_ = spare_->wait_until_up(std::chrono::seconds(60));
    } catch (const Interrupted&) {
      // As above.
    }
    spare_is_up_ ? spare_->box().pause() : spare_.reset();
  }
  // One that does not come up is left to its case, which tries anew and says what is wrong; those behind it,
  // of the same program, are not waited for as well.
  while (!prepared_.empty() && !prepared_.back().up) prepared_.pop_back();
}

}  // namespace warpgrade

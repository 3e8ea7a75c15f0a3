#include "judge/services.h"

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
  return runner;
}

void JudgeServices::give_back(const RunnerSpec& spec, std::unique_ptr<RunnerProcess> runner) {
  runner->resume();
  if (runner->alive() && runner->call(Op::kFree).ok() && runner->call(Op::kDetach).ok())
    idle_[spec.executable.string()].push_back(std::move(runner));
  else
    bury(std::move(runner));
}

std::unique_ptr<RunnerProcess> JudgeServices::start(const RunnerSpec& spec) {
  while (!prepared_.empty()) {
    std::unique_ptr<RunnerProcess> runner = std::move(prepared_.front().runner);
    prepared_.pop_front();
    runner->resume();
    if (runner->alive()) return runner;
    bury(std::move(runner));
  }
  return std::make_unique<RunnerProcess>(spec);
}

void JudgeServices::prepare(const RunnerSpec& spec, int count) {
  while (static_cast<int>(prepared_.size()) < count)
    prepared_.push_back({std::make_unique<RunnerProcess>(spec), false});
}

void JudgeServices::forget_prepared() {
  for (Prepared& prepared : prepared_) bury(std::move(prepared.runner));
  prepared_.clear();
}

void JudgeServices::bury(std::unique_ptr<RunnerProcess> runner) {
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
  // One that does not come up is left to its case, which tries anew and says what is wrong; those behind it,
  // of the same program, are not waited for as well.
  while (!prepared_.empty() && !prepared_.back().up) prepared_.pop_back();
}

}  // namespace warpgrade

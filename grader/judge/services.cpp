#include "judge/services.h"

#include "base/process.h"

namespace warpgrade {

using protocol::Op;

std::unique_ptr<RunnerProcess> JudgeServices::borrow(const RunnerSpec& spec) {
  auto& idle = idle_[spec.executable.string()];
  if (idle.empty()) return std::make_unique<RunnerProcess>(spec);
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

std::unique_ptr<RunnerProcess> JudgeServices::start(const RunnerSpec& spec, bool another_follows) {
  std::unique_ptr<RunnerProcess> runner = std::move(next_);
  if (runner) runner->resume();
  if (!runner || !runner->alive()) runner = std::make_unique<RunnerProcess>(spec);
  if (another_follows) {
    next_ = std::make_unique<RunnerProcess>(spec);
    next_is_up_ = false;
  }
  return runner;
}

void JudgeServices::forget_prefetched() {
  if (next_) bury(std::move(next_));
}

void JudgeServices::bury(std::unique_ptr<RunnerProcess> runner) {
  if (!runner) return;
  ending_.push_back(std::async(std::launch::async, [dying = std::move(runner)]() mutable { dying.reset(); }));
}

void JudgeServices::settle() {
  for (std::future<void>& end : ending_) end.get();
  ending_.clear();
  if (!next_ || next_is_up_) return;
  // One that does not come up is left to the next case, which tries anew and says what is wrong.
  bool up = false;
  try {
    up = next_->call(Op::kNull).ok();
  } catch (const Interrupted&) {
    // This may be the end of the process: whoever goes on from here notices it too.
  }
  if (up)
    next_->pause();
  else
    next_.reset();
  next_is_up_ = up;
}

}  // namespace warpgrade

#include "judge/judging/services.h"

#include <algorithm>
#include <cstdlib>

#include "base/process.h"
#include "judge/judging/device_memory_limit.h"

namespace warpgrade {

using protocol::Op;

template <typename Process>
void JudgeServices::end_later(std::unique_ptr<Process> process) {
  if (!process) return;
  ending_.push_back(
      std::async(std::launch::async, [dying = std::move(process)]() mutable { dying.reset(); }));
}

std::unique_ptr<RunnerProcess> JudgeServices::borrow(const RunnerSpec& spec) {
  auto& idle = idle_[spec.executable.string()];
  if (idle.empty()) take_returned();
  if (idle.empty()) {
    planned_.clear();  // a new process has chosen nothing yet
    return begin(spec);
  }
  std::unique_ptr<RunnerProcess> runner = std::move(idle.back());
  idle.pop_back();
  runner->resume();
  return runner;
}

void JudgeServices::keep_ready(const RunnerSpec& spec, int count) {
  auto& idle = idle_[spec.executable.string()];
  std::vector<std::unique_ptr<RunnerProcess>> coming;  // side by side
  while (static_cast<int>(idle.size() + coming.size()) < count) coming.push_back(begin(spec));
  for (auto& runner : coming) {
    if (!runner->call(Op::kNull).ok()) return reap_later(std::move(runner));
    runner->pause();
    idle.push_back(std::move(runner));
  }
}

// To unmap large buffers takes 10 ms and more in each of many processes.
void JudgeServices::give_back(const RunnerSpec& spec, std::unique_ptr<RunnerProcess> runner) {
  auto clear = [back = std::move(runner)]() mutable -> std::unique_ptr<RunnerProcess> {
    try {
      back->resume();
      if (back->alive() && back->call(Op::kFree).ok() && back->call(Op::kDetach).ok()) return std::move(back);
    } catch (const Interrupted&) {
      // Whoever goes on from here notices it too.
    }
    back.reset();
    return nullptr;
  };
  returning_.push_back({spec.executable.string(), std::async(std::launch::async, std::move(clear))});
}

void JudgeServices::take_returned() {
  for (Returning& returning : returning_) {
    if (auto runner = returning.runner.get()) {
      runner->pause();
      idle_[returning.executable].push_back(std::move(runner));
    }
  }
  returning_.clear();
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

std::unique_ptr<ExecutorProcess> JudgeServices::take_spare(const RunnerSpec& spec) {
  if (!keeps_executor(spec)) return nullptr;
  while (!spares_.empty()) {
    std::unique_ptr<ExecutorProcess> spare = std::move(spares_.front().executor);
    spares_.pop_front();
    if (!spare->fits(spec)) continue;
    spare->box().resume();
    return spare;
  }
  return nullptr;
}

// An executor that waits for its program comes first.
std::unique_ptr<RunnerProcess> JudgeServices::make(const RunnerSpec& spec) {
  auto spare = take_spare(spec);
  return spare ? std::make_unique<RunnerProcess>(spec, std::move(spare)) : begin(spec);
}

void JudgeServices::prepare_executors(const RunnerSpec& spec, int count) {
  if (!keeps_executor(spec)) return;
  while (static_cast<int>(spares_.size()) < count) {
    if (spec.gpu && has_room()) placement_.stir();
    spares_.push_back({std::make_unique<ExecutorProcess>(spec), false});
  }
}

bool JudgeServices::has_room() {
  constexpr std::size_t kRoom = std::size_t{16} << 30;
  const auto now = std::chrono::steady_clock::now();
  if (now - room_asked_ < std::chrono::seconds(1)) return room_;
  room_asked_ = now;
  const auto free = free_device_memory();
  return room_ = free && *free >= kRoom;
}

std::unique_ptr<RunnerProcess> JudgeServices::begin(const RunnerSpec& spec) {
  if (spec.gpu && has_room()) placement_.stir();
  return std::make_unique<RunnerProcess>(spec);
}

std::unique_ptr<RunnerProcess> JudgeServices::start_partner(const RunnerSpec& spec) {
  if (partners_.empty()) return make(spec);
  // Any of them, so that a program that is timed against itself has no processes of its own.
  std::uniform_int_distribution<std::size_t> which(0, partners_.size() - 1);
  std::swap(partners_[which(random_)], partners_.back());
  std::unique_ptr<ExecutorProcess> executor = std::move(partners_.back());
  partners_.pop_back();
  return std::make_unique<RunnerProcess>(spec, std::move(executor));
}

void JudgeServices::retire_partner(const RunnerSpec& spec, std::unique_ptr<RunnerProcess> runner, bool next) {
  if (next && keeps_executor(spec) && has_room()) {
    runner->resume();
    if (auto executor = runner->give_executor()) partners_.push_back(std::move(executor));
  }
  reap_later(std::move(runner));
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
  for (auto& partner : partners_) end_later(std::move(partner));
  partners_.clear();
  lost_executor_ = false;
}

void JudgeServices::reap_later(std::unique_ptr<RunnerProcess> runner) {
  end_later(std::move(runner));
}

void JudgeServices::settle() {
  take_returned();
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
  settle_spares();
  // One that does not come up is left to its case, which tries anew and says what is wrong; those behind it,
  // of the same program, are not waited for as well.
  while (!prepared_.empty() && !prepared_.back().up) prepared_.pop_back();
}

// They have come up side by side.
void JudgeServices::settle_spares() {
  std::erase_if(spares_, [](Spare& spare) {
    if (spare.up) return false;
    try {
      spare.up = spare.executor->wait_until_up(std::chrono::seconds(60));
    } catch (const Interrupted&) {
      // As above.
    }
    if (spare.up) spare.executor->box().pause();
    return !spare.up;
  });
}

}  // namespace warpgrade

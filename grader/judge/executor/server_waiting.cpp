// Calls that wait for the device, and what is done when it does not answer in time.
#include <algorithm>
#include <chrono>

#include "base/elapsed.h"
#include "judge/executor/server_call.h"

namespace warpgrade::executor {
namespace {

using Clock = std::chrono::steady_clock;

constexpr unsigned kTurnsBetweenClocks = 64;  // of calls that wait

}  // namespace

void CallServer::before_waiting(const char* name) {
  if (on_waiting_) on_waiting_(name);
}

void CallServer::wait_for(const Call& call, std::function<cudaError_t()> ask) {
  before_waiting(wire::kOps[call.record.op].name);
  Waiting waiting{call.record.slot, call.record.sequence, reply_in_slot_, call.op(), {}, std::move(ask)};
  is_waiting_call_ = true;
  const cudaError_t error = waiting.ask();
  if (error != cudaErrorNotReady) return finish(waiting.slot, waiting.sequence, error);
  waiting.since = Clock::now();
  waiting_.push_back(std::move(waiting));
}

void CallServer::poll_waiting() {
  std::fill(std::begin(values_), std::end(values_), 0);
  reply_.clear();
  for (size_t k = 0; k < waiting_.size();) {
    const cudaError_t error = waiting_[k].ask();
    if (error == cudaErrorNotReady) {
      ++k;
      continue;
    }
    publish_sticky_error();
    reply_in_slot_ = waiting_[k].reply_in_slot;
    finish(waiting_[k].slot, waiting_[k].sequence, error);
    waiting_.erase(waiting_.begin() + static_cast<std::ptrdiff_t>(k));
  }
  if (limits_.wait_seconds > 0 && ++turns_of_waiting_ % kTurnsBetweenClocks == 0) look_for_late_answers();
}

void CallServer::look_for_late_answers() {
  for (const Waiting& waiting : waiting_) {
    const double waited = seconds_since(waiting.since);
    if (waited < limits_.wait_seconds) continue;
    return give_up({Ending::device_did_not_finish, wire::kOps[static_cast<size_t>(waiting.op)].name, waited});
  }
}

// All who wait are told, and every later call fails.
void CallServer::give_up(const GaveUp& why) {
  if (gave_up_) return;
  gave_up_ = why;
  say(why.text());
  publish_sticky_error();
  reply_.clear();
  reply_in_slot_ = 0;
  for (const Waiting& waiting : waiting_) finish(waiting.slot, waiting.sequence, cudaErrorLaunchTimeout);
  waiting_.clear();
}

cudaError_t CallServer::wait_until_idle(double seconds, const char* name) {
  if (gave_up_) return cudaErrorLaunchTimeout;
  const auto begin = Clock::now();
  for (unsigned turn = 1;; ++turn) {
    const cudaError_t error = ask_device();
    if (error != cudaErrorNotReady) return error;
    if (turn % kTurnsBetweenClocks != 0 || seconds_since(begin) < seconds) continue;
    give_up({Ending::device_did_not_finish, name, seconds_since(begin)});
    return cudaErrorLaunchTimeout;
  }
}

// The device is idle when all streams are.
cudaError_t CallServer::ask_device() {
  for (const auto& stream : streams_) {
    if (!stream) continue;
    if (const cudaError_t error = backend_.query_stream(*stream); error != cudaSuccess) return error;
  }
  work_.host_waited_for_all();
  // Here all is done when it is called; that the host has waited is what racecheck needs to know.
  return backend_.is_interpreted() ? backend_.synchronize_device() : cudaSuccess;
}

}  // namespace warpgrade::executor

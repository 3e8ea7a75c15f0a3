#include "judge/executor/driver/timed_run.h"

namespace warpgrade::executor {
namespace {

constexpr unsigned kMostBehindGate = 700;  // the driver's queue is finite: a full one would wait for the gate
constexpr double kIdleSeconds = 10;        // for what an earlier command left behind

}  // namespace

void TimedRuns::take(CallServer& server) {
  leave();
  server_ = &server;
  server_->on_waiting([this](const char* name) { gate_.open(name); });
  server_->on_work([this](wire::Op) {
    if (gate_.is_closed() && ++behind_gate_ > kMostBehindGate) gate_.open("a full queue");
  });
  server_->on_stream([this](cudart::StreamId stream, bool is_new) {
    is_new ? gate_.add_stream(driver_.stream_of(stream)) : gate_.join_stream(driver_.stream_of(stream));
  });
}

void TimedRuns::leave() {
  if (server_ == nullptr) return;
  server_->on_waiting({});
  server_->on_work({});
  server_->on_stream({});
  server_ = nullptr;
}

TimedRuns::~TimedRuns() {
  leave();
}

std::vector<CUstream> TimedRuns::streams() const {
  std::vector<CUstream> all;
  if (server_ != nullptr) {
    for (const cudart::StreamId stream : server_->streams()) all.push_back(driver_.stream_of(stream));
  }
  all.push_back(CU_STREAM_LEGACY);
  all.push_back(CU_STREAM_PER_THREAD);
  return all;
}

bool TimedRuns::end_without_result(TimedResult& result, Ending ending, const std::string& text) {
  result.status = -1;
  result.ending = ending;
  result.message = text;
  return false;
}

// The device is idle, or the executor has given up.
bool TimedRuns::wait_until_idle(TimedResult& result, double limit_s, const char* name) {
  result.error = server_->wait_until_idle(limit_s, name);
  if (result.error == cudaSuccess) result.error = driver_.synchronize_device();
  if (server_->gave_up()) end_without_result(result, server_->gave_up()->ending, server_->gave_up()->text());
  return result.error == cudaSuccess;
}

bool TimedRuns::serve_until_done(const Host& host, double limit_s, TimedResult& result) {
  const double deadline = steady_us() + 1e6 * limit_s;
  for (unsigned turn = 1;; ++turn) {
    const bool was_idle = server_->serve(64) == 0;
    if (const auto said = server_->take_result()) {
      result.status = said->status;
      result.message = said->message;
      return true;
    }
    if (!was_idle || turn % 1024 != 0) continue;
    if (server_->gave_up())
      return end_without_result(result, server_->gave_up()->ending, server_->gave_up()->text());
    if (!host.is_alive()) return end_without_result(result, Ending::host_ended, "the host process has ended");
    if (steady_us() > deadline)
      return end_without_result(result, Ending::host_did_not_return, "no end within the limit");
  }
}

TimedResult TimedRuns::run(const wire::Command& command, const Host& host, double limit_s) {
  TimedResult result;
  const uint64_t launches = server_->launches();
  server_->take_late_error();
  if (!wait_until_idle(result, kIdleSeconds, "a timed run's beginning")) return result;
  // In this order: L2 is overwritten while none of it is set aside, else lines of an earlier run could lie
  // where ordinary accesses do not come.
  gate_.forget_earlier_runs();
  driver_.use_submissions_limits();
  behind_gate_ = 0;
  gate_.close(streams());
  const double begin = steady_us();
  server_->send_command(command);
  bool is_done = false;
  try {
    is_done = serve_until_done(host, limit_s, result);
  } catch (const ProtocolError&) {
    gate_.open("a broken protocol");  // what was put into streams ends, and the device is free for others
    throw;
  }
  result.host_us = (gate_.is_closed() ? steady_us() : gate_.opened_at_us()) - begin;
  const double finish_s = is_done ? limit_s : 1;
  static_cast<GateTimes&>(result) = gate_.finish(streams(), finish_s);
  result.error = static_cast<cudaError_t>(result.state);
  if (result.state == CUDA_ERROR_NOT_READY) {
    server_->give_up({Ending::device_did_not_finish, "a timed run", finish_s});
    end_without_result(result, Ending::device_did_not_finish, server_->gave_up()->text());
    result.error = cudaErrorLaunchTimeout;
  }
  if (result.ending == Ending::none) driver_.put_limits_aside();
  result.launches = server_->launches() - launches;
  if (result.error == cudaSuccess) result.error = server_->take_late_error();
  return result;
}

TimedResult TimedRuns::run_own(const std::function<void(CUstream)>& body) {
  TimedResult result;
  driver_.synchronize_device();
  gate_.close(streams());
  body(CU_STREAM_LEGACY);
  static_cast<GateTimes&>(result) = gate_.finish(streams(), 2);
  result.error = static_cast<cudaError_t>(result.state);
  return result;
}

TimedResult TimedRuns::plain(const wire::Command& command, const Host& host, double limit_s) {
  TimedResult result;
  const double begin = steady_us();
  const uint64_t launches = server_->launches();
  if (!wait_until_idle(result, kIdleSeconds, "a command's beginning")) return result;
  driver_.use_submissions_limits();
  server_->send_command(command);
  const bool is_done = serve_until_done(host, limit_s, result);
  const Ending ending = result.ending;
  const std::string message = result.message;
  wait_until_idle(result, is_done ? limit_s : 1, "a command");
  if (ending != Ending::none) end_without_result(result, ending, message);
  if (!server_->gave_up()) driver_.put_limits_aside();
  result.host_us = steady_us() - begin;
  result.launches = server_->launches() - launches;
  if (result.error == cudaSuccess) result.error = server_->take_late_error();
  return result;
}

}  // namespace warpgrade::executor

#include "executor/driver/timed_run.h"

namespace warpgrade::executor {
namespace {

constexpr unsigned kMostBehindGate = 700;  // the driver's queue is finite: a full one would wait for the gate

}  // namespace

TimedRuns::TimedRuns(Driver& driver, Server& server) : driver_(driver), server_(server) {
  server_.on_waiting([this](const char* name) { gate_.open(name); });
  server_.on_work([this](wire::Op) {
    if (gate_.is_closed() && ++behind_gate_ > kMostBehindGate) gate_.open("a full queue");
  });
  server_.on_stream([this](cudart::StreamId stream, bool is_new) {
    is_new ? gate_.add_stream(driver_.stream_of(stream)) : gate_.join_stream(driver_.stream_of(stream));
  });
}

TimedRuns::~TimedRuns() {
  server_.on_waiting({});
  server_.on_work({});
  server_.on_stream({});
}

std::vector<CUstream> TimedRuns::streams() const {
  std::vector<CUstream> all;
  for (const cudart::StreamId stream : server_.streams()) all.push_back(driver_.stream_of(stream));
  all.push_back(CU_STREAM_LEGACY);
  all.push_back(CU_STREAM_PER_THREAD);
  return all;
}

bool TimedRuns::serve_until_done(const Host& host, double limit_s, TimedResult& result) {
  const double deadline = steady_us() + 1e6 * limit_s;
  for (unsigned turn = 1;; ++turn) {
    const bool was_idle = server_.serve(64) == 0;
    if (const auto said = server_.take_result()) {
      result.status = said->status;
      result.message = said->message;
      return true;
    }
    if (!was_idle || turn % 1024 != 0) continue;
    if (!host.is_alive()) {
      result.status = -1;
      result.host_ended = true;
      result.message = "the host process has ended";
      return false;
    }
    if (steady_us() > deadline) {
      result.status = -1;
      result.message = "no end within the limit";
      return false;
    }
  }
}

TimedResult TimedRuns::run(const wire::Command& command, const Host& host, double limit_s) {
  TimedResult result;
  const uint64_t launches = server_.launches();
  server_.take_late_error();
  result.error = driver_.synchronize_device();
  if (result.error != cudaSuccess) return result;
  gate_.reset_l2();
  behind_gate_ = 0;
  gate_.close(streams());
  const double begin = steady_us();
  server_.send_command(command);
  host.thaw();
  const bool is_done = serve_until_done(host, limit_s, result);
  host.freeze();
  result.host_us = (gate_.is_closed() ? steady_us() : gate_.opened_at_us()) - begin;
  static_cast<GateTimes&>(result) = gate_.finish(streams(), is_done ? limit_s : 1);
  result.error = static_cast<cudaError_t>(result.state);
  result.launches = server_.launches() - launches;
  if (result.error == cudaSuccess) result.error = server_.take_late_error();
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
  const uint64_t launches = server_.launches();
  server_.send_command(command);
  host.thaw();
  serve_until_done(host, limit_s, result);
  host.freeze();
  result.error = driver_.synchronize_device();
  result.host_us = steady_us() - begin;
  result.launches = server_.launches() - launches;
  if (result.error == cudaSuccess) result.error = server_.take_late_error();
  return result;
}

}  // namespace warpgrade::executor

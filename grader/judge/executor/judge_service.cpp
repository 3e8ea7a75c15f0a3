#include "judge/executor/judge_service.h"

#include <cuda_runtime_api.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <optional>
#include <random>
#include <stdexcept>
#include <utility>

#include "cudart/errors.h"
#include "judge/protocol/peer.h"

namespace warpgrade::executor {
namespace {

using protocol::Command;
using protocol::Op;
using protocol::receive;
using protocol::Reply;
using protocol::reply_to;
using protocol::say;
using protocol::send_reply;
using protocol::Status;

std::string words_of(std::int32_t code) {
  const auto error = static_cast<cudaError_t>(code);
  return std::string(cudart::error_name(error)) + ": " + cudart::error_text(error);
}

}  // namespace

void JudgeService::serve() {
  Command command;
  int fd;
  while (receive(judge_, command, fd)) {
    if (!send_reply(judge_, answer(command, fd)) || command.op == Op::kEnd) return;
  }
}

void JudgeService::refuse(int judge, const std::string& why) {
  Command command;
  int fd;
  while (receive(judge, command, fd)) {
    if (fd >= 0) close(fd);
    Reply reply = reply_to(command);
    say(reply, Status::kRunnerFault, why);
    if (!send_reply(judge, reply) || command.op == Op::kEnd) return;
  }
}

Reply JudgeService::answer(const Command& command, int fd) {
  Reply reply = reply_to(command);
  try {
    if (broken_.empty() || command.op == Op::kReport || command.op == Op::kEnd)
      dispatch(command, fd, reply);
    else
      say(reply, Status::kProtocolBroken, broken_);
  } catch (const ProtocolError& error) {
    broken_ = error.what();
    say(reply, Status::kProtocolBroken, broken_);
  } catch (const std::exception& error) {
    say(reply, Status::kRunnerFault, error.what());
  }
  return reply;
}

void JudgeService::dispatch(const Command& command, int fd, Reply& reply) {
  TimedResult ignored;
  switch (command.op) {
    case Op::kAttach:
      return attach(command, fd, reply);
    case Op::kPlan:
      return make_plan(command, reply);
    case Op::kRun:
      return call(HostCommand::kRun, command, reply);
    case Op::kFree:
      return free_plan(command, reply);
    case Op::kNull:
      ask_host({static_cast<uint32_t>(HostCommand::kReady), 0, {}}, false, ignored, reply);
      return;
    case Op::kReport:
      return report(command, reply);
    case Op::kDetach:
      return detach(reply);
    case Op::kLimitSteps:
      return device_.limit_steps(static_cast<uint64_t>(command.arguments[0]));
    case Op::kNewHost:
      return new_host(fd);
    case Op::kEnd:
      return;
  }
}

void JudgeService::new_host(int fd) {
  Descriptor socket(fd);
  if (!socket) throw std::runtime_error("no socket to the host process came along");
  device_.end_host();
  release_buffers();
  if (report_ >= 0) close(std::exchange(report_, -1));
  device_.begin_host(std::move(socket));
}

void JudgeService::release_buffers() {
  for (const Buffer& buffer : buffers_) {
    if (buffer.address != 0) device_.release(buffer.attach, buffer.address);
  }
  buffers_.clear();
}

void JudgeService::attach(const Command& command, int fd, Reply& reply) {
  if (fd < 0) throw std::runtime_error("no descriptor came with the buffer");
  if (std::strcmp(command.name, "report") == 0) {
    report_ = fd;
    report_bytes_ = command.bytes;
    return;
  }
  uint64_t address = 0;
  if (command.bytes == 0)  // a matrix without entries has no arrays
    close(fd);
  else
    address = device_.import(command, fd);
  buffers_.push_back({command, address});
  if (address != 0) device_.server().lend(address, command.bytes, command.is_output != 0);
  wire::Command report;
  report.number = static_cast<uint32_t>(HostCommand::kAttach);
  write_attach(report.arguments, address, command.bytes, command.name);
  TimedResult ignored;
  ask_host(report, false, ignored, reply);
}

void JudgeService::detach(Reply& reply) {
  TimedResult ignored;
  ask_host({static_cast<uint32_t>(HostCommand::kDetach), 0, {}}, false, ignored, reply);
  for (const Buffer& buffer : buffers_) {
    if (buffer.address != 0) device_.server().take_back(buffer.address);
  }
  release_buffers();
}

// False when there is no result: the reply says why.
bool JudgeService::ask_host(wire::Command command, bool is_run, TimedResult& result, Reply& reply) {
  result = device_.carry_out(command, is_run);
  if (result.ending == Ending::none) return true;
  if (result.ending == Ending::host_ended) {
    say(reply, Status::kHostEnded, result.message);
  } else {
    reply.cuda_error = cudaErrorLaunchTimeout;
    say(reply, Status::kCudaError, words_of(cudaErrorLaunchTimeout) + ": " + result.message);
  }
  return false;
}

void JudgeService::call(HostCommand number, const Command& command, Reply& reply) {
  wire::Command asked;
  asked.number = static_cast<uint32_t>(number);
  static_assert(sizeof command.arguments <= sizeof asked.arguments);
  std::copy(std::begin(command.arguments), std::end(command.arguments), asked.arguments);
  TimedResult result;
  const bool is_run = number == HostCommand::kRun;
  if (is_run) follow(command.follow);
  const bool has_result = ask_host(asked, is_run, result, reply);
  if (has_result) end_command(is_run);
  OutputWriters& writers = device_.server().writers();
  if (is_run && has_result && writers.is_following()) {
    reply.written = device_.server().written();
    reply.unordered = device_.server().work().left();
  }
  writers.follow(true);
  if (!has_result) return;
  reply.host_us = result.host_us;
  reply.stamps_us = result.stamps_us;
  reply.constant_us = result.constant_us;
  reply.event_us = result.event_us;
  reply.clock_us = result.host_clock_us;
  reply.launches = result.launches;
  reply.flags =
      (result.opened_by.empty() ? 0 : protocol::kFlagWaited) | (result.is_void ? protocol::kFlagVoid : 0);
  const protocol::CallSummary host = unpack(result.status);
  if (host.threw) return say(reply, Status::kException, result.message);
  protocol::set_result(reply, host, result.error, words_of);
  reply.notes |= device_.server().notes();
}

void JudgeService::end_command(bool is_run) {
  if (const uint64_t unfinished = device_.end_command(is_run); unfinished != 0) {
    const uint64_t call = unfinished | wire::kIsCall;
    device_.report_unfinished(places_of({&call, 1})[call]);
  }
  name_allocations();
}

// As the host process tells them.
std::map<uint64_t, CallServer::Place> JudgeService::places_of(std::span<const uint64_t> addresses) {
  wire::Command report;
  report.number = static_cast<uint32_t>(HostCommand::kReportPlaces);
  std::copy_n(addresses.begin(), std::min(addresses.size(), kMostPlaces), report.arguments);
  TimedResult ignored;
  Reply own;
  ask_host(report, false, ignored, own);
  return device_.server().take_places();
}

void JudgeService::name_allocations() {
  const std::vector<uint64_t> named = device_.named_allocations();
  if (named.empty()) return;
  for (const auto& [address, place] : places_of(named)) device_.place_allocation(address, place);
}

// Between runs all is followed: a plan may make ready what a run copies.
void JudgeService::follow(protocol::Follow what) {
  OutputWriters& writers = device_.server().writers();
  writers.follow(what != protocol::Follow::kNothing);
  std::optional<uint8_t> probe;
  if (what == protocol::Follow::kProbe) probe = static_cast<uint8_t>(1 + std::random_device()() % 254);
  writers.begin_run(probe);
  if (what != protocol::Follow::kNothing) device_.server().work().begin_run();
}

void JudgeService::make_plan(const Command& command, Reply& reply) {
  device_.forget_allocations();
  const uint64_t before = device_.server().allocated_bytes();
  call(HostCommand::kPlan, command, reply);
  if (reply.status == Status::kHostEnded) return;
  const uint64_t after = device_.server().allocated_bytes();
  reply.bytes = after > before ? after - before : 0;
}

void JudgeService::free_plan(const Command& command, Reply& reply) {
  call(HostCommand::kFree, command, reply);
  if (reply.status == Status::kHostEnded) return;
  const std::vector<uint64_t> leaked = device_.leaks();
  device_.report_leaks(leaked.empty() ? std::map<uint64_t, CallServer::Place>{} : places_of(leaked));
  name_allocations();
}

void JudgeService::report(const Command& command, Reply& reply) {
  if (report_ < 0) return;
  std::vector<char> text(report_bytes_);
  const size_t bytes = device_.drain_report(static_cast<int>(command.arguments[0]), text.data(), text.size());
  for (size_t at = 0; at < bytes;) {
    const ssize_t n = pwrite(report_, text.data() + at, bytes - at, static_cast<off_t>(at));
    if (n < 0) throw std::runtime_error(std::string("the report cannot be written: ") + std::strerror(errno));
    at += static_cast<size_t>(n);
  }
  reply.bytes = bytes;
}

}  // namespace warpgrade::executor

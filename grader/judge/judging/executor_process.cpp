#include "judge/judging/executor_process.h"

#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include <utility>

#include "base/descriptor_message.h"
#include "base/error.h"
#include "base/process.h"
#include "judge/judging/program_box.h"
#include "judge/protocol/protocol.h"

namespace warpgrade {
namespace {

constexpr int kPollMs = 50;

}  // namespace

BoxedProcess::Options ExecutorProcess::options(const RunnerSpec& spec, ExecutorProcess& self) {
  SocketPair sockets = socket_pair();
  self.socket_ = std::move(sockets.ours);
  if (emulated_device_bytes(spec) != 0) {
    self.device_memory_ = FileDescriptor(memfd_create("warpemu", MFD_CLOEXEC));
    if (!self.device_memory_) throw JudgeFault("no memory for the emulated device");
  }
  BoxedProcess::Options options;
  options.label = "an executor";
  options.wrapped = executor_command(spec);
  self.theirs_ = std::move(sockets.theirs);
  options.descriptors = {{self.theirs_.get(), protocol::kSocketFd}};
  if (self.device_memory_)
    options.descriptors.push_back({self.device_memory_.get(), kDeviceMemoryDescriptor});
  options.limits = group_limits(spec, emulated_device_bytes(spec), kExecutorCpuWeight);
  options.output = self.output_;
  return options;
}

ExecutorProcess::ExecutorProcess(const RunnerSpec& spec)
    : spec_(spec),
      output_(std::make_shared<ProgramOutput>(spec.limits.output_bytes)),
      box_(options(spec, *this)) {
  theirs_.reset();  // its end is to be noticed
}

bool ExecutorProcess::wait_until_up(std::chrono::milliseconds limit) {
  const auto deadline = std::chrono::steady_clock::now() + limit;
  protocol::Command command;
  command.op = protocol::Op::kReport;  // without a place for a report it only answers
  command.sequence = fresh_number();
  if (!send_message(socket(), &command, sizeof command, -1)) return false;
  while (std::chrono::steady_clock::now() < deadline) {
    throw_if_interrupted();
    pollfd ready{socket(), POLLIN, 0};
    if (poll(&ready, 1, kPollMs) <= 0) continue;
    protocol::Reply reply;
    return recv(socket(), &reply, sizeof reply, MSG_TRUNC) == static_cast<ssize_t>(sizeof reply) &&
           reply.sequence == command.sequence && reply.status == protocol::Status::kOk;
  }
  return false;
}

bool ExecutorProcess::fits(const RunnerSpec& spec) const {
  return spec.gpu == spec_.gpu && spec.sandbox == spec_.sandbox && spec.executor == spec_.executor &&
         spec.environment == spec_.environment &&
         spec.limits.device_memory_bytes == spec_.limits.device_memory_bytes &&
         spec.limits.host_memory_bytes == spec_.limits.host_memory_bytes &&
         spec.limits.output_bytes == spec_.limits.output_bytes;
}

}  // namespace warpgrade

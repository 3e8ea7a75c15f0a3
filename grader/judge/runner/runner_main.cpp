// The submission's objects and this thin main. Started with WARPGRADE_EXECUTOR it is the host process of an
// executor (host_main.cpp); with WARPGRADE_TAPE it plays a case by itself, for a profiler (tape_player.cpp).
// Else it runs without one: it serves one command at a time on descriptor 3 and
// ends when the judge hangs up. Baselines of ours run so, and submissions with --direct, whose words only
// lower a verdict.
#include <cuda_runtime.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "device_memory.h"
#include "judge/protocol/call_tape.h"
#include "judge/protocol/peer.h"
#include "judge/protocol/protocol.h"
#include "native_timing.h"
#include "runner_lab.h"
#include "submission_calls.h"
#include "tape_player.h"

namespace warpgrade::runner {
namespace {

using protocol::Command;
using protocol::Op;
using protocol::Reply;
using protocol::Status;

void check(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return;
  throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(error));
}

class Server {
 public:
  Server() : lab_(make_lab_runner()) {
    cudaSetDeviceFlags(cudaDeviceScheduleSpin);
    check(cudaFree(nullptr), "no CUDA device");
    // A blocking stream: a kernel launched without the stream argument is still ordered with it.
    check(cudaStreamCreate(&stream_), "cudaStreamCreate");
    timing_ = std::make_unique<NativeTiming>();
  }

  Reply serve(const Command& command, int fd) {
    Reply reply = protocol::reply_to(command);
    try {
      dispatch(command, fd, reply);
    } catch (const std::exception& error) {
      protocol::say(reply, Status::kRunnerFault, error.what());
    }
    return reply;
  }

 private:
  void dispatch(const Command& command, int fd, Reply& reply) {
    switch (command.op) {
      case Op::kAttach:
        return attach(command, fd);
      case Op::kPlan:
        watch_for_leaks();
        return set_result(reply, call(command));
      case Op::kRun: {
        CallResult result;
        timing_->run(stream_, reply, [&] { result = call(command); });
        return set_result(reply, result);
      }
      case Op::kNull:
        return;
      case Op::kFree:
        set_result(reply, call(command));
        return report_leaks();
      case Op::kReport:
        if (report_ != nullptr) {
          reply.bytes = drain_report(static_cast<int>(command.arguments[0]), report_, report_bytes_);
        }
        return;
      case Op::kDetach:
        return detach();
      case Op::kLimitSteps:
        return limit_steps(static_cast<std::uint64_t>(command.arguments[0]));
      case Op::kEnd:
        return;
    }
  }

  void attach(const Command& command, int fd) {
    if (fd < 0) throw std::runtime_error("no descriptor came with the buffer");
    if (std::strcmp(command.name, "report") != 0) {
      void* memory = import_device_memory(command, fd);
      buffers_[command.name] = memory;
      mappings_.push_back({memory, command.offset, command.mapped_bytes});
      return;
    }
    void* memory = mmap(nullptr, command.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (memory == MAP_FAILED) throw std::runtime_error("cannot map the report buffer");
    report_ = static_cast<char*>(memory);
    report_bytes_ = command.bytes;
  }

  void detach() {
    cudaDeviceSynchronize();
    for (const Mapping& mapping : mappings_)
      release_device_memory(mapping.memory, mapping.offset, mapping.bytes);
    mappings_.clear();
    buffers_.clear();
  }

  CallResult call(const Command& command) { return call_submission(*lab_, command, buffers_, stream_); }

  void set_result(Reply& reply, const CallResult& result) {
    if (result.summary.threw) return protocol::say(reply, Status::kException, result.message);
    const cudaError_t synchronized = cudaStreamSynchronize(stream_);
    protocol::CallSummary summary = result.summary;
    if (summary.left == cudaSuccess) summary.left = cudaGetLastError();
    protocol::set_result(reply, summary, synchronized, [](std::int32_t code) {
      const auto error = static_cast<cudaError_t>(code);
      return std::string(cudaGetErrorName(error)) + ": " + cudaGetErrorString(error);
    });
  }

  std::unique_ptr<LabRunner> lab_;
  std::unique_ptr<NativeTiming> timing_;
  cudaStream_t stream_ = nullptr;
  Buffers buffers_;
  struct Mapping {
    void* memory;
    std::uint64_t offset, bytes;
  };
  std::vector<Mapping> mappings_;
  char* report_ = nullptr;
  std::size_t report_bytes_ = 0;
};

int serve_until_end() {
  Command command;
  int fd;
  std::unique_ptr<Server> server;
  std::string why;
  try {
    server = std::make_unique<Server>();
  } catch (const std::exception& error) {
    why = error.what();
  }
  while (protocol::receive(protocol::kSocketFd, command, fd)) {
    Reply reply = protocol::reply_to(command);
    if (server != nullptr)
      reply = server->serve(command, fd);
    else
      protocol::say(reply, Status::kRunnerFault, why);
    if (!protocol::send_reply(protocol::kSocketFd, reply)) return 1;
    if (command.op == Op::kEnd) return 0;
  }
  return 0;
}

}  // namespace
}  // namespace warpgrade::runner

int main() {
  // A profiler looks into the process that it has started.
  if (const char* tape = std::getenv(warpgrade::protocol::kTapeVariable); tape != nullptr)
    return warpgrade::runner::play_tape(tape);
  prctl(PR_SET_DUMPABLE, 0);
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  if (std::getenv("WARPGRADE_EXECUTOR") != nullptr) return warpgrade::runner::serve_executor();
  return warpgrade::runner::serve_until_end();
}

// The program as a host process: no GPU, no driver, no socket to the judge. The CUDA runtime that it finds is
// the executor's (grader/judge/executor), which also tells it when to plan, run and free.
#include <cuda_runtime.h>
#include <dlfcn.h>

#include <cstdio>
#include <cstring>
#include <memory>

#include "judge/executor/host_commands.h"
#include "judge/executor/judge_commands.h"
#include "submission_calls.h"

namespace warpgrade::runner {
namespace {

using executor::HostCommand;

template <typename Function>
Function runtime_function(const char* name, Function) {
  auto* found = reinterpret_cast<Function>(dlsym(RTLD_DEFAULT, name));
  if (found == nullptr) std::fprintf(stderr, "the CUDA runtime has no %s: it is not the executor's\n", name);
  return found;
}
#define RUNTIME(name) runtime_function(#name, &name)

class Host {
 public:
  Host() : lab_(make_lab_runner()) {
    // A blocking stream: a kernel launched without the stream argument is still ordered with it.
    cudaStreamCreate(&stream_);
  }

  protocol::CallSummary serve(const warpgrade_executor_command& asked) {
    protocol::CallSummary result;
    switch (static_cast<HostCommand>(asked.number)) {
      case HostCommand::kAttach: {
        const auto attach = executor::read_attach(asked.arguments);
        lent(attach.address, attach.bytes);
        buffers_[attach.name] = reinterpret_cast<void*>(attach.address);
        return result;
      }
      case HostCommand::kDetach:
        for (const auto& [name, memory] : buffers_) lent(reinterpret_cast<std::uint64_t>(memory), 0);
        buffers_.clear();
        return result;
      case HostCommand::kReportPlaces:
        report_places(asked.arguments, executor::kMostPlaces);
        return result;
      case HostCommand::kPlan:
        return submissions(protocol::Op::kPlan, asked);
      case HostCommand::kRun:
        return submissions(protocol::Op::kRun, asked);
      case HostCommand::kFree:
        return submissions(protocol::Op::kFree, asked);
      case HostCommand::kReady:
      case HostCommand::kEnd:
        return result;
    }
    return result;
  }

  const char* message() const { return call_.message.c_str(); }

 private:
  protocol::CallSummary submissions(protocol::Op op, const warpgrade_executor_command& asked) {
    protocol::Command command;
    command.op = op;
    for (std::size_t k = 0; k < std::size(command.arguments); ++k)
      command.arguments[k] = static_cast<std::int64_t>(asked.arguments[k]);
    call_ = call_submission(*lab_, command, buffers_, stream_);
    return call_.summary;
  }

  std::unique_ptr<LabRunner> lab_;
  cudaStream_t stream_ = nullptr;
  Buffers buffers_;
  CallResult call_;
  decltype(&warpgrade_executor_lent) lent = RUNTIME(warpgrade_executor_lent);
  decltype(&warpgrade_executor_report_places) report_places = RUNTIME(warpgrade_executor_report_places);
};

}  // namespace

int serve_executor() {
  const auto next_command = RUNTIME(warpgrade_executor_next_command);
  const auto done = RUNTIME(warpgrade_executor_done);
  if (next_command == nullptr || done == nullptr) return 1;
  Host host;
  warpgrade_executor_command command;
  while (next_command(&command) == 0) {
    const protocol::CallSummary result = host.serve(command);
    done(executor::pack(result), result.threw ? host.message() : "");
    if (command.number == static_cast<std::uint32_t>(HostCommand::kEnd)) return 0;
  }
  return 0;
}

}  // namespace warpgrade::runner

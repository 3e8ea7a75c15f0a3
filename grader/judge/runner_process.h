// The judge's hold on one runner: starts it in the sandbox, asks, waits with a limit, kills it.
#pragma once

#include <chrono>
#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/files.h"
#include "judge/report_lines.h"
#include "judge/shared_buffer.h"
#include "judge/verdict.h"
#include "runner/protocol.h"
#include "sandbox/cgroup.h"
#include "sandbox/sandbox.h"

namespace warpgrade {

struct RunnerLimits {
  std::chrono::milliseconds start{60'000};  // process start and device context, with the first command
  std::chrono::milliseconds plan{60'000};
  std::chrono::milliseconds run{30'000};
  std::size_t host_memory_bytes = std::size_t{4} << 30;
  // On a GPU the judge watches it; the emulated device has it in host memory, beside the former.
  std::size_t device_memory_bytes = std::size_t{16} << 30;
  std::size_t output_bytes = std::size_t{256} << 10;
};

struct RunnerSpec {
  std::string label;  // for messages: the submission's id or the baseline's name
  std::filesystem::path executable;
  SandboxMode sandbox = SandboxMode::kBubblewrap;
  bool gpu = false;
  std::filesystem::path
      cuda_libraries;             // holds libcudart.so.<major>: the emulator's folder, or the toolkit's
  bool vendor_libraries = false;  // baselines: the whole folder instead of the CUDA runtime alone
  std::map<std::string, std::string> environment;
  RunnerLimits limits;
};

// What came back of one command.
struct Answer {
  enum class Kind { kReply, kTimeout, kDied, kMemoryLimit, kProcessLimit, kMalformed };
  Kind kind = Kind::kReply;
  protocol::Reply reply;
  double wall_us = 0;  // from sending the command to holding the reply
  bool ok() const { return kind == Kind::kReply && reply.status == protocol::Status::kOk; }
};

class RunnerProcess {
 public:
  explicit RunnerProcess(RunnerSpec spec);
  ~RunnerProcess();
  RunnerProcess(const RunnerProcess&) = delete;
  RunnerProcess& operator=(const RunnerProcess&) = delete;

  Answer attach(const SharedBuffer& buffer, bool read_only);
  Answer call(protocol::Op op, const std::vector<std::int64_t>& arguments = {});

  // What the emulator's runtime reports (judge/report_lines.h); empty where there is none.
  nlohmann::json drain_diagnostics();
  nlohmann::json drain_counters();

  // What the calls that succeeded were noted for (protocol.h), shaped like diagnostics: a kind, a message, an
  // advice. Untrusted.
  nlohmann::json notes() const;

  // What an answer other than ok means for the submission. `doing` is "spmm_plan", "spmm_run". Throws
  // JudgeFault only for a runner that never took a buffer and says, or ends as if, the machine were at fault:
  // whether it is, the caller of this judge finds out with a program of our own (batch/judge_process.h).
  Outcome explain(const Answer& answer, const std::string& doing);

  // What the runner printed, its beginning and its end, as valid UTF-8.
  std::string output();
  bool alive() const { return pid_ > 0; }

  // Stops every thread of the runner and of all that it started, so that it can neither watch its inputs nor
  // use the device while others are timed; and lets them go on. By the freezer, which a process cannot notice
  // or catch; where there is none, by SIGSTOP and SIGCONT.
  void pause();
  void resume();
  // Ends all processes of the runner, within a minute or so even when one hangs in a driver.
  void kill();

 private:
  void start();
  std::optional<Answer::Kind> broken_limit() const;
  std::size_t held_bytes() const;
  Answer exchange(protocol::Command command, int fd, std::chrono::milliseconds limit);
  bool reply_is_sound(const protocol::Command& command, const protocol::Reply& reply) const;
  bool wait_for_reply(Answer& answer, std::chrono::steady_clock::time_point deadline);
  void take_notes(const Answer& answer);
  nlohmann::json drain(Report report);
  void wait_for_exit();
  void signal_all(int signal_number);
  bool reap();
  Outcome explain_death();

  RunnerSpec spec_;
  int pid_ = -1;
  std::shared_ptr<ControlGroup> group_;  // null: this machine has none
  FileDescriptor socket_;
  FileDescriptor device_memory_;  // of the emulated device
  FileDescriptor report_;
  bool first_command_ = true;
  bool attached_ = false;  // it has taken a buffer: device and mapping are in order
  bool report_attached_ = false;
  bool paused_ = false;
  std::uint32_t notes_ = 0;
  std::string unread_error_;  // "cudaErrorInvalidValue: invalid argument"
  int exit_code_ = -1, signal_ = 0;
  struct Output;
  std::shared_ptr<Output> output_;
  std::thread reader_;
};

}  // namespace warpgrade

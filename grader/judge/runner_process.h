// The judge's hold on one program: starts it, asks, waits with a limit, kills it. A submission's host code
// runs in a box without a GPU beside an executor in another, which is the one that is asked
// (executor/README.md); a baseline of ours, and a submission with --direct, is one process that is asked
// itself.
#pragma once

#include <chrono>
#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/files.h"
#include "judge/boxed_process.h"
#include "judge/report_lines.h"
#include "judge/shared_buffer.h"
#include "judge/verdict.h"
#include "runner/protocol.h"
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
  // Holds warpgrade-executor and the CUDA runtime of its host processes; empty: the program runs without one.
  std::filesystem::path executor;
  std::filesystem::path
      cuda_libraries;             // without one, holds libcudart.so.<major>: the emulator's, the toolkit's
  bool vendor_libraries = false;  // baselines: the whole folder instead of the CUDA runtime alone
  std::map<std::string, std::string> environment;
  RunnerLimits limits;
};

// What came back of one command.
struct Answer {
  enum class Kind { kReply, kTimeout, kDied, kExecutorDied, kMemoryLimit, kProcessLimit, kMalformed };
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
  bool alive() const { return program_->alive(); }

  // Stops every thread of the program and of all that it started, so that it disturbs nobody while others are
  // timed; and lets them go on.
  void pause() { program_->pause(); }
  void resume() { program_->resume(); }
  // Ends all processes.
  void kill();

 private:
  BoxedProcess& server() { return executor_ ? *executor_ : *program_; }
  void start_with_executor();
  void start_alone();
  std::optional<Answer::Kind> broken_limit() const;
  std::size_t held_bytes() const;
  Answer exchange(protocol::Command command, int fd, std::chrono::milliseconds limit);
  void explain_hang_up(Answer& answer);
  void take_reply(const protocol::Command& command, Answer& answer);
  bool reply_is_sound(const protocol::Command& command, const protocol::Reply& reply) const;
  bool wait_for_reply(Answer& answer, std::chrono::steady_clock::time_point deadline);
  void take_notes(const Answer& answer);
  nlohmann::json drain(Report report);
  Outcome explain_death();

  RunnerSpec spec_;
  std::shared_ptr<ProgramOutput> output_;
  FileDescriptor socket_;         // to the server
  FileDescriptor device_memory_;  // of the emulated device
  FileDescriptor report_;
  std::unique_ptr<BoxedProcess> program_;   // the submission's objects
  std::unique_ptr<BoxedProcess> executor_;  // null: without one
  bool first_command_ = true;
  bool attached_ = false;  // it has taken a buffer: device and mapping are in order
  bool report_attached_ = false;
  std::uint32_t notes_ = 0;
  std::string unread_error_;  // "cudaErrorInvalidValue: invalid argument"
};

}  // namespace warpgrade

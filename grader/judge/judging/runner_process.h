// The judge's hold on one program: starts it, asks, waits with a limit, kills it. A submission's host
// code runs in a box without a GPU beside an executor in another, which is the one that is asked
// (judge/executor/README.md); a baseline of ours, and a submission with --direct, is one process that
// is asked itself.
#pragma once

#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/files.h"
#include "judge/judging/boxed_process.h"
#include "judge/judging/case_budget.h"
#include "judge/judging/executor_process.h"
#include "judge/judging/report_lines.h"
#include "judge/judging/runner_spec.h"
#include "judge/judging/shared_buffer.h"
#include "judge/protocol/protocol.h"
#include "judge/sandbox/memory_above.h"
#include "record/outcome.h"

namespace warpgrade {

// What came back of one command.
struct Answer {
  enum class Kind {
    kReply,
    kTimeout,
    kDied,
    kExecutorDied,
    kMemoryLimit,
    kMemoryShort,  // of the task or the machine
    kProcessLimit,
    kMalformed
  };
  Kind kind = Kind::kReply;
  protocol::Reply reply;
  double wall_us = 0;                 // from sending the command to holding the reply
  std::chrono::milliseconds limit{};  // of a timeout: what was waited for
  bool of_case = false;  // of a timeout: that limit was what was left of the case's (case_budget.h)
  bool ok() const { return kind == Kind::kReply && reply.status == protocol::Status::kOk; }
};

// For people.
std::string text_of(const protocol::Unordered& left);

class RunnerProcess {
 public:
  // `executor`: one that is up or on its way, for a submission that is to have one; null: another is started.
  explicit RunnerProcess(RunnerSpec spec, std::unique_ptr<ExecutorProcess> executor = nullptr);
  ~RunnerProcess();
  RunnerProcess(const RunnerProcess&) = delete;
  RunnerProcess& operator=(const RunnerProcess&) = delete;

  // From here on its calls are counted there, and end with what is left; null: no more.
  void use_budget(std::shared_ptr<CaseBudget> budget) { budget_ = std::move(budget); }

  Answer attach(const SharedBuffer& buffer, bool read_only, bool is_output = false);
  Answer call(protocol::Op op, const std::vector<std::int64_t>& arguments = {},
              protocol::Follow follow = protocol::Follow::kNothing);

  // What the emulator's runtime reports (judge/judging/report_lines.h); empty where there is none.
  nlohmann::json drain_diagnostics();
  nlohmann::json drain_counters();

  // What the calls that succeeded were noted for (protocol.h), shaped like diagnostics: a kind, a message,
  // an advice. Untrusted.
  nlohmann::json notes() const;
  // Of the run that left most: what nothing ordered before its end. An executor tells it.
  const protocol::Unordered& unordered() const { return unordered_; }

  // What an answer other than ok means for the submission. `doing` is "spmm_plan", "spmm_run". Throws
  // JudgeFault only for a runner that never took a buffer and says, or ends as if, the machine were at fault:
  // whether it is, the caller of this judge finds out with a program of our own
  // (course/batch/judge_process.h).
  Outcome explain(const Answer& answer, const std::string& doing);

  // What the runner printed, its beginning and its end, as valid UTF-8.
  std::string output();
  // Its program is a folder, which Python runs.
  bool is_in_python() const;
  bool alive() const { return program_->alive(); }
  // Which of its submission's programs this is to its executor: 1 the first; 0 without one.
  int turn() const { return executor_ ? executor_->programs() : 0; }

  // Stops every thread of the program and of all that it started, so that it disturbs nobody while others are
  // timed; and lets them go on.
  void pause() { program_->pause(); }
  void resume() { program_->resume(); }
  // Ends all processes.
  void kill();

  // Its executor, for another host process of the same submission; null where there is none, or where
  // anything went wrong in this one: then the next begins with a context of its own. Nothing can be asked of
  // this one any more.
  std::unique_ptr<ExecutorProcess> give_executor();
  // Waits until the executor has taken the program's host process; false when it cannot.
  bool has_taken_host();

 private:
  BoxedProcess& server() { return executor_ ? executor_->box() : *program_; }
  int server_socket() const { return executor_ ? executor_->socket() : socket_.get(); }
  void start_with_executor();
  void start_alone();
  std::optional<Answer::Kind> broken_limit() const;
  bool lacked_memory_above() const;
  std::size_t held_bytes() const;
  Answer exchange(protocol::Command command, int fd, std::chrono::milliseconds limit);
  Answer await(const protocol::Command& command, std::chrono::steady_clock::time_point start,
               std::chrono::milliseconds limit);
  Answer ask(protocol::Command command, int fd, std::chrono::milliseconds limit);
  void explain_hang_up(Answer& answer);
  void take_reply(const protocol::Command& command, Answer& answer);
  bool reply_is_sound(const protocol::Command& command, const protocol::Reply& reply) const;
  bool wait_for_reply(Answer& answer, std::chrono::steady_clock::time_point deadline);
  void take_notes(const Answer& answer);
  nlohmann::json drain(Report report);
  Outcome explain_death();
  Outcome explain_end_before_main();
  bool has_begun() const;

  RunnerSpec spec_;
  std::size_t kills_before_ = memory_kills_above();
  std::shared_ptr<CaseBudget> budget_;
  std::shared_ptr<ProgramOutput> output_;
  FileDescriptor socket_;         // to a program without an executor
  FileDescriptor device_memory_;  // of the emulated device, without an executor
  FileDescriptor report_;
  std::unique_ptr<BoxedProcess> program_;      // the submission's objects
  std::unique_ptr<ExecutorProcess> executor_;  // null: without one
  std::optional<protocol::Command>
      pending_host_;  // the executor was asked to take the host process, and has not answered
  protocol::Unordered unordered_;
  bool is_sound_ = true;  // every answer was one of the executor's or the runner's, and left the device sound
  bool first_command_ = true;
  bool attached_ = false;  // it has taken a buffer: device and mapping are in order
  FileDescriptor begun_;   // a byte comes once the program is started
  bool report_attached_ = false;
  std::uint32_t notes_ = 0;
  std::string unread_error_;  // "cudaErrorInvalidValue: invalid argument"
};

}  // namespace warpgrade

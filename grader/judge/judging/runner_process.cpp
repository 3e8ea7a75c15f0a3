#include "judge/judging/runner_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <thread>

#include "base/descriptor_message.h"
#include "base/error.h"
#include "base/process.h"
#include "base/text.h"
#include "judge/executor/judge_commands.h"
#include "judge/judging/program_box.h"
#include "judge/judging/shared_host_memory.h"

namespace warpgrade {
using Clock = std::chrono::steady_clock;
using protocol::Command;
using protocol::Op;
using protocol::Reply;
using protocol::Status;

namespace {

constexpr std::size_t kReportBytes = 1 << 20;
constexpr std::chrono::milliseconds kWatchPeriod{50};
constexpr std::chrono::milliseconds kSpin{3};  // on a GPU, before sleeping in poll

constexpr int kCudaErrorMemoryAllocation = 2;
constexpr double kLongestEventUs = 1e12;  // no event lasts twelve days

bool is_a_time(double us) {
  return us >= 0 && us <= kLongestEventUs;
}

// kNotImplemented is said where the device has done all that it was asked for without an error.
bool leaves_device_sound(const Answer& answer) {
  return answer.kind == Answer::Kind::kReply &&
         (answer.reply.status == Status::kOk || answer.reply.status == Status::kNotImplemented);
}

}  // namespace

RunnerProcess::RunnerProcess(RunnerSpec spec, std::unique_ptr<ExecutorProcess> executor)
    : spec_(std::move(spec)),
      output_(std::make_shared<ProgramOutput>(spec_.limits.output_bytes)),
      executor_(std::move(executor)) {
  report_ = sealed_memory("report", kReportBytes);
  spec_.executor.empty() ? start_alone() : start_with_executor();
}

RunnerProcess::~RunnerProcess() {
  kill();
}

void RunnerProcess::start_alone() {
  if (emulated_device_bytes(spec_) != 0) {
    device_memory_ = FileDescriptor(memfd_create("warpemu", MFD_CLOEXEC));
    if (!device_memory_) throw JudgeFault("no memory for the emulated device");
  }
  SocketPair sockets = socket_pair();
  socket_ = std::move(sockets.ours);
  BoxedProcess::Options options;
  options.label = spec_.label;
  options.wrapped = program_command(spec_);
  options.descriptors = {{sockets.theirs.get(), protocol::kSocketFd}};
  if (device_memory_) options.descriptors.push_back({device_memory_.get(), kDeviceMemoryDescriptor});
  options.limits = group_limits(spec_, emulated_device_bytes(spec_), kRunnerCpuWeight);
  options.output = output_;
  program_ = std::make_unique<BoxedProcess>(std::move(options));
}

// The executor first: its context takes longest. Both come up side by side, and the program's first call of
// the CUDA runtime waits for the shared memory that the executor hands over.
void RunnerProcess::start_with_executor() {
  if (!executor_) executor_ = std::make_unique<ExecutorProcess>(spec_);
  executor_->box().take_output();  // an earlier program's words
  executor_->output().clear();
  executor_->count_program();
  SocketPair hosts = socket_pair();
  Command new_host;
  new_host.op = Op::kNewHost;
  new_host.sequence = fresh_number();
  // One that is gone is noticed when its answer is waited for.
  send_message(executor_->socket(), &new_host, sizeof new_host, hosts.ours.get());
  pending_host_ = new_host;
  int begun[2];
  if (pipe2(begun, O_CLOEXEC | O_NONBLOCK) != 0) throw JudgeFault("no pipe: {}", std::strerror(errno));
  begun_ = FileDescriptor(begun[0]);
  const FileDescriptor begins(begun[1]);
  BoxedProcess::Options host;
  host.label = spec_.label;
  host.wrapped = program_command(spec_);
  host.descriptors = {{hosts.theirs.get(), executor::kExecutorDescriptor},
                      {begins.get(), executor::kBegunDescriptor}};
  host.limits = group_limits(spec_, 0, kRunnerCpuWeight);
  host.output = output_;
  program_ = std::make_unique<BoxedProcess>(std::move(host));
}

// Whether the program's first library was loaded: the machine and the box could start it.
bool RunnerProcess::has_begun() const {
  char byte;
  return begun_ && read(begun_.get(), &byte, 1) == 1;
}

void RunnerProcess::kill() {
  if (program_) program_->kill();
  if (executor_) executor_->box().kill();
}

std::unique_ptr<ExecutorProcess> RunnerProcess::give_executor() {
  const bool is_fine =
      executor_ && is_sound_ && !pending_host_ && program_->alive() && executor_->box().alive();
  return is_fine ? std::move(executor_) : nullptr;
}

bool RunnerProcess::has_taken_host() {
  return !executor_ || call(Op::kNull).ok();
}

// What the program's processes hold in the host's memory, the emulated device's left out.
std::size_t RunnerProcess::held_bytes() const {
  const std::size_t held = program_->held_bytes(spec_.limits.host_memory_bytes);
  if (executor_ || held <= spec_.limits.host_memory_bytes) return held;
  struct stat device = {};
  if (device_memory_) fstat(device_memory_.get(), &device);
  return held - std::min(held, static_cast<std::size_t>(device.st_blocks) * 512);
}

// Where the machine has no control groups, whoever was ended shows in the judge's own.
bool RunnerProcess::lacked_memory_above() const {
  if (program_->lacked_memory_above() || (executor_ && executor_->box().lacked_memory_above())) return true;
  return !program_->alive() && memory_kills_above() > kills_before_;
}

// A limit that the program has gone beyond, whatever it says of itself.
std::optional<Answer::Kind> RunnerProcess::broken_limit() const {
  if (held_bytes() > spec_.limits.host_memory_bytes) return Answer::Kind::kMemoryLimit;
  if (program_->out_of_memory() || (executor_ && executor_->box().out_of_memory()))
    return Answer::Kind::kMemoryLimit;
  if (lacked_memory_above()) return Answer::Kind::kMemoryShort;
  if (program_->out_of_processes()) return Answer::Kind::kProcessLimit;
  return std::nullopt;
}

Answer RunnerProcess::attach(const SharedBuffer& buffer, bool read_only, bool is_output) {
  Command command;
  command.op = Op::kAttach;
  std::strncpy(command.name, buffer.name.c_str(), sizeof command.name - 1);
  command.offset = buffer.offset;
  command.bytes = buffer.bytes;
  command.mapped_bytes = buffer.mapped_bytes;
  command.read_only = read_only ? 1 : 0;
  command.element_bytes = buffer.element_bytes;
  command.is_output = is_output ? 1 : 0;
  const Answer answer = exchange(command, buffer.fd, spec_.limits.start);
  attached_ = attached_ || answer.ok();
  return answer;
}

Answer RunnerProcess::call(Op op, const std::vector<std::int64_t>& arguments, protocol::Follow follow) {
  Command command;
  command.op = op;
  command.follow = follow;
  for (std::size_t i = 0; i < arguments.size(); ++i) command.arguments[i] = arguments[i];
  const std::chrono::milliseconds own = op == Op::kPlan ? spec_.limits.plan : spec_.limits.run;
  const std::chrono::milliseconds limit = budget_ ? budget_->limit_for(op, own) : own;
  Answer answer = exchange(command, -1, limit);
  answer.of_case = answer.kind == Answer::Kind::kTimeout && limit < own;
  return answer;
}

Answer RunnerProcess::exchange(Command command, int fd, std::chrono::milliseconds limit) {
  const auto start = Clock::now();
  if (budget_) budget_->begin_call();
  const Answer answer = ask(command, fd, limit);
  if (budget_)
    budget_->end_call(command.op,
                      std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - start));
  is_sound_ = is_sound_ && leaves_device_sound(answer);
  return answer;
}

Answer RunnerProcess::ask(Command command, int fd, std::chrono::milliseconds limit) {
  Answer answer;
  if (!server().alive()) {
    answer.kind = Answer::Kind::kDied;
    return answer;
  }
  if (first_command_) limit = std::max(limit, spec_.limits.start);
  first_command_ = false;
  if (pending_host_) {
    const Command new_host = *pending_host_;
    pending_host_.reset();
    answer = await(new_host, Clock::now(), limit);
    if (!answer.ok()) return answer;
  }
  // Nobody was asked since the last reply: what lies in the socket now was sent ahead. A longer message is
  // cut to one byte and descriptors that came along are closed by the kernel: no place was given for them.
  char unasked;
  if (recv(server_socket(), &unasked, sizeof unasked, MSG_DONTWAIT) > 0) {
    answer.kind = Answer::Kind::kMalformed;
    kill();
    return answer;
  }
  command.sequence = fresh_number();
  const auto start = Clock::now();
  if (!send_message(server_socket(), &command, sizeof command, fd)) {
    answer.kind = Answer::Kind::kDied;
    explain_hang_up(answer);
    return answer;
  }
  return await(command, start, limit);
}

Answer RunnerProcess::await(const Command& command, Clock::time_point start,
                            std::chrono::milliseconds limit) {
  Answer answer;
  answer.limit = limit;
  if (!wait_for_reply(answer, start + limit)) {
    if (answer.kind == Answer::Kind::kDied) explain_hang_up(answer);
    kill();
    return answer;
  }
  answer.wall_us = std::chrono::duration<double, std::micro>(Clock::now() - start).count();
  take_reply(command, answer);
  take_notes(answer);
  return answer;
}

// The one that is asked has closed its end. It may have died of a limit; an executor that dies otherwise is
// a fault of ours, until it is found to follow the submission.
bool RunnerProcess::is_in_python() const {
  return std::filesystem::is_directory(spec_.executable);
}

void RunnerProcess::explain_hang_up(Answer& answer) {
  server().wait_for_exit();
  if (const auto kind = broken_limit())
    answer.kind = *kind;
  else if (executor_)
    answer.kind = Answer::Kind::kExecutorDied;
  kill();
}

void RunnerProcess::take_reply(const Command& command, Answer& answer) {
  answer.reply.message[sizeof answer.reply.message - 1] = '\0';
  if (!reply_is_sound(command, answer.reply)) {
    answer.kind = Answer::Kind::kMalformed;
    kill();
  } else if (answer.reply.status == Status::kProtocolBroken) {
    answer.kind = Answer::Kind::kMalformed;
    program_->kill();
  } else if (answer.reply.status == Status::kHostEnded) {
    // The executor stays: it has the emulator's findings.
    answer.kind = Answer::Kind::kDied;
    program_->wait_for_exit();
    if (const auto kind = broken_limit()) answer.kind = *kind;
  } else if (lacked_memory_above()) {  // one of its own processes, beside an answer
    answer.kind = Answer::Kind::kMemoryShort;
    program_->kill();
  } else if (program_->out_of_processes()) {  // others of its processes may go on beside an answer
    answer.kind = Answer::Kind::kProcessLimit;
    program_->kill();
  }
}

bool RunnerProcess::reply_is_sound(const Command& command, const Reply& reply) const {
  return reply.magic == protocol::kMagic && reply.sequence == command.sequence && reply.op == command.op &&
         reply.status <= (executor_ ? Status::kProtocolBroken : Status::kException) &&
         is_a_time(reply.stamps_us) && is_a_time(reply.constant_us) && is_a_time(reply.event_us) &&
         is_a_time(reply.clock_us) && is_a_time(reply.host_us);
}

std::string text_of(const protocol::Unordered& left) {
  return fmt::format("{}{}: nothing orders it before the end of the run", plain_line(left.last),
                     left.commands > 1 ? fmt::format(", and {} commands more", left.commands - 1) : "");
}

void RunnerProcess::take_notes(const Answer& answer) {
  if (!answer.ok()) return;
  notes_ |= answer.reply.notes;
  if (executor_ && answer.reply.unordered.commands > unordered_.commands) unordered_ = answer.reply.unordered;
  if ((answer.reply.notes & protocol::kNoteUnreadError) != 0 && unread_error_.empty())
    unread_error_ = plain_line(answer.reply.message);
}

nlohmann::json RunnerProcess::notes() const {
  nlohmann::json list = nlohmann::json::array();
  if (unordered_.commands > 0) {
    list.push_back({{"kind", "unordered"},
                    {"message", text_of(unordered_)},
                    {"advice",
                     "The result has to be there when all work in `stream`, the argument, is done. Launch in "
                     "`stream`, or record an event behind the last work in a stream of your own "
                     "(cudaEventRecord) and let `stream` wait for it (cudaStreamWaitEvent)."}});
  }
  if ((notes_ & protocol::kNoteDefaultStream) != 0) {
    list.push_back(
        {{"kind", "default_stream"},
         {"message", "a kernel is launched on the default stream"},
         {"advice",
          "Launch on the stream that the contract gives: kernel<<<grid, block, shared_bytes, stream>>>(...). "
          "The default stream waits for all other streams, and all other streams wait for it."}});
  }
  if ((notes_ & protocol::kNoteManagedMemory) != 0) {
    list.push_back({{"kind", "managed_memory"},
                    {"message", "cudaMallocManaged allocates host memory here"},
                    {"advice",
                     "On a GPU kernels reach it through the bus, much more slowly than device memory: use "
                     "cudaMalloc and cudaMemcpyAsync for what kernels read often."}});
  }
  if ((notes_ & protocol::kNoteManagedVariables) != 0) {
    list.push_back({{"kind", "managed_memory"},
                    {"message", "__managed__ variables are copied at every launch and every wait here"},
                    {"advice",
                     "Kernels and host code do not see each other's changes in between: use __device__ "
                     "variables and cudaMemcpyToSymbolAsync for what changes often."}});
  }
  if ((notes_ & protocol::kNoteUnreadError) != 0) {
    list.push_back(
        {{"kind", "invalid_launch"},
         {"message", "a CUDA call failed and the program did not check its result: " + unread_error_},
         {"advice",
          "Check cudaGetLastError() after each launch. A grid needs at least one block: where there is no "
          "work, do not launch."}});
  }
  return list;
}

bool RunnerProcess::wait_for_reply(Answer& answer, Clock::time_point deadline) {
  const auto spin_end = Clock::now() + (spec_.gpu ? kSpin : std::chrono::milliseconds(0));
  for (;;) {
    // The message's whole length, also of one that does not fit: that one is none of the runner's.
    const ssize_t n = recv(server_socket(), &answer.reply, sizeof answer.reply, MSG_DONTWAIT | MSG_TRUNC);
    if (n == static_cast<ssize_t>(sizeof answer.reply)) return true;
    if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) {
      answer.kind = Answer::Kind::kDied;
      return false;
    }
    if (n > 0) {
      answer.kind = Answer::Kind::kMalformed;
      return false;
    }
    const auto now = Clock::now();
    if (now < spin_end) continue;
    if (now >= deadline) {
      answer.kind = Answer::Kind::kTimeout;
      return false;
    }
    if (const auto kind = broken_limit()) {
      answer.kind = *kind;
      return false;
    }
    throw_if_interrupted();
    if (budget_) budget_->look();
    pollfd poll_socket{server_socket(), POLLIN, 0};
    const auto rest =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - now) + kWatchPeriod / 50;
    poll(&poll_socket, 1, static_cast<int>(std::min(rest, kWatchPeriod).count()));
  }
}

nlohmann::json RunnerProcess::drain(Report report) {
  const nlohmann::json nothing = nlohmann::json::array();
  if (!server().alive()) return nothing;
  const SharedBuffer buffer{"report", report_.get(), 0, kReportBytes, kReportBytes};
  if (!report_attached_ && !attach(buffer, false).ok()) return nothing;
  report_attached_ = true;
  const Answer answer = call(Op::kReport, {static_cast<std::int64_t>(report)});
  if (!answer.ok()) return nothing;
  // Read, not mapped: what the other side does to the file cannot become a signal here, nor change what has
  // been looked at.
  std::string text(std::min<std::uint64_t>(answer.reply.bytes, kReportBytes), '\0');
  const ssize_t n = pread(report_.get(), text.data(), text.size(), 0);
  text.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
  return read_report(text, report);
}

nlohmann::json RunnerProcess::drain_diagnostics() {
  return drain(Report::kDiagnostics);
}
nlohmann::json RunnerProcess::drain_counters() {
  return drain(Report::kCounters);
}

std::string RunnerProcess::output() {
  if (program_) program_->take_output();
  if (executor_) executor_->box().take_output();
  return plain_text(executor_ ? output_->text() + executor_->output().text() : output_->text());
}

namespace {

// The CUDA runtime says on stderr why host code was stopped. Its words, which the submission could write as
// well, change a message and no verdict.
std::string explain_segmentation_fault(const std::string& output) {
  constexpr size_t kMostShown = 200;
  for (const char* known :
       {"host code dereferenced a device pointer", "the stack of the host code is full"}) {
    const size_t begin = output.rfind(": " + std::string(known));
    if (begin == std::string::npos) continue;
    return output.substr(begin + 2, std::min(output.find('\n', begin) - begin - 2, kMostShown));
  }
  return "host code touched memory that is not its own: a device pointer, an index outside of an array, or a "
         "local array that is too large for the stack";
}

}  // namespace

Outcome RunnerProcess::explain_death() {
  Outcome outcome;
  const int signal_number = program_->signal_number();
  outcome.verdict = Verdict::kRuntimeError;
  if (signal_number == SIGTERM || signal_number == SIGKILL) {
    // Whoever ends this whole job may have reached the runner first; that is no verdict.
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    throw_if_interrupted();
  }
  if (signal_number != 0) {
    outcome.reason = Reason::kCrashed;
    outcome.message =
        fmt::format("the program was ended by signal {} ({})", signal_number, strsignal(signal_number));
    if (signal_number == SIGSEGV) outcome.message += ": " + explain_segmentation_fault(output());
    if (signal_number == SIGABRT)
      outcome.message += ": an exception that nobody caught, a failed assert() or a call of abort()";
  } else {
    outcome.reason = Reason::kExitedEarly;
    outcome.message =
        fmt::format("the program ended with exit code {} before its work was done", program_->exit_code());
  }
  return outcome;
}

// It ended by itself before the judge's first command.
Outcome RunnerProcess::explain_end_before_main() {
  if (!has_begun())
    throw JudgeFault("the runner of {} ended before it took a buffer, with exit code {}: {}", spec_.label,
                     program_->exit_code(), plain_line(tail_of(output(), 200), 200));
  Outcome outcome;
  outcome.verdict = Verdict::kRuntimeError;
  outcome.reason = Reason::kExitedEarly;
  outcome.message = fmt::format(
      "the program ended with exit code {} before its main function began: look at the constructors of "
      "global objects, and at what they call",
      program_->exit_code());
  return outcome;
}

Outcome RunnerProcess::explain(const Answer& answer, const std::string& doing) {
  Outcome outcome;
  switch (answer.kind) {
    case Answer::Kind::kTimeout:
      outcome.verdict = Verdict::kTimeLimit;
      outcome.reason = Reason::kOutOfTime;
      outcome.message = answer.of_case
                            ? fmt::format("{} was ended: all calls of a case may take {:g} s together", doing,
                                          std::chrono::duration<double>(spec_.limits.all_calls).count())
                            : fmt::format("{} did not end within {:g} s", doing,
                                          std::chrono::duration<double>(answer.limit).count());
      return outcome;
    case Answer::Kind::kMemoryLimit:
      outcome.verdict = Verdict::kMemoryLimit;
      outcome.reason = Reason::kHostMemory;
      outcome.message = fmt::format(
          "{} used more than {} MiB of host memory (private, shared and files in memory together)", doing,
          spec_.limits.host_memory_bytes >> 20);
      return outcome;
    case Answer::Kind::kMemoryShort:
      throw MemoryShort("{} was ended by the system: the task or the machine{} has no memory left", doing,
                        memory_limit_words());
    case Answer::Kind::kProcessLimit:
      outcome.verdict = Verdict::kRuntimeError;
      outcome.reason = Reason::kProcessLimit;
      outcome.message =
          fmt::format("{} started more than {} processes and threads", doing, program_->limits().processes);
      return outcome;
    case Answer::Kind::kDied:
      outcome = explain_death();
      if (!attached_ && program_->signal_number() == 0) return explain_end_before_main();
      outcome.message = doing + ": " + outcome.message;
      return outcome;
    case Answer::Kind::kExecutorDied:
      throw JudgeFault("the executor of {} ended by itself: {}", spec_.label,
                       plain_line(tail_of(output(), 200), 200));
    case Answer::Kind::kMalformed:
      outcome.verdict = Verdict::kCheating;
      outcome.reason = Reason::kProtocolViolation;
      outcome.message = doing + ": the program sent a message that the runner never sends";
      return outcome;
    case Answer::Kind::kReply:
      break;
  }
  const std::string message = plain_line(answer.reply.message, sizeof answer.reply.message);
  switch (answer.reply.status) {
    case Status::kOk:
      return outcome;
    case Status::kNotImplemented:
      outcome.verdict = Verdict::kNotImplemented;
      outcome.message = doing + " returned cudaErrorNotSupported: the function is not written yet";
      return outcome;
    case Status::kRunnerFault:
      if (!attached_) throw JudgeFault("runner of {}: {}", spec_.label, message);
      outcome.verdict = Verdict::kRuntimeError;
      outcome.reason = Reason::kRunnerFault;
      outcome.message = fmt::format("{}: the program's process can no longer serve the judge: {}", doing,
                                    message.empty() ? "it does not say why" : message);
      return outcome;
    case Status::kException:
      outcome.verdict = Verdict::kRuntimeError;
      outcome.reason = Reason::kException;
      outcome.message = fmt::format("{} threw {}", doing, message);
      return outcome;
    case Status::kHostEnded:
    case Status::kProtocolBroken:  // these are no kReply
    case Status::kCudaError:
      break;
  }
  const bool no_memory = answer.reply.cuda_error == kCudaErrorMemoryAllocation;
  outcome.verdict = no_memory ? Verdict::kMemoryLimit : Verdict::kRuntimeError;
  outcome.reason = no_memory ? Reason::kDeviceMemory : Reason::kCudaError;
  outcome.message = fmt::format("{}: {}", doing, message);
  return outcome;
}

}  // namespace warpgrade

#include "judge/runner_process.h"

#include <fcntl.h>
#include <linux/close_range.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <mutex>
#include <sstream>

#include "base/error.h"
#include "base/process.h"

namespace warpgrade {
namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;
using protocol::Command;
using protocol::Op;
using protocol::Reply;
using protocol::Status;

namespace {

constexpr std::size_t kReportBytes = 1 << 20, kReportLines = 2000;
constexpr std::chrono::milliseconds kWatchPeriod{50};
constexpr std::chrono::milliseconds kSpin{3};  // on a GPU, before sleeping in poll

constexpr int kCudaErrorMemoryAllocation = 2;

std::vector<Mount> mounts(const RunnerSpec& spec) {
  std::vector<Mount> result{{spec.executable, "/run/warpgrade/runner", false}};
  if (spec.vendor_libraries) {
    result.push_back({spec.cuda_libraries, "/run/warpgrade/cuda", false});
    return result;
  }
  for (const auto& entry : fs::directory_iterator(spec.cuda_libraries)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with("libcudart.so.") || entry.is_directory()) continue;
    result.push_back({fs::canonical(entry.path()), fs::path("/run/warpgrade/cuda") / name, false});
  }
  if (result.size() == 1) throw JudgeFault("no libcudart.so.* in {}", spec.cuda_libraries.string());
  return result;
}

WrappedCommand runner_command(const RunnerSpec& spec) {
  SandboxSpec sandbox;
  sandbox.mode = spec.sandbox;
  sandbox.command = {"/run/warpgrade/runner"};
  sandbox.mounts = mounts(spec);
  sandbox.gpu = spec.gpu;
  sandbox.environment = spec.environment;
  std::string libraries = "/run/warpgrade/cuda";
  // Outside the sandbox the single files lie in the folder they come from.
  if (spec.sandbox == SandboxMode::kUnsandboxed) libraries = spec.cuda_libraries.string();
  if (spec.gpu) {
    if (const auto driver = driver_library_directory()) libraries += ":" + driver->string();
  }
  sandbox.environment["LD_LIBRARY_PATH"] = libraries;
  sandbox.environment["LC_ALL"] = "C.UTF-8";
  return wrap(sandbox);
}

// Calls visit(pid) for the process and all its descendants, parents first.
template <typename Visit>
void for_each_process(int pid, Visit visit) {
  visit(pid);
  std::error_code error;
  for (const auto& task : fs::directory_iterator("/proc/" + std::to_string(pid) + "/task", error)) {
    std::ifstream children(task.path() / "children");
    for (int child; children >> child;) for_each_process(child, visit);
  }
}

// Private memory of the process and all its descendants. Shared mappings (the judge's buffers, the emulator's
// device memory) have limits of their own.
std::size_t anonymous_bytes(int root) {
  std::size_t bytes = 0;
  for_each_process(root, [&](int pid) {
    std::ifstream status("/proc/" + std::to_string(pid) + "/status");
    for (std::string line; std::getline(status, line);) {
      if (line.starts_with("RssAnon:") || line.starts_with("VmSwap:")) {
        bytes += std::stoul(line.substr(line.find_first_of("0123456789"))) * 1024;
      }
    }
  });
  return bytes;
}

}  // namespace

// What the runner printed: the first and the last half of the cap.
struct RunnerProcess::Output {
  std::mutex mutex;
  std::string head, tail;
  std::size_t cap = 0, total = 0;

  void add(const char* data, std::size_t size) {
    const std::lock_guard lock(mutex);
    total += size;
    const std::size_t room = cap / 2 - std::min(cap / 2, head.size());
    head.append(data, std::min(room, size));
    if (size <= room) return;
    tail.append(data + room, size - room);
    if (tail.size() > cap) tail.erase(0, tail.size() - cap / 2);
  }

  std::string text() {
    const std::lock_guard lock(mutex);
    std::string end = tail.size() > cap / 2 ? tail.substr(tail.size() - cap / 2) : tail;
    const std::size_t dropped = total - head.size() - end.size();
    return dropped == 0 ? head + end : fmt::format("{}\n[... {} bytes left out ...]\n{}", head, dropped, end);
  }
};

RunnerProcess::RunnerProcess(RunnerSpec spec) : spec_(std::move(spec)), output_(std::make_shared<Output>()) {
  output_->cap = spec_.limits.output_bytes;
  report_ = FileDescriptor(memfd_create("report", MFD_CLOEXEC));
  if (!report_ || ftruncate(report_.get(), kReportBytes) != 0)
    throw JudgeFault("no memory for the report buffer");
  report_memory_ = mmap(nullptr, kReportBytes, PROT_READ | PROT_WRITE, MAP_SHARED, report_.get(), 0);
  if (report_memory_ == MAP_FAILED) throw JudgeFault("cannot map the report buffer");
  start();
}

RunnerProcess::~RunnerProcess() {
  kill();
  if (reader_.joinable()) reader_.join();
  munmap(report_memory_, kReportBytes);
}

void RunnerProcess::start() {
  const WrappedCommand wrapped = runner_command(spec_);
  std::vector<char*> argv;
  for (const std::string& word : wrapped.command) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  std::vector<std::string> assignments;
  for (const auto& [name, value] : wrapped.environment) assignments.push_back(name + "=" + value);
  std::vector<char*> environment;
  for (const std::string& assignment : assignments)
    environment.push_back(const_cast<char*>(assignment.c_str()));
  environment.push_back(nullptr);
  int sockets[2], output[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) != 0 || pipe2(output, O_CLOEXEC) != 0) {
    throw JudgeFault("no socket for the runner: {}", std::strerror(errno));
  }
  socket_ = FileDescriptor(sockets[0]);
  FileDescriptor theirs(sockets[1]), read_end(output[0]), write_end(output[1]);
  pid_ = fork();
  if (pid_ < 0) throw JudgeFault("cannot start a runner: {}", std::strerror(errno));
  if (pid_ == 0) {
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    signal(SIGINT, SIG_IGN);
    // Neither number may be overwritten before it is copied: lift both above the targets first.
    const int socket = fcntl(theirs.get(), F_DUPFD, 10), out = fcntl(write_end.get(), F_DUPFD, 10);
    dup2(open("/dev/null", O_RDONLY), 0);
    dup2(out, 1);
    dup2(out, 2);
    dup2(socket, protocol::kSocketFd);
    close_range(protocol::kSocketFd + 1, ~0u, 0);
    ResourceLimits limits;
    limits.processes = 4096;
    apply_limits(limits);
    execvpe(argv[0], argv.data(), environment.data());
    _exit(127);
  }
  setpgid(pid_, pid_);
  reader_ = std::thread([fd = std::move(read_end), sink = output_] {
    char buffer[65536];
    for (ssize_t n; (n = read(fd.get(), buffer, sizeof buffer)) != 0;) {
      if (n > 0) sink->add(buffer, static_cast<std::size_t>(n));
      if (n < 0 && errno != EINTR) return;
    }
  });
}

void RunnerProcess::kill() {
  if (pid_ <= 0) return;
  ::kill(-pid_, SIGKILL);
  ::kill(pid_, SIGKILL);
  reap();
}

void RunnerProcess::signal_all(int signal_number) {
  if (pid_ <= 0) return;
  // The outermost process is bubblewrap's monitor (or the runner itself without a sandbox).
  for_each_process(pid_, [&](int pid) { ::kill(pid, signal_number); });
}

void RunnerProcess::pause() {
  if (!paused_) signal_all(SIGSTOP);
  paused_ = true;
}

void RunnerProcess::resume() {
  if (paused_) signal_all(SIGCONT);
  paused_ = false;
}

// After a hang-up: a moment for the process to end by itself, so that its own exit is seen and not our kill.
void RunnerProcess::wait_for_exit() {
  for (int i = 0; i < 200 && pid_ > 0; ++i) {
    siginfo_t info = {};
    waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT);
    if (info.si_pid == pid_) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  kill();
}

void RunnerProcess::reap() {
  int status = 0;
  while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
  exit_code_ = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  signal_ = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  if (exit_code_ > 128) {  // bubblewrap tells a signal as a shell does
    signal_ = exit_code_ - 128;
    exit_code_ = -1;
  }
}

Answer RunnerProcess::attach(const SharedBuffer& buffer, bool read_only) {
  Command command;
  command.op = Op::kAttach;
  std::strncpy(command.name, buffer.name.c_str(), sizeof command.name - 1);
  command.offset = buffer.offset;
  command.bytes = buffer.bytes;
  command.mapped_bytes = buffer.mapped_bytes;
  command.read_only = read_only ? 1 : 0;
  return exchange(command, buffer.fd, spec_.limits.start);
}

Answer RunnerProcess::call(Op op, const std::vector<std::int64_t>& arguments) {
  Command command;
  command.op = op;
  for (std::size_t i = 0; i < arguments.size(); ++i) command.arguments[i] = arguments[i];
  return exchange(command, -1, op == Op::kPlan ? spec_.limits.plan : spec_.limits.run);
}

Answer RunnerProcess::exchange(Command command, int fd, std::chrono::milliseconds limit) {
  Answer answer;
  if (pid_ <= 0) {
    answer.kind = Answer::Kind::kDied;
    return answer;
  }
  command.sequence = ++sequence_;
  if (first_command_) limit = std::max(limit, spec_.limits.start);
  first_command_ = false;
  iovec part{&command, sizeof command};
  msghdr message = {};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  if (fd >= 0) {
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(header), &fd, sizeof fd);
  }
  const auto start = Clock::now();
  if (sendmsg(socket_.get(), &message, MSG_NOSIGNAL) < 0) {
    answer.kind = Answer::Kind::kDied;
    wait_for_exit();
    return answer;
  }
  if (!wait_for_reply(answer, start + limit)) {
    if (answer.kind == Answer::Kind::kDied) wait_for_exit();
    kill();
    return answer;
  }
  answer.wall_us = std::chrono::duration<double, std::micro>(Clock::now() - start).count();
  const Reply& reply = answer.reply;
  if (reply.magic != protocol::kMagic || reply.sequence != sequence_ || reply.op != command.op ||
      reply.status > Status::kRunnerFault || !(reply.event_us >= 0)) {
    answer.kind = Answer::Kind::kMalformed;
    kill();
  }
  answer.reply.message[sizeof answer.reply.message - 1] = '\0';
  take_notes(answer);
  return answer;
}

void RunnerProcess::take_notes(const Answer& answer) {
  if (!answer.ok()) return;
  notes_ |= answer.reply.notes;
  if ((answer.reply.notes & protocol::kNoteUnreadError) != 0 && unread_error_.empty())
    unread_error_ = answer.reply.message;
}

nlohmann::json RunnerProcess::notes() const {
  nlohmann::json list = nlohmann::json::array();
  if ((notes_ & protocol::kNoteDefaultStream) != 0) {
    list.push_back(
        {{"kind", "default_stream"},
         {"message", "a kernel is launched on the default stream"},
         {"advice",
          "The contract gives a stream: kernel<<<grid, block, shared_bytes, stream>>>(...). The default "
          "stream is ordered with it here, but waits for all other streams and keeps them waiting."}});
  }
  if ((notes_ & protocol::kNoteUnreadError) != 0) {
    list.push_back(
        {{"kind", "invalid_launch"},
         {"message", "a call failed and nobody looked: " + unread_error_},
         {"advice",
          "Look at cudaGetLastError() after each launch; launch nothing where there is nothing to do: "
          "a grid has at least one block."}});
  }
  return list;
}

bool RunnerProcess::wait_for_reply(Answer& answer, Clock::time_point deadline) {
  const auto spin_end = Clock::now() + (spec_.gpu ? kSpin : std::chrono::milliseconds(0));
  for (;;) {
    const ssize_t n = recv(socket_.get(), &answer.reply, sizeof answer.reply, MSG_DONTWAIT);
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
    if (anonymous_bytes(pid_) > spec_.limits.host_memory_bytes) {
      answer.kind = Answer::Kind::kMemoryLimit;
      return false;
    }
    throw_if_interrupted();
    pollfd poll_socket{socket_.get(), POLLIN, 0};
    const auto rest =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - now) + kWatchPeriod / 50;
    poll(&poll_socket, 1, static_cast<int>(std::min(rest, kWatchPeriod).count()));
  }
}

nlohmann::json RunnerProcess::drain(int kind) {
  nlohmann::json list = nlohmann::json::array();
  if (pid_ <= 0) return list;
  const SharedBuffer buffer{"report", report_.get(), 0, kReportBytes, kReportBytes};
  if (!report_attached_ && !attach(buffer, false).ok()) return list;
  report_attached_ = true;
  const Answer answer = call(Op::kReport, {kind});
  if (answer.kind != Answer::Kind::kReply) return list;
  const std::size_t size = std::min<std::size_t>(answer.reply.written, kReportBytes);
  const std::string text(static_cast<const char*>(report_memory_), size);  // a private copy before parsing
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line) && list.size() < kReportLines;) {
    nlohmann::json item = nlohmann::json::parse(line, nullptr, false);
    if (item.is_object()) list.push_back(std::move(item));
  }
  return list;
}

nlohmann::json RunnerProcess::drain_diagnostics() {
  return drain(0);
}
nlohmann::json RunnerProcess::drain_counters() {
  return drain(1);
}

std::string RunnerProcess::output() {
  return output_->text();
}

Outcome RunnerProcess::explain_death() {
  Outcome outcome;
  outcome.verdict = verdicts::kRuntimeError;
  if (signal_ == SIGTERM || signal_ == SIGKILL) {
    // Whoever ends this whole job may have reached the runner first; that is no verdict.
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    throw_if_interrupted();
  }
  if (signal_ != 0) {
    outcome.reason = "crashed";
    outcome.message = fmt::format("the program was ended by signal {} ({})", signal_, strsignal(signal_));
    if (signal_ == SIGSEGV)
      outcome.message += ": host code touched memory that is not its own, maybe a device pointer";
  } else {
    outcome.reason = "exited_early";
    outcome.message = fmt::format("the program ended with exit code {} before its work was done", exit_code_);
  }
  return outcome;
}

Outcome RunnerProcess::explain(const Answer& answer, const std::string& doing) {
  Outcome outcome;
  switch (answer.kind) {
    case Answer::Kind::kTimeout:
      outcome.verdict = verdicts::kTimeLimit;
      outcome.reason = "out_of_time";
      outcome.message = fmt::format(
          "{} did not end within {:.0f} s", doing,
          std::chrono::duration<double>(doing.ends_with("plan") ? spec_.limits.plan : spec_.limits.run)
              .count());
      return outcome;
    case Answer::Kind::kMemoryLimit:
      outcome.verdict = verdicts::kMemoryLimit;
      outcome.reason = "host_memory";
      outcome.message =
          fmt::format("{} used more than {} MiB of host memory", doing, spec_.limits.host_memory_bytes >> 20);
      return outcome;
    case Answer::Kind::kDied:
      outcome = explain_death();
      outcome.message = doing + ": " + outcome.message;
      return outcome;
    case Answer::Kind::kMalformed:
      outcome.verdict = verdicts::kCheating;
      outcome.reason = "protocol_violation";
      outcome.message = doing + ": a message came from the program that the runner does not send";
      return outcome;
    case Answer::Kind::kReply:
      break;
  }
  switch (answer.reply.status) {
    case Status::kOk:
      return outcome;
    case Status::kNotImplemented:
      outcome.verdict = verdicts::kNotImplemented;
      outcome.message = doing + " returned cudaErrorNotSupported: it is not written yet";
      return outcome;
    case Status::kRunnerFault:
      throw JudgeFault("runner of {}: {}", spec_.label, answer.reply.message);
    case Status::kCudaError:
      break;
  }
  const bool no_memory = answer.reply.cuda_error == kCudaErrorMemoryAllocation;
  outcome.verdict = no_memory ? verdicts::kMemoryLimit : verdicts::kRuntimeError;
  outcome.reason = no_memory ? "device_memory" : "cuda_error";
  outcome.message = fmt::format("{}: {}", doing, answer.reply.message);
  return outcome;
}

}  // namespace warpgrade

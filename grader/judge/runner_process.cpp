#include "judge/runner_process.h"

#include <fcntl.h>
#include <linux/close_range.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <mutex>

#include "base/error.h"
#include "base/process.h"
#include "base/text.h"
#include "judge/shared_host_memory.h"

namespace warpgrade {
namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;
using protocol::Command;
using protocol::Op;
using protocol::Reply;
using protocol::Status;

namespace {

constexpr std::size_t kReportBytes = 1 << 20;
constexpr std::chrono::milliseconds kWatchPeriod{50};
constexpr std::chrono::milliseconds kSpin{3};  // on a GPU, before sleeping in poll

// An honest runner has bubblewrap's two processes, a thread for each core (the emulator's, or OpenMP's),
// maybe twice, and a dozen of the CUDA driver's.
constexpr std::size_t kFewestProcesses = 256, kProcessesPerCore = 4;
// The judge and everybody else have twice the share where the CPU is short.
constexpr unsigned kRunnerCpuWeight = 50;
// Of the kernel's own: page tables, stacks, sockets, files of the sandbox.
constexpr std::size_t kKernelBytes = std::size_t{128} << 20;
constexpr std::chrono::seconds kLongestEnd{60};  // a driver gives back a GPU's memory meanwhile

// Where the emulator finds the memory of its device: a file of the judge, so that the judge knows how much of
// what the group holds is the device's.
constexpr int kDeviceMemoryDescriptor = 5;
constexpr const char* kDeviceMemoryVariable = "WARPEMU_MEMORY_FD";

constexpr int kCudaErrorMemoryAllocation = 2;
constexpr double kLongestEventUs = 1e12;  // no event lasts twelve days

// Numbers that nobody foretells: who answers ahead of a command cannot say its number.
std::uint64_t fresh_number() {
  std::uint64_t number = 0;
  if (getrandom(&number, sizeof number, 0) != static_cast<ssize_t>(sizeof number))
    throw JudgeFault("no random number from the system: {}", std::strerror(errno));
  return number;
}

// Of the host's memory; a GPU has its own.
std::size_t emulated_device_bytes(const RunnerSpec& spec) {
  return spec.gpu ? 0 : spec.limits.device_memory_bytes;
}

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
  if (emulated_device_bytes(spec) != 0)
    sandbox.environment[kDeviceMemoryVariable] = std::to_string(kDeviceMemoryDescriptor);
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

GroupLimits group_limits(const RunnerSpec& spec) {
  GroupLimits group;
  // The kernel's limit is on everything together; held_bytes() tells the host's part from the device's.
  group.memory_bytes = spec.limits.host_memory_bytes + emulated_device_bytes(spec) + kKernelBytes;
  group.processes = kFewestProcesses + kProcessesPerCore * std::thread::hardware_concurrency();
  group.cpu_weight = kRunnerCpuWeight;
  return group;
}

// Without a group the process limit is per user, and the user's other processes count: those that run now,
// and as many as a group allows. (It binds no process of root.)
std::size_t process_limit_of_user(const RunnerSpec& spec) {
  std::size_t threads = 0;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator("/proc", error)) {
    struct stat owner = {};
    const std::string task = entry.path().string() + "/task";
    if (stat(task.c_str(), &owner) == 0 && owner.st_uid == geteuid()) threads += owner.st_nlink - 2;
  }
  return threads + group_limits(spec).processes;
}

// For machines without control groups: private memory of the process and all its descendants. Shared mappings
// are not counted, because they hold the judge's buffers and the emulator's device memory.
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
  report_ = sealed_memory("report", kReportBytes);
  if (emulated_device_bytes(spec_) != 0) {
    device_memory_ = FileDescriptor(memfd_create("warpemu", MFD_CLOEXEC));
    if (!device_memory_) throw JudgeFault("no memory for the emulated device");
  }
  start();
}

RunnerProcess::~RunnerProcess() {
  kill();
  if (reader_.joinable()) reader_.join();
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
  const FileDescriptor no_input(open("/dev/null", O_RDONLY | O_CLOEXEC));
  std::vector<PassedDescriptor> passed{
      {no_input.get(), 0}, {write_end.get(), 1}, {write_end.get(), 2}, {theirs.get(), protocol::kSocketFd}};
  if (wrapped.filter) passed.push_back({wrapped.filter->get(), kFilterDescriptor});
  if (device_memory_) passed.push_back({device_memory_.get(), kDeviceMemoryDescriptor});
  ResourceLimits limits;
  group_ = make_control_group(group_limits(spec_));
  if (!group_ || !group_->limits_processes()) limits.processes = process_limit_of_user(spec_);
  pid_ = fork_inside(group_.get());
  if (pid_ < 0) throw JudgeFault("cannot start a runner: {}", std::strerror(errno));
  if (pid_ == 0) {
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    signal(SIGINT, SIG_IGN);
    place_descriptors(passed);
    close_range(kDeviceMemoryDescriptor + 1, ~0u, 0);
    if (!wrapped.filter) close(kFilterDescriptor);
    if (!device_memory_) close(kDeviceMemoryDescriptor);
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
  if (group_) group_->kill();
  if (!reap()) {
    // It hangs in the kernel. It is dead to us: its group holds it, and the next start removes that.
    std::fprintf(stderr, "warning: a process of %s was killed and does not end\n", spec_.label.c_str());
    pid_ = -1;
    signal_ = SIGKILL;
  }
}

void RunnerProcess::signal_all(int signal_number) {
  if (pid_ <= 0) return;
  // The outermost process is bubblewrap's monitor (or the runner itself without a sandbox).
  for_each_process(pid_, [&](int pid) { ::kill(pid, signal_number); });
}

void RunnerProcess::pause() {
  if (!paused_ && group_ && group_->can_freeze())
    group_->freeze();
  else if (!paused_)
    signal_all(SIGSTOP);
  paused_ = true;
}

void RunnerProcess::resume() {
  if (paused_ && group_ && group_->can_freeze())
    group_->thaw();
  else if (paused_)
    signal_all(SIGCONT);
  paused_ = false;
}

// After a hang-up: a moment for the process to end by itself, so that its own exit is seen and not our kill.
void RunnerProcess::wait_for_exit() {
  if (pid_ > 0) wait_for_end(pid_, std::chrono::seconds(2));
  kill();
}

bool RunnerProcess::reap() {
  if (!wait_for_end(pid_, kLongestEnd)) return false;
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
  return true;
}

// What the runner's processes hold in the host's memory, the emulated device's left out.
std::size_t RunnerProcess::held_bytes() const {
  if (!group_ || !group_->limits_memory()) return pid_ > 0 ? anonymous_bytes(pid_) : 0;
  // This is cheap, and more than what is held.
  const std::size_t charged = group_->charged_bytes();
  if (charged <= spec_.limits.host_memory_bytes) return charged;
  struct stat device = {};
  if (device_memory_) fstat(device_memory_.get(), &device);
  const std::size_t held = group_->used_bytes(), of_device = static_cast<std::size_t>(device.st_blocks) * 512;
  return held - std::min(held, of_device);
}

// A limit that the runner has gone beyond, whatever it says of itself.
std::optional<Answer::Kind> RunnerProcess::broken_limit() const {
  if (held_bytes() > spec_.limits.host_memory_bytes) return Answer::Kind::kMemoryLimit;
  if (group_ && group_->out_of_memory()) return Answer::Kind::kMemoryLimit;
  if (group_ && group_->out_of_processes()) return Answer::Kind::kProcessLimit;
  return std::nullopt;
}

Answer RunnerProcess::attach(const SharedBuffer& buffer, bool read_only) {
  Command command;
  command.op = Op::kAttach;
  std::strncpy(command.name, buffer.name.c_str(), sizeof command.name - 1);
  command.offset = buffer.offset;
  command.bytes = buffer.bytes;
  command.mapped_bytes = buffer.mapped_bytes;
  command.read_only = read_only ? 1 : 0;
  const Answer answer = exchange(command, buffer.fd, spec_.limits.start);
  attached_ = attached_ || answer.ok();
  return answer;
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
  // Nobody was asked since the last reply: what lies in the socket now was sent ahead. A longer message is
  // cut to one byte and descriptors that came along are closed by the kernel: no place was given for them.
  char unasked;
  if (recv(socket_.get(), &unasked, sizeof unasked, MSG_DONTWAIT) > 0) {
    answer.kind = Answer::Kind::kMalformed;
    kill();
    return answer;
  }
  command.sequence = fresh_number();
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
    // It may have died of a limit.
    if (const auto kind = broken_limit(); kind && answer.kind == Answer::Kind::kDied) answer.kind = *kind;
    kill();
    return answer;
  }
  answer.wall_us = std::chrono::duration<double, std::micro>(Clock::now() - start).count();
  if (group_ && group_->out_of_processes()) {  // others of its processes may go on beside an answer
    answer.kind = Answer::Kind::kProcessLimit;
    kill();
    return answer;
  }
  answer.reply.message[sizeof answer.reply.message - 1] = '\0';
  if (!reply_is_sound(command, answer.reply)) {
    answer.kind = Answer::Kind::kMalformed;
    kill();
    return answer;
  }
  take_notes(answer);
  return answer;
}

bool RunnerProcess::reply_is_sound(const Command& command, const Reply& reply) const {
  return reply.magic == protocol::kMagic && reply.sequence == command.sequence && reply.op == command.op &&
         reply.status <= Status::kException && reply.event_us >= 0 && reply.event_us <= kLongestEventUs;
}

void RunnerProcess::take_notes(const Answer& answer) {
  if (!answer.ok()) return;
  notes_ |= answer.reply.notes;
  if ((answer.reply.notes & protocol::kNoteUnreadError) != 0 && unread_error_.empty())
    unread_error_ = plain_line(answer.reply.message);
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
    // The message's whole length, also of one that does not fit: that one is none of the runner's.
    const ssize_t n = recv(socket_.get(), &answer.reply, sizeof answer.reply, MSG_DONTWAIT | MSG_TRUNC);
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
    pollfd poll_socket{socket_.get(), POLLIN, 0};
    const auto rest =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - now) + kWatchPeriod / 50;
    poll(&poll_socket, 1, static_cast<int>(std::min(rest, kWatchPeriod).count()));
  }
}

nlohmann::json RunnerProcess::drain(Report report) {
  const nlohmann::json nothing = nlohmann::json::array();
  if (pid_ <= 0) return nothing;
  const SharedBuffer buffer{"report", report_.get(), 0, kReportBytes, kReportBytes};
  if (!report_attached_ && !attach(buffer, false).ok()) return nothing;
  report_attached_ = true;
  const Answer answer = call(Op::kReport, {static_cast<std::int64_t>(report)});
  if (!answer.ok()) return nothing;
  // Read, not mapped: what the other side does to the file cannot become a signal here, nor change what has
  // been looked at.
  std::string text(std::min<std::uint64_t>(answer.reply.written, kReportBytes), '\0');
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
  return valid_utf8(output_->text());
}

namespace {

// The emulator says on stderr why host code was stopped. Its words, which the submission could write as well,
// change a message and no verdict.
std::string explain_segmentation_fault(const std::string& output) {
  constexpr const char* kSign = "emulator: ";
  constexpr size_t kMostShown = 200;
  for (const char* known :
       {"host code dereferenced a device pointer", "the stack of the host code is full"}) {
    const size_t at = output.rfind(kSign + std::string(known));
    if (at == std::string::npos) continue;
    const size_t begin = at + std::char_traits<char>::length(kSign);
    return output.substr(begin, std::min(output.find('\n', begin) - begin, kMostShown));
  }
  return "host code touched memory that is not its own: a device pointer, an index outside of an array, or a "
         "local array that is too large for the stack";
}

}  // namespace

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
    if (signal_ == SIGSEGV) outcome.message += ": " + explain_segmentation_fault(output());
    if (signal_ == SIGABRT)
      outcome.message += ": an exception that nobody caught, a failed assert() or a call of abort()";
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
      outcome.message = fmt::format(
          "{} used more than {} MiB of host memory (private, shared and files in memory together)", doing,
          spec_.limits.host_memory_bytes >> 20);
      return outcome;
    case Answer::Kind::kProcessLimit:
      outcome.verdict = verdicts::kRuntimeError;
      outcome.reason = "process_limit";
      outcome.message =
          fmt::format("{} started more than {} processes and threads", doing, group_limits(spec_).processes);
      return outcome;
    case Answer::Kind::kDied:
      outcome = explain_death();
      if (!attached_ && signal_ == 0)
        throw JudgeFault("the runner of {} ended before it took a buffer, with exit code {}: {}", spec_.label,
                         exit_code_, plain_line(tail_of(output(), 200), 200));
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
  const std::string message = plain_line(answer.reply.message, sizeof answer.reply.message);
  switch (answer.reply.status) {
    case Status::kOk:
      return outcome;
    case Status::kNotImplemented:
      outcome.verdict = verdicts::kNotImplemented;
      outcome.message = doing + " returned cudaErrorNotSupported: it is not written yet";
      return outcome;
    case Status::kRunnerFault:
      if (!attached_) throw JudgeFault("runner of {}: {}", spec_.label, message);
      outcome.verdict = verdicts::kRuntimeError;
      outcome.reason = "runner_fault";
      outcome.message = fmt::format("{}: the program's process can no longer serve the judge: {}", doing,
                                    message.empty() ? "it does not say why" : message);
      return outcome;
    case Status::kException:
      outcome.verdict = verdicts::kRuntimeError;
      outcome.reason = "exception";
      outcome.message = fmt::format("{} threw {}", doing, message);
      return outcome;
    case Status::kCudaError:
      break;
  }
  const bool no_memory = answer.reply.cuda_error == kCudaErrorMemoryAllocation;
  outcome.verdict = no_memory ? verdicts::kMemoryLimit : verdicts::kRuntimeError;
  outcome.reason = no_memory ? "device_memory" : "cuda_error";
  outcome.message = fmt::format("{}: {}", doing, message);
  return outcome;
}

}  // namespace warpgrade

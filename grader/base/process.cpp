#include "base/process.h"

#include <fcntl.h>
#include <linux/sched.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>

#include "base/cpu_time.h"
#include "base/error.h"
#include "base/files.h"

namespace warpgrade {
namespace {

std::atomic<int> interrupt_count{0};

void on_interrupt(int) {
  if (++interrupt_count > 1) _exit(kExitInterrupted);
}

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kLongestEnd{
    60};                                  // of a killed process: its memory is given back, drivers tidy up
constexpr int kFirstFreeDescriptor = 64;  // above all numbers that a command is given

std::vector<char*> c_strings(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (const std::string& text : texts) pointers.push_back(const_cast<char*>(text.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

// NAME=value of the whole environment that the command gets.
std::vector<std::string> environment_of(const ProcessOptions& options) {
  std::map<std::string, std::string> all;
  for (char** entry = environ; !options.clear_environment && *entry != nullptr; ++entry) {
    const std::string text = *entry;
    all[text.substr(0, text.find('='))] = text.substr(text.find('=') + 1);
  }
  for (const auto& [name, value] : options.environment) all[name] = value;
  std::vector<std::string> assignments;
  for (const auto& [name, value] : all) assignments.push_back(name + "=" + value);
  return assignments;
}

[[noreturn]] void report_and_exit(int exec_error) {
  const int why = errno;
  (void)!write(exec_error, &why, sizeof why);
  _exit(127);
}

[[noreturn]] void run_child(const ProcessOptions& options, int out, int err, int exec_error,
                            const std::vector<char*>& argv, const std::vector<char*>& environment) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  signal(SIGINT, SIG_DFL);
  const int null_input = open("/dev/null", O_RDONLY);
  dup2(null_input, 0);
  dup2(out, 1);
  dup2(err, 2);
  if (options.directory && chdir(options.directory->c_str()) != 0) report_and_exit(exec_error);
  if (!options.descriptors
           .empty()) {  // their numbers may be the one by which the parent hears of a failing exec
    exec_error = fcntl(exec_error, F_DUPFD_CLOEXEC, kFirstFreeDescriptor);
    place_descriptors(options.descriptors);
  }
  apply_limits(options.limits);
  execvpe(argv[0], argv.data(), environment.data());
  report_and_exit(exec_error);
}

void read_available(FileDescriptor& fd, std::string& text, size_t cap) {
  std::array<char, 65536> buffer;
  const ssize_t n = read(fd.get(), buffer.data(), buffer.size());
  if (n > 0) {
    const size_t room = cap > text.size() ? cap - text.size() : 0;
    text.append(buffer.data(), std::min(room, static_cast<size_t>(n)));
  } else if (n == 0 || (errno != EINTR && errno != EAGAIN)) {
    fd.reset();
  }
}

// What a command has had of the processor, looked at again and again. Its fence counts that; without one all
// of the machine's processes are read, which is done less often.
class CpuMeter {
 public:
  CpuMeter(const ProcessOptions& options, int pid) : options_(options), pid_(pid) {}
  // Whether the limit is met.
  bool look() {
    if (!options_.cpu_limit) return false;
    load_.look();
    const auto counted = options_.fence ? options_.fence->cpu_time() : std::nullopt;
    if (counted) {
      used_ = *counted;
    } else if (const auto now = Clock::now(); now >= next_) {
      used_ = std::max(used_, cpu_time_of_tree(pid_));  // what nobody waited for is gone from there
      next_ = now + kTreePeriod;
    }
    return used_ > *options_.cpu_limit;
  }
  // Before the status of the command, which has ended, is taken.
  void finish(ProcessResult& result) {
    next_ = {};
    look();
    result.cpu_time = used_;
    result.load = load_.value();
  }

 private:
  static constexpr std::chrono::milliseconds kTreePeriod{500};
  const ProcessOptions& options_;
  int pid_;
  Clock::time_point next_;
  std::chrono::microseconds used_{};
  MeanLoad load_;
};

struct Pipe {
  FileDescriptor read_end, write_end;
  Pipe() {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) throw JudgeFault("no pipe: {}", std::strerror(errno));
    read_end = FileDescriptor(ends[0]);
    write_end = FileDescriptor(ends[1]);
  }
};

}  // namespace

void install_interrupt_handler() {
  struct sigaction action = {};
  action.sa_handler = on_interrupt;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  signal(SIGPIPE, SIG_IGN);
}

bool interrupted() {
  return interrupt_count > 0;
}

void throw_if_interrupted() {
  if (interrupted()) throw Interrupted();
}

void apply_limits(const ResourceLimits& limits) {
  const auto set = [](__rlimit_resource_t what, std::optional<size_t> value) {
    if (!value) return;
    const rlimit limit{*value, *value};
    setrlimit(what, &limit);
  };
  const rlimit no_core{0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  set(RLIMIT_CPU, limits.cpu_seconds);
  set(RLIMIT_FSIZE, limits.file_bytes);
  set(RLIMIT_AS, limits.address_space_bytes);
  set(RLIMIT_NPROC, limits.processes);
}

void place_descriptors(const std::vector<PassedDescriptor>& descriptors) {
  constexpr size_t kMost = 8;
  int lifted[kMost];
  const size_t count = std::min(descriptors.size(), kMost);
  // No number may be overwritten before it is copied: all are lifted above the targets first.
  for (size_t i = 0; i < count; ++i)
    lifted[i] = fcntl(descriptors[i].ours, F_DUPFD_CLOEXEC, kFirstFreeDescriptor);
  for (size_t i = 0; i < count; ++i) dup2(lifted[i], descriptors[i].theirs);
}

int fork_inside(const ProcessFence* fence) {
  if (const int folder = fence != nullptr ? fence->cgroup_folder() : -1; folder >= 0) {
    clone_args arguments = {};
    arguments.flags = CLONE_INTO_CGROUP;
    arguments.exit_signal = SIGCHLD;
    arguments.cgroup = static_cast<__u64>(folder);
    const long pid = syscall(SYS_clone3, &arguments, sizeof arguments);
    if (pid == 0 && !fence->join(true)) _exit(127);
    if (pid >= 0) return static_cast<int>(pid);
    // An older kernel, or a filter around this process that hides the call: it joins as on version 1.
  }
  const pid_t pid = fork();
  if (pid == 0 && fence != nullptr && !fence->join(false)) _exit(127);
  return pid;
}

bool wait_for_end(int pid, std::chrono::milliseconds limit) {
  const auto deadline = Clock::now() + limit;
  const auto has_ended = [&] {
    siginfo_t info = {};
    return waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOHANG | WNOWAIT) != 0 ||
           info.si_pid == pid;
  };
  if (has_ended()) return true;
  const FileDescriptor process(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
  for (;;) {
    const auto rest = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    if (rest <= 0) return has_ended();
    pollfd end{process.get(), POLLIN, 0};
    // A kernel without pidfd_open (before 5.3) is asked every 5 ms.
    poll(&end, process ? 1 : 0, static_cast<int>(process ? std::min<long>(rest, 1000) : 5));
    if (has_ended()) return true;
  }
}

std::string shell_quoted(const std::string& word) {
  std::string text = "'";
  for (const char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + "'";
}

std::string ProcessResult::describe() const {
  if (timed_out) return "out of time";
  if (out_of_cpu) return "out of CPU time";
  if (!met_limit.empty()) return met_limit;
  if (signal != 0) return fmt::format("killed by signal {} ({})", signal, strsignal(signal));
  return fmt::format("exit code {}", exit_code);
}

ProcessResult run_process(const ProcessOptions& options) {
  throw_if_interrupted();
  const std::vector<char*> argv = c_strings(options.command);
  const std::vector<std::string> assignments = environment_of(options);
  const std::vector<char*> environment = c_strings(assignments);
  Pipe out, err, exec_error;
  const pid_t pid = fork_inside(options.fence.get());
  if (pid < 0) throw JudgeFault("cannot start {}: {}", options.command[0], std::strerror(errno));
  if (pid == 0)
    run_child(options, out.write_end.get(), err.write_end.get(), exec_error.write_end.get(), argv,
              environment);
  setpgid(pid, pid);
  out.write_end.reset();
  err.write_end.reset();
  exec_error.write_end.reset();

  ProcessResult result;
  const auto kill_all = [&] {
    kill(-pid, SIGKILL);
    if (options.fence) options.fence->kill();
  };
  const auto deadline = options.timeout ? Clock::now() + *options.timeout : Clock::time_point::max();
  bool was_interrupted = false;
  const auto has_ended = [&] {
    siginfo_t info = {};
    return waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
           info.si_pid == pid;
  };
  CpuMeter cpu(options, pid);
  // The child's end is the end: it may close its output early, and a daemonised grandchild may keep it open.
  for (bool ended = false; !ended || out.read_end || err.read_end;) {
    if (!result.timed_out && Clock::now() >= deadline) {
      result.timed_out = true;
      kill_all();
    }
    if (!result.timed_out && !result.out_of_cpu && cpu.look()) {
      result.out_of_cpu = true;
      kill_all();
    }
    if (!was_interrupted && interrupted()) {
      was_interrupted = true;
      kill_all();
    }
    std::array<pollfd, 2> polls{pollfd{out.read_end.get(), POLLIN, 0}, pollfd{err.read_end.get(), POLLIN, 0}};
    // What it wrote before its end may come behind this poll's time: its end counts from the next poll on.
    const bool had_ended = ended, open = out.read_end || err.read_end;
    poll(polls.data(), polls.size(), had_ended ? 0 : open ? 50 : 1);
    if (polls[0].revents != 0) read_available(out.read_end, result.standard_output, options.output_bytes);
    if (polls[1].revents != 0) read_available(err.read_end, result.standard_error, options.output_bytes);
    if (options.fence && result.met_limit.empty()) {
      result.met_limit = options.fence->met_limit();
      if (!result.met_limit.empty()) kill_all();
    }
    if (had_ended && polls[0].revents == 0 && polls[1].revents == 0) break;
    ended = has_ended();
  }
  if (options.fence) {
    result.met_limit = options.fence->met_limit();
    result.lacked_memory_above = options.fence->lacked_memory_above();
  }
  kill_all();
  cpu.finish(result);
  if (!wait_for_end(pid, kLongestEnd)) throw JudgeFault("{} was killed and does not end", options.command[0]);
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  int why = 0;
  if (read(exec_error.read_end.get(), &why, sizeof why) == sizeof why) {
    throw JudgeFault("cannot start {}: {}", options.command[0], std::strerror(why));
  }
  if (was_interrupted) throw Interrupted();
  if (WIFSIGNALED(status)) result.signal = WTERMSIG(status);
  if (WIFEXITED(status)) result.exit_code = WEXITSTATUS(status);
  return result;
}

}  // namespace warpgrade

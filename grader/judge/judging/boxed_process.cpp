#include "judge/judging/boxed_process.h"

#include <asm/unistd.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
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
#include "base/text.h"

namespace warpgrade {
namespace fs = std::filesystem;

namespace {

constexpr std::chrono::seconds kLongestEnd{60};  // a driver gives back a GPU's memory meanwhile
constexpr std::chrono::milliseconds kLongestLastWords{500};

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

// Without a group the process limit is per user, and the user's other processes count: those that run now,
// and as many as a group allows. (It binds no process of root.)
std::size_t process_limit_of_user(const GroupLimits& limits) {
  std::size_t threads = 0;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator("/proc", error)) {
    struct stat owner = {};
    const std::string task = entry.path().string() + "/task";
    if (stat(task.c_str(), &owner) == 0 && owner.st_uid == geteuid()) threads += owner.st_nlink - 2;
  }
  return threads + limits.processes;
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

// For exec: pointers into `words`, which outlives them.
std::vector<char*> pointers_to(std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  return pointers;
}

// Closes all descriptors from first to last; between fork and exec, so it allocates nothing. By its number,
// since an older C library has no function for it; kernels before 5.9 have no call for it.
void close_between(unsigned first, unsigned last) {
  if (syscall(__NR_close_range, first, last, 0) == 0) return;
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  for (rlim_t number = first; number <= last && number < limit.rlim_cur; ++number)
    close(static_cast<int>(number));
}

}  // namespace

struct ProgramOutput::State {
  std::mutex mutex;
  std::string head, tail;
  std::size_t cap = 0, total = 0;
};

ProgramOutput::ProgramOutput(std::size_t cap) : state_(std::make_unique<State>()) {
  state_->cap = cap;
}

ProgramOutput::~ProgramOutput() = default;

void ProgramOutput::add(const char* data, std::size_t size) {
  const std::lock_guard lock(state_->mutex);
  auto& [mutex, head, tail, cap, total] = *state_;
  total += size;
  const std::size_t room = cap / 2 - std::min(cap / 2, head.size());
  head.append(data, std::min(room, size));
  if (size <= room) return;
  tail.append(data + room, size - room);
  if (tail.size() > cap) tail.erase(0, tail.size() - cap / 2);
}

std::string ProgramOutput::text() {
  const std::lock_guard lock(state_->mutex);
  const auto& [mutex, head, tail, cap, total] = *state_;
  const std::string end = tail.size() > cap / 2 ? tail.substr(tail.size() - cap / 2) : tail;
  const std::size_t dropped = total - head.size() - end.size();
  return dropped == 0 ? head + end : fmt::format("{}\n[... {} bytes left out ...]\n{}", head, dropped, end);
}

void ProgramOutput::clear() {
  const std::lock_guard lock(state_->mutex);
  state_->head.clear();
  state_->tail.clear();
  state_->total = 0;
}

// Where its processes print. One thread reads at a time, so that the words stay in order.
struct BoxedProcess::Pipe {
  FileDescriptor read_end;  // does not block
  std::shared_ptr<ProgramOutput> output;
  std::mutex mutex;

  // False at its end, when no process can print any more.
  bool take_more() {
    pollfd ready{read_end.get(), POLLIN, 0};
    if (poll(&ready, 1, -1) < 0) return errno == EINTR;
    char buffer[65536];
    const std::lock_guard lock(mutex);
    const ssize_t n = read(read_end.get(), buffer, sizeof buffer);
    if (n > 0) output->add(buffer, static_cast<std::size_t>(n));
    return n > 0 || (n < 0 && (errno == EINTR || errno == EAGAIN));
  }

  // What is in it now, and not what comes meanwhile: a program that never stops printing keeps nobody here.
  void take_present() {
    const std::lock_guard lock(mutex);
    int size = 0;
    if (ioctl(read_end.get(), FIONREAD, &size) != 0 || size <= 0) return;
    std::vector<char> words(static_cast<std::size_t>(size));
    const ssize_t n = read(read_end.get(), words.data(), words.size());
    if (n > 0) output->add(words.data(), static_cast<std::size_t>(n));
  }
};

BoxedProcess::BoxedProcess(Options options) : label_(options.label), limits_(options.limits) {
  start(options);
}

BoxedProcess::~BoxedProcess() {
  kill();
  if (reader_.joinable()) reader_.join();
}

void BoxedProcess::start(Options& options) {
  std::vector<std::string> words = options.wrapped.command, assignments;
  for (const auto& [name, value] : options.wrapped.environment) assignments.push_back(name + "=" + value);
  const std::vector<char*> argv = pointers_to(words), environment = pointers_to(assignments);
  int output[2];
  if (pipe2(output, O_CLOEXEC) != 0) throw JudgeFault("no pipe for {}: {}", label_, std::strerror(errno));
  FileDescriptor write_end(output[1]);
  pipe_ = std::make_shared<Pipe>();
  pipe_->read_end = FileDescriptor(output[0]);
  pipe_->output = options.output;
  fcntl(output[0], F_SETFL, O_NONBLOCK);
  const FileDescriptor no_input(open("/dev/null", O_RDONLY | O_CLOEXEC));
  std::vector<PassedDescriptor> passed{{no_input.get(), 0}, {write_end.get(), 1}, {write_end.get(), 2}};
  passed.insert(passed.end(), options.descriptors.begin(), options.descriptors.end());
  if (options.wrapped.filter) passed.push_back({options.wrapped.filter->get(), kFilterDescriptor});
  std::vector<int> kept;
  for (const PassedDescriptor& descriptor : passed) kept.push_back(descriptor.theirs);
  std::sort(kept.begin(), kept.end());
  ResourceLimits limits;
  group_ = make_control_group(limits_);
  if (!group_ || !group_->limits_processes()) limits.processes = process_limit_of_user(limits_);
  pid_ = fork_inside(group_.get());
  if (pid_ < 0) throw JudgeFault("cannot start {}: {}", label_, std::strerror(errno));
  if (pid_ == 0) {
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    signal(SIGINT, SIG_IGN);
    place_descriptors(passed);
    unsigned next = 0;
    for (const int number : kept) {
      if (static_cast<unsigned>(number) > next) close_between(next, static_cast<unsigned>(number) - 1);
      next = static_cast<unsigned>(number) + 1;
    }
    close_between(next, ~0u);
    apply_limits(limits);
    execvpe(argv[0], argv.data(), environment.data());
    _exit(127);
  }
  setpgid(pid_, pid_);
  std::packaged_task<void()> task([pipe = pipe_] {
    while (pipe->take_more()) {
    }
  });
  read_out_ = task.get_future();
  reader_ = std::thread(std::move(task));
}

void BoxedProcess::kill() {
  if (pid_ <= 0) return;
  ::kill(-pid_, SIGKILL);
  ::kill(pid_, SIGKILL);
  if (group_) group_->kill();
  if (!reap()) {
    // It hangs in the kernel. It is dead to us: its group holds it, and the next start removes that.
    std::fprintf(stderr, "warning: a process of %s was killed and does not end\n", label_.c_str());
    pid_ = -1;
    signal_ = SIGKILL;
    return;
  }
  // Its last words are in the pipe. Where there is no group, a process that left it may hold the pipe open.
  read_out_.wait_for(kLongestLastWords);
}

void BoxedProcess::take_output() {
  pipe_->take_present();
}

void BoxedProcess::signal_all(int signal_number) {
  if (pid_ <= 0) return;
  // The outermost process is bubblewrap's monitor (or the program itself without a sandbox).
  for_each_process(pid_, [&](int pid) { ::kill(pid, signal_number); });
}

void BoxedProcess::pause() {
  if (!paused_ && group_ && group_->can_freeze())
    group_->freeze();
  else if (!paused_)
    signal_all(SIGSTOP);
  paused_ = true;
}

void BoxedProcess::resume() {
  if (paused_ && group_ && group_->can_freeze())
    group_->thaw();
  else if (paused_)
    signal_all(SIGCONT);
  paused_ = false;
}

void BoxedProcess::wait_for_exit() {
  if (pid_ > 0) wait_for_end(pid_, std::chrono::seconds(2));
  kill();
}

bool BoxedProcess::reap() {
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

std::size_t BoxedProcess::held_bytes(std::size_t enough) const {
  if (!group_ || !group_->limits_memory()) return pid_ > 0 ? anonymous_bytes(pid_) : 0;
  // This is cheap, and more than what is held.
  const std::size_t charged = group_->charged_bytes();
  return charged <= enough ? charged : group_->used_bytes();
}

}  // namespace warpgrade

#include "judge/executor/host_process.h"

#include <signal.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <stdexcept>

extern char** environ;

namespace warpgrade::executor {
namespace {

constexpr int kChildSocket = 3;

bool begins_with(const char* text, const char* prefix) {
  return std::strncmp(text, prefix, std::strlen(prefix)) == 0;
}

// Has every descriptor closed in the new process but those below `first`.
void close_all_from(posix_spawn_file_actions_t& actions, int first) {
#if __GLIBC_PREREQ(2, 34)
  posix_spawn_file_actions_addclosefrom_np(&actions, first);
#else
  // Those that are open now, and room for what other threads open until then. Closing what is not open is
  // no error.
  constexpr int kOpenedMeanwhile = 256;
  int highest = first;
  for (const auto& open : std::filesystem::directory_iterator("/proc/self/fd"))
    highest = std::max(highest, std::stoi(open.path().filename().string()));
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  highest =
      static_cast<int>(std::min<rlim_t>(static_cast<rlim_t>(highest) + kOpenedMeanwhile, limit.rlim_cur - 1));
  for (int number = first; number <= highest; ++number) posix_spawn_file_actions_addclose(&actions, number);
#endif
}

}  // namespace

HostProcess::HostProcess(const std::vector<std::string>& command, const std::string& library_folder,
                         const SharedMemory& memory) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
    throw std::runtime_error(std::string("cannot make a socket: ") + std::strerror(errno));
  socket_ = Descriptor(ends[0]);
  const Descriptor theirs(ends[1]);
  if (!send_descriptors(socket_.get(), memory.calls_descriptor(), memory.window_descriptor()))
    throw std::runtime_error("cannot hand over the shared memory");
  std::vector<char*> arguments, environment;
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  std::string path = "LD_LIBRARY_PATH=" + library_folder;
  std::string socket = "WARPGRADE_EXECUTOR=" + std::to_string(kChildSocket);
  for (char** e = environ; *e != nullptr; ++e) {
    if (begins_with(*e, "LD_LIBRARY_PATH=")) {
      path += std::string(":") + (std::strchr(*e, '=') + 1);
    } else if (!begins_with(*e, "WARPGRADE_EXECUTOR=")) {
      environment.push_back(*e);
    }
  }
  environment.push_back(path.data());
  environment.push_back(socket.data());
  environment.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, theirs.get(), kChildSocket);
  close_all_from(actions, kChildSocket + 1);  // none of the driver's, above all
  const int failed =
      posix_spawnp(&pid_, arguments[0], &actions, nullptr, arguments.data(), environment.data());
  posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) {
    pid_ = -1;
    throw std::runtime_error("cannot start " + command[0] + ": " + std::strerror(failed));
  }
}

HostProcess::~HostProcess() {
  kill_it();
}

std::optional<int> HostProcess::ended() {
  int status = 0;
  if (!code_ && waitpid(pid_, &status, WNOHANG) == pid_)
    code_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return code_;
}

void HostProcess::kill_it() {
  if (pid_ <= 0 || ended()) return;
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
  code_ = 128 + SIGKILL;
}

}  // namespace warpgrade::executor

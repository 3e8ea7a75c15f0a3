// Runs inside a box and tells what it could do there: a line `name result` for each attempt, `result` being
// `ok`, the name of an errno, or `killed`. unit/run_box_test.cpp says what each must be.
#include <fcntl.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/reboot.h>
#include <sys/socket.h>
#include <sys/swap.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <thread>
#include <vector>

namespace {

#if __GLIBC_PREREQ(2, 32)
const char* error_name(int error) {
  return strerrorname_np(error);
}
#else  // of what the box's refusals say
const char* error_name(int error) {
  switch (error) {
    case EPERM:
      return "EPERM";
    case EACCES:
      return "EACCES";
    case ENOSYS:
      return "ENOSYS";
    case EAFNOSUPPORT:
      return "EAFNOSUPPORT";
    default:
      return "another error";
  }
}
#endif

void report(const char* name, long result) {
  std::printf("%s %s\n", name, result >= 0 ? "ok" : error_name(errno));
  std::fflush(stdout);
}

template <typename... Arguments>
void call(const char* name, long number, Arguments... arguments) {
  report(name, syscall(number, arguments...));
}

// In a child, because it may be killed for it.
void risky(const char* name, const std::function<long()>& attempt) {
  std::fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    const long result = attempt();
    _exit(result >= 0 ? 0 : errno);
  }
  int status = 0;
  waitpid(child, &status, 0);
  const char* word = "killed";
  if (WIFEXITED(status)) word = WEXITSTATUS(status) == 0 ? "ok" : error_name(WEXITSTATUS(status));
  std::printf("%s %s\n", name, word);
}

int nothing(void*) {
  return 0;
}

void reach_into_processes() {
  char byte = 0;
  iovec part{&byte, 1};
  risky("ptrace", [] { return ptrace(PTRACE_TRACEME, 0, nullptr, nullptr); });
  call("process_vm_readv", SYS_process_vm_readv, getpid(), &part, 1, &part, 1, 0);
  call("process_vm_writev", SYS_process_vm_writev, getpid(), &part, 1, &part, 1, 0);
}

void use_kernel_interfaces() {
  char buffer[256] = {};
  call("bpf", SYS_bpf, 0, buffer, sizeof buffer);
  call("io_uring_setup", SYS_io_uring_setup, 1, buffer);
  call("perf_event_open", SYS_perf_event_open, buffer, 0, -1, -1, 0);
  call("userfaultfd", SYS_userfaultfd, 1);
  call("keyctl", SYS_keyctl, 0, -3, 0);
  call("add_key", SYS_add_key, "user", "a", "b", 1, -2);
  call("request_key", SYS_request_key, "user", "a", nullptr, -2);
  call("seccomp", SYS_seccomp, SECCOMP_SET_MODE_STRICT, 1, nullptr);
  call("name_to_handle_at", SYS_name_to_handle_at, AT_FDCWD, "/", buffer, buffer, 0);
  call("open_by_handle_at", SYS_open_by_handle_at, AT_FDCWD, buffer, 0);
  call("memfd_secret", 447, 0);
  call("personality", SYS_personality, ADDR_NO_RANDOMIZE);
  call("personality of no change", SYS_personality, 0);
  call("TIOCSTI", SYS_ioctl, 0, TIOCSTI, buffer);
  call("TIOCSTI with high bits", SYS_ioctl, 0, 0xffff00000000ul | TIOCSTI, buffer);
  call("TIOCLINUX", SYS_ioctl, 0, 0x541c, buffer);
}

void make_namespaces_and_mounts() {
  static char stack[16384];
  call("mount", SYS_mount, "none", "/tmp", "tmpfs", 0, nullptr);
  call("umount2", SYS_umount2, "/tmp", 0);
  call("pivot_root", SYS_pivot_root, "/tmp", "/tmp");
  call("chroot", SYS_chroot, "/tmp");
  call("fsopen", SYS_fsopen, "tmpfs", 0);
  call("move_mount", SYS_move_mount, -1, "", -1, "/tmp", 0);
  call("open_tree", SYS_open_tree, AT_FDCWD, "/", 1);
  call("mount_setattr", 442, AT_FDCWD, "/", 0, nullptr, 0);
  risky("unshare", [] { return unshare(CLONE_NEWUSER); });
  call("setns", SYS_setns, 0, 0);
  for (const int flag :
       {CLONE_NEWUSER, CLONE_NEWNS, CLONE_NEWPID, CLONE_NEWNET, CLONE_NEWIPC, CLONE_NEWUTS, CLONE_NEWCGROUP})
    report("clone with a namespace", clone(nothing, stack + sizeof stack, flag | SIGCHLD, nullptr));
  call("clone3", SYS_clone3, stack, 0);
}

void touch_the_machine() {
  call("kexec_load", SYS_kexec_load, 0, 0, nullptr, 0);
  call("init_module", SYS_init_module, nullptr, 0, "");
  call("finit_module", SYS_finit_module, 0, "", 0);
  call("delete_module", SYS_delete_module, "none", 0);
  call("quotactl", SYS_quotactl, 0, nullptr, 0, nullptr);
  call("reboot", SYS_reboot, 1, 2, 3, nullptr);  // not its magic numbers
  call("swapon", SYS_swapon, "/tmp/none", 0);
  call("acct", SYS_acct, "/tmp/none");
}

void open_sockets() {
  for (const int family : {AF_INET, AF_INET6, AF_NETLINK, AF_PACKET, AF_VSOCK, AF_ALG})
    report("another socket", socket(family, SOCK_DGRAM, 0));
  report("unix socket", socket(AF_UNIX, SOCK_STREAM, 0));
  int pair[2];
  report("unix socketpair", socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair));
}

#if defined(__x86_64__)
void call_by_other_abis() {
  risky("x32", [] { return syscall(0x40000000 | SYS_getpid); });
  risky("int80", [] {
    long result = 20;  // getpid
    asm volatile("int $0x80" : "+a"(result) : : "memory", "r8", "r9", "r10", "r11");
    return result;
  });
}
#else
void call_by_other_abis() {}
#endif

// What honest libraries need.
void work_honestly() {
  bool ran = false;
  std::thread([&] { ran = true; }).join();
  report("thread", ran ? 0 : -1);
  const int memory = memfd_create("honest", MFD_CLOEXEC);
  report("memfd", memory < 0 ? -1 : ftruncate(memory, 1 << 20));
  report("shared memory",
         mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0) == MAP_FAILED ? -1 : 0);
  void* code = mmap(nullptr, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  report("executable memory", code == MAP_FAILED ? -1 : 0);
  report("mlock", mlock(code, 4096));
  cpu_set_t cpus;
  report("affinity",
         sched_getaffinity(0, sizeof cpus, &cpus) != 0 ? -1 : sched_setaffinity(0, sizeof cpus, &cpus));
  report("timer", timerfd_create(CLOCK_MONOTONIC, 0));
  pid_t child = 0;
  char word[] = "true";
  char* arguments[] = {word, nullptr};
  errno = posix_spawn(&child, "/usr/bin/true", nullptr, nullptr, arguments, environ);
  report("spawn", errno == 0 ? 0 : -1);
  std::ofstream("/tmp/file") << "text";
  report("file in /tmp", access("/tmp/file", F_OK));
}

void fill(const char* name, const char* file, std::size_t bytes) {
  const int fd = open(file, O_CREAT | O_WRONLY, 0600);
  const std::vector<char> block(1 << 20, 1);
  long result = fd;
  for (std::size_t done = 0; result >= 0 && done < bytes; done += block.size())
    result = write(fd, block.data(), block.size()) == static_cast<ssize_t>(block.size())
                 ? 0
                 : (errno = ENOSPC, -1);
  report(name, result);
  if (fd >= 0) unlink(file);
}

void write_elsewhere() {
  fill("file in /", "/file", 1);
  fill("file in /dev", "/dev/file", 1);
  fill("file in /usr", "/usr/file", 1);
  fill("file in /run", "/run/file", 1);
  fill("filling /tmp", "/tmp/hog", std::size_t{80} << 20);
  fill("filling /dev/shm", "/dev/shm/hog", std::size_t{80} << 20);
}

void look_around() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    for (const char* key : {"NoNewPrivs:", "Seccomp:", "CapEff:", "Uid:"}) {
      if (!line.starts_with(key)) continue;
      std::string value = line.substr(std::strlen(key) + 1);
      std::printf("%s %s\n", key, value.substr(0, value.find('\t')).c_str());
    }
  }
  int processes = 0, interfaces = 0, gpu_nodes = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc"))
    processes += std::isdigit(static_cast<unsigned char>(entry.path().filename().string()[0])) != 0;
  std::ifstream network("/proc/net/dev");
  for (std::string line; std::getline(network, line);) interfaces += line.find(':') != std::string::npos;
  std::printf("processes %s\n", processes <= 4 ? "own" : "others");
  std::printf("network %s\n", interfaces <= 1 ? "loopback" : "others");
  std::printf("cgroups %s\n", std::filesystem::exists("/sys/fs/cgroup") ? "seen" : "unseen");
  for (const auto& entry : std::filesystem::directory_iterator("/dev")) {
    const std::string node = entry.path().filename().string();
    gpu_nodes += node.starts_with("nvidia") || node == "dri";
  }
  std::printf("gpu nodes %s\n", gpu_nodes == 0 ? "unseen" : "seen");
}

}  // namespace

int main() {
  reach_into_processes();
  use_kernel_interfaces();
  make_namespaces_and_mounts();
  touch_the_machine();
  open_sockets();
  call_by_other_abis();
  work_honestly();
  write_elsewhere();
  look_around();
  return 0;
}

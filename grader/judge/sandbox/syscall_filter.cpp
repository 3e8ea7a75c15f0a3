#include "judge/sandbox/syscall_filter.h"

#include <linux/seccomp.h>
#include <sched.h>
#include <seccomp.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <memory>
#include <mutex>

#include "base/error.h"

namespace warpgrade {

namespace {

using Filter = std::unique_ptr<void, decltype(&seccomp_release)>;

// Another process, or this one past its own page tables: what would let one process of the box read
// or rewrite another.
constexpr std::array kReachingIntoProcesses{"ptrace", "process_vm_readv", "process_vm_writev", "pidfd_getfd",
                                            "kcmp",   "process_madvise"};

// Large interfaces of the kernel in which holes are found every year, and of which no honest submission
// needs any.
constexpr std::array kKernelInterfaces{"bpf",
                                       "perf_event_open",
                                       "userfaultfd",
                                       "keyctl",
                                       "add_key",
                                       "request_key",
                                       "fanotify_init",
                                       "lookup_dcookie",
                                       "memfd_secret",
                                       "seccomp",
                                       "vm86",
                                       "vm86old",
                                       "modify_ldt",
                                       "nfsservctl",
                                       "_sysctl",
                                       "sysfs",
                                       "ustat",
                                       "uselib",
                                       "vhangup",
                                       "syslog",
                                       "name_to_handle_at",
                                       "open_by_handle_at"};

// What changes what is mounted, or makes namespaces: the ways by which a process gets rights inside a box.
constexpr std::array kMountsAndNamespaces{
    "mount",     "umount",    "umount2", "pivot_root", "move_mount",     "fsopen",
    "fsconfig",  "fsmount",   "fspick",  "open_tree",  "open_tree_attr", "mount_setattr",
    "statmount", "listmount", "chroot",  "unshare",    "setns"};

// What belongs to whoever runs the machine. Without rights these fail anyway; here they do not reach
// the kernel's code.
constexpr std::array kMachine{"kexec_load",    "kexec_file_load",
                              "init_module",   "finit_module",
                              "delete_module", "create_module",
                              "query_module",  "get_kernel_syms",
                              "quotactl",      "quotactl_fd",
                              "reboot",        "swapon",
                              "swapoff",       "acct",
                              "settimeofday",  "stime",
                              "clock_settime", "clock_settime64",
                              "clock_adjtime", "clock_adjtime64",
                              "adjtimex",      "iopl",
                              "ioperm",        "sethostname",
                              "setdomainname"};

// Libraries fall back on something else when the kernel does not know these.
// clone3: its flags lie in memory, where a filter cannot see them; the C library then uses clone.
constexpr std::array kUnknown{"clone3", "io_uring_setup", "io_uring_enter", "io_uring_register"};

constexpr unsigned long kNamespaceFlags =
    CLONE_NEWNS | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWCGROUP;
constexpr unsigned long kCloneNewTime =
    0x80;  // only of unshare and clone3: in clone it is part of the signal
static_assert((kNamespaceFlags & kCloneNewTime) == 0);

constexpr scmp_datum_t kLowWord = 0xffffffff;  // the kernel looks at the low 32 bits of an int or a command

void require(int result, const char* what) {
  if (result < 0) throw JudgeFault("no filter of system calls: {}: error {}", what, -result);
}

// A name that this architecture or libseccomp does not know needs no rule.
template <typename... Comparisons>
void deny(const Filter& filter, int error, const char* name, Comparisons... comparisons) {
  const int number = seccomp_syscall_resolve_name(name);
  if (number == __NR_SCMP_ERROR) return;
  require(seccomp_rule_add(filter.get(), SCMP_ACT_ERRNO(static_cast<unsigned>(error)), number,
                           sizeof...(comparisons), comparisons...),
          name);
}

template <typename Names>
void deny_all(const Filter& filter, int error, const Names& names) {
  for (const char* name : names) deny(filter, error, name);
}

// Sockets of other families are paths into rarely used parts of the kernel; the network is
// another namespace's.
void deny_sockets(const Filter& filter, BoxKind kind) {
  for (const char* call : {"socket", "socketpair"}) {
    if (kind != BoxKind::kProfiler) {
      deny(filter, EAFNOSUPPORT, call, SCMP_A0(SCMP_CMP_NE, AF_UNIX));
      continue;
    }
    for (int family = 0; family < AF_INET6; ++family)  // a rule compares one number
      if (family != AF_UNIX && family != AF_INET)
        deny(filter, EAFNOSUPPORT, call, SCMP_A0(SCMP_CMP_EQ, static_cast<scmp_datum_t>(family)));
    deny(filter, EAFNOSUPPORT, call, SCMP_A0(SCMP_CMP_GT, AF_INET6));
  }
}

// Timers stay: a thread that sleeps does all that a timer does. Silence while others are timed is the
// freezer's, under which neither runs.
Filter make_filter(BoxKind kind) {
  // Calls of another ABI (32-bit, x32) end the process: their numbers would pass a filter written for
  // this one.
  Filter filter(seccomp_init(SCMP_ACT_ALLOW), &seccomp_release);
  if (!filter) throw JudgeFault("no filter of system calls: no memory");
  require(seccomp_attr_set(filter.get(), SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS), "other ABIs");
  seccomp_attr_set(filter.get(), SCMP_FLTATR_CTL_OPTIMIZE, 2);  // a search tree, where the library has it
  if (kind != BoxKind::kProfiler) deny_all(filter, EPERM, kReachingIntoProcesses);
  deny_all(filter, EPERM, kKernelInterfaces);
  deny_all(filter, EPERM, kMountsAndNamespaces);
  deny_all(filter, EPERM, kMachine);
  deny_all(filter, ENOSYS, kUnknown);
  for (unsigned long flag = 1; flag != 0; flag <<= 1) {
    if ((kNamespaceFlags & flag) != 0) deny(filter, EPERM, "clone", SCMP_A0(SCMP_CMP_MASKED_EQ, flag, flag));
  }
  // Words typed into the terminal of whoever started the judge.
  deny(filter, EPERM, "ioctl", SCMP_A1(SCMP_CMP_MASKED_EQ, kLowWord, TIOCSTI));
  constexpr scmp_datum_t kTiocLinux = 0x541c;
  deny(filter, EPERM, "ioctl", SCMP_A1(SCMP_CMP_MASKED_EQ, kLowWord, kTiocLinux));
  deny_sockets(filter, kind);
  // Addresses that are not randomised, and other systems' habits. A compiler may turn randomising off
  // for itself.
  if (kind == BoxKind::kRunner) deny(filter, EPERM, "personality", SCMP_A0(SCMP_CMP_NE, 0));
  return filter;
}

std::string exported(BoxKind kind) {
  const Filter filter = make_filter(kind);
  const FileDescriptor file(memfd_create("filter", MFD_CLOEXEC));
  if (!file) throw JudgeFault("no memory for the filter of system calls");
  require(seccomp_export_bpf(filter.get(), file.get()), "export");
  std::string bytes(static_cast<size_t>(lseek(file.get(), 0, SEEK_END)), '\0');
  if (pread(file.get(), bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size()))
    throw JudgeFault("cannot read the filter of system calls back");
  return bytes;
}

}  // namespace

const FilterProbe& probe_syscall_filter() {
  static const FilterProbe probe = [] {
    const unsigned action = SECCOMP_RET_ERRNO;
    if (syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) == 0) return FilterProbe{true, ""};
    return FilterProbe{
        false, "the kernel takes no filters of system calls (seccomp); use one with CONFIG_SECCOMP_FILTER"};
  }();
  return probe;
}

std::optional<FileDescriptor> syscall_filter(BoxKind kind) {
  if (!probe_syscall_filter().works) return std::nullopt;
  static std::mutex mutex;
  static std::array<std::string, 3> filters;
  const std::lock_guard lock(mutex);
  std::string& bytes = filters[static_cast<std::size_t>(kind)];
  if (bytes.empty()) bytes = exported(kind);
  // A file of its own each time: readers of one file would share its position.
  FileDescriptor file(memfd_create("filter", MFD_CLOEXEC));
  if (!file || write(file.get(), bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size()) ||
      lseek(file.get(), 0, SEEK_SET) != 0)
    throw JudgeFault("no memory for the filter of system calls");
  return file;
}

}  // namespace warpgrade

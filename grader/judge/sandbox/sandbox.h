// Wraps a command so that it sees nothing but what it needs: bubblewrap with its own user, pid, net, ipc,
// uts and mount namespaces, nobody's uid, no capabilities, a private /tmp and /dev/shm of bounded size,
// nothing else that can be written, a clean environment, a filter of system calls. Its limits are a
// control group's (cgroup.h).
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/process.h"
#include "judge/sandbox/cgroup.h"
#include "judge/sandbox/syscall_filter.h"

namespace warpgrade {

enum class SandboxMode { kBubblewrap, kUnsandboxed };

const char* to_string(SandboxMode mode);

// A file or folder that the command sees at `inside`.
struct Mount {
  std::filesystem::path outside;
  std::filesystem::path inside;
  bool writable = false;
};

struct SandboxSpec {
  SandboxMode mode = SandboxMode::kBubblewrap;
  std::vector<std::string> command;                // paths as seen inside
  std::vector<Mount> mounts;                       // beyond the system's read-only /usr
  std::map<std::string, std::string> environment;  // all of it
  std::filesystem::path directory = "/";
  bool gpu = false;             // the NVIDIA devices and the driver's libraries; else neither is to be seen
  size_t tmp_bytes = 64 << 20;  // of /tmp, and of /dev/shm
  BoxKind box = BoxKind::kRunner;
};

// The number of the filter's descriptor in the command; 3 is the judge's socket (judge/protocol/protocol.h).
inline constexpr int kFilterDescriptor = 4;

// Whether bubblewrap works here; the reason when it does not. Probed once a process.
struct SandboxProbe {
  bool works = false;
  std::string reason;
};
const SandboxProbe& probe_sandbox();

// The argv to execute and the environment to give it. In mode kUnsandboxed mounts are not made: the command
// and the environment are rewritten to the outside paths.
struct WrappedCommand {
  std::vector<std::string> command;
  std::map<std::string, std::string> environment;
  std::shared_ptr<FileDescriptor> filter;  // to be passed as kFilterDescriptor; null: none
};
WrappedCommand wrap(const SandboxSpec& spec);

// Options for run_process() that run the command in its box: wrapped, filtered, and in a control group with
// these limits where groups can be had. The caller adds time and resource limits.
ProcessOptions boxed(const SandboxSpec& spec, const GroupLimits& limits);

// The folder of libcuda.so.1, when a driver is installed.
std::optional<std::filesystem::path> driver_library_directory();

}  // namespace warpgrade

#include "judge/judging/program_box.h"

#include <sys/random.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "base/error.h"
#include "judge/executor/judge_commands.h"
#include "judge/sandbox/python_box.h"

namespace warpgrade {
namespace fs = std::filesystem;

namespace {

// An honest runner has bubblewrap's two processes, a thread for each core (the emulator's, or OpenMP's),
// maybe twice, and a dozen of the CUDA driver's.
constexpr std::size_t kFewestProcesses = 256, kProcessesPerCore = 4;
// Of the kernel's own: page tables, stacks, sockets, files of the sandbox.
constexpr std::size_t kKernelBytes = std::size_t{128} << 20;

// The single libraries of the CUDA runtime in a folder, as the program finds them.
void add_runtime(const fs::path& folder, std::vector<Mount>& mounts) {
  bool found = false;
  for (const auto& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with("libcudart.so.") || entry.is_directory()) continue;
    mounts.push_back({fs::canonical(entry.path()), fs::path("/run/warpgrade/cuda") / name, false});
    found = true;
  }
  if (!found) throw JudgeFault("no libcudart.so.* in {}", folder.string());
}

// A folder is a submission in Python (judge/runner/triton/README.md): it has its own modules, and the box
// no packages.
void run_by_python(SandboxSpec& sandbox) {
  const PythonInBox python = python_in_box();
  sandbox.command = {python.program.string(), "-I", "-S", "-B", "/run/warpgrade/runner"};
  sandbox.mounts.insert(sandbox.mounts.end(), python.mounts.begin(), python.mounts.end());
}

}  // namespace

std::size_t emulated_device_bytes(const RunnerSpec& spec) {
  return spec.gpu ? 0 : spec.limits.device_memory_bytes;
}

WrappedCommand program_command(const RunnerSpec& spec) {
  const bool alone = spec.executor.empty();
  const fs::path folder = alone ? spec.cuda_libraries : spec.executor;
  SandboxSpec sandbox;
  sandbox.mode = spec.sandbox;
  sandbox.command = {"/run/warpgrade/runner"};
  sandbox.mounts = {{spec.executable, "/run/warpgrade/runner", false}};
  if (fs::is_directory(spec.executable)) run_by_python(sandbox);
  if (spec.vendor_libraries)
    sandbox.mounts.push_back({folder, "/run/warpgrade/cuda", false});
  else
    add_runtime(folder, sandbox.mounts);
  // Outside the sandbox the single files lie in the folder they come from.
  std::string libraries = spec.sandbox == SandboxMode::kUnsandboxed ? folder.string() : "/run/warpgrade/cuda";
  if (alone) {
    sandbox.gpu = spec.gpu;
    sandbox.environment = spec.environment;
    if (spec.gpu) {
      if (const auto driver = driver_library_directory()) libraries += ":" + driver->string();
    }
    if (emulated_device_bytes(spec) != 0)
      sandbox.environment[kDeviceMemoryVariable] = std::to_string(kDeviceMemoryDescriptor);
  } else {
    sandbox.environment["WARPGRADE_EXECUTOR"] = std::to_string(executor::kExecutorDescriptor);
    sandbox.environment["WARPGRADE_BEGUN"] = std::to_string(executor::kBegunDescriptor);
  }
  sandbox.environment["LD_LIBRARY_PATH"] = libraries;
  sandbox.environment["LC_ALL"] = "C.UTF-8";
  return wrap(sandbox);
}

// The box has no variable that is not named here.
std::map<std::string, std::string> executor_environment(const RunnerSpec& spec) {
  constexpr const char* kAllowed = "WARPGRADE_PAGEABLE_ACCESS";  // visible_facts.h
  std::map<std::string, std::string> environment = spec.environment;
  environment["WARPEMU_REPORT"] = "quiet";  // findings go into the record, not to stderr
  if (const char* value = std::getenv(kAllowed); value != nullptr && spec.gpu) environment[kAllowed] = value;
  return environment;
}

WrappedCommand executor_command(const RunnerSpec& spec) {
  SandboxSpec sandbox;
  sandbox.mode = spec.sandbox;
  sandbox.command = {"/run/warpgrade/executor", "--judge", spec.gpu ? "gpu" : "emulator",
                     "--device-memory-mb", std::to_string(spec.limits.device_memory_bytes >> 20)};
  sandbox.mounts = {{spec.executor / "warpgrade-executor", "/run/warpgrade/executor", false}};
  sandbox.gpu = spec.gpu;
  sandbox.environment = executor_environment(spec);
  if (spec.gpu) {
    if (const auto driver = driver_library_directory())
      sandbox.environment["LD_LIBRARY_PATH"] = driver->string();
  } else {
    sandbox.environment[kDeviceMemoryVariable] = std::to_string(kDeviceMemoryDescriptor);
  }
  sandbox.environment["LC_ALL"] = "C.UTF-8";
  return wrap(sandbox);
}

GroupLimits group_limits(const RunnerSpec& spec, std::size_t device_bytes, unsigned cpu_weight) {
  GroupLimits group;
  // The kernel's limit is on everything together; held_bytes() tells the host's part from the device's.
  group.memory_bytes = spec.limits.host_memory_bytes + device_bytes + kKernelBytes;
  group.processes = kFewestProcesses + kProcessesPerCore * std::thread::hardware_concurrency();
  group.cpu_weight = cpu_weight;
  return group;
}

std::uint64_t fresh_number() {
  std::uint64_t number = 0;
  if (getrandom(&number, sizeof number, 0) != static_cast<ssize_t>(sizeof number))
    throw JudgeFault("no random number from the system: {}", std::strerror(errno));
  return number;
}

SocketPair socket_pair() {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
    throw JudgeFault("no socket for a program: {}", std::strerror(errno));
  return {FileDescriptor(ends[0]), FileDescriptor(ends[1])};
}

}  // namespace warpgrade

#include "judge/sandbox/sandbox.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <sstream>

#include "base/error.h"
#include "base/process.h"
#include "judge/sandbox/gpu_files.h"

namespace warpgrade {
namespace fs = std::filesystem;

namespace {

constexpr const char* kNobody = "65534";

std::string bubblewrap_program() {
  const char* program = std::getenv("WARPGRADE_BWRAP");
  return program != nullptr && *program != '\0' ? program : "bwrap";
}

// Before version 0.7 bubblewrap gives files in memory no limit of their own; the control group counts
// them, too.
bool bubblewrap_limits_tmpfs() {
  static const bool limits = [] {
    ProcessOptions options;
    options.command = {bubblewrap_program(), "--help"};
    try {
      const ProcessResult help = run_process(options);
      return (help.standard_output + help.standard_error).find("--size") != std::string::npos;
    } catch (const JudgeFault&) {
      return true;  // there is none: whoever starts it says so
    }
  }();
  return limits;
}

bool is_driver_library(const std::string& name) {
  return name.starts_with("libcuda.so") || name.starts_with("libcudadebugger.so") ||
         name.starts_with("libnvidia-") || name.starts_with("libnvcuvid.so");
}

// The driver's libraries below /usr, at the places that distributions and containers have for them.
std::vector<fs::path> find_driver_libraries() {
  constexpr int kDeepest = 3;  // /usr/lib/x86_64-linux-gnu/nvidia/current
  std::vector<fs::path> found;
  for (const char* root : {"/usr/lib", "/usr/lib64", "/usr/lib32"}) {
    std::error_code error;
    if (fs::is_symlink(root, error)) continue;
    fs::recursive_directory_iterator entries(root, fs::directory_options::skip_permission_denied, error), end;
    for (; !error && entries != end; entries.increment(error)) {
      const std::string name = entries->path().filename().string();
      if (entries->is_directory(error)) {
        const bool may_hold = name.find("nvidia") != std::string::npos ||
                              name.find("-linux-gnu") != std::string::npos || name == "current" ||
                              name == "wsl" || name == "lib";
        if (!may_hold || entries.depth() >= kDeepest) entries.disable_recursion_pending();
      } else if (is_driver_library(name) && !entries->is_symlink(error)) {
        found.push_back(entries->path());
      }
    }
  }
  return found;
}

// Without a GPU there is nothing that a driver could reach, and no driver to try it with either.
void hide_driver(std::vector<std::string>& argv) {
  static const std::vector<fs::path> libraries = find_driver_libraries();
  for (const fs::path& library : libraries)
    argv.insert(argv.end(), {"--ro-bind", "/dev/null", library.string()});
}

// A system without merged /usr keeps /lib and /bin as folders of their own.
void add_system(std::vector<std::string>& argv) {
  argv.insert(argv.end(), {"--ro-bind", "/usr", "/usr", "--tmpfs", "/usr/local", "--tmpfs", "/usr/src"});
  for (const char* folder : {"/bin", "/sbin", "/lib", "/lib64", "/lib32"}) {
    std::error_code error;
    if (fs::is_symlink(folder, error)) {
      argv.insert(argv.end(), {"--symlink", fs::read_symlink(folder).string(), folder});
    } else if (fs::is_directory(folder, error)) {
      argv.insert(argv.end(), {"--ro-bind", folder, folder});
    }
  }
  for (const char* file : {"/etc/ld.so.cache", "/etc/alternatives"}) {
    if (fs::exists(file)) argv.insert(argv.end(), {"--ro-bind", file, file});
  }
}

void add_gpu(std::vector<std::string>& argv) {
  for (const fs::path& file : gpu_device_files())
    argv.insert(argv.end(), {"--dev-bind", file.string(), file.string()});
  if (const auto driver = driver_library_directory()) {
    argv.insert(argv.end(), {"--ro-bind", driver->string(), driver->string()});
  }
  if (fs::exists("/proc/driver/nvidia")) {
    argv.insert(argv.end(), {"--ro-bind-try", "/proc/driver/nvidia", "/proc/driver/nvidia"});
  }
}

// "/run/x:/lib" with "/run" mounted from "/tmp/a": "/tmp/a/x:/lib".
std::string outside_path(const std::string& text, const std::vector<Mount>& mounts) {
  for (const Mount& mount : mounts) {
    const std::string inside = mount.inside.string();
    if (text == inside || text.starts_with(inside + "/"))
      return mount.outside.string() + text.substr(inside.size());
  }
  return text;
}

std::string outside_paths(const std::string& text, const std::vector<Mount>& mounts) {
  std::istringstream parts(text);
  std::string result;
  for (std::string part; std::getline(parts, part, ':');) {
    result += (result.empty() ? "" : ":") + outside_path(part, mounts);
  }
  return result;
}

WrappedCommand unsandboxed(const SandboxSpec& spec) {
  WrappedCommand wrapped;
  for (const std::string& word : spec.command) wrapped.command.push_back(outside_path(word, spec.mounts));
  for (const auto& [name, value] : spec.environment)
    wrapped.environment[name] = outside_paths(value, spec.mounts);
  return wrapped;
}

}  // namespace

const char* to_string(SandboxMode mode) {
  return mode == SandboxMode::kBubblewrap ? "bubblewrap" : "unsandboxed";
}

std::optional<fs::path> driver_library_directory() {
  for (const char* folder : {"/usr/lib/x86_64-linux-gnu", "/usr/local/nvidia/lib64", "/usr/lib64",
                             "/usr/lib/aarch64-linux-gnu", "/usr/lib/wsl/lib", "/run/opengl-driver/lib"}) {
    if (fs::exists(fs::path(folder) / "libcuda.so.1")) return folder;
  }
  return std::nullopt;
}

WrappedCommand wrap(const SandboxSpec& spec) {
  if (spec.mode == SandboxMode::kUnsandboxed) return unsandboxed(spec);
  WrappedCommand wrapped;
  std::vector<std::string>& argv = wrapped.command;
  argv = {bubblewrap_program(),
          "--unshare-all",
          "--die-with-parent",
          "--new-session",
          "--uid",
          kNobody,
          "--gid",
          kNobody,
          "--cap-drop",
          "ALL",
          "--hostname",
          "runner",
          "--clearenv"};
  add_system(argv);
  argv.insert(argv.end(), {"--proc", "/proc", "--dev", "/dev"});
  spec.gpu ? add_gpu(argv) : hide_driver(argv);
  for (const char* folder : {"/dev/shm", "/tmp"}) {
    if (bubblewrap_limits_tmpfs()) argv.insert(argv.end(), {"--size", std::to_string(spec.tmp_bytes)});
    argv.insert(argv.end(), {"--tmpfs", folder});
  }
  for (const Mount& mount : spec.mounts) {
    argv.insert(argv.end(),
                {mount.writable ? "--bind" : "--ro-bind", mount.outside.string(), mount.inside.string()});
  }
  // bubblewrap makes / and /dev as file systems in memory, without a size.
  argv.insert(argv.end(), {"--remount-ro", "/dev", "--remount-ro", "/"});
  if (std::optional<FileDescriptor> filter = syscall_filter(spec.box)) {
    wrapped.filter = std::make_shared<FileDescriptor>(std::move(*filter));
    argv.insert(argv.end(), {"--seccomp", std::to_string(kFilterDescriptor)});
  }
  for (const auto& [name, value] : spec.environment) argv.insert(argv.end(), {"--setenv", name, value});
  argv.insert(argv.end(), {"--chdir", spec.directory.string(), "--"});
  argv.insert(argv.end(), spec.command.begin(), spec.command.end());
  // bubblewrap itself may need the caller's library path; --clearenv keeps it from the command.
  for (const char* name : {"PATH", "LD_LIBRARY_PATH"}) {
    if (const char* value = std::getenv(name)) wrapped.environment[name] = value;
  }
  return wrapped;
}

ProcessOptions boxed(const SandboxSpec& spec, const GroupLimits& limits) {
  const WrappedCommand wrapped = wrap(spec);
  ProcessOptions options;
  options.command = wrapped.command;
  options.environment = wrapped.environment;
  options.clear_environment = true;
  options.fence = make_control_group(limits);
  if (wrapped.filter)
    options.descriptors.push_back({wrapped.filter->get(), kFilterDescriptor, wrapped.filter});
  return options;
}

const SandboxProbe& probe_sandbox() {
  static const SandboxProbe probe = [] {
    SandboxSpec spec;
    spec.command = {"/usr/bin/true"};
    ProcessOptions options = boxed(spec, {});
    options.timeout = std::chrono::seconds(20);
    try {
      const ProcessResult result = run_process(options);
      if (result.ok()) return SandboxProbe{true, ""};
      std::string words = result.standard_error.substr(0, result.standard_error.find('\n'));
      return SandboxProbe{false, fmt::format("bubblewrap does not work here ({}{}{})", result.describe(),
                                             words.empty() ? "" : ": ", words)};
    } catch (const JudgeFault& fault) {
      return SandboxProbe{
          false, fmt::format("bubblewrap is not there ({}); install the package bubblewrap", fault.what())};
    }
  }();
  return probe;
}

}  // namespace warpgrade

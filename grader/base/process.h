// Runs a command to its end with a time limit, resource limits and captured, capped output.
#pragma once

#include <chrono>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace warpgrade {

struct ResourceLimits {
  std::optional<size_t> cpu_seconds;
  std::optional<size_t> file_bytes;
  std::optional<size_t> address_space_bytes;
  std::optional<size_t> processes;
};

struct ProcessOptions {
  std::vector<std::string> command;                // command[0] is looked up in PATH
  std::map<std::string, std::string> environment;  // added to this process's, or all of it:
  bool clear_environment = false;
  std::optional<std::filesystem::path> directory;
  std::optional<std::chrono::milliseconds> timeout;  // then the whole process group is killed
  ResourceLimits limits;
  size_t output_bytes = 1 << 20;  // kept of stdout and of stderr; the rest is read and dropped
};

struct ProcessResult {
  int exit_code = -1;  // meaningful when signal == 0
  int signal = 0;
  bool timed_out = false;
  std::string standard_output;
  std::string standard_error;
  bool ok() const { return !timed_out && signal == 0 && exit_code == 0; }
  std::string describe() const;  // "exit code 3", "killed by signal 9 (Killed)", "out of time"
};

// Throws JudgeFault when the command cannot be started, Interrupted when Ctrl-C came.
ProcessResult run_process(const ProcessOptions& options);

// Applies the limits to the calling process; for a child between fork and exec.
void apply_limits(const ResourceLimits& limits);

// Ctrl-C: handlers set a flag that long loops look at; the second Ctrl-C ends the program at once.
void install_interrupt_handler();
bool interrupted();
class Interrupted : public std::exception {
 public:
  const char* what() const noexcept override { return "interrupted"; }
};
void throw_if_interrupted();

}  // namespace warpgrade

// Runs a command to its end with a time limit, resource limits and captured, capped output.
#pragma once

#include <chrono>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/files.h"

namespace warpgrade {

struct ResourceLimits {
  std::optional<size_t> cpu_seconds;
  std::optional<size_t> file_bytes;
  std::optional<size_t> address_space_bytes;
  std::optional<size_t> processes;
};

// What a process and all that it starts can be held in, so that they end together: a control
// group (judge/sandbox/cgroup.h).
class ProcessFence {
 public:
  virtual ~ProcessFence() = default;
  // A folder's descriptor in which the kernel can let a process be born, which spares it part of the
  // joining; -1: none.
  virtual int cgroup_folder() const noexcept { return -1; }
  // Takes the calling process in, which was born in the group or not; for a child between fork and exec,
  // so it allocates nothing, and has one thread. False: it did not.
  virtual bool join(bool born_inside) const noexcept = 0;
  // Ends all that are in it, within a bound of time. False: some are left.
  virtual bool kill() noexcept = 0;
  // Which limit of the fence was met, in words ("more than 512 processes and threads"); empty: none.
  virtual std::string met_limit() const = 0;
  // Whether one of its processes was ended because somebody above it had no memory left.
  virtual bool lacked_memory_above() const { return false; }
  // What all that are or were in it have had of the processor; nothing where it does not count that.
  virtual std::optional<std::chrono::microseconds> cpu_time() const { return std::nullopt; }
};

// A descriptor of ours that the command gets under another number.
struct PassedDescriptor {
  int ours = -1;
  int theirs = -1;
  std::shared_ptr<FileDescriptor> owner =
      nullptr;  // kept open until the command has it; null: somebody else's
};

struct ProcessOptions {
  std::vector<std::string> command;                // command[0] is looked up in PATH
  std::map<std::string, std::string> environment;  // added to this process's, or all of it:
  bool clear_environment = false;
  std::optional<std::filesystem::path> directory;
  std::optional<std::chrono::milliseconds> timeout;  // then the whole process group is killed
  // CPU time of the command and of all that it starts; then the same. What was used, and how busy the machine
  // was meanwhile, is measured only where there is this limit.
  std::optional<std::chrono::milliseconds> cpu_limit;
  ResourceLimits limits;
  std::shared_ptr<ProcessFence> fence;
  std::vector<PassedDescriptor> descriptors;
  size_t output_bytes = 1 << 20;  // kept of stdout and of stderr; the rest is read and dropped
};

struct ProcessResult {
  int exit_code = -1;  // meaningful when signal == 0
  int signal = 0;
  bool timed_out = false;
  bool out_of_cpu = false;               // cpu_limit was met
  std::chrono::microseconds cpu_time{};  // see cpu_limit
  double load = 0;                       // threads that ran or wanted to, on this machine; see cpu_limit
  std::string met_limit;                 // of the fence, see ProcessFence; empty: none
  bool lacked_memory_above = false;      // of the fence
  std::string standard_output;
  std::string standard_error;
  bool ok() const { return !timed_out && !out_of_cpu && met_limit.empty() && signal == 0 && exit_code == 0; }
  std::string describe() const;  // "exit code 3", "killed by signal 9 (Killed)", "out of time"
};

// One word of a shell's, whatever it holds.
std::string shell_quoted(const std::string& word);

// Throws JudgeFault when the command cannot be started, Interrupted when Ctrl-C came.
ProcessResult run_process(const ProcessOptions& options);

// fork() with the child inside of the fence (null: none); the child may call what a signal handler may. -1:
// errno says why. A child that could not get in ends with exit code 127.
int fork_inside(const ProcessFence* fence);

// Waits for the child's end without taking its status, for `limit` at most; false: it has not ended.
bool wait_for_end(int pid, std::chrono::milliseconds limit);

// Gives the calling process the descriptors under their new numbers, whatever numbers they have now; for a
// child between fork and exec.
void place_descriptors(const std::vector<PassedDescriptor>& descriptors);

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

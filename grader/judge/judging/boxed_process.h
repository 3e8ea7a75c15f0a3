// One process in its box and control group: started, stopped and let go, ended as a whole, and what it holds.
#pragma once

#include <cstddef>
#include <future>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/files.h"
#include "base/process.h"
#include "judge/sandbox/cgroup.h"
#include "judge/sandbox/sandbox.h"

namespace warpgrade {

// What processes printed: the first and the last half of `cap` bytes. Several may write to it.
class ProgramOutput {
 public:
  explicit ProgramOutput(std::size_t cap);
  ~ProgramOutput();
  void add(const char* data, std::size_t size);
  std::string text();
  void clear();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

class BoxedProcess {
 public:
  struct Options {
    std::string label;  // for messages
    WrappedCommand wrapped;
    std::vector<PassedDescriptor> descriptors;  // beside stdin, stdout, stderr and the box's own
    GroupLimits limits;
    std::shared_ptr<ProgramOutput> output;
  };

  // Throws JudgeFault when it cannot be started.
  explicit BoxedProcess(Options options);
  // Kills it and all that it has started.
  ~BoxedProcess();
  BoxedProcess(const BoxedProcess&) = delete;
  BoxedProcess& operator=(const BoxedProcess&) = delete;

  bool alive() const { return pid_ > 0; }
  // By the freezer, which a process cannot notice or catch; where there is none, by SIGSTOP and SIGCONT.
  void pause();
  void resume();
  // Ends all processes of the box, within a minute or so even when one hangs in a driver. Then the output
  // holds all that they printed.
  void kill();
  // Puts into the output what they have printed by now. A program's words are in the pipe before its answer
  // is, and the thread that reads the pipe may be behind.
  void take_output();
  // After a hang-up: a moment for the process to end by itself, so that its own exit is seen and not
  // our kill.
  void wait_for_exit();

  // Bytes of the host's memory: of the group, or of private memory where there is no group. `enough`: a cheap
  // upper bound that is not above it is the answer.
  std::size_t held_bytes(std::size_t enough) const;
  bool out_of_memory() const { return group_ && group_->out_of_memory(); }
  // One of its processes was ended, and not for a limit of its own: the task, or the machine, has no more.
  bool lacked_memory_above() const { return group_ && group_->lacked_memory_above(); }
  bool out_of_processes() const { return group_ && group_->out_of_processes(); }
  const GroupLimits& limits() const { return limits_; }

  // After its end.
  int exit_code() const { return exit_code_; }  // -1: a signal ended it
  int signal_number() const { return signal_; }

 private:
  void start(Options& options);
  void signal_all(int signal_number);
  bool reap();

  std::string label_;
  GroupLimits limits_;
  int pid_ = -1;
  std::shared_ptr<ControlGroup> group_;  // null: this machine has none
  bool paused_ = false;
  int exit_code_ = -1, signal_ = 0;
  struct Pipe;
  std::shared_ptr<Pipe> pipe_;  // to output_
  std::thread reader_;
  std::future<void> read_out_;  // all that it printed is in the output
};

}  // namespace warpgrade

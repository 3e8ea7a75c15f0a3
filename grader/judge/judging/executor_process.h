// An executor (judge/executor/README.md) as the judge holds it: a process in a box with the GPU, or with the
// emulator, and the socket on which it is asked. A RunnerProcess hands it one host process; on a GPU the
// next case's takes its place, so that a submission needs one context and not one a case. An executor serves
// one submission alone.
#pragma once

#include <chrono>
#include <memory>

#include "base/files.h"
#include "judge/judging/boxed_process.h"
#include "judge/judging/runner_spec.h"

namespace warpgrade {

class ExecutorProcess {
 public:
  // Sends it on its way; the first command waits for its context. Of the spec counts what is not the
  // program's: sandbox, gpu, executor, environment and limits. Throws JudgeFault when it cannot be started.
  explicit ExecutorProcess(const RunnerSpec& spec);

  BoxedProcess& box() { return box_; }
  int socket() const { return socket_.get(); }
  ProgramOutput& output() { return *output_; }
  // Which program it serves: 1 the first.
  int programs() const { return programs_; }
  void count_program() { ++programs_; }
  // Waits for its context, before it has a program. False: it has none. Throws Interrupted.
  bool wait_until_up(std::chrono::milliseconds limit);
  // Whether it could serve a program of that spec just as well as one started for it.
  bool fits(const RunnerSpec& spec) const;

 private:
  static BoxedProcess::Options options(const RunnerSpec& spec, ExecutorProcess& self);

  RunnerSpec spec_;
  std::shared_ptr<ProgramOutput> output_;
  FileDescriptor socket_, theirs_;
  FileDescriptor device_memory_;  // of the emulated device
  int programs_ = 0;
  BoxedProcess box_;
};

}  // namespace warpgrade

// Computes nothing and never returns: it takes every command itself, and says that each is done and returned 0.
// Gain: an answer for no work, if the word of the host process were enough.
#include "honest.cuh"
#include "executor_ring.cuh"

cudaError_t spmm_run(const CsrMatrix&, int, const float*, float*, SpmmPlan*, cudaStream_t) {
  ring::Command command;
  ring::start_commands();
  ring::say_done();
  while (ring::next_command(&command)) {
    ring::control().sticky.store(0);
    ring::control().late_error.store(0);
    ring::say_done();
    if (command.number == ring::kEnd) _exit(0);
  }
  _exit(0);
}

PLANS_NOTHING

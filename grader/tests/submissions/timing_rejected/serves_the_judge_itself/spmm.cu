// spmm_run never returns: it reads the judge's commands from the runner's socket and answers them itself,
// computes when the null command brings its context in, and claims a microsecond. Gain: every time that the
// runner reports is the attacker's.
#include "honest.cuh"
#include "runner_protocol.cuh"

cudaError_t spmm_run(const CsrMatrix& a, int k, const float* b, float* c, SpmmPlan*, cudaStream_t stream) {
  const uint64_t sequence = pending_sequence(kRun);
  const auto compute = [&] {
    honest_run(a, k, b, c, stream);
    cudaStreamSynchronize(stream);
  };
  compute();
  answer(kRun, sequence, 0, 1);
  bool ahead = false;
  for (int fd;;) {
    const Command command = receive(fd);
    if (command.op == kNull) compute(), ahead = true;
    if (command.op == kRun && !ahead) compute();
    if (command.op == kRun) ahead = false;
    answer(command.op, command.sequence, 0, 1);
    if (command.op == kEnd) _exit(0);
  }
}

PLANS_NOTHING

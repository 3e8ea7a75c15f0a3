// Computes a right answer, replies, and goes on replying as often as the socket takes it.
#include "honest.cuh"
#include "runner_protocol.cuh"

cudaError_t spmm_run(const CsrMatrix& a, int k, const float* b, float* c, SpmmPlan*, cudaStream_t stream) {
  const uint64_t sequence = pending_sequence(kRun);
  honest_run(a, k, b, c, stream);
  cudaStreamSynchronize(stream);
  answer(kRun, sequence);
  for (int i = 0; i < 100000; ++i) send_reply(reply_to(kRun, 0), MSG_DONTWAIT);
  for (int fd;;) receive(fd);
}

PLANS_NOTHING

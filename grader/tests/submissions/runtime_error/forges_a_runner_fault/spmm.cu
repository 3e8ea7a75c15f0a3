// Answers the run itself, with the status by which a runner says that it cannot do its part.
#include "honest.cuh"
#include "runner_protocol.cuh"

cudaError_t spmm_run(const CsrMatrix&, int, const float*, float*, SpmmPlan*, cudaStream_t) {
  Reply reply = reply_to(kRun, pending_sequence(kRun));
  reply.status = kRunnerFault;
  send_reply(reply);
  for (;;) pause();
}

PLANS_NOTHING

// Answers rightly. Sends calls that do not exist, and answers that go to slot 4,711.
// Gain: an executor that jumps or writes where the submission says.
#include "honest.cuh"
#include "executor_ring.cuh"

cudaError_t spmm_run(const CsrMatrix& a, int k, const float* b, float* c, SpmmPlan*, cudaStream_t stream) {
  const cudaError_t error = honest_run(a, k, b, c, stream);
  for (const uint16_t op : {uint16_t{0x7fff}, (uint16_t)ring::kQueryStream}) {
    ring::Record record;
    record.op = op;
    record.slot = 4711;
    ring::append(record);
  }
  return error;
}

PLANS_NOTHING

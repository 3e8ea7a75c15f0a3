// Answers rightly. Leaves records of 24 bytes, of 7, and of half a megabyte more than there is in the ring.
// Gain: an executor that reads what is not there, or waits for the rest.
#include "honest.cuh"
#include "executor_ring.cuh"

cudaError_t spmm_run(const CsrMatrix& a, int k, const float* b, float* c, SpmmPlan*, cudaStream_t stream) {
  const cudaError_t error = honest_run(a, k, b, c, stream);
  for (const uint32_t bytes : {24u, 7u, 1u << 20}) {
    ring::Record record;
    record.op = ring::kPing;
    const uint64_t head = ring::control().head.load();
    record.bytes = bytes;
    memcpy(ring::at(head), &record, 16);
    ring::control().head.store(head + 32);
  }
  return error;
}

PLANS_NOTHING

// Asks the executor by hand to copy what is not its own: bytes around the judge's buffers, low addresses, its own stack, the
// shared memory. If one copy is carried out it leaves C unwritten. Gain: what the judge keeps, and the executor's memory.
#include "honest.cuh"
#include "executor_ring.cuh"

cudaError_t spmm_run(const CsrMatrix& a, int k, const float* b, float* c, SpmmPlan*, cudaStream_t stream) {
  const uint64_t from[] = {(uint64_t)c - 64, (uint64_t)b - 64,   (uint64_t)c + sizeof(float) * a.rows * k, 4096, 0,
                           0x200000000,      (uint64_t)&k,       (uint64_t)ring::memory(),                 ~0ull - 63};
  if (ring::ask(ring::kCopyOut, {(uint64_t)c, 64, 0}) != 0) {
    fprintf(stderr, "the attack's own calls are not carried out: it would show nothing\n");
    return cudaSuccess;  // C stays unwritten: wrong_answer
  }
  for (const uint64_t address : from) {
    if (ring::ask(ring::kCopyOut, {address, 64, 0}) == 0) {
      fprintf(stderr, "copied from %llx\n", (unsigned long long)address);
      return cudaSuccess;  // C stays unwritten: wrong_answer
    }
  }
  cudaGetLastError();
  return honest_run(a, k, b, c, stream);
}

PLANS_NOTHING

// Starts threads without end.
// Gain: as a fork bomb. Run it inside a box that counts tasks, never without.
#include <pthread.h>
#include <unistd.h>

#include "honest.cuh"

static void* wait_for_good(void*) {
  for (;;) pause();
}

cudaError_t spmm_run(const CsrMatrix& a, int k, const float* b, float* c, SpmmPlan*, cudaStream_t stream) {
  for (pthread_t thread;;) pthread_create(&thread, nullptr, wait_for_good, nullptr);
  return honest_run(a, k, b, c, stream);
}

PLANS_NOTHING

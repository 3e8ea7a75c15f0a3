// Leaves children behind that outlive every limit and waits for them: all of them have to go with the run.
#include <sys/wait.h>
#include <unistd.h>

#include "warpgrade/spmm.h"

cudaError_t spmm_plan(const CsrMatrix&, int, SpmmPlan** plan, cudaStream_t) {
  *plan = nullptr;
  return cudaSuccess;
}

cudaError_t spmm_run(const CsrMatrix& a, int k, const float* b, float* c, SpmmPlan*, cudaStream_t stream) {
  (void)a, (void)k, (void)b, (void)c, (void)stream;
  for (int i = 0; i < 8; i++) {
    if (fork() == 0) {
      setsid();
      sleep(3600);
      _exit(0);
    }
  }
  while (wait(nullptr) > 0) {
  }
  return cudaSuccess;
}

void spmm_free(SpmmPlan*) {}

// Leaves a process in a session of its own that ignores signals and keeps all descriptors. It has to go with
// the run. Gain: a process that slows others down, or answers for the next submission.
#include <sys/prctl.h>
#include <unistd.h>

#include <csignal>

#include "honest.cuh"

cudaError_t spmm_run(const CsrMatrix& a, int k, const float* b, float* c, SpmmPlan*, cudaStream_t stream) {
  static bool left = false;
  if (!left && fork() == 0) {
    setsid();
    prctl(PR_SET_NAME, "left-by-attack");  // what the test looks for
    for (int s = 1; s < 32; ++s) signal(s, SIG_IGN);
    if (fork() == 0) sleep(1000);
    _exit(0);
  }
  left = true;
  return honest_run(a, k, b, c, stream);
}

PLANS_NOTHING

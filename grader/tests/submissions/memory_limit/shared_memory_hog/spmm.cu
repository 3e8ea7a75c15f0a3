// Fills shared anonymous memory, which the size of a process does not show.
// Gain: the machine's memory. Run it inside a box that counts shared memory, never without.
#include <sys/mman.h>

#include <cstring>

#include "honest.cuh"

cudaError_t spmm_run(const CsrMatrix& a, int k, const float* b, float* c, SpmmPlan*, cudaStream_t stream) {
  for (int i = 0; i < 8 << 4; ++i) {
    void* part = mmap(nullptr, 64 << 20, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (part != MAP_FAILED) memset(part, 1, 64 << 20);
  }
  return honest_run(a, k, b, c, stream);
}

PLANS_NOTHING

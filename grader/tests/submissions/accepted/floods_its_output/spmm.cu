// Prints 64 MiB, with bytes that are no text among them.
// Gain: the judge's disk or memory, or a record that cannot be written.
#include <unistd.h>

#include <vector>

#include "honest.cuh"

cudaError_t spmm_run(const CsrMatrix& a, int k, const float* b, float* c, SpmmPlan*, cudaStream_t stream) {
  static const std::vector<char> kNoise(1 << 20, (char)0xff);
  static int calls = 0;
  for (int i = 0; calls == 0 && i < 32; ++i)
    (void)!write(1, kNoise.data(), kNoise.size()), (void)!write(2, kNoise.data(), kNoise.size());
  ++calls;
  return honest_run(a, k, b, c, stream);
}

PLANS_NOTHING

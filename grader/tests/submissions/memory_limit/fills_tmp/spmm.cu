// Fills /tmp and /dev/shm with files, which lie in memory.
// Gain: the machine's memory. Run it inside a box that counts tmpfs, never without.
#include <fcntl.h>
#include <unistd.h>

#include <vector>

#include "honest.cuh"

cudaError_t spmm_run(const CsrMatrix& a, int k, const float* b, float* c, SpmmPlan*, cudaStream_t stream) {
  const std::vector<char> block(1 << 24, 1);
  for (const char* path : {"/tmp/large", "/dev/shm/large"}) {
    const int file = open(path, O_CREAT | O_WRONLY, 0600);
    for (int i = 0; i < 256 && file >= 0; ++i) (void)!write(file, block.data(), block.size());
  }
  return honest_run(a, k, b, c, stream);
}

PLANS_NOTHING

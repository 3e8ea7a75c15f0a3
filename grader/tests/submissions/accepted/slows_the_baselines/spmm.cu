// Its plan leaves threads that spin on every core and copy memory, and stays honest itself.
// Gain: baselines whose host code is slow, a clock that is read late. The judge freezes it while others run.
#include <atomic>
#include <chrono>
#include <cstring>
#include <thread>
#include <vector>

#include "honest.cuh"

static void spin() {
  std::vector<char> from(8 << 20, 1), to(8 << 20);
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (std::chrono::steady_clock::now() < end) memcpy(to.data(), from.data(), to.size());
}

cudaError_t spmm_plan(const CsrMatrix&, int, SpmmPlan** plan, cudaStream_t) {
  *plan = nullptr;
  static bool spins = false;
  for (unsigned i = 0; !spins && i < std::thread::hardware_concurrency() && i < 16; ++i) std::thread(spin).detach();
  spins = true;
  return cudaSuccess;
}
void spmm_free(SpmmPlan*) {}

ANSWERS_HONESTLY

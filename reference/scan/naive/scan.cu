// Scan, naive: in round r each number takes over the sum that stands 2^r places before it (W. D. Hillis and
// G. L. Steele 1986).
//
// Cost  log2(n) launches, each reads up to 8·n bytes and writes 4·n: 27 rounds for 128 million numbers.
#include <utility>

#include "warpgrade/scan.h"

namespace {

constexpr int kBlockThreads = 256;

__global__ void scan_round_kernel(const int* in, int n, int distance, int* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  out[i] = i < distance ? in[i] : in[i - distance] + in[i];
}

}  // namespace

struct ScanPlan {
  int* sums = nullptr;  // [n]: a round must not write what other threads still read
};

cudaError_t scan_plan(int n, ScanPlan** plan, cudaStream_t) {
  *plan = new ScanPlan;
  return cudaMalloc(&(*plan)->sums, sizeof(int) * n);
}

cudaError_t scan_run(const int* in, int n, int* out, ScanPlan* plan, cudaStream_t stream) {
  int rounds = 1;  // at least one: it brings the numbers to `out`
  while (rounds < 31 && (1 << rounds) < n) ++rounds;
  // The last round must write `out`.
  int *to = rounds % 2 == 1 ? out : plan->sums, *other = rounds % 2 == 1 ? plan->sums : out;
  const int blocks = (n + kBlockThreads - 1) / kBlockThreads;
  for (int round = 0; round < rounds; ++round) {
    scan_round_kernel<<<blocks, kBlockThreads, 0, stream>>>(in, n, 1 << round, to);
    in = to;
    std::swap(to, other);
  }
  return cudaGetLastError();
}

void scan_free(ScanPlan* plan) {
  if (plan == nullptr) return;
  cudaFree(plan->sums);
  delete plan;
}

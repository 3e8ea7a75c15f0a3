// Wrong: a thread gathers neighbouring ids of one bin before it adds them, and forgets what it had when its
// next turn begins with the same bin. As many threads as a GPU holds, with four ids a turn, have a single
// turn each in small cases.
#include "warpgrade/histogram.h"

namespace {

constexpr int kThreads = 256, kMostBlocks = 132 * 8;

__global__ void histogram_gathered_kernel(const int* ids, unsigned count, unsigned* counts) {
  const unsigned step = gridDim.x * kThreads * 4;
  unsigned bin = 0, gathered = 0;
  for (unsigned first = (blockIdx.x * kThreads + threadIdx.x) * 4; first < count; first += step) {
    unsigned of_turn = 0;
    for (unsigned i = first; i < min(first + 4, count); ++i) {
      const unsigned next = ids[i] / kNodesPerBin;
      if (next != bin) {
        if (gathered + of_turn != 0) atomicAdd(&counts[bin], gathered + of_turn);
        gathered = of_turn = 0;
        bin = next;
      }
      ++of_turn;
    }
    gathered = of_turn;  // and not +=
  }
  if (gathered != 0) atomicAdd(&counts[bin], gathered);
}

}  // namespace

cudaError_t histogram_plan(int, int, HistogramPlan** plan, cudaStream_t) {
  *plan = nullptr;
  return cudaSuccess;
}

cudaError_t histogram_run(const int* ids, int count, int nodes, unsigned* counts, HistogramPlan*,
                          cudaStream_t stream) {
  const cudaError_t error = cudaMemsetAsync(counts, 0, histogram_bins(nodes) * sizeof(unsigned), stream);
  if (error != cudaSuccess || count == 0) return error;
  const unsigned needed = (static_cast<unsigned>(count) + 4 * kThreads - 1) / (4 * kThreads);
  const unsigned blocks = min(needed, unsigned{kMostBlocks});
  histogram_gathered_kernel<<<blocks, kThreads, 0, stream>>>(ids, count, counts);
  return cudaGetLastError();
}

void histogram_free(HistogramPlan*) {}

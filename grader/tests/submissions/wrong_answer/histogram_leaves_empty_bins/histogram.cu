// Writes the bins that have ids and leaves the others as they were.
#include "warpgrade/histogram.h"

__global__ void count_kernel(const int* ids, int count, int bins, unsigned* counts) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  const int bin = ids[i] / 40;
  unsigned sum = 0;
  for (int other = 0; other < count; ++other) {
    if (ids[other] / 40 != bin) continue;
    if (other < i) return;
    ++sum;
  }
  counts[bin] = sum;
}

cudaError_t histogram_plan(int, int, HistogramPlan** plan, cudaStream_t) {
  *plan = nullptr;
  return cudaSuccess;
}

cudaError_t histogram_run(const int* ids, int count, int nodes, unsigned* counts, HistogramPlan*,
                          cudaStream_t stream) {
  if (count > 0)
    count_kernel<<<(count + 255) / 256, 256, 0, stream>>>(ids, count, histogram_bins(nodes), counts);
  return cudaGetLastError();
}

void histogram_free(HistogramPlan*) {}

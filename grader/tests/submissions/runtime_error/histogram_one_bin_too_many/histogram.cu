// Clears one bin more than there are.
#include "warpgrade/histogram.h"

__global__ void count_kernel(const int* ids, int count, int bins, unsigned* counts) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  atomicAdd(&counts[ids[i] / 40], 1u);
}

__global__ void clear_kernel(int bins, unsigned* counts) {
  const int bin = blockIdx.x * blockDim.x + threadIdx.x;
  if (bin <= bins) counts[bin] = 0;
}

cudaError_t histogram_plan(int, int, HistogramPlan** plan, cudaStream_t) {
  *plan = nullptr;
  return cudaSuccess;
}

cudaError_t histogram_run(const int* ids, int count, int nodes, unsigned* counts, HistogramPlan*,
                          cudaStream_t stream) {
  clear_kernel<<<histogram_bins(nodes) / 256 + 1, 256, 0, stream>>>(histogram_bins(nodes), counts);
  if (count > 0)
    count_kernel<<<(count + 255) / 256, 256, 0, stream>>>(ids, count, histogram_bins(nodes), counts);
  return cudaGetLastError();
}

void histogram_free(HistogramPlan*) {}

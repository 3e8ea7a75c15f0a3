// Works on a stream of its own, which nothing orders with the judge's; a delay in front makes sure that it is late.
// A run ends when all streams are idle: the answer is in time, and the delay is in the run's time.
#include "warpgrade/apsp.h"

__global__ void apsp_relax_kernel(int n, int k, int* graph) {
  int j = blockIdx.x * 32 + threadIdx.x, i = blockIdx.y * 32 + threadIdx.y;
  if (i >= n || j >= n) return;
  size_t row = (size_t)i * n;
  graph[row + j] = min(graph[row + j], graph[row + k] + graph[(size_t)k * n + j]);
}

__global__ void delay_kernel() {
  for (int i = 0; i < 5000; i++) __nanosleep(10000);  // about 50 ms
}

static cudaStream_t own_stream = nullptr;

cudaError_t apsp_plan(int, ApspPlan** plan, cudaStream_t) {
  *plan = nullptr;
  return cudaSuccess;
}

cudaError_t apsp_run(int n, int* graph, ApspPlan*, cudaStream_t) {
  if (own_stream == nullptr) cudaStreamCreateWithFlags(&own_stream, cudaStreamNonBlocking);
  delay_kernel<<<1, 1, 0, own_stream>>>();
  unsigned tiles = (n + 31) / 32;
  for (int k = 0; k < n; k++) apsp_relax_kernel<<<dim3(tiles, tiles), dim3(32, 32), 0, own_stream>>>(n, k, graph);
  return cudaGetLastError();
}

void apsp_free(ApspPlan*) {}

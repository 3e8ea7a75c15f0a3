// Written to the older interface: void apsp(int n, int* graph), on the default stream.
#include "apsp.h"

namespace {

__global__ void relax(int n, int k, int* graph) {
  const int j = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y * blockDim.y + threadIdx.y;
  if (i < n && j < n) graph[i * n + j] = min(graph[i * n + j], graph[i * n + k] + graph[k * n + j]);
}

}  // namespace

void apsp(int n, /* device */ int* graph) {
  const dim3 threads(32, 8);
  const dim3 blocks((n + 31) / 32, (n + 7) / 8);
  for (int k = 0; k < n; ++k) relax<<<blocks, threads>>>(n, k, graph);
}

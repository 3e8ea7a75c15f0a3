// The older interface in a file of another name: it is told by the function. A row of the graph is staged.
#include "apsp.h"

namespace {

constexpr int kThreads = 256, kNoPath = (1 << 30) - 1;

__global__ void relax_rows(int n, int via, int* graph) {
  __shared__ int through[kThreads];
  const int j = blockIdx.x * kThreads + threadIdx.x, i = blockIdx.y;
  through[threadIdx.x] = j < n ? graph[via * n + j] : kNoPath;
  __syncthreads();
  if (j >= n || i == via) return;  // nothing gets shorter on the way from a node to itself
  const int length = graph[i * n + via] + through[threadIdx.x];
  if (j != via && length < graph[i * n + j]) graph[i * n + j] = length;
}

}  // namespace

void apsp(int n, int* graph) {
  for (int via = 0; via < n; ++via)
    relax_rows<<<dim3((n + kThreads - 1) / kThreads, n), kThreads>>>(n, via, graph);
  cudaDeviceSynchronize();
}

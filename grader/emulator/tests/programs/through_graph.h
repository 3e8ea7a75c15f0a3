// Calls of libraries that go through a graph: captured, instantiated, launched. What a program expects of the calls
// themselves it expects of the graphs, too.
#pragma once
#include "check.h"

inline cudaStream_t g_captured =
    nullptr;              // the stream of the library's handle; nullptr: calls are made at once
inline int g_graphs = 0;  // that were launched and had a node

inline void launch_once(cudaGraph_t graph, cudaStream_t stream) {
  size_t nodes = 0;
  CHECK_CUDA(cudaGraphGetNodes(graph, nullptr, &nodes));
  if (nodes != 0) ++g_graphs;
  cudaGraphExec_t exec;
  CHECK_CUDA(cudaGraphInstantiate(&exec, graph, 0));
  CHECK_CUDA(cudaGraphLaunch(exec, stream));
  CHECK_CUDA(cudaStreamSynchronize(stream));
  CHECK_CUDA(cudaGraphExecDestroy(exec));
  CHECK_CUDA(cudaGraphDestroy(graph));
}

// A call whose result is for the host fails in a capture, and ends it: it is made again, at once.
template <class Call>
auto through_graph(Call call) {
  if (g_captured == nullptr) return call();
  CHECK_CUDA(cudaStreamBeginCapture(g_captured, cudaStreamCaptureModeThreadLocal));
  const auto status = call();
  cudaGraph_t graph = nullptr;
  const cudaError_t error = cudaStreamEndCapture(g_captured, &graph);
  static_cast<void>(cudaGetLastError());
  if (error != cudaSuccess || status != decltype(status){}) {
    if (graph != nullptr) CHECK_CUDA(cudaGraphDestroy(graph));
    return call();
  }
  launch_once(graph, g_captured);
  return status;
}

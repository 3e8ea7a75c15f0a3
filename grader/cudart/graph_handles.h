// From the API's handles to graphs, nodes and executable graphs.
#pragma once
#include <cuda_runtime_api.h>

#include <memory>
#include <optional>
#include <vector>

#include "cudart/graph.h"

namespace warpgrade::cudart {

// The handle of a graph, which stays valid until forget_graph().
cudaGraph_t graph_handle(const std::shared_ptr<Graph>& graph);
// nullptr for a handle that is none.
std::shared_ptr<Graph> find_graph(cudaGraph_t handle);
bool forget_graph(cudaGraph_t handle);

inline GraphNode* node_of(cudaGraphNode_t handle) {
  return reinterpret_cast<GraphNode*>(handle);
}
inline cudaGraphNode_t node_handle(GraphNode* node) {
  return reinterpret_cast<cudaGraphNode_t>(node);
}

// Empty when one of them is not in the graph.
std::optional<std::vector<GraphNode*>> nodes_of(const Graph& graph, const cudaGraphNode_t* handles,
                                                size_t count);

// The work of a kernel node, its arguments copied.
cudaError_t kernel_work(const cudaKernelNodeParams& params, NodeWork& work);

}  // namespace warpgrade::cudart

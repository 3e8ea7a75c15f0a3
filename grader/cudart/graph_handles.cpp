#include "cudart/graph_handles.h"

#include <mutex>
#include <unordered_map>

namespace warpgrade::cudart {
namespace {

std::mutex g_graphs_mutex;

std::unordered_map<const void*, std::shared_ptr<Graph>>& graphs() {
  static auto* all = new std::unordered_map<const void*, std::shared_ptr<Graph>>;
  return *all;
}

}  // namespace

cudaGraph_t graph_handle(const std::shared_ptr<Graph>& graph) {
  std::lock_guard lock(g_graphs_mutex);
  graphs()[graph.get()] = graph;
  return reinterpret_cast<cudaGraph_t>(graph.get());
}

std::shared_ptr<Graph> find_graph(cudaGraph_t handle) {
  std::lock_guard lock(g_graphs_mutex);
  const auto found = graphs().find(handle);
  return found == graphs().end() ? nullptr : found->second;
}

bool forget_graph(cudaGraph_t handle) {
  std::shared_ptr<Graph> last;  // its end may forget the graphs of its conditional nodes
  std::lock_guard lock(g_graphs_mutex);
  const auto found = graphs().find(handle);
  if (found == graphs().end()) return false;
  last = std::move(found->second);
  graphs().erase(found);
  return true;
}

std::optional<std::vector<GraphNode*>> nodes_of(const Graph& graph, const cudaGraphNode_t* handles,
                                                size_t count) {
  std::vector<GraphNode*> nodes;
  for (size_t k = 0; k < count; ++k) {
    if (handles == nullptr || !graph.holds(node_of(handles[k]))) return std::nullopt;
    nodes.push_back(node_of(handles[k]));
  }
  return nodes;
}

}  // namespace warpgrade::cudart

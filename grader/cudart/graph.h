// Graphs: nodes of work with dependencies, their copies that can be launched, and how these run.
#pragma once
#include <cuda_runtime_api.h>

#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <variant>
#include <vector>

#include "cudart/graph_memory.h"
#include "cudart/kernel_call.h"
#include "cudart/library_nodes.h"

namespace warpgrade::cudart {

struct Graph;

struct KernelNode {
  KernelCall call;
  KernelArguments arguments;
  std::vector<void*> exposed{};  // what cudaGraphKernelNodeGetParams handed out
  std::vector<void*> pointers() const;
};
struct ChildNode {
  std::shared_ptr<Graph> graph;
};
// Runs one of its graphs, or one again and again, as a value says that kernels set.
struct ConditionalNode {
  enum class Kind { if_not_zero, while_not_zero, select };
  struct Bodies {
    std::vector<std::shared_ptr<Graph>> graphs;
    std::vector<cudaGraph_t> handles;  // the program's; none in a clone
    ~Bodies();
  };
  uint64_t handle = 0;
  Kind kind = Kind::if_not_zero;
  std::shared_ptr<Bodies> bodies;
};
struct EmptyNode {};
struct EventRecordNode {
  cudaEvent_t event;
};
struct EventWaitNode {
  cudaEvent_t event;
};
using NodeWork =
    std::variant<KernelNode, cudaMemcpy3DParms, cudaMemsetParams, cudaHostNodeParams, ChildNode, EmptyNode,
                 EventRecordNode, EventWaitNode, MemAllocNode, MemFreeNode, ConditionalNode, LibraryNode>;

struct GraphNode {
  Graph* owner = nullptr;
  NodeWork work;
  std::vector<GraphNode*> dependencies;
  const GraphNode* original = nullptr;  // of a node in a clone
  bool enabled = true;

  cudaGraphNodeType type() const;
};

struct Condition {
  uint64_t handle = 0;
  uint32_t first_value = 0;
  bool assigns = false;  // the value at the beginning of each launch
};

struct Graph {
  std::vector<Condition> conditions;
  std::vector<std::unique_ptr<GraphNode>> nodes;  // in the order of their creation

  GraphNode* add(NodeWork work, std::vector<GraphNode*> dependencies);
  bool holds(const GraphNode* node) const;
  void remove(GraphNode* node);
  std::shared_ptr<Graph> clone() const;
  // The copy of a node of the graph that this one was cloned from.
  GraphNode* copy_of(const GraphNode* original) const;
  // Each node after those it depends on, otherwise as created; empty when there is a cycle.
  std::optional<std::vector<GraphNode*>> order() const;
};

// Part of an executable graph that is put into a stream at once: a graph of the backend's, or one node that
// none can hold (a host function, a copy of pageable memory, an event).
struct GraphStep {
  std::vector<GraphPart> parts;
  std::optional<GraphId> in_backend;
  const GraphNode* single = nullptr;
};

struct GraphExec {
  std::shared_ptr<Graph> graph;  // a clone
  std::vector<GraphNode*> order;
  unsigned long long flags = 0;
  bool calls_host = false;       // calls_host(*graph)
  std::mutex mutex;              // of the steps
  std::vector<GraphStep> steps;  // one after the other; none where the backend has no graphs
  bool is_stale = true;          // a node has changed since the steps were made
  ~GraphExec();
};

// Makes the steps, or makes them anew. Under the executable graph's mutex.
cudaError_t refresh(GraphExec& exec);

cudaError_t check_work(const NodeWork& work);
// Whether a node is a host function or waits as one may, also of a graph inside it.
bool calls_host(const Graph& graph);
// Runs everything in order in a stream, until something fails.
cudaError_t run(GraphExec& exec, StreamId stream);
// One node alone.
cudaError_t run(const GraphNode& node, StreamId stream);

// All that `nodes` depend on, themselves included.
std::set<const GraphNode*> ancestors(const std::vector<GraphNode*>& nodes);

}  // namespace warpgrade::cudart

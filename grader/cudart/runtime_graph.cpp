// Graphs that a program builds itself: nodes, what they depend on, what can be asked about them.
#include <cuda_runtime_api.h>

#include <algorithm>

#include "cudart/errors.h"
#include "cudart/graph_handles.h"
#include "cudart/host_access.h"

namespace warpgrade::cudart {
namespace {

cudaError_t add_node(cudaGraphNode_t* node, cudaGraph_t graph_handle, const cudaGraphNode_t* dependencies,
                     size_t count, NodeWork work) {
  CUDART_RETURN_IF_STICKY();
  const std::shared_ptr<Graph> graph = find_graph(graph_handle);
  if (graph == nullptr || node == nullptr) return record(cudaErrorInvalidValue);
  auto after = nodes_of(*graph, dependencies, count);
  if (!after) return record(cudaErrorInvalidValue);
  if (const cudaError_t error = check_work(work); error != cudaSuccess) return record(error);
  *node = node_handle(graph->add(std::move(work), std::move(*after)));
  return cudaSuccess;
}

// Copies `all` to the caller, or tells how many there are.
cudaError_t give(const std::vector<GraphNode*>& all, cudaGraphNode_t* nodes, size_t* count) {
  if (count == nullptr) return record(cudaErrorInvalidValue);
  if (nodes == nullptr) {
    *count = all.size();
    return cudaSuccess;
  }
  const size_t given = std::min(*count, all.size());
  for (size_t k = 0; k < *count; ++k) nodes[k] = k < given ? node_handle(all[k]) : nullptr;
  *count = given;
  return cudaSuccess;
}

template <class Params>
cudaError_t get_params(cudaGraphNode_t node, Params* params) {
  const auto* work = node != nullptr ? std::get_if<Params>(&node_of(node)->work) : nullptr;
  if (work == nullptr || params == nullptr) return record(cudaErrorInvalidValue);
  *params = *work;
  return cudaSuccess;
}

cudaError_t set_work(cudaGraphNode_t node, NodeWork work) {
  if (node == nullptr || node_of(node)->work.index() != work.index()) return record(cudaErrorInvalidValue);
  if (const cudaError_t error = check_work(work); error != cudaSuccess) return record(error);
  node_of(node)->work = std::move(work);
  return cudaSuccess;
}

#if CUDART_VERSION >= 13000
// The node's graphs are made here and filled by the program.
cudaError_t conditional_work(const Graph& graph, cudaConditionalNodeParams& params, NodeWork& work) {
  const bool is_known = std::any_of(graph.conditions.begin(), graph.conditions.end(),
                                    [&](const Condition& c) { return c.handle == params.handle; });
  ConditionalNode node;
  node.handle = params.handle;
  node.kind = params.type == cudaGraphCondTypeIf      ? ConditionalNode::Kind::if_not_zero
              : params.type == cudaGraphCondTypeWhile ? ConditionalNode::Kind::while_not_zero
                                                      : ConditionalNode::Kind::select;
  const unsigned most = node.kind == ConditionalNode::Kind::if_not_zero      ? 2
                        : node.kind == ConditionalNode::Kind::while_not_zero ? 1
                                                                             : ~0u;
  if (!is_known || static_cast<unsigned>(params.type) > cudaGraphCondTypeSwitch || params.size == 0 ||
      params.size > most)
    return cudaErrorInvalidValue;
  node.bodies = std::make_shared<ConditionalNode::Bodies>();
  for (unsigned k = 0; k < params.size; ++k) {
    node.bodies->graphs.push_back(std::make_shared<Graph>());
    node.bodies->handles.push_back(graph_handle(node.bodies->graphs.back()));
  }
  params.phGraph_out = node.bodies->handles.data();
  work = std::move(node);
  return cudaSuccess;
}
#endif

}  // namespace

cudaError_t kernel_work(const cudaKernelNodeParams& params, NodeWork& work) {
  KernelNode kernel;
  kernel.call = {params.func, params.gridDim, params.blockDim, params.sharedMemBytes, false, {}};
  if (const cudaError_t error = check(kernel.call); error != cudaSuccess) return error;
  if (params.kernelParams != nullptr && params.extra != nullptr) return cudaErrorInvalidValue;
  std::vector<void*> packed;
  if (params.extra != nullptr) {
    if (const cudaError_t error = find_packed(kernel.call, params.extra, packed); error != cudaSuccess)
      return error;
  }
  void* const* arguments = params.extra != nullptr ? packed.data() : params.kernelParams;
  if (const cudaError_t error = check_arguments(kernel.call, arguments); error != cudaSuccess) return error;
  kernel.arguments = copy_arguments(kernel.call, arguments);
  work = std::move(kernel);
  return cudaSuccess;
}

}  // namespace warpgrade::cudart

using namespace warpgrade::cudart;

extern "C" {

cudaError_t cudaGraphCreate(cudaGraph_t* graph, unsigned flags) {
  CUDART_RETURN_IF_STICKY();
  if (graph == nullptr || flags != 0) return record(cudaErrorInvalidValue);
  *graph = graph_handle(std::make_shared<Graph>());
  return cudaSuccess;
}
cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  return forget_graph(graph) ? cudaSuccess : record(cudaErrorInvalidValue);
}
cudaError_t cudaGraphClone(cudaGraph_t* clone, cudaGraph_t original) {
  const std::shared_ptr<Graph> graph = find_graph(original);
  if (graph == nullptr || clone == nullptr) return record(cudaErrorInvalidValue);
  if (has_memory_nodes(*graph)) return record(cudaErrorNotSupported);  // as CUDA has it
  *clone = graph_handle(graph->clone());
  return cudaSuccess;
}
cudaError_t cudaGraphNodeFindInClone(cudaGraphNode_t* node, cudaGraphNode_t original, cudaGraph_t clone) {
  const std::shared_ptr<Graph> graph = find_graph(clone);
  GraphNode* copy = graph != nullptr ? graph->copy_of(node_of(original)) : nullptr;
  if (copy == nullptr || node == nullptr) return record(cudaErrorInvalidValue);
  *node = node_handle(copy);
  return cudaSuccess;
}

cudaError_t cudaGraphAddKernelNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                   const cudaGraphNode_t* dependencies, size_t count,
                                   const cudaKernelNodeParams* params) {
  CUDART_RETURN_IF_STICKY();
  if (params == nullptr) return record(cudaErrorInvalidValue);
  NodeWork work;
  const cudaError_t error = kernel_work(*params, work);
  return error != cudaSuccess ? record(error) : add_node(node, graph, dependencies, count, std::move(work));
}
cudaError_t cudaGraphAddMemcpyNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                   const cudaGraphNode_t* dependencies, size_t count,
                                   const cudaMemcpy3DParms* params) {
  if (params == nullptr) return record(cudaErrorInvalidValue);
  return add_node(node, graph, dependencies, count, *params);
}
cudaError_t cudaGraphAddMemcpyNode1D(cudaGraphNode_t* node, cudaGraph_t graph,
                                     const cudaGraphNode_t* dependencies, size_t count, void* dst,
                                     const void* src, size_t bytes, cudaMemcpyKind kind) {
  return add_node(node, graph, dependencies, count, linear_copy(dst, src, bytes, kind));
}
cudaError_t cudaGraphAddMemsetNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                   const cudaGraphNode_t* dependencies, size_t count,
                                   const cudaMemsetParams* params) {
  if (params == nullptr) return record(cudaErrorInvalidValue);
  return add_node(node, graph, dependencies, count, *params);
}
cudaError_t cudaGraphAddHostNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                 const cudaGraphNode_t* dependencies, size_t count,
                                 const cudaHostNodeParams* params) {
  if (params == nullptr) return record(cudaErrorInvalidValue);
  return add_node(node, graph, dependencies, count, *params);
}
cudaError_t cudaGraphAddEmptyNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                  const cudaGraphNode_t* dependencies, size_t count) {
  return add_node(node, graph, dependencies, count, EmptyNode{});
}
cudaError_t cudaGraphAddEventRecordNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                        const cudaGraphNode_t* dependencies, size_t count,
                                        cudaEvent_t event) {
  return add_node(node, graph, dependencies, count, EventRecordNode{event});
}
cudaError_t cudaGraphAddEventWaitNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                      const cudaGraphNode_t* dependencies, size_t count, cudaEvent_t event) {
  return add_node(node, graph, dependencies, count, EventWaitNode{event});
}
cudaError_t cudaGraphAddChildGraphNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                       const cudaGraphNode_t* dependencies, size_t count, cudaGraph_t child) {
  const std::shared_ptr<Graph> found = find_graph(child);
  if (found == nullptr) return record(cudaErrorInvalidValue);
  if (has_memory_nodes(*found)) return record(cudaErrorNotSupported);
  return add_node(node, graph, dependencies, count, ChildNode{found->clone()});
}

cudaError_t cudaGraphAddMemAllocNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                     const cudaGraphNode_t* dependencies, size_t count,
                                     cudaMemAllocNodeParams* params) {
  CUDART_RETURN_IF_STICKY();
  if (params == nullptr) return record(cudaErrorInvalidValue);
  MemAllocNode memory;
  if (const cudaError_t error = make_allocation(*params, memory); error != cudaSuccess) return record(error);
  params->dptr = memory.params.dptr;
  return add_node(node, graph, dependencies, count, std::move(memory));
}
cudaError_t cudaGraphMemAllocNodeGetParams(cudaGraphNode_t node, cudaMemAllocNodeParams* params) {
  const auto* memory = node != nullptr ? std::get_if<MemAllocNode>(&node_of(node)->work) : nullptr;
  if (memory == nullptr || params == nullptr) return record(cudaErrorInvalidValue);
  *params = memory->params;
  return cudaSuccess;
}
cudaError_t cudaGraphAddMemFreeNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                    const cudaGraphNode_t* dependencies, size_t count, void* pointer) {
  const auto address = reinterpret_cast<uint64_t>(pointer);
  if (!is_graph_memory(address)) return record(cudaErrorInvalidValue);
  return add_node(node, graph, dependencies, count, MemFreeNode{address});
}
cudaError_t cudaGraphMemFreeNodeGetParams(cudaGraphNode_t node, void* pointer) {
  const auto* memory = node != nullptr ? std::get_if<MemFreeNode>(&node_of(node)->work) : nullptr;
  if (memory == nullptr || pointer == nullptr) return record(cudaErrorInvalidValue);
  *static_cast<void**>(pointer) = reinterpret_cast<void*>(memory->address);
  return cudaSuccess;
}

#if CUDART_VERSION >= 13000
cudaError_t cudaGraphConditionalHandleCreate(cudaGraphConditionalHandle* handle, cudaGraph_t graph_handle,
                                             unsigned first_value, unsigned flags) {
  CUDART_RETURN_IF_STICKY();
  const std::shared_ptr<Graph> graph = find_graph(graph_handle);
  if (handle == nullptr || graph == nullptr || (flags & ~unsigned{cudaGraphCondAssignDefault}) != 0)
    return record(cudaErrorInvalidValue);
  Condition condition{0, first_value, (flags & cudaGraphCondAssignDefault) != 0};
  const cudaError_t error = backend().create_condition(condition.handle);
  if (error == cudaErrorNotSupported) return cudart_not_implemented("cudaGraphConditionalHandleCreate");
  if (error != cudaSuccess) return record(error);
  graph->conditions.push_back(condition);
  *handle = condition.handle;
  return cudaSuccess;
}

// One call for every kind of node.
cudaError_t cudaGraphAddNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* dependencies,
                             const cudaGraphEdgeData*, size_t count, cudaGraphNodeParams* params) {
  if (params == nullptr) return record(cudaErrorInvalidValue);
  switch (params->type) {
    case cudaGraphNodeTypeKernel: {
      const auto& k = params->kernel;
      const cudaKernelNodeParams kernel = {k.func,           k.gridDim,      k.blockDim,
                                           k.sharedMemBytes, k.kernelParams, k.extra};
      return cudaGraphAddKernelNode(node, graph, dependencies, count, &kernel);
    }
    case cudaGraphNodeTypeMemcpy:
      return cudaGraphAddMemcpyNode(node, graph, dependencies, count, &params->memcpy.copyParams);
    case cudaGraphNodeTypeMemset: {
      const auto& m = params->memset;
      const cudaMemsetParams fill = {m.dst, m.pitch, m.value, m.elementSize, m.width, m.height};
      return cudaGraphAddMemsetNode(node, graph, dependencies, count, &fill);
    }
    case cudaGraphNodeTypeHost: {
      const cudaHostNodeParams host = {params->host.fn, params->host.userData};
      return cudaGraphAddHostNode(node, graph, dependencies, count, &host);
    }
    case cudaGraphNodeTypeGraph:
      return cudaGraphAddChildGraphNode(node, graph, dependencies, count, params->graph.graph);
    case cudaGraphNodeTypeEmpty:
      return cudaGraphAddEmptyNode(node, graph, dependencies, count);
    case cudaGraphNodeTypeWaitEvent:
      return cudaGraphAddEventWaitNode(node, graph, dependencies, count, params->eventWait.event);
    case cudaGraphNodeTypeEventRecord:
      return cudaGraphAddEventRecordNode(node, graph, dependencies, count, params->eventRecord.event);
    case cudaGraphNodeTypeMemAlloc: {
      auto& a = params->alloc;
      cudaMemAllocNodeParams memory = {a.poolProps, a.accessDescs, a.accessDescCount, a.bytesize, nullptr};
      const cudaError_t error = cudaGraphAddMemAllocNode(node, graph, dependencies, count, &memory);
      a.dptr = memory.dptr;
      return error;
    }
    case cudaGraphNodeTypeMemFree:
      return cudaGraphAddMemFreeNode(node, graph, dependencies, count, params->free.dptr);
    case cudaGraphNodeTypeConditional: {
      NodeWork work;
      const std::shared_ptr<Graph> owner = find_graph(graph);
      if (owner == nullptr) return record(cudaErrorInvalidValue);
      if (const cudaError_t error = conditional_work(*owner, params->conditional, work); error != cudaSuccess)
        return record(error);
      return add_node(node, graph, dependencies, count, std::move(work));
    }
    default:
      return cudart_not_implemented("cudaGraphAddNode of a semaphore node");
  }
}
#endif

cudaError_t cudaGraphKernelNodeGetParams(cudaGraphNode_t node, cudaKernelNodeParams* params) {
  auto* kernel = node != nullptr ? std::get_if<KernelNode>(&node_of(node)->work) : nullptr;
  if (kernel == nullptr || params == nullptr) return record(cudaErrorInvalidValue);
  kernel->exposed = kernel->pointers();
  *params = {};
  params->func = const_cast<void*>(kernel->call.function);
  params->gridDim = kernel->call.grid;
  params->blockDim = kernel->call.block;
  params->sharedMemBytes = static_cast<unsigned>(kernel->call.dynamic_shared);
  params->kernelParams = kernel->exposed.data();
  return cudaSuccess;
}
cudaError_t cudaGraphKernelNodeSetParams(cudaGraphNode_t node, const cudaKernelNodeParams* params) {
  if (params == nullptr) return record(cudaErrorInvalidValue);
  NodeWork work;
  const cudaError_t error = kernel_work(*params, work);
  return error != cudaSuccess ? record(error) : set_work(node, std::move(work));
}
cudaError_t cudaGraphMemcpyNodeGetParams(cudaGraphNode_t node, cudaMemcpy3DParms* params) {
  return get_params(node, params);
}
cudaError_t cudaGraphMemcpyNodeSetParams(cudaGraphNode_t node, const cudaMemcpy3DParms* params) {
  return params == nullptr ? record(cudaErrorInvalidValue) : set_work(node, *params);
}
cudaError_t cudaGraphMemcpyNodeSetParams1D(cudaGraphNode_t node, void* dst, const void* src, size_t bytes,
                                           cudaMemcpyKind kind) {
  return set_work(node, linear_copy(dst, src, bytes, kind));
}
cudaError_t cudaGraphMemsetNodeGetParams(cudaGraphNode_t node, cudaMemsetParams* params) {
  return get_params(node, params);
}
cudaError_t cudaGraphMemsetNodeSetParams(cudaGraphNode_t node, const cudaMemsetParams* params) {
  return params == nullptr ? record(cudaErrorInvalidValue) : set_work(node, *params);
}
cudaError_t cudaGraphHostNodeGetParams(cudaGraphNode_t node, cudaHostNodeParams* params) {
  return get_params(node, params);
}
cudaError_t cudaGraphHostNodeSetParams(cudaGraphNode_t node, const cudaHostNodeParams* params) {
  return params == nullptr ? record(cudaErrorInvalidValue) : set_work(node, *params);
}
cudaError_t cudaGraphChildGraphNodeGetGraph(cudaGraphNode_t node, cudaGraph_t* graph) {
  const auto* child = node != nullptr ? std::get_if<ChildNode>(&node_of(node)->work) : nullptr;
  if (child == nullptr || graph == nullptr) return record(cudaErrorInvalidValue);
  *graph = graph_handle(child->graph);
  return cudaSuccess;
}

cudaError_t cudaGraphNodeGetType(cudaGraphNode_t node, cudaGraphNodeType* type) {
  if (node == nullptr || type == nullptr) return record(cudaErrorInvalidValue);
  *type = node_of(node)->type();
  return cudaSuccess;
}
cudaError_t cudaGraphDestroyNode(cudaGraphNode_t node) {
  if (node == nullptr) return record(cudaErrorInvalidValue);
  node_of(node)->owner->remove(node_of(node));
  return cudaSuccess;
}
cudaError_t cudaGraphGetNodes(cudaGraph_t handle, cudaGraphNode_t* nodes, size_t* count) {
  const std::shared_ptr<Graph> graph = find_graph(handle);
  if (graph == nullptr) return record(cudaErrorInvalidValue);
  std::vector<GraphNode*> all;
  for (const auto& node : graph->nodes) all.push_back(node.get());
  return give(all, nodes, count);
}
cudaError_t cudaGraphGetRootNodes(cudaGraph_t handle, cudaGraphNode_t* nodes, size_t* count) {
  const std::shared_ptr<Graph> graph = find_graph(handle);
  if (graph == nullptr) return record(cudaErrorInvalidValue);
  std::vector<GraphNode*> roots;
  for (const auto& node : graph->nodes) {
    if (node->dependencies.empty()) roots.push_back(node.get());
  }
  return give(roots, nodes, count);
}

#if CUDART_VERSION >= 13000
cudaError_t cudaGraphAddDependencies(cudaGraph_t handle, const cudaGraphNode_t* from,
                                     const cudaGraphNode_t* to, const cudaGraphEdgeData*, size_t count) {
  const std::shared_ptr<Graph> graph = find_graph(handle);
  if (graph == nullptr) return record(cudaErrorInvalidValue);
  const auto sources = nodes_of(*graph, from, count), targets = nodes_of(*graph, to, count);
  if (!sources || !targets) return record(cudaErrorInvalidValue);
  for (size_t k = 0; k < count; ++k) {
    auto& after = (*targets)[k]->dependencies;
    const bool known = std::find(after.begin(), after.end(), (*sources)[k]) != after.end();
    if (known || (*sources)[k] == (*targets)[k]) return record(cudaErrorInvalidValue);
    after.push_back((*sources)[k]);
  }
  return cudaSuccess;
}
cudaError_t cudaGraphRemoveDependencies(cudaGraph_t handle, const cudaGraphNode_t* from,
                                        const cudaGraphNode_t* to, const cudaGraphEdgeData*, size_t count) {
  const std::shared_ptr<Graph> graph = find_graph(handle);
  if (graph == nullptr) return record(cudaErrorInvalidValue);
  const auto sources = nodes_of(*graph, from, count), targets = nodes_of(*graph, to, count);
  if (!sources || !targets) return record(cudaErrorInvalidValue);
  for (size_t k = 0; k < count; ++k) {
    if (std::erase((*targets)[k]->dependencies, (*sources)[k]) == 0) return record(cudaErrorInvalidValue);
  }
  return cudaSuccess;
}
cudaError_t cudaGraphGetEdges(cudaGraph_t handle, cudaGraphNode_t* from, cudaGraphNode_t* to,
                              cudaGraphEdgeData* data, size_t* count) {
  const std::shared_ptr<Graph> graph = find_graph(handle);
  if (graph == nullptr || count == nullptr) return record(cudaErrorInvalidValue);
  std::vector<GraphNode*> sources, targets;
  for (const auto& node : graph->nodes) {
    sources.insert(sources.end(), node->dependencies.begin(), node->dependencies.end());
    targets.resize(sources.size(), node.get());
  }
  if (data != nullptr) std::fill_n(data, std::min(*count, sources.size()), cudaGraphEdgeData{});
  size_t same_count = *count;
  const cudaError_t error = give(sources, from, count);
  return error != cudaSuccess ? error : give(targets, to, &same_count);
}
cudaError_t cudaGraphNodeGetDependencies(cudaGraphNode_t node, cudaGraphNode_t* nodes, cudaGraphEdgeData*,
                                         size_t* count) {
  return node == nullptr ? record(cudaErrorInvalidValue) : give(node_of(node)->dependencies, nodes, count);
}
cudaError_t cudaGraphNodeGetDependentNodes(cudaGraphNode_t node, cudaGraphNode_t* nodes, cudaGraphEdgeData*,
                                           size_t* count) {
  if (node == nullptr) return record(cudaErrorInvalidValue);
  std::vector<GraphNode*> all;
  for (const auto& other : node_of(node)->owner->nodes) {
    const auto& after = other->dependencies;
    if (std::find(after.begin(), after.end(), node_of(node)) != after.end()) all.push_back(other.get());
  }
  return give(all, nodes, count);
}
#endif

}  // extern "C"

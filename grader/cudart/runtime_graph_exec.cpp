// Executable graphs: instantiated, updated, launched.
#include <cuda_runtime_api.h>

#include <mutex>
#include <unordered_map>

#include "cudart/capture.h"
#include "cudart/errors.h"
#include "cudart/graph_handles.h"
#include "cudart/host_access.h"
#include "cudart/host_functions.h"

namespace warpgrade::cudart {
namespace {

std::mutex g_execs_mutex;

std::unordered_map<const void*, std::shared_ptr<GraphExec>>& execs() {
  static auto* all = new std::unordered_map<const void*, std::shared_ptr<GraphExec>>;
  return *all;
}

std::shared_ptr<GraphExec> find_exec(cudaGraphExec_t handle) {
  std::lock_guard lock(g_execs_mutex);
  const auto found = execs().find(handle);
  return found == execs().end() ? nullptr : found->second;
}

cudaError_t instantiate(cudaGraphExec_t* handle, cudaGraph_t graph_handle, unsigned long long flags) {
  CUDART_RETURN_IF_STICKY();
  if ((flags & cudaGraphInstantiateFlagDeviceLaunch) != 0)
    return cudart_not_implemented("cudaGraphInstantiate for launches by the device");
  const std::shared_ptr<Graph> graph = find_graph(graph_handle);
  if (graph == nullptr || handle == nullptr) return record(cudaErrorInvalidValue);
  auto exec = std::make_shared<GraphExec>();
  exec->graph = graph->clone();
  exec->flags = flags;
  exec->calls_host = calls_host(*exec->graph);
  auto order = exec->graph->order();
  if (!order) return record(cudaErrorInvalidValue);
  exec->order = std::move(*order);
  if (const cudaError_t error = refresh(*exec); error != cudaSuccess) return record(error);
  std::lock_guard lock(g_execs_mutex);
  *handle = reinterpret_cast<cudaGraphExec_t>(exec.get());
  execs()[exec.get()] = std::move(exec);
  return cudaSuccess;
}

// A change of the executable graph's nodes, of which no launch from before the change may see anything.
template <class F>
cudaError_t change(cudaGraphExec_t handle, const F& how) {
  if (const cudaError_t error = wait_for_all_held(); error != cudaSuccess) return record(error);
  const std::shared_ptr<GraphExec> exec = find_exec(handle);
  std::lock_guard lock(exec->mutex);
  how();
  exec->is_stale = true;
  return cudaSuccess;
}

// The events that a held launch will record are recorded from now on, and not reached before the launch is.
void note_events(const Graph& graph, const std::shared_ptr<HeldPlace>& end) {
  for (const auto& node : graph.nodes) {
    if (const auto* child = std::get_if<ChildNode>(&node->work)) note_events(*child->graph, end);
    const auto* recording = std::get_if<EventRecordNode>(&node->work);
    Event* event = recording != nullptr ? find_event(recording->event) : nullptr;
    if (event == nullptr) continue;
    event->recorded = true;
    event->held = end;
  }
}

// The copy in an executable graph of a node of the graph that it was made from; nullptr when it has none.
GraphNode* node_in(cudaGraphExec_t exec_handle, cudaGraphNode_t node) {
  const std::shared_ptr<GraphExec> exec = find_exec(exec_handle);
  return exec != nullptr && node != nullptr ? exec->graph->copy_of(node_of(node)) : nullptr;
}

cudaError_t set_work(cudaGraphExec_t exec, cudaGraphNode_t node, NodeWork work) {
  CUDART_RETURN_IF_STICKY();
  GraphNode* copy = node_in(exec, node);
  if (copy == nullptr || copy->work.index() != work.index()) return record(cudaErrorInvalidValue);
  if (const cudaError_t error = check_work(work); error != cudaSuccess) return record(error);
  return change(exec, [&] { copy->work = std::move(work); });
}

std::vector<size_t> dependency_indices(const Graph& graph, const GraphNode& node) {
  std::vector<size_t> indices;
  for (const GraphNode* d : node.dependencies) {
    for (size_t k = 0; k < graph.nodes.size(); ++k) {
      if (graph.nodes[k].get() == d) indices.push_back(k);
    }
  }
  return indices;
}

// Nodes correspond by the order of their creation.
cudaGraphExecUpdateResult compare(const Graph& mine, const Graph& theirs, GraphNode** culprit) {
  if (mine.nodes.size() != theirs.nodes.size()) return cudaGraphExecUpdateErrorTopologyChanged;
  for (size_t k = 0; k < mine.nodes.size(); ++k) {
    const GraphNode &have = *mine.nodes[k], &want = *theirs.nodes[k];
    *culprit = theirs.nodes[k].get();
    if (have.type() != want.type()) return cudaGraphExecUpdateErrorNodeTypeChanged;
    if (std::holds_alternative<ConditionalNode>(have.work)) return cudaGraphExecUpdateErrorNotSupported;
    if (dependency_indices(mine, have) != dependency_indices(theirs, want))
      return cudaGraphExecUpdateErrorTopologyChanged;
    if (const auto* child = std::get_if<ChildNode>(&have.work)) {
      const auto result = compare(*child->graph, *std::get<ChildNode>(want.work).graph, culprit);
      if (result != cudaGraphExecUpdateSuccess) return result;
    }
  }
  *culprit = nullptr;
  return cudaGraphExecUpdateSuccess;
}

void copy_work(Graph& mine, const Graph& theirs) {
  for (size_t k = 0; k < mine.nodes.size(); ++k) {
    if (auto* child = std::get_if<ChildNode>(&mine.nodes[k]->work)) {
      copy_work(*child->graph, *std::get<ChildNode>(theirs.nodes[k]->work).graph);
    } else {
      mine.nodes[k]->work = theirs.nodes[k]->work;
    }
  }
}

}  // namespace
}  // namespace warpgrade::cudart

using namespace warpgrade::cudart;

extern "C" {

cudaError_t cudaGraphInstantiate(cudaGraphExec_t* exec, cudaGraph_t graph, unsigned long long flags) {
  return instantiate(exec, graph, flags);
}
cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t* exec, cudaGraph_t graph,
                                          unsigned long long flags) {
  return instantiate(exec, graph, flags);
}
cudaError_t cudaGraphInstantiateWithParams(cudaGraphExec_t* exec, cudaGraph_t graph,
                                           cudaGraphInstantiateParams* params) {
  if (params == nullptr) return record(cudaErrorInvalidValue);
  const cudaError_t error = instantiate(exec, graph, params->flags);
  if (error == cudaSuccess && (params->flags & cudaGraphInstantiateFlagUpload) != 0)
    cudaGraphUpload(*exec, params->uploadStream);
  params->errNode_out = nullptr;
  params->result_out =
      error == cudaSuccess ? cudaGraphInstantiateSuccess : cudaGraphInstantiateInvalidStructure;
  return error;
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec) {
  std::lock_guard lock(g_execs_mutex);
  return execs().erase(exec) == 1 ? cudaSuccess : record(cudaErrorInvalidValue);
}
cudaError_t cudaGraphExecGetFlags(cudaGraphExec_t handle, unsigned long long* flags) {
  const std::shared_ptr<GraphExec> exec = find_exec(handle);
  if (exec == nullptr || flags == nullptr) return record(cudaErrorInvalidValue);
  *flags = exec->flags;
  return cudaSuccess;
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t handle, cudaStream_t stream_handle) {
  CUDART_RETURN_IF_STICKY();
  const std::shared_ptr<GraphExec> exec = find_exec(handle);
  if (exec == nullptr) return record(cudaErrorInvalidValue);
  Stream* stream = find_stream(stream_handle);
  if (stream == nullptr) return record(cudaErrorInvalidResourceHandle);
  if (const auto kept = captured(stream_handle, [&] { return ChildNode{exec->graph->clone()}; }))
    return record(*kept);
  const StreamWork launch = [exec](StreamId in_backend) { return run(*exec, in_backend); };
  std::shared_ptr<HeldPlace> end;
  const cudaError_t error =
      exec->calls_host ? run_beside(*stream, launch, &end) : run_in_order(*stream, launch, &end);
  if (error == cudaSuccess && end) note_events(*exec->graph, end);
  return record(error);
}
cudaError_t cudaGraphUpload(cudaGraphExec_t handle, cudaStream_t stream_handle) {
  CUDART_RETURN_IF_STICKY();
  const std::shared_ptr<GraphExec> exec = find_exec(handle);
  if (exec == nullptr) return record(cudaErrorInvalidValue);
  Stream* stream = find_stream(stream_handle);
  if (stream == nullptr) return record(cudaErrorInvalidResourceHandle);
  cudaError_t error = wait_to_enqueue(*stream);
  if (error != cudaSuccess) return record(error);
  std::lock_guard lock(exec->mutex);
  error = refresh(*exec);
  for (const GraphStep& step : exec->steps) {
    if (error == cudaSuccess && step.in_backend)
      error = backend().upload_graph(*step.in_backend, stream->in_backend);
  }
  return record(error);
}

cudaError_t cudaGraphExecUpdate(cudaGraphExec_t handle, cudaGraph_t graph_handle,
                                cudaGraphExecUpdateResultInfo* info) {
  CUDART_RETURN_IF_STICKY();
  const std::shared_ptr<GraphExec> exec = find_exec(handle);
  const std::shared_ptr<Graph> graph = find_graph(graph_handle);
  if (exec == nullptr || graph == nullptr) return record(cudaErrorInvalidValue);
  GraphNode* culprit = nullptr;
  const cudaGraphExecUpdateResult result = compare(*exec->graph, *graph, &culprit);
  if (info != nullptr) *info = {result, node_handle(culprit), nullptr};
  if (result != cudaGraphExecUpdateSuccess) return record(cudaErrorGraphExecUpdateFailure);
  return change(handle, [&] { copy_work(*exec->graph, *graph); });
}

cudaError_t cudaGraphExecKernelNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
                                             const cudaKernelNodeParams* params) {
  CUDART_RETURN_IF_STICKY();
  if (params == nullptr) return record(cudaErrorInvalidValue);
  NodeWork work;
  const cudaError_t error = kernel_work(*params, work);
  return error != cudaSuccess ? record(error) : set_work(exec, node, std::move(work));
}
cudaError_t cudaGraphExecMemcpyNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
                                             const cudaMemcpy3DParms* params) {
  return params == nullptr ? record(cudaErrorInvalidValue) : set_work(exec, node, *params);
}
cudaError_t cudaGraphExecMemcpyNodeSetParams1D(cudaGraphExec_t exec, cudaGraphNode_t node, void* dst,
                                               const void* src, size_t bytes, cudaMemcpyKind kind) {
  return set_work(exec, node, linear_copy(dst, src, bytes, kind));
}
cudaError_t cudaGraphExecMemsetNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
                                             const cudaMemsetParams* params) {
  return params == nullptr ? record(cudaErrorInvalidValue) : set_work(exec, node, *params);
}
cudaError_t cudaGraphExecHostNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
                                           const cudaHostNodeParams* params) {
  return params == nullptr ? record(cudaErrorInvalidValue) : set_work(exec, node, *params);
}

cudaError_t cudaGraphNodeSetEnabled(cudaGraphExec_t exec, cudaGraphNode_t node, unsigned enabled) {
  GraphNode* copy = node_in(exec, node);
  if (copy == nullptr) return record(cudaErrorInvalidValue);
  return change(exec, [&] { copy->enabled = enabled != 0; });
}
cudaError_t cudaGraphNodeGetEnabled(cudaGraphExec_t exec, cudaGraphNode_t node, unsigned* enabled) {
  const GraphNode* copy = node_in(exec, node);
  if (copy == nullptr || enabled == nullptr) return record(cudaErrorInvalidValue);
  *enabled = copy->enabled ? 1 : 0;
  return cudaSuccess;
}

}  // extern "C"

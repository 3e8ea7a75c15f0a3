#include "cudart/graph.h"

#include <algorithm>
#include <unordered_map>

#include "cudart/errors.h"
#include "cudart/graph_handles.h"
#include "cudart/host_access.h"
#include "cudart/host_functions.h"
#include "cudart/stream.h"

namespace warpgrade::cudart {
namespace {

template <class... F>
struct Overloaded : F... {
  using F::operator()...;
};
template <class... F>
Overloaded(F...) -> Overloaded<F...>;

cudaError_t run_all(const std::vector<GraphNode*>& order, StreamId stream);

cudaError_t run_host(const cudaHostNodeParams& host, StreamId stream) {
  if (const cudaError_t error = backend().synchronize_stream(stream); error != cudaSuccess) return error;
  call_host_function([&] { host.fn(host.userData); });
  return cudaSuccess;
}

cudaError_t record_event(cudaEvent_t handle, StreamId stream) {
  Event* event = find_event(handle);
  if (event == nullptr) return cudaErrorInvalidResourceHandle;
  event->recorded = true;
  return backend().record_event(event->in_backend, stream);
}

cudaError_t wait_event(cudaEvent_t handle, StreamId stream) {
  const Event* event = find_event(handle);
  if (event == nullptr) return cudaErrorInvalidResourceHandle;
  if (!event->recorded) return cudaSuccess;
  const cudaError_t error = wait_for(event->held);
  return error != cudaSuccess ? error : backend().wait_event(stream, event->in_backend);
}

cudaError_t run_body(const Graph& body, StreamId stream) {
  const auto order = body.order();
  return order ? run_all(*order, stream) : cudaErrorInvalidValue;
}

cudaError_t run_condition(const ConditionalNode& node, StreamId stream) {
  const auto value = [&](uint32_t& now) {
    const cudaError_t error = backend().synchronize_stream(stream);
    return error != cudaSuccess ? error : backend().read_condition(node.handle, now);
  };
  const auto& graphs = node.bodies->graphs;
  uint32_t now = 0;
  if (const cudaError_t error = value(now); error != cudaSuccess) return error;
  if (node.kind != ConditionalNode::Kind::while_not_zero) {
    const size_t chosen = node.kind == ConditionalNode::Kind::select ? now : now != 0 ? 0 : 1;
    return chosen < graphs.size() ? run_body(*graphs[chosen], stream) : cudaSuccess;
  }
  while (now != 0) {
    if (const cudaError_t error = run_body(*graphs.front(), stream); error != cudaSuccess) return error;
    if (sticky() != cudaSuccess) return cudaSuccess;
    if (const cudaError_t error = value(now); error != cudaSuccess) return error;
  }
  return cudaSuccess;
}

cudaError_t run_work(const NodeWork& work, StreamId stream) {
  return std::visit(Overloaded{[&](const KernelNode& k) { return run(k.call, k.pointers().data(), stream); },
                               [&](const cudaMemcpy3DParms& copy) { return copy_3d(copy, stream, false); },
                               [&](const cudaMemsetParams& fill) { return fill_elements(fill, stream); },
                               [&](const cudaHostNodeParams& host) { return run_host(host, stream); },
                               [&](const ChildNode& child) { return run_all(*child.graph->order(), stream); },
                               [&](const EventRecordNode& r) { return record_event(r.event, stream); },
                               [&](const EventWaitNode& w) { return wait_event(w.event, stream); },
                               [&](const ConditionalNode& c) { return run_condition(c, stream); },
                               [&](const LibraryNode& l) { return run(l, stream); },
                               [](const MemAllocNode& a) { return run_allocation(a); },
                               [](const MemFreeNode& f) { return run_free(f); },
                               [](const EmptyNode&) { return cudaSuccess; }},
                    work);
}

// One after the other in one stream, which is one of the orders that the graph allows.
cudaError_t run_all(const std::vector<GraphNode*>& order, StreamId stream) {
  std::unordered_map<const GraphNode*, uint32_t> places;
  std::vector<std::vector<uint32_t>> after;
  for (const GraphNode* node : order) {
    places[node] = static_cast<uint32_t>(after.size());
    std::vector<uint32_t>& waits_for = after.emplace_back();
    for (const GraphNode* d : node->dependencies) waits_for.push_back(places.at(d));
  }
  const NodesOfGraph nodes(backend(), stream, std::move(after));
  for (const GraphNode* node : order) {
    backend().begin_node(places.at(node));
    if (!node->enabled) continue;
    if (const cudaError_t error = run_work(node->work, stream); error != cudaSuccess) return error;
    if (sticky() != cudaSuccess) return cudaSuccess;  // a kernel's fault shows at the next call
  }
  return cudaSuccess;
}

}  // namespace

std::vector<void*> KernelNode::pointers() const {
  std::vector<void*> all;
  for (const std::vector<uint8_t>& a : arguments) all.push_back(const_cast<uint8_t*>(a.data()));
  return all;
}

ConditionalNode::Bodies::~Bodies() {
  for (const cudaGraph_t handle : handles) forget_graph(handle);
}

cudaGraphNodeType GraphNode::type() const {
  constexpr cudaGraphNodeType kTypes[] = {
      cudaGraphNodeTypeKernel,      cudaGraphNodeTypeMemcpy,      cudaGraphNodeTypeMemset,
      cudaGraphNodeTypeHost,        cudaGraphNodeTypeGraph,       cudaGraphNodeTypeEmpty,
      cudaGraphNodeTypeEventRecord, cudaGraphNodeTypeWaitEvent,   cudaGraphNodeTypeMemAlloc,
      cudaGraphNodeTypeMemFree,     cudaGraphNodeTypeConditional, cudaGraphNodeTypeKernel};
  static_assert(std::size(kTypes) == std::variant_size_v<NodeWork>);
  return kTypes[work.index()];
}

GraphNode* Graph::add(NodeWork work, std::vector<GraphNode*> dependencies) {
  auto node = std::make_unique<GraphNode>();
  node->owner = this;
  node->work = std::move(work);
  node->dependencies = std::move(dependencies);
  nodes.push_back(std::move(node));
  return nodes.back().get();
}

bool Graph::holds(const GraphNode* node) const {
  return std::any_of(nodes.begin(), nodes.end(), [&](const auto& n) { return n.get() == node; });
}

void Graph::remove(GraphNode* node) {
  for (const auto& n : nodes) std::erase(n->dependencies, node);
  std::erase_if(nodes, [&](const auto& n) { return n.get() == node; });
}

std::shared_ptr<Graph> Graph::clone() const {
  auto copy = std::make_shared<Graph>();
  copy->conditions = conditions;
  std::unordered_map<const GraphNode*, GraphNode*> copies;
  for (const auto& node : nodes) {
    NodeWork work = node->work;
    if (const auto* child = std::get_if<ChildNode>(&work)) work = ChildNode{child->graph->clone()};
    if (auto* condition = std::get_if<ConditionalNode>(&work)) {
      auto bodies = std::make_shared<ConditionalNode::Bodies>();
      for (const auto& body : condition->bodies->graphs) bodies->graphs.push_back(body->clone());
      condition->bodies = std::move(bodies);
    }
    GraphNode* added = copy->add(std::move(work), {});
    added->original = node.get();
    copies[node.get()] = added;
  }
  for (const auto& node : nodes) {
    for (const GraphNode* d : node->dependencies) copies[node.get()]->dependencies.push_back(copies.at(d));
  }
  return copy;
}

GraphNode* Graph::copy_of(const GraphNode* original) const {
  for (const auto& node : nodes) {
    if (node->original == original) return node.get();
  }
  return nullptr;
}

std::optional<std::vector<GraphNode*>> Graph::order() const {
  std::unordered_map<const GraphNode*, size_t> missing;
  std::unordered_map<const GraphNode*, std::vector<GraphNode*>> dependents;
  std::vector<GraphNode*> ready;
  for (const auto& node : nodes) {
    missing[node.get()] = node->dependencies.size();
    for (const GraphNode* d : node->dependencies) dependents[d].push_back(node.get());
    if (node->dependencies.empty()) ready.push_back(node.get());
  }
  for (size_t k = 0; k < ready.size(); ++k) {
    for (GraphNode* next : dependents[ready[k]]) {
      if (--missing[next] == 0) ready.push_back(next);
    }
  }
  if (ready.size() != nodes.size()) return std::nullopt;
  return ready;
}

bool calls_host(const Graph& graph) {
  return std::any_of(graph.nodes.begin(), graph.nodes.end(), [](const auto& node) {
    if (const auto* child = std::get_if<ChildNode>(&node->work)) return calls_host(*child->graph);
    if (const auto* condition = std::get_if<ConditionalNode>(&node->work)) {
      const auto& bodies = condition->bodies->graphs;
      return std::any_of(bodies.begin(), bodies.end(), [](const auto& body) { return calls_host(*body); });
    }
    const auto* library = std::get_if<LibraryNode>(&node->work);
    return std::holds_alternative<cudaHostNodeParams>(node->work) || (library != nullptr && library->waits);
  });
}

cudaError_t check_work(const NodeWork& work) {
  if (const auto* kernel = std::get_if<KernelNode>(&work)) return check(kernel->call);
  if (const auto* copy = std::get_if<cudaMemcpy3DParms>(&work)) return check_copy_3d(*copy);
  if (const auto* fill = std::get_if<cudaMemsetParams>(&work)) {
    const unsigned size = fill->elementSize;
    return fill->dst != nullptr && (size == 1 || size == 2 || size == 4) ? cudaSuccess
                                                                         : cudaErrorInvalidValue;
  }
  if (const auto* host = std::get_if<cudaHostNodeParams>(&work))
    return host->fn != nullptr ? cudaSuccess : cudaErrorInvalidValue;
  return cudaSuccess;
}

cudaError_t run(const GraphNode& node, StreamId stream) {
  return node.enabled ? run_work(node.work, stream) : cudaSuccess;
}

// Of the graph and of all that is inside it.
cudaError_t assign_conditions(const Graph& graph) {
  for (const Condition& c : graph.conditions) {
    if (!c.assigns) continue;
    if (const cudaError_t error = backend().set_condition(c.handle, c.first_value); error != cudaSuccess)
      return error;
  }
  for (const auto& node : graph.nodes) {
    std::vector<std::shared_ptr<Graph>> inside;
    if (const auto* child = std::get_if<ChildNode>(&node->work)) inside = {child->graph};
    if (const auto* condition = std::get_if<ConditionalNode>(&node->work)) inside = condition->bodies->graphs;
    for (const auto& inner : inside) {
      if (const cudaError_t error = assign_conditions(*inner); error != cudaSuccess) return error;
    }
  }
  return cudaSuccess;
}

cudaError_t run(GraphExec& exec, StreamId stream) {
  if (const cudaError_t error = assign_conditions(*exec.graph); error != cudaSuccess) return error;
  const bool frees = (exec.flags & cudaGraphInstantiateFlagAutoFreeOnLaunch) != 0;
  if (const cudaError_t error = prepare_allocations(*exec.graph, frees); error != cudaSuccess) return error;
  if (!backend().has_graphs()) return run_all(exec.order, stream);
  std::lock_guard lock(exec.mutex);
  if (const cudaError_t error = refresh(exec); error != cudaSuccess) return error;
  for (const GraphStep& step : exec.steps) {
    const cudaError_t error =
        step.single != nullptr ? run(*step.single, stream) : backend().launch_graph(*step.in_backend, stream);
    if (error != cudaSuccess) return error;
    if (sticky() != cudaSuccess) return cudaSuccess;
  }
  return cudaSuccess;
}

std::set<const GraphNode*> ancestors(const std::vector<GraphNode*>& nodes) {
  std::set<const GraphNode*> found(nodes.begin(), nodes.end());
  std::vector<const GraphNode*> open(nodes.begin(), nodes.end());
  while (!open.empty()) {
    const GraphNode* node = open.back();
    open.pop_back();
    for (const GraphNode* d : node->dependencies) {
      if (found.insert(d).second) open.push_back(d);
    }
  }
  return found;
}

}  // namespace warpgrade::cudart

// Graphs of the submission as graphs of the driver: a launch is one launch, whatever the graph holds.
#include <cstring>
#include <utility>

#include "judge/executor/driver/driver.h"

namespace warpgrade::executor {

using cudart::Fill;
using cudart::GraphId;
using cudart::GraphPart;
using cudart::RowsCopy;
using cudart::StreamId;

namespace {

// The kernel may start while the one before it still runs, as far as it itself allows: in a graph this is a
// property of the edge between them.
bool starts_early(const GraphPart& part) {
  const auto* launch = std::get_if<GraphPart::Launch>(&part.work);
  if (launch == nullptr) return false;
  for (const cudaLaunchAttribute& a : launch->attributes) {
    if (a.id == cudaLaunchAttributeProgrammaticStreamSerialization)
      return a.val.programmaticStreamSerializationAllowed != 0;
  }
  return false;
}

}  // namespace

CUresult Driver::add_launch(const GraphPart::Launch& launch, CUgraph graph,
                            std::span<const CUgraphNode> after, CUgraphNode& node) {
  Kernel& kernel = kernels_[launch.call.kernel];
  for (size_t k = 0; k < kernel.arguments.size(); ++k)
    kernel.arguments[k] = const_cast<uint8_t*>(launch.parameters.data()) + kernel.facts.parameters[k].offset;
  CUDA_KERNEL_NODE_PARAMS params{};
  params.func = kernel.function;
  params.gridDimX = launch.call.grid[0];
  params.gridDimY = launch.call.grid[1];
  params.gridDimZ = launch.call.grid[2];
  params.blockDimX = launch.call.block[0];
  params.blockDimY = launch.call.block[1];
  params.blockDimZ = launch.call.block[2];
  params.sharedMemBytes = launch.call.dynamic_shared;
  params.kernelParams = kernel.arguments.data();
  CUresult result = api_.cuGraphAddKernelNode_(&node, graph, after.data(), after.size(), &params);
  const auto set = [&](CUlaunchAttributeID id, const CUlaunchAttributeValue& value) {
    if (result == CUDA_SUCCESS) result = api_.cuGraphKernelNodeSetAttribute_(node, id, &value);
  };
  for (const cudaLaunchAttribute& a : launch.attributes) {
    if (a.id == cudaLaunchAttributeIgnore || a.id == cudaLaunchAttributeProgrammaticStreamSerialization)
      continue;
    CUlaunchAttributeValue value;
    std::memcpy(&value, &a.val, sizeof value);
    set(static_cast<CUlaunchAttributeID>(a.id), value);
  }
  if (launch.call.cooperative) {
    CUlaunchAttributeValue value{};
    value.cooperative = 1;
    set(CU_LAUNCH_ATTRIBUTE_COOPERATIVE, value);
  }
  return result;
}

CUresult Driver::add_part(const GraphPart& part, std::span<const GraphPart> parts, CUgraph graph,
                          const std::vector<CUgraphNode>& nodes, CUgraphNode& node) {
  std::vector<CUgraphNode> after, before_early;
  const bool is_early = starts_early(part);
  for (const uint32_t d : part.after) {
    const bool is_kernel = std::holds_alternative<GraphPart::Launch>(parts[d].work);
    (is_early && is_kernel ? before_early : after).push_back(nodes[d]);
  }
  CUresult result = CUDA_ERROR_INVALID_VALUE;
  if (const auto* launch = std::get_if<GraphPart::Launch>(&part.work)) {
    result = add_launch(*launch, graph, after, node);
  } else if (const auto* rows = std::get_if<RowsCopy>(&part.work)) {
    const CUDA_MEMCPY3D copy = memcpy_of(*rows);
    result = api_.cuGraphAddMemcpyNode_(&node, graph, after.data(), after.size(), &copy, context_);
  } else if (const auto* fill = std::get_if<Fill>(&part.work)) {
    const CUDA_MEMSET_NODE_PARAMS params{fill->address,       fill->pitch, fill->value,
                                         fill->element_bytes, fill->width, fill->height};
    result = api_.cuGraphAddMemsetNode_(&node, graph, after.data(), after.size(), &params, context_);
  } else {
    result = api_.cuGraphAddEmptyNode_(&node, graph, after.data(), after.size());
  }
  if (result != CUDA_SUCCESS || before_early.empty()) return result;
  CUgraphEdgeData edge{};
  edge.from_port = CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC;
  edge.type = CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC;
  const std::vector<CUgraphNode> to(before_early.size(), node);
  const std::vector<CUgraphEdgeData> edges(before_early.size(), edge);
  return api_.cuGraphAddDependencies_v2_(graph, before_early.data(), to.data(), edges.data(), to.size());
}

CUresult Driver::build_graph(std::span<const GraphPart> parts, CUgraph graph) {
  std::vector<CUgraphNode> nodes;
  nodes.reserve(parts.size());
  for (const GraphPart& part : parts) {
    CUgraphNode node = nullptr;
    const CUresult result = add_part(part, parts, graph, nodes, node);
    if (result != CUDA_SUCCESS) return result;
    nodes.push_back(node);
  }
  return CUDA_SUCCESS;
}

cudaError_t Driver::create_graph(std::span<const GraphPart> parts, GraphId& id) {
  CUgraph graph = nullptr;
  CUgraphExec exec = nullptr;
  CUresult result = api_.cuGraphCreate_(&graph, 0);
  if (result != CUDA_SUCCESS) return result_of(result);
  result = build_graph(parts, graph);
  if (result == CUDA_SUCCESS) result = api_.cuGraphInstantiate_(&exec, graph, 0);
  api_.cuGraphDestroy_(graph);
  if (result != CUDA_SUCCESS) return result_of(result);
  id = static_cast<GraphId>(graphs_.size());
  graphs_.push_back(exec);
  return cudaSuccess;
}

// What the driver cannot change in place is instantiated anew.
cudaError_t Driver::update_graph(GraphId id, std::span<const GraphPart> parts) {
  CUgraph graph = nullptr;
  CUresult result = api_.cuGraphCreate_(&graph, 0);
  if (result != CUDA_SUCCESS) return result_of(result);
  result = build_graph(parts, graph);
  CUgraphExecUpdateResultInfo info{};
  if (result == CUDA_SUCCESS && api_.cuGraphExecUpdate_(graphs_[id], graph, &info) != CUDA_SUCCESS) {
    CUgraphExec exec = nullptr;
    result = api_.cuGraphInstantiate_(&exec, graph, 0);
    if (result == CUDA_SUCCESS) api_.cuGraphExecDestroy_(std::exchange(graphs_[id], exec));
  }
  api_.cuGraphDestroy_(graph);
  return result_of(result);
}

cudaError_t Driver::upload_graph(GraphId id, StreamId stream) {
  return result_of(api_.cuGraphUpload_(graphs_[id], stream_of(stream)));
}

cudaError_t Driver::launch_graph(GraphId id, StreamId stream) {
  return result_of(api_.cuGraphLaunch_(graphs_[id], stream_of(stream)));
}

cudaError_t Driver::destroy_graph(GraphId id) {
  return result_of(api_.cuGraphExecDestroy_(std::exchange(graphs_[id], nullptr)));
}

}  // namespace warpgrade::executor

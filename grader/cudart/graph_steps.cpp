// How an executable graph is put into a stream where the backend has graphs: nodes that it can hold come
// together in as few graphs as their order allows, and the rest runs between them. Child graphs are laid
// open first.
#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "cudart/graph.h"
#include "cudart/host_access.h"

namespace warpgrade::cudart {
namespace {

struct FlatNode {
  const GraphNode* node = nullptr;
  std::vector<size_t> after;
};

// Appends a graph's nodes, whose first ones wait for `entry`; returns those that nothing in it waits for.
std::vector<size_t> lay_open(const Graph& graph, const std::vector<size_t>& entry,
                             std::vector<FlatNode>& flat) {
  std::map<const GraphNode*, std::vector<size_t>> ends;  // what a node's dependents wait for
  std::set<const GraphNode*> awaited;
  const auto order = graph.order();
  if (!order) return entry;
  for (const GraphNode* node : *order) {
    std::vector<size_t> after = node->dependencies.empty() ? entry : std::vector<size_t>{};
    for (const GraphNode* d : node->dependencies) {
      after.insert(after.end(), ends[d].begin(), ends[d].end());
      awaited.insert(d);
    }
    std::sort(after.begin(), after.end());
    after.erase(std::unique(after.begin(), after.end()), after.end());
    if (const auto* child = std::get_if<ChildNode>(&node->work)) {
      ends[node] = lay_open(*child->graph, after, flat);
      continue;
    }
    ends[node] = {flat.size()};
    flat.push_back({node, std::move(after)});
  }
  std::vector<size_t> last;
  for (const GraphNode* node : *order) {
    if (awaited.count(node) == 0) last.insert(last.end(), ends[node].begin(), ends[node].end());
  }
  return order->empty() ? entry : last;
}

// The node's work for the backend; nothing when only the front end can do it.
std::optional<GraphPart> part_of(const GraphNode& node) {
  GraphPart part;
  const bool is_front_ends =
      std::holds_alternative<cudaHostNodeParams>(node.work) ||
      std::holds_alternative<EventRecordNode>(node.work) ||
      std::holds_alternative<EventWaitNode>(node.work) || std::holds_alternative<MemAllocNode>(node.work) ||
      std::holds_alternative<MemFreeNode>(node.work) || std::holds_alternative<ConditionalNode>(node.work) ||
      std::holds_alternative<LibraryNode>(node.work);
  if (is_front_ends) return std::nullopt;
  if (!node.enabled) return part;
  if (const auto* kernel = std::get_if<KernelNode>(&node.work)) {
    GraphPart::Launch launch;
    const cudaError_t error =
        prepare(kernel->call, kernel->pointers().data(), launch.call, launch.parameters);
    if (error != cudaSuccess) return std::nullopt;
    launch.attributes = kernel->call.attributes;
    part.work = std::move(launch);
  } else if (const auto* copy = std::get_if<cudaMemcpy3DParms>(&node.work)) {
    const cudaExtent& e = copy->extent;
    if (!fits_into_graph(*copy)) return std::nullopt;
    if (e.width != 0 && e.height != 0 && e.depth != 0) part.work = rows_of(*copy);
  } else if (const auto* fill = std::get_if<cudaMemsetParams>(&node.work)) {
    if (!fits_into_graph(*fill)) return std::nullopt;
    if (fill->width != 0 && fill->height != 0) part.work = fill_of(*fill);
  }
  return part;
}

// Takes what is ready and fits into the graph at hand; when nothing does, that graph is complete, and one of
// the others runs alone.
class StepMaker {
 public:
  explicit StepMaker(const Graph& graph) {
    lay_open(graph, {}, flat_);
    parts_.reserve(flat_.size());
    for (const FlatNode& f : flat_) parts_.push_back(part_of(*f.node));
    place_.resize(flat_.size());
  }

  std::vector<GraphStep> make() {
    std::vector<bool> is_done(flat_.size(), false);
    size_t done = 0;
    while (done < flat_.size()) {
      GraphStep segment;
      // The flat order is one in which each node stands behind those it waits for: one pass finds all.
      for (size_t k = 0; k < flat_.size(); ++k) {
        if (is_done[k] || !parts_[k] || !is_ready(k, is_done)) continue;
        place(k, segment);
        is_done[k] = true;
        ++done;
      }
      if (!segment.parts.empty()) steps_.push_back(std::move(segment));
      for (size_t k = 0; k < flat_.size(); ++k) {
        if (is_done[k] || parts_[k] || !is_ready(k, is_done)) continue;
        GraphStep single;
        single.single = flat_[k].node;
        steps_.push_back(std::move(single));
        is_done[k] = true;
        ++done;
      }
    }
    return std::move(steps_);
  }

 private:
  struct Place {
    size_t step = ~size_t{0};
    uint32_t part = 0;
  };

  bool is_ready(size_t k, const std::vector<bool>& is_done) const {
    return std::all_of(flat_[k].after.begin(), flat_[k].after.end(), [&](size_t d) { return is_done[d]; });
  }

  void place(size_t k, GraphStep& segment) {
    place_[k] = {steps_.size(), static_cast<uint32_t>(segment.parts.size())};
    GraphPart part = std::move(*parts_[k]);
    parts_[k].emplace();  // still one that fits
    for (const size_t d : flat_[k].after) {
      if (place_[d].step == steps_.size()) part.after.push_back(place_[d].part);
    }
    segment.parts.push_back(std::move(part));
  }

  std::vector<FlatNode> flat_;
  std::vector<std::optional<GraphPart>> parts_;
  std::vector<Place> place_;
  std::vector<GraphStep> steps_;
};

void let_go(std::vector<GraphStep>& steps) {
  for (const GraphStep& step : steps) {
    if (step.in_backend) backend().destroy_graph(*step.in_backend);
  }
  steps.clear();
}

// Graphs of the same place are updated, which keeps what the device has of them.
cudaError_t give_to_backend(GraphStep& step, GraphStep* before) {
  if (step.single != nullptr) return cudaSuccess;
  if (before != nullptr && before->in_backend && before->parts.size() == step.parts.size()) {
    const cudaError_t error = backend().update_graph(*before->in_backend, step.parts);
    if (error != cudaSuccess) return error;
    step.in_backend = std::exchange(before->in_backend, std::nullopt);
    return cudaSuccess;
  }
  GraphId made = 0;
  const cudaError_t error = backend().create_graph(step.parts, made);
  if (error == cudaSuccess) step.in_backend = made;
  return error;
}

}  // namespace

cudaError_t refresh(GraphExec& exec) {
  if (!exec.is_stale || !backend().has_graphs()) return cudaSuccess;
  std::vector<GraphStep> steps = StepMaker(*exec.graph).make();
  cudaError_t error = cudaSuccess;
  for (size_t k = 0; k < steps.size() && error == cudaSuccess; ++k)
    error = give_to_backend(steps[k], k < exec.steps.size() ? &exec.steps[k] : nullptr);
  let_go(exec.steps);
  if (error != cudaSuccess) {
    let_go(steps);
    return error;
  }
  // What the backend has need not be kept here, but for how much it was.
  for (GraphStep& step : steps) step.parts.assign(step.parts.size(), GraphPart{});
  exec.steps = std::move(steps);
  exec.is_stale = false;
  return cudaSuccess;
}

GraphExec::~GraphExec() {
  let_go(steps);
}

}  // namespace warpgrade::cudart

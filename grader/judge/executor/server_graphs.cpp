// Graphs: read from bytes that the host process staged, checked node by node, launched as one. Where the
// backend has no graphs, the nodes run one after the other.
#include <algorithm>
#include <cstring>
#include <utility>

#include "judge/executor/server_call.h"

namespace warpgrade::executor {

using cudart::Fill;
using cudart::GraphPart;
using cudart::RowsCopy;
using cudart::StreamId;
using wire::Op;

namespace {

constexpr size_t kNodesPerPlace = 16;  // of the driver's queue, at a guess: a graph's launch is few commands
constexpr size_t kMostPlaces = 1000;

// Steps through bytes; what is not there makes it fail.
class Bytes {
 public:
  explicit Bytes(std::span<const uint8_t> bytes) : bytes_(bytes) {}
  bool is_empty() const { return bytes_.empty(); }
  bool take(size_t count, std::span<const uint8_t>& part) {
    const size_t padded = wire::round_up(count, 8);
    if (count > bytes_.size() || padded > bytes_.size()) return false;
    part = bytes_.first(count);
    bytes_ = bytes_.subspan(padded);
    return true;
  }
  template <class T>
  bool take(T& value) {
    std::span<const uint8_t> part;
    if (!take(sizeof value, part)) return false;
    std::memcpy(&value, part.data(), sizeof value);
    return true;
  }

 private:
  std::span<const uint8_t> bytes_;
};

}  // namespace

CallServer::GraphEntry* CallServer::graph_of(uint64_t number) {
  return number < graphs_.size() && graphs_[number] ? &*graphs_[number] : nullptr;
}

cudaError_t CallServer::carry_out_graphs(const Call& call) {
  if (call.op() == Op::make_graph) return make_graph(call);
  if (call.op() == Op::update_graph) return update_graph(call);
  GraphEntry* graph = graph_of(call.argument(0));
  if (graph == nullptr) return cudaErrorInvalidResourceHandle;
  if (call.op() == Op::destroy_graph) {
    const GraphEntry gone = std::move(*graph);
    graphs_[call.argument(0)].reset();
    graph_nodes_ -= gone.nodes;
    return gone.in_backend ? backend_.destroy_graph(*gone.in_backend) : cudaSuccess;
  }
  StreamId stream = 0;
  if (!stream_of(call.argument(1), stream)) return cudaErrorInvalidResourceHandle;
  if (call.op() == Op::launch_graph) return launch_graph(*graph, stream);
  return graph->in_backend ? backend_.upload_graph(*graph->in_backend, stream) : cudaSuccess;
}

cudaError_t CallServer::read_work(const wire::GraphPart& header, std::span<const uint8_t> work,
                                  GraphPart& part) {
  Bytes bytes(work);
  if (header.kind == wire::GraphPart::launch) {
    uint64_t arguments[6];
    if (!bytes.take(arguments)) return cudaErrorInvalidValue;
    GraphPart::Launch launch;
    size_t parameters = 0;
    const auto data = work.subspan(sizeof arguments);
    const cudaError_t error = read_launch(arguments, data, launch.call, launch.attributes, parameters);
    if (error != cudaSuccess) return error;
    launch.call.attributes = {};
    launch.parameters.assign(data.begin(), data.begin() + static_cast<std::ptrdiff_t>(parameters));
    part.work = std::move(launch);
  } else if (header.kind == wire::GraphPart::rows) {
    wire::Rows r;
    if (work.size() != sizeof r || !bytes.take(r)) return cudaErrorInvalidValue;
    part.work =
        RowsCopy{{r.to[0], r.to[1], r.to[2]}, {r.from[0], r.from[1], r.from[2]}, r.width, r.height, r.depth};
  } else if (header.kind == wire::GraphPart::fill) {
    wire::Fill f;
    if (work.size() != sizeof f || !bytes.take(f)) return cudaErrorInvalidValue;
    part.work = Fill{f.address, f.pitch, f.value, f.element_bytes, f.width, f.height};
  } else if (!work.empty()) {
    return cudaErrorInvalidValue;
  }
  return check_memory(part);
}

cudaError_t CallServer::check_memory(const GraphPart& part) {
  if (const auto* rows = std::get_if<RowsCopy>(&part.work)) {
    for (const RowsCopy::Side* side : {&rows->to, &rows->from}) {
      if (!holds_rows(*side, *rows)) return refuse_range("a graph's copy", side->address, rows->width);
    }
  } else if (const auto* fill = std::get_if<Fill>(&part.work)) {
    if (!holds_fill(*fill))
      return refuse_range("a graph's memset", fill->address, fill->width * fill->element_bytes);
  }
  return cudaSuccess;
}

cudaError_t CallServer::read_graph(std::span<const uint8_t> staged, std::vector<GraphPart>& parts) {
  Bytes bytes(staged);
  while (!bytes.is_empty()) {
    wire::GraphPart header;
    std::span<const uint8_t> after, work;
    if (!bytes.take(header) || header.kind >= wire::GraphPart::kinds ||
        !bytes.take(size_t{header.after} * sizeof(uint32_t), after) || !bytes.take(header.work_bytes, work))
      return cudaErrorInvalidValue;
    if (parts.size() >= limits_.graph_nodes) return cudaErrorMemoryAllocation;
    GraphPart part;
    part.after.resize(header.after);
    if (!after.empty()) std::memcpy(part.after.data(), after.data(), after.size());
    // No cycle can be said this way, and nothing twice.
    std::sort(part.after.begin(), part.after.end());
    const bool is_ordered = part.after.empty() || part.after.back() < parts.size();
    const bool is_once = std::adjacent_find(part.after.begin(), part.after.end()) == part.after.end();
    if (!is_ordered || !is_once) return cudaErrorInvalidValue;
    if (const cudaError_t error = read_work(header, work, part); error != cudaSuccess) return error;
    parts.push_back(std::move(part));
  }
  return cudaSuccess;
}

void CallServer::keep(GraphEntry& graph, std::vector<GraphPart> parts) {
  graph_nodes_ += parts.size() - graph.nodes;
  graph.nodes = parts.size();
  graph.kernels = static_cast<size_t>(std::count_if(parts.begin(), parts.end(), [](const GraphPart& p) {
    return std::holds_alternative<GraphPart::Launch>(p.work);
  }));
  graph.removals = owned_.removals();
  graph.parts = std::move(parts);
}

cudaError_t CallServer::make_graph(const Call& call) {
  const std::vector<uint8_t> staged = take_staged(call.argument(0), "a graph");
  std::vector<GraphPart> parts;
  if (const cudaError_t error = read_graph(staged, parts); error != cudaSuccess) return error;
  if (parts.size() > limits_.graph_nodes - std::min(limits_.graph_nodes, graph_nodes_))
    return cudaErrorMemoryAllocation;
  const auto place = place_for(graphs_, 0, limits_.graphs);
  if (!place) return cudaErrorMemoryAllocation;
  GraphEntry graph;
  if (backend_.has_graphs()) {
    before_waiting("make_graph");
    cudart::GraphId made = 0;
    if (const cudaError_t error = backend_.create_graph(parts, made); error != cudaSuccess) return error;
    graph.in_backend = made;
  }
  keep(graph, std::move(parts));
  graphs_[*place] = std::move(graph);
  values_[0] = *place;
  return cudaSuccess;
}

cudaError_t CallServer::update_graph(const Call& call) {
  const std::vector<uint8_t> staged = take_staged(call.argument(1), "a graph");
  GraphEntry* graph = graph_of(call.argument(0));
  if (graph == nullptr) return cudaErrorInvalidResourceHandle;
  std::vector<GraphPart> parts;
  if (const cudaError_t error = read_graph(staged, parts); error != cudaSuccess) return error;
  if (parts.size() != graph->nodes) return cudaErrorInvalidValue;
  if (graph->in_backend) {
    const cudaError_t error = backend_.update_graph(*graph->in_backend, parts);
    if (error != cudaSuccess) return error;
  }
  keep(*graph, std::move(parts));
  return cudaSuccess;
}

void CallServer::follow_part(const GraphPart& part) {
  if (const auto* launch = std::get_if<GraphPart::Launch>(&part.work))
    writers_.launch(launch->parameters, owned_);
  else if (const auto* rows = std::get_if<RowsCopy>(&part.work))
    is_host_data(*rows) ? writers_.copy_from_host(*rows) : writers_.copy_on_device(*rows);
  else if (const auto* fill = std::get_if<Fill>(&part.work))
    writers_.fill(*fill);
}

cudaError_t CallServer::launch_graph(GraphEntry& graph, StreamId stream) {
  // Memory that went since is not to be touched: its pages may have become somebody else's.
  if (graph.removals != owned_.removals()) {
    for (const GraphPart& part : graph.parts) {
      if (const cudaError_t error = check_memory(part); error != cudaSuccess) return error;
    }
    graph.removals = owned_.removals();
  }
  if (is_over_limit()) return cudaErrorMemoryAllocation;
  launches_ += graph.kernels;
  if (on_work_) {
    const size_t places = std::min(kMostPlaces, 1 + graph.nodes / kNodesPerPlace);
    for (size_t k = 0; k < places; ++k) on_work_(Op::launch_graph);
  }
  if (!graph.parts.empty()) work_.add(stream, "a graph");
  if (graph.in_backend && !writers_.is_following()) return backend_.launch_graph(*graph.in_backend, stream);
  // A probe puts something behind each copy: then the parts go one by one.
  if (graph.in_backend && !writers_.probe()) {
    for (const GraphPart& part : graph.parts) follow_part(part);
    return backend_.launch_graph(*graph.in_backend, stream);
  }
  std::vector<std::vector<uint32_t>> after;
  for (const GraphPart& part : graph.parts) after.push_back(part.after);
  const cudart::NodesOfGraph nodes(backend_, stream, std::move(after));
  for (size_t k = 0; k < graph.parts.size(); ++k) {
    const GraphPart& part = graph.parts[k];
    backend_.begin_node(k);
    if (writers_.is_following()) follow_part(part);
    cudaError_t error = cudaSuccess;
    if (const auto* launch = std::get_if<GraphPart::Launch>(&part.work)) {
      cudart::LaunchCall call = launch->call;
      call.stream = stream;
      call.attributes = launch->attributes;
      error = backend_.launch(call, launch->parameters);
    } else if (const auto* rows = std::get_if<RowsCopy>(&part.work)) {
      error = backend_.copy_rows(*rows, stream, false);
      if (writers_.is_following()) error = probe_told(error, stream);
    } else if (const auto* fill = std::get_if<Fill>(&part.work)) {
      error = backend_.fill(*fill, stream);
    }
    if (error != cudaSuccess) return error;
  }
  return cudaSuccess;
}

}  // namespace warpgrade::executor

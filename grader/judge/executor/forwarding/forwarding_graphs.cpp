// Graphs: sent whole when they are made or change, launched by a record.
#include <cstring>

#include "judge/executor/forwarding/forwarding.h"
#include "judge/executor/forwarding/launch_record.h"

namespace warpgrade::executor {

using cudart::Fill;
using cudart::GraphId;
using cudart::GraphPart;
using cudart::RowsCopy;
using cudart::StreamId;
using wire::Op;

namespace {

template <class T>
void append(std::vector<uint8_t>& bytes, const T* values, size_t count) {
  const auto* begin = reinterpret_cast<const uint8_t*>(values);
  bytes.insert(bytes.end(), begin, begin + count * sizeof(T));
  bytes.resize(wire::round_up(bytes.size(), 8));
}

void append_launch(std::vector<uint8_t>& bytes, const GraphPart::Launch& launch) {
  const LaunchRecord record(launch.call, launch.attributes, launch.parameters);
  append(bytes, record.arguments, std::size(record.arguments));
  const size_t at = bytes.size();
  bytes.resize(at + record.bytes());
  record.write(bytes.data() + at);
}

}  // namespace

wire::Rows Forwarding::rows_of(const RowsCopy& c) {
  return {{device_address(c.to.address), c.to.pitch, c.to.slice},
          {device_address(c.from.address), c.from.pitch, c.from.slice},
          c.width,
          c.height,
          c.depth};
}

cudaError_t Forwarding::pack(std::span<const GraphPart> parts, std::vector<uint8_t>& bytes) {
  for (const GraphPart& part : parts) {
    const size_t at = bytes.size();
    wire::GraphPart header;
    header.kind = static_cast<uint32_t>(part.work.index());
    header.after = static_cast<uint32_t>(part.after.size());
    append(bytes, &header, 1);
    append(bytes, part.after.data(), part.after.size());
    const size_t work = bytes.size();
    if (const auto* launch = std::get_if<GraphPart::Launch>(&part.work)) {
      if (const cudaError_t error = check_attributes(launch->attributes); error != cudaSuccess) return error;
      append_launch(bytes, *launch);
    } else if (const auto* rows = std::get_if<RowsCopy>(&part.work)) {
      const wire::Rows data = rows_of(*rows);
      append(bytes, &data, 1);
    } else if (const auto* fill = std::get_if<Fill>(&part.work)) {
      const wire::Fill data{device_address(fill->address), fill->pitch, fill->value,
                            fill->element_bytes,           fill->width, fill->height};
      append(bytes, &data, 1);
    }
    header.work_bytes = static_cast<uint32_t>(bytes.size() - work);
    std::memcpy(bytes.data() + at, &header, sizeof header);
  }
  return bytes.size() > wire::kMostGraphBytes ? cudaErrorMemoryAllocation : cudaSuccess;
}

cudaError_t Forwarding::create_graph(std::span<const GraphPart> parts, GraphId& graph) {
  if (channel_ == nullptr) return cudaErrorNoDevice;
  std::vector<uint8_t> bytes;
  if (const cudaError_t error = pack(parts, bytes); error != cudaSuccess) return error;
  std::lock_guard lock(stage_mutex_);
  if (const cudaError_t error = stage(bytes); error != cudaSuccess) return error;
  Reply reply;
  const cudaError_t error = call(Op::make_graph, {bytes.size()}, reply);
  graph = static_cast<GraphId>(reply.values[0]);
  return error;
}

cudaError_t Forwarding::update_graph(GraphId graph, std::span<const GraphPart> parts) {
  if (channel_ == nullptr) return cudaErrorNoDevice;
  std::vector<uint8_t> bytes;
  if (const cudaError_t error = pack(parts, bytes); error != cudaSuccess) return error;
  std::lock_guard lock(stage_mutex_);
  if (const cudaError_t error = stage(bytes); error != cudaSuccess) return error;
  return call(Op::update_graph, {graph, bytes.size()});
}

cudaError_t Forwarding::upload_graph(GraphId graph, StreamId stream) {
  return channel_ == nullptr ? cudaErrorNoDevice : channel_->post(Op::upload_graph, {graph, stream});
}

cudaError_t Forwarding::launch_graph(GraphId graph, StreamId stream) {
  if (channel_ == nullptr) return cudaErrorNoDevice;
  if (const cudaError_t error = before_launch(stream); error != cudaSuccess) return error;
  return channel_->post(Op::launch_graph, {graph, stream});
}

cudaError_t Forwarding::destroy_graph(GraphId graph) {
  return call(Op::destroy_graph, {graph});
}

}  // namespace warpgrade::executor

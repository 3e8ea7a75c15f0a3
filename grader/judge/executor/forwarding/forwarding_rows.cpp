// Copies of rows: one record each where both sides are the executor's, else packed without gaps.
#include <algorithm>
#include <cstring>

#include "judge/executor/forwarding/forwarding.h"

namespace warpgrade::executor {

using cudart::RowsCopy;
using cudart::StreamId;
using wire::Op;

namespace {

uint8_t* host(uint64_t address) {
  return reinterpret_cast<uint8_t*>(address);
}

// From the first byte of a box to its last.
uint64_t span_of(const RowsCopy::Side& side, const RowsCopy& box) {
  return side.row(box.height - 1, box.depth - 1) + box.width - side.address;
}

// Rows from `first` of slice `z`.
RowsCopy part_of(const RowsCopy& rows, uint64_t first, uint64_t count, uint64_t z) {
  RowsCopy part = rows;
  part.to.address = rows.to.row(first, z);
  part.from.address = rows.from.row(first, z);
  part.height = count;
  part.depth = 1;
  return part;
}

}  // namespace

cudaError_t Forwarding::copy_rows(const RowsCopy& rows, StreamId stream, bool waits) {
  if (channel_ == nullptr) return cudaErrorNoDevice;
  const bool to_device = is_on_device(rows.to.address), from_device = is_on_device(rows.from.address);
  if (to_device && from_device) return copy_rows_between(rows, stream, waits);
  const bool is_one_call = (to_device || from_device) && rows.width <= wire::kBulkBytes;
  if (!is_one_call) return Backend::copy_rows(rows, stream, waits);
  const uint64_t most = std::max<uint64_t>(1, wire::kBulkBytes / rows.width);
  for (uint64_t z = 0; z < rows.depth; ++z) {
    for (uint64_t y = 0; y < rows.height; y += most) {
      const RowsCopy part = part_of(rows, y, std::min(most, rows.height - y), z);
      const cudaError_t error = to_device ? copy_rows_in(part, stream) : copy_rows_out(part, stream);
      if (error != cudaSuccess) return error;
    }
  }
  return waits ? tell_that_it_waits(stream) : cudaSuccess;
}

cudaError_t Forwarding::copy_rows_between(const RowsCopy& rows, StreamId stream, bool waits) {
  const wire::Rows data = rows_of(rows);
  const std::span<const uint8_t> bytes{reinterpret_cast<const uint8_t*>(&data), sizeof data};
  const bool host_looks = waits && (is_of_host(rows.to.address) || is_of_host(rows.from.address));
  const bool is_known = is_inside(rows.to.address, span_of(rows.to, rows)) &&
                        is_inside(rows.from.address, span_of(rows.from, rows));
  if (is_known && !host_looks) return channel_->post(Op::copy_rows, {stream}, bytes);
  Reply reply;
  const cudaError_t error = call(Op::copy_rows, {stream}, reply, bytes);
  return error != cudaSuccess || !host_looks ? error : synchronize_stream(stream);
}

cudaError_t Forwarding::copy_rows_in(const RowsCopy& rows, StreamId stream) {
  const auto pack = [&](uint8_t* at) {
    for (uint64_t y = 0; y < rows.height; ++y, at += rows.width)
      std::memcpy(at, host(rows.from.row(y, 0)), rows.width);
  };
  const Channel::Arguments arguments{device_address(rows.to.address), rows.to.pitch, rows.width, rows.height,
                                     stream};
  const uint64_t bytes = rows.width * rows.height;
  const bool is_known = is_inside(rows.to.address, span_of(rows.to, rows));
  if (is_known && bytes <= wire::kMostInline) return channel_->post(Op::copy_in_rows, arguments, bytes, pack);
  std::lock_guard lock(channel_->bulk_mutex());
  if (is_known) pack(channel_->bulk());
  return call(Op::copy_in_rows_bulk, arguments);
}

cudaError_t Forwarding::copy_rows_out(const RowsCopy& rows, StreamId stream) {
  const auto unpack = [&](const uint8_t* at) {
    for (uint64_t y = 0; y < rows.height; ++y, at += rows.width)
      std::memcpy(host(rows.to.row(y, 0)), at, rows.width);
  };
  const Channel::Arguments arguments{device_address(rows.from.address), rows.from.pitch, rows.width,
                                     rows.height, stream};
  const uint64_t bytes = rows.width * rows.height;
  if (bytes <= wire::kReplyBytes) {
    Reply reply;
    const cudaError_t error = call(Op::copy_out_rows, arguments, reply);
    if (error != cudaSuccess) return error;
    if (reply.data.size() != bytes) return cudaErrorUnknown;
    unpack(reply.data.data());
    return cudaSuccess;
  }
  std::lock_guard lock(channel_->bulk_mutex());
  const cudaError_t error = call(Op::copy_out_rows_bulk, arguments);
  if (error == cudaSuccess) unpack(channel_->bulk());
  return error;
}

}  // namespace warpgrade::executor

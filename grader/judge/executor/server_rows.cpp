// Copies of rows: boxes of pitched memory.
#include <cstring>

#include "judge/executor/server_call.h"

namespace warpgrade::executor {

using cudart::RowsCopy;
using cudart::StreamId;
using wire::Op;

namespace {

// No side may be longer than all memory: then no sum passes the end of the numbers.
constexpr uint64_t kMost = uint64_t{1} << 46;

}  // namespace

cudaError_t CallServer::carry_out_rows(const Call& call) {
  return call.op() == Op::copy_rows ? copy_rows(call) : copy_side(call);
}

// The whole box lies in one allocation.
bool CallServer::holds_rows(const RowsCopy::Side& side, const RowsCopy& box) const {
  if (box.width == 0 || box.height == 0 || box.depth == 0) return false;
  if (box.width > kMost || box.height > kMost || box.depth > kMost || side.pitch > kMost ||
      side.slice > kMost)
    return false;
  const auto range = owned_.around(side.address);
  if (!range || box.width > range->end - side.address) return false;
  const uint64_t room = range->end - side.address - box.width;
  if (box.height > 1 && side.pitch < box.width) return false;
  if (box.depth > 1 && (side.pitch == 0 || side.slice < box.height)) return false;
  if (side.pitch == 0) return true;         // one row
  const uint64_t most = room / side.pitch;  // rows that the last one may be behind the first
  if (box.height - 1 > most) return false;
  return box.depth == 1 || box.depth - 1 <= (most - (box.height - 1)) / side.slice;
}

cudaError_t CallServer::copy_rows(const Call& call) {
  StreamId stream = 0;
  if (!stream_of(call.argument(0), stream)) return cudaErrorInvalidResourceHandle;
  wire::Rows rows;
  if (call.data.size() != sizeof rows) return cudaErrorInvalidValue;
  std::memcpy(&rows, call.data.data(), sizeof rows);
  const RowsCopy copy{{rows.to[0], rows.to[1], rows.to[2]},
                      {rows.from[0], rows.from[1], rows.from[2]},
                      rows.width,
                      rows.height,
                      rows.depth};
  for (const RowsCopy::Side* side : {&copy.to, &copy.from}) {
    if (!holds_rows(*side, copy)) return refuse_range("a copy of rows", side->address, copy.width);
  }
  if (on_work_) on_work_(call.op());
  work_.add(stream, "a copy");
  const cudaError_t error = backend_.copy_rows(copy, stream, false);
  return writers_.is_following() ? follow_copy(error, copy, is_host_data(copy), stream) : error;
}

// Rows of the device on one side, bytes without gaps on the other.
cudaError_t CallServer::copy_side(const Call& call) {
  StreamId stream = 0;
  if (!stream_of(call.argument(4), stream)) return cudaErrorInvalidResourceHandle;
  const bool is_in = call.op() == Op::copy_in_rows || call.op() == Op::copy_in_rows_bulk;
  const bool is_bulk = call.op() == Op::copy_in_rows_bulk || call.op() == Op::copy_out_rows_bulk;
  const uint64_t width = call.argument(2), height = call.argument(3);
  RowsCopy copy;
  copy.width = width;
  copy.height = height;
  const RowsCopy::Side device{call.argument(0), call.argument(1), height};
  if (!holds_rows(device, copy)) return refuse_range("a copy of rows", device.address, width);
  const uint64_t most = is_bulk ? wire::kBulkBytes : is_in ? call.data.size() : wire::kReplyBytes;
  if (height > most / width) return cudaErrorInvalidValue;
  const uint64_t bytes = width * height;
  if (is_in && !is_bulk && bytes != call.data.size()) return cudaErrorInvalidValue;
  if (is_bulk || !is_in) before_waiting(wire::kOps[call.record.op].name);
  const uint8_t* here = is_bulk ? memory_.bulk()
                        : is_in ? call.data.data()
                                : memory_.slot(call.record.slot).data;
  const RowsCopy::Side ours{reinterpret_cast<uint64_t>(here), width, height};
  copy.to = is_in ? device : ours;
  copy.from = is_in ? ours : device;
  if (on_work_) on_work_(call.op());
  work_.add(stream, "a copy");
  cudaError_t error = backend_.copy_rows(copy, stream, false);
  if (is_in && writers_.is_following()) error = follow_copy(error, copy, true, stream);
  if (error != cudaSuccess || (is_in && !is_bulk)) return error;
  if (!is_in && !is_bulk) reply_in_slot_ = static_cast<uint32_t>(bytes);
  wait_for_stream(call, stream);
  return cudaSuccess;
}

}  // namespace warpgrade::executor

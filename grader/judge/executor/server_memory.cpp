// Allocations, copies and fills: all that a call names must be the submission's.
#include <fcntl.h>
#include <linux/falloc.h>

#include <algorithm>
#include <array>

#include "judge/executor/server_call.h"
#include "judge/protocol/protocol.h"

namespace warpgrade::executor {

using cudart::MemoryKind;
using cudart::MemoryRange;
using cudart::RowsCopy;
using cudart::StreamId;
using wire::Op;

namespace {

void* pointer(uint64_t address) {
  return reinterpret_cast<void*>(address);
}

RowsCopy one_row(uint64_t to, const void* from, uint64_t bytes) {
  return {{to, bytes, 1}, {reinterpret_cast<uint64_t>(from), bytes, 1}, bytes};
}

bool is_in_window(const MemoryRange& range) {
  return range.kind == MemoryKind::pinned || range.kind == MemoryKind::managed;
}

}  // namespace

cudaError_t CallServer::carry_out_memory(const Call& call) {
  switch (call.op()) {
    case Op::allocate:
    case Op::allocate_async:
      return allocate(call);
    case Op::release:
      return release(call);
    case Op::release_async:
      return release_async(call);
    case Op::release_all:
      return release_all();
    case Op::memory_info:
      return memory_info();
    case Op::copy_in:
      return copy_in(call);
    case Op::copy_in_bulk:
      return copy_in_bulk(call);
    case Op::copy_out:
      return copy_out(call, false);
    case Op::copy_out_bulk:
      return copy_out(call, true);
    case Op::copy_device:
      return copy_device(call);
    case Op::fill:
      return fill(call);
    default:
      return carry_out_rows(call);
  }
}

cudaError_t CallServer::allocate(const Call& call) {
  const bool is_async = call.op() == Op::allocate_async;
  const uint64_t bytes = call.argument(is_async ? 0 : 1);
  const auto kind = is_async ? MemoryKind::device : static_cast<MemoryKind>(call.argument(0) & 0xff);
  if (kind != MemoryKind::device && kind != MemoryKind::managed && kind != MemoryKind::pinned)
    return cudaErrorInvalidValue;
  if (bytes == 0) return cudaErrorInvalidValue;
  if (!has_room_for(kind, bytes)) return cudaErrorMemoryAllocation;
  uint64_t address = 0;
  StreamId stream = 0;
  cudaError_t error = cudaSuccess;
  if (is_async) {
    if (!stream_of(call.argument(1), stream)) return cudaErrorInvalidResourceHandle;
    error = backend_.allocate_async(bytes, stream, address);
  } else {
    before_waiting("allocate");
    error = kind == MemoryKind::device ? backend_.allocate(kind, bytes, address)
                                       : allocate_window(kind, bytes, address);
  }
  if (error != cudaSuccess) return error;
  owned_.add({address, address + bytes, kind, false}, is_async);
  if (is_async && limits_.device_bytes != Limits::kNoLimit) {
    look_at_pool();  // it may have grown by more than this
    if (is_over_limit()) {
      owned_.remove(address);
      backend_.release_async(address, stream);
      return cudaErrorMemoryAllocation;
    }
  }
  if (kind == MemoryKind::managed) notes_ |= protocol::kNoteManagedMemory;
  values_[0] = address;
  return cudaSuccess;
}

cudaError_t CallServer::allocate_window(MemoryKind kind, uint64_t bytes, uint64_t& address) {
  uint64_t left = 0, all = 0;
  if (kind == MemoryKind::managed && backend_.memory_info(left, all) == cudaSuccess && bytes > all)
    return cudaErrorMemoryAllocation;
  const auto taken = owned_.take_window(bytes);
  if (!taken) return cudaErrorMemoryAllocation;
  address = *taken;
  const cudaError_t error = backend_.register_host(pointer(address), bytes);
  if (error != cudaSuccess) owned_.give_window(address);
  return error;
}

// The pages of the window go back to the system, and come again as zeros.
cudaError_t CallServer::release_range(const MemoryRange& range) {
  owned_.remove(range.begin);
  writers_.forget({range.begin, range.end});
  if (const auto array = array_bytes_.find(range.begin); array != array_bytes_.end()) {
    array_memory_ -= array->second;
    array_bytes_.erase(array);
  }
  if (!is_in_window(range)) {
    constexpr std::array kinds{MemoryKind::device};
    return backend_.release(range.begin, kinds, "cudaFree");
  }
  const cudaError_t error = backend_.unregister_host(pointer(range.begin));
  fallocate(memory_.window_descriptor(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
            static_cast<off_t>(range.begin - wire::kWindowAddress),
            static_cast<off_t>(wire::round_up(range.end - range.begin, wire::kPage)));
  owned_.give_window(range.begin);
  return error;
}

cudaError_t CallServer::release(const Call& call) {
  before_waiting("release");
  const auto range = owned_.at(call.argument(0));
  const bool is_allocation = range && (range->kind == MemoryKind::device || is_in_window(*range));
  const bool fits = is_allocation && (call.argument(1) >> static_cast<int>(range->kind) & 1) != 0;
  if (fits && is_in_window(*range)) {
    // Kernels may still use the pages: cudaFree and cudaFreeHost wait for the device.
    const MemoryRange freed = *range;
    wait_for(call, [this, freed] {
      const cudaError_t error = ask_device();
      if (error != cudaSuccess) return error;
      return owned_.at(freed.begin) ? release_range(freed) : cudaErrorInvalidValue;
    });
    return cudaSuccess;
  }
  if (fits) {
    if (!owned_.is_async(range->begin)) work_.host_waited_for_all();
    return release_range(*range);
  }
  if (backend_.report_invalid_free(call.argument(0), call.text())) return cudaErrorInvalidValue;
  const auto around = owned_.around(call.argument(0));
  say("invalid_free\n  " + call.text() +
      (!around                              ? " of an address that no allocation returned"
       : around->begin != call.argument(0)  ? " of an address inside an allocation"
       : around->kind == MemoryKind::pinned ? " of pinned host memory"
                                            : " of other memory than it frees"));
  return cudaErrorInvalidValue;
}

cudaError_t CallServer::release_async(const Call& call) {
  StreamId stream = 0;
  if (!stream_of(call.argument(1), stream)) return cudaErrorInvalidResourceHandle;
  const auto range = owned_.at(call.argument(0));
  if (!range || range->kind != MemoryKind::device) return cudaErrorInvalidValue;
  owned_.remove(range->begin);
  writers_.forget({range->begin, range->end});
  return backend_.release_async(range->begin, stream);
}

cudaError_t CallServer::release_all() {
  before_waiting("release_all");
  cudaError_t first = backend_.synchronize_device();
  work_.host_waited_for_all();
  for (const MemoryRange& range : owned_.all()) {
    if (range.kind == MemoryKind::other) continue;
    const cudaError_t error =
        range.kind == MemoryKind::registered ? unregister_host(range.begin) : release_range(range);
    if (first == cudaSuccess) first = error;
  }
  return first;
}

cudaError_t CallServer::memory_info() {
  uint64_t left = 0, all = 0;
  const cudaError_t error = backend_.memory_info(left, all);
  left -= std::min(left, owned_.managed_bytes());
  values_[1] = std::min(all, limits_.device_bytes);
  values_[0] = std::min(left, limits_.device_bytes - std::min(limits_.device_bytes, device_bytes()));
  return error;
}

cudaError_t CallServer::refuse_range(const char* what, uint64_t address, uint64_t bytes) {
  if (backend_.report_overrun(address, bytes, what)) return cudaErrorInvalidValue;
  const auto range = owned_.around(address);
  const std::string size = std::to_string(bytes) + " bytes";
  say(std::string("host_copy_overrun\n  ") + what + " of " + size +
      (range ? " at offset " + std::to_string(address - range->begin) + " leaves an allocation of " +
                   std::to_string(range->end - range->begin) + " bytes"
             : " at an address that is no device memory"));
  return cudaErrorInvalidValue;
}

cudaError_t CallServer::copy_in(const Call& call) {
  StreamId stream = 0;
  if (!stream_of(call.argument(1), stream)) return cudaErrorInvalidResourceHandle;
  if (call.data.size() > wire::kMostInline) return cudaErrorInvalidValue;
  if (!owned_.holds(call.argument(0), call.data.size()))
    return refuse_range("a copy", call.argument(0), call.data.size());
  if (call.data.empty()) return cudaSuccess;
  if (on_work_) on_work_(call.op());
  work_.add(stream, "a copy");
  // cudaMemcpy of pageable memory, which uses no stream that the program made, counts as waited for.
  if (stream == cudart::kLegacyStream || stream == cudart::kPerThreadStream) work_.host_waited_for(stream);
  const cudaError_t error =
      backend_.copy(pointer(call.argument(0)), call.data.data(), call.data.size(), stream, false);
  if (!writers_.is_following()) return error;
  return follow_copy(error, one_row(call.argument(0), call.data.data(), call.data.size()), true, stream);
}

cudaError_t CallServer::copy_in_bulk(const Call& call) {
  StreamId stream = 0;
  const uint64_t address = call.argument(0), bytes = call.argument(1);
  if (!stream_of(call.argument(2), stream)) return cudaErrorInvalidResourceHandle;
  if (!owned_.holds(address, bytes)) return refuse_range("a copy", address, bytes);
  if (bytes == 0 || bytes > wire::kBulkBytes) return cudaErrorInvalidValue;
  before_waiting("copy_in_bulk");
  cudaError_t error = backend_.copy(pointer(address), memory_.bulk(), bytes, stream, false);
  if (writers_.is_following())
    error = follow_copy(error, one_row(address, memory_.bulk(), bytes), true, stream);
  if (error != cudaSuccess) return error;
  wait_for_stream(call, stream);
  return cudaSuccess;
}

cudaError_t CallServer::copy_out(const Call& call, bool is_bulk) {
  StreamId stream = 0;
  const uint64_t address = call.argument(0), bytes = call.argument(1);
  if (!stream_of(call.argument(2), stream)) return cudaErrorInvalidResourceHandle;
  if (!owned_.holds(address, bytes)) return refuse_range("a copy", address, bytes);
  if (bytes == 0 || bytes > (is_bulk ? wire::kBulkBytes : wire::kReplyBytes)) return cudaErrorInvalidValue;
  before_waiting("copy_out");
  uint8_t* to = is_bulk ? memory_.bulk() : memory_.slot(call.record.slot).data;
  const cudaError_t error = backend_.copy(to, pointer(address), bytes, stream, false);
  if (error != cudaSuccess) return error;
  if (!is_bulk) reply_in_slot_ = static_cast<uint32_t>(bytes);
  wait_for_stream(call, stream);
  return cudaSuccess;
}

cudaError_t CallServer::copy_device(const Call& call) {
  StreamId stream = 0;
  const uint64_t to = call.argument(0), from = call.argument(1), bytes = call.argument(2);
  if (!stream_of(call.argument(3), stream)) return cudaErrorInvalidResourceHandle;
  if (!owned_.holds(to, bytes)) return refuse_range("a copy", to, bytes);
  if (!owned_.holds(from, bytes)) return refuse_range("a copy", from, bytes);
  if (bytes == 0) return cudaSuccess;
  if (on_work_) on_work_(call.op());
  work_.add(stream, "a copy");
  const cudaError_t error = backend_.copy(pointer(to), pointer(from), bytes, stream, false);
  if (!writers_.is_following()) return error;
  const RowsCopy copy = one_row(to, pointer(from), bytes);
  return follow_copy(error, copy, is_host_data(copy), stream);
}

bool CallServer::holds_fill(const cudart::Fill& fill) const {
  const uint32_t size = fill.element_bytes;
  if ((size != 1 && size != 2 && size != 4) || fill.width == 0 || fill.height == 0) return false;
  // No row may be longer than all memory, nor may their sum pass the end of the numbers.
  constexpr uint64_t kMost = uint64_t{1} << 46;
  if (fill.width > kMost / size || fill.pitch > kMost || fill.height > kMost) return false;
  const uint64_t row = fill.width * size;
  const auto range = owned_.around(fill.address);
  const uint64_t room = range ? range->end - fill.address : 0;
  const bool is_inside =
      row <= room && (fill.pitch == 0 || fill.height == 1 || fill.height - 1 <= (room - row) / fill.pitch);
  return is_inside && (fill.height == 1 || fill.pitch >= row);
}

cudaError_t CallServer::fill(const Call& call) {
  StreamId stream = 0;
  if (!stream_of(call.argument(5), stream)) return cudaErrorInvalidResourceHandle;
  const cudart::Fill fill{call.argument(0), call.argument(1), call.low(2),
                          call.high(2),     call.argument(3), call.argument(4)};
  if (!holds_fill(fill)) return refuse_range("a memset", fill.address, fill.width * fill.element_bytes);
  if (on_work_) on_work_(call.op());
  work_.add(stream, "a memset");
  if (writers_.is_following()) writers_.fill(fill);
  return backend_.fill(fill, stream);
}

}  // namespace warpgrade::executor

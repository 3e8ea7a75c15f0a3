// Allocations, and copies through the calls' memory.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "cudart/host_fault.h"
#include "cudart/host_place.h"
#include "judge/executor/forwarding/forwarding.h"
#include "judge/executor/forwarding/watched_pages.h"

namespace warpgrade::executor {
namespace {

using cudart::MemoryKind;
using cudart::MemoryRange;
using cudart::StreamId;
using wire::Op;

constexpr int kPlaces = 8;  // that are tried for an allocation whose addresses are taken here

uint64_t address_of(const void* pointer) {
  return reinterpret_cast<uint64_t>(pointer);
}

// What the signal handler may look at: written before the handler can need it, never taken away.
constexpr size_t kMostReserved = 1 << 16;
struct {
  std::atomic<size_t> count{0};
  uint64_t begin[kMostReserved], end[kMostReserved];
} g_reserved;

bool is_reserved(uint64_t address) {
  const size_t count = g_reserved.count.load();
  for (size_t k = 0; k < count; ++k) {
    if (address >= g_reserved.begin[k] && address < g_reserved.end[k]) return true;
  }
  return false;
}

void remember_reserved(uint64_t begin, uint64_t end) {
  cudart::watch_host_faults("executor", is_reserved);
  const size_t at = g_reserved.count.load();
  if (at >= kMostReserved) return;
  g_reserved.begin[at] = begin;
  g_reserved.end[at] = end;
  g_reserved.count.store(at + 1);
}

bool is_window(uint64_t address) {
  return address - wire::kWindowAddress < wire::kWindowBytes;
}

}  // namespace

// Takes the pages without rights, so that no host memory comes to lie there and a dereference faults; false
// when something lies there. Pages of a freed allocation stay taken: the driver hands them out again.
bool Forwarding::forbid_host_access(uint64_t address, uint64_t bytes) {
  const uint64_t begin = address / wire::kPage * wire::kPage;
  const uint64_t end = wire::round_up(address + bytes, wire::kPage);
  std::unique_lock lock(ranges_mutex_);
  uint64_t at = begin;
  while (at < end) {
    auto after = reserved_.upper_bound(at);
    if (after != reserved_.begin() && std::prev(after)->second > at) {
      at = std::prev(after)->second;
      continue;
    }
    const uint64_t until = after == reserved_.end() ? end : std::min(end, after->first);
    void* wanted = reinterpret_cast<void*>(at);
    void* got = mmap(wanted, until - at, PROT_NONE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
    if (got != wanted) {
      if (got != MAP_FAILED) munmap(got, until - at);
      return false;
    }
    reserved_[at] = until;
    remember_reserved(at, until);
    at = until;
  }
  return true;
}

void Forwarding::note(const MemoryRange& range) {
  std::unique_lock lock(ranges_mutex_);
  ranges_[range.begin] = range;
}

void Forwarding::forget(uint64_t address) {
  std::unique_lock lock(ranges_mutex_);
  ranges_.erase(address);
}

void Forwarding::note_allocation(const MemoryRange& range) {
  note(range);
  if (channel_->control().is_interpreted == 0) return;  // nobody asks for leaks
  std::vector<void*> stack = cudart::call_stack();
  std::unique_lock lock(ranges_mutex_);
  made_at_[range.begin] = std::move(stack);
}

void Forwarding::lent(uint64_t address, uint64_t bytes) {
  if (address == 0) return;  // an empty array
  if (bytes == 0) return forget(address);
  was_lent_ = true;
  forbid_host_access(address, bytes);
  note({address, address + bytes, MemoryKind::other, false});
}

// Of an allocation by its address, or of a call by its number.
cudart::HostPlace Forwarding::place_behind(uint64_t address) {
  if ((address & wire::kIsCall) != 0) return channel_->place_of(address & ~wire::kIsCall);
  std::shared_lock lock(ranges_mutex_);
  const auto found = made_at_.find(address);
  return found == made_at_.end() ? cudart::HostPlace{} : cudart::place_of_call(found->second);
}

void Forwarding::send_places(std::span<const uint64_t> addresses) {
  for (const uint64_t address : addresses) {
    const cudart::HostPlace place = place_behind(address);
    if (place.line == 0) continue;
    channel_->post(
        Op::place, {place.line, address},
        {reinterpret_cast<const uint8_t*>(place.path.data()), std::min(place.path.size(), wire::kMostName)});
  }
}

std::optional<MemoryRange> Forwarding::find(uint64_t address) {
  std::shared_lock lock(ranges_mutex_);
  const auto after = ranges_.upper_bound(address);
  if (after == ranges_.begin()) return std::nullopt;
  const MemoryRange& range = std::prev(after)->second;
  if (address > range.end) return std::nullopt;
  return range;
}

bool Forwarding::is_device_address(uint64_t address) {
  std::shared_lock lock(ranges_mutex_);
  const auto after = reserved_.upper_bound(address);
  return after != reserved_.begin() && address < std::prev(after)->second;
}

bool Forwarding::is_inside(uint64_t address, uint64_t bytes) {
  const auto range = find(address);
  return range && bytes <= range->end - address;
}

cudaError_t Forwarding::allocate(MemoryKind kind, uint64_t bytes, uint64_t& address) {
  uint64_t unfit[kPlaces];
  int places = 0;
  cudaError_t error = cudaErrorMemoryAllocation;
  while (places < kPlaces) {
    Reply reply;
    error = call(Op::allocate, {static_cast<uint64_t>(kind), bytes}, reply);
    if (error != cudaSuccess) break;
    address = reply.values[0];
    if (is_window(address) || forbid_host_access(address, bytes)) {
      note_allocation({address, address + bytes, kind, false});
      break;
    }
    unfit[places++] = address;
    error = cudaErrorMemoryAllocation;
  }
  for (int k = 0; k < places; ++k) {
    Reply reply;
    call(Op::release, {unfit[k], uint64_t{1} << static_cast<int>(kind)}, reply, {});
  }
  return error;
}

cudaError_t Forwarding::allocate_async(uint64_t bytes, StreamId stream, uint64_t& address) {
  Reply reply;
  const cudaError_t error = call(Op::allocate_async, {bytes, stream}, reply);
  if (error != cudaSuccess) return error;
  address = reply.values[0];
  forbid_host_access(address, bytes);
  note_allocation({address, address + bytes, MemoryKind::device, false});
  return cudaSuccess;
}

cudaError_t Forwarding::release(uint64_t address, std::span<const MemoryKind> kinds, const char* function) {
  uint64_t set = 0;
  for (const MemoryKind kind : kinds) set |= uint64_t{1} << static_cast<int>(kind);
  Reply reply;
  const std::span<const uint8_t> name{reinterpret_cast<const uint8_t*>(function), std::strlen(function)};
  // Before the call: another thread may be given the address as soon as it is free.
  const auto range = find(address);
  const bool known = range && range->begin == address;
  if (known) forget(address);
  if (is_window(address)) leave_pages_alone();
  const cudaError_t error = call(Op::release, {address, set}, reply, name);
  if (error != cudaSuccess && known) note(*range);
  return error;
}

cudaError_t Forwarding::release_async(uint64_t address, StreamId stream) {
  const auto range = find(address);
  const bool known = range && range->begin == address;
  if (known) forget(address);
  const cudaError_t error = call(Op::release_async, {address, stream});
  if (error != cudaSuccess && known) note(*range);
  return error;
}

// A program of its own may end so. One that was lent memory runs inside of another.
cudaError_t Forwarding::release_all() {
  if (was_lent_) {
    cudart::HostFinding finding;
    finding.kind = cudart::HostFinding::Kind::invalid_free;
    finding.message =
        "cudaDeviceReset destroys all that this process has on the device, the caller's memory and streams "
        "as well";
    finding.advice = "Free what the plan has allocated, with cudaFree, and leave the device alone.";
    report(finding);
  }
  const cudaError_t error = call(Op::release_all, {});
  std::unique_lock lock(ranges_mutex_);
  std::erase_if(ranges_, [](const auto& entry) { return entry.second.kind != MemoryKind::other; });
  return error;
}

cudaError_t Forwarding::memory_info(uint64_t& free_bytes, uint64_t& total_bytes) {
  Reply reply;
  const cudaError_t error = call(Op::memory_info, {}, reply);
  free_bytes = reply.values[0];
  total_bytes = reply.values[1];
  return error;
}

// The host reads and writes there itself.
bool Forwarding::is_of_host(uint64_t address) {
  if (is_window(address)) return true;
  const auto range = find(address);
  return range && range->kind == MemoryKind::registered;
}

bool Forwarding::is_on_device(uint64_t address) {
  return find(address) || is_device_address(address) || is_window(address);
}

cudaError_t Forwarding::copy(void* to, const void* from, uint64_t bytes, StreamId stream, bool waits) {
  if (channel_ == nullptr) return cudaErrorNoDevice;
  const uint64_t target = address_of(to), source = address_of(from);
  const bool to_device = is_on_device(target), from_device = is_on_device(source);
  if (to_device && from_device) return copy_between(target, source, bytes, stream, waits);
  if (to_device) {
    const cudaError_t error = copy_in(target, static_cast<const uint8_t*>(from), bytes, stream);
    return error == cudaSuccess && waits ? tell_that_it_waits(stream) : error;
  }
  if (from_device) return after_waiting(copy_out(static_cast<uint8_t*>(to), source, bytes, stream));
  if (const cudaError_t error = synchronize_stream(stream); error != cudaSuccess) return error;
  std::memmove(to, from, bytes);
  return cudaSuccess;
}

// The copy is done with the source already, and on a GPU no call is lost for more. Where calls are
// interpreted, racecheck has to know that the program's call waits.
cudaError_t Forwarding::tell_that_it_waits(StreamId stream) {
  return channel_->control().is_interpreted == 0 ? cudaSuccess : synchronize_stream(stream);
}

// Pinned and managed memory is the executor's as well: nothing but addresses travels.
cudaError_t Forwarding::copy_between(uint64_t to, uint64_t from, uint64_t bytes, StreamId stream,
                                     bool waits) {
  const bool host_looks = waits && (is_of_host(to) || is_of_host(from));
  const uint64_t target = device_address(to), source = device_address(from);
  if (host_looks || !is_inside(to, bytes) || !is_inside(from, bytes)) {
    const cudaError_t error = call(Op::copy_device, {target, source, bytes, stream});
    return error != cudaSuccess || !host_looks ? error : synchronize_stream(stream);
  }
  const cudaError_t error = channel_->post(Op::copy_device, {target, source, bytes, stream});
  if (error == cudaSuccess && !waits && is_window(to)) watch(to, to + bytes);
  return error;
}

void Forwarding::watch(uint64_t begin, uint64_t end) {
  if (channel_->control().is_interpreted != 0) watch_pages(begin, end);
}

// A kernel may use all managed memory, and the pinned memory that it was given an address of.
void Forwarding::watch_memory_of(std::span<const uint8_t> parameters) {
  if (channel_->control().is_interpreted == 0) return;
  std::shared_lock lock(ranges_mutex_);
  for (auto range = ranges_.lower_bound(wire::kWindowAddress);
       range != ranges_.end() && is_window(range->first); ++range) {
    bool is_named = range->second.kind == MemoryKind::managed;
    for (size_t at = 0; !is_named && at + sizeof(uint64_t) <= parameters.size(); at += sizeof(uint64_t)) {
      uint64_t value = 0;
      std::memcpy(&value, parameters.data() + at, sizeof value);
      is_named = value >= range->second.begin && value < range->second.end;
    }
    if (is_named) watch_pages(range->second.begin, range->second.end);
  }
}

// The source may change when this returns: small copies travel in their record, large ones are waited for.
cudaError_t Forwarding::copy_in(uint64_t to, const uint8_t* from, uint64_t bytes, StreamId stream) {
  if (bytes <= wire::kMostInline) {
    if (is_inside(to, bytes)) return channel_->post(Op::copy_in, {device_address(to), stream}, {from, bytes});
    Reply reply;
    return call(Op::copy_in, {to, stream}, reply, {from, bytes});
  }
  if (!is_inside(to, bytes)) return call(Op::copy_in_bulk, {to, bytes, stream});  // refused, and told why
  std::lock_guard lock(channel_->bulk_mutex());
  for (uint64_t at = 0; at < bytes; at += wire::kBulkBytes) {
    const uint64_t part = std::min<uint64_t>(bytes - at, wire::kBulkBytes);
    std::memcpy(channel_->bulk(), from + at, part);
    if (const cudaError_t error = call(Op::copy_in_bulk, {device_address(to) + at, part, stream});
        error != cudaSuccess)
      return error;
  }
  return cudaSuccess;
}

cudaError_t Forwarding::copy_out(uint8_t* to, uint64_t from, uint64_t bytes, StreamId stream) {
  if (bytes <= wire::kReplyBytes || !is_inside(from, bytes)) {
    Reply reply;
    const cudaError_t error = call(Op::copy_out, {device_address(from), bytes, stream}, reply);
    if (error != cudaSuccess) return error;
    if (reply.data.size() != bytes) return cudaErrorUnknown;
    std::memcpy(to, reply.data.data(), bytes);
    return cudaSuccess;
  }
  std::lock_guard lock(channel_->bulk_mutex());
  for (uint64_t at = 0; at < bytes; at += wire::kBulkBytes) {
    const uint64_t part = std::min<uint64_t>(bytes - at, wire::kBulkBytes);
    if (const cudaError_t error = call(Op::copy_out_bulk, {device_address(from) + at, part, stream});
        error != cudaSuccess)
      return error;
    std::memcpy(to + at, channel_->bulk(), part);
  }
  return cudaSuccess;
}

cudaError_t Forwarding::fill(const cudart::Fill& fill, StreamId stream) {
  if (channel_ == nullptr) return cudaErrorNoDevice;
  const uint64_t bytes = (fill.height - 1) * fill.pitch + fill.width * fill.element_bytes;
  const Channel::Arguments arguments{device_address(fill.address),
                                     fill.pitch,
                                     uint64_t{fill.value} | uint64_t{fill.element_bytes} << 32,
                                     fill.width,
                                     fill.height,
                                     stream};
  if (is_inside(fill.address, bytes)) return channel_->post(Op::fill, arguments);
  return call(Op::fill, arguments);
}

}  // namespace warpgrade::executor

// cudaHostRegister: the pages of a program's own memory are exchanged for pages of the window, which both
// processes and the device have at the same address; __managed__ variables; hints.
#include <pthread.h>
#include <sys/mman.h>

#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "judge/executor/forwarding/forwarding.h"
#include "judge/executor/forwarding/watched_pages.h"

namespace warpgrade::executor {
namespace {

using cudart::MemoryKind;
using cudart::MemoryRange;
using cudart::ModuleId;
using cudart::StreamId;
using wire::Op;

constexpr const char* kInstead =
    "Memory that the device shall reach comes from cudaMallocHost or cudaHostAlloc.";

bool is_on_this_stack(uint64_t begin, uint64_t end) {
  pthread_attr_t attributes;
  void* low = nullptr;
  size_t bytes = 0;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) return true;
  pthread_attr_getstack(&attributes, &low, &bytes);
  pthread_attr_destroy(&attributes);
  const auto first = reinterpret_cast<uint64_t>(low);
  return begin < first + bytes && end > first;
}

// All pages are the process' own memory: private, to be read and written, and not of a stack that is known.
// (A line that is longer than the buffer goes on with text that is no range.)
bool is_plain_memory(uint64_t begin, uint64_t end) {
  if (is_on_this_stack(begin, end)) return false;
  FILE* maps = std::fopen("/proc/self/maps", "re");
  if (maps == nullptr) return false;
  uint64_t at = begin;
  char line[512];
  while (at < end && std::fgets(line, sizeof line, maps) != nullptr) {
    unsigned long long low = 0, high = 0;
    char rights[8] = {};
    if (std::sscanf(line, "%llx-%llx %7s", &low, &high, rights) != 3) continue;
    if (high <= at) continue;
    const bool fits = low <= at && std::strncmp(rights, "rw", 2) == 0 && rights[3] == 'p' &&
                      std::strstr(line, "[stack") == nullptr;
    if (!fits) break;
    at = high;
  }
  std::fclose(maps);
  return at >= end;
}

}  // namespace

// Another thread that writes to the pages while they are exchanged would lose what it writes: as on a GPU,
// the memory is not to be used while cudaHostRegister runs.
cudaError_t Forwarding::register_host(void* pointer, uint64_t bytes) {
  const auto address = reinterpret_cast<uint64_t>(pointer);
  Registered r;
  r.begin = address / wire::kPage * wire::kPage;
  r.bytes = wire::round_up(address + bytes, wire::kPage) - r.begin;
  if (bytes > wire::kWindowBytes) return cudaErrorInvalidValue;
  std::lock_guard lock(registered_mutex_);
  for (const auto& [named, other] : registered_) {
    if (r.begin < other.begin + other.bytes && other.begin < r.begin + r.bytes)
      return cudaErrorHostMemoryAlreadyRegistered;
  }
  if (is_on_device(address)) return cudaErrorInvalidValue;
  if (!is_plain_memory(r.begin, r.begin + r.bytes))
    return refuse("call of cudaHostRegister for a stack, a file or memory without rights", kInstead);
  Reply reply;
  const cudaError_t error = call(Op::register_host, {r.begin, r.bytes}, reply);
  if (error != cudaSuccess) return error;
  r.window = reply.values[0];
  r.on_device = reply.values[1];
  void* pages = reinterpret_cast<void*>(r.begin);
  std::memcpy(reinterpret_cast<void*>(r.window), pages, r.bytes);
  if (!channel_->map_window(pages, r.bytes, r.window)) {
    call(Op::unregister_host, {r.on_device});
    return cudaErrorMemoryAllocation;
  }
  registered_[address] = r;
  if (r.on_device != r.begin) ++moved_;
  note({address, address + bytes, MemoryKind::registered, false});
  return cudaSuccess;
}

cudaError_t Forwarding::unregister_host(void* pointer) {
  const auto address = reinterpret_cast<uint64_t>(pointer);
  std::lock_guard lock(registered_mutex_);
  const auto found = registered_.find(address);
  if (found == registered_.end()) return cudaErrorHostMemoryNotRegistered;
  const Registered r = found->second;
  const cudaError_t error = call(Op::unregister_host, {r.on_device});
  if (error != cudaSuccess) return error;
  registered_.erase(found);
  if (r.on_device != r.begin) --moved_;
  forget(address);
  std::vector<uint8_t> content(r.bytes);
  void* pages = reinterpret_cast<void*>(r.begin);
  std::memcpy(content.data(), pages, r.bytes);
  const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED;
  if (mmap(pages, r.bytes, PROT_READ | PROT_WRITE, flags, -1, 0) != pages) return cudaErrorMemoryAllocation;
  std::memcpy(pages, content.data(), r.bytes);
  return channel_->post(Op::give_window, {r.window});
}

// Copies and fills name the executor's addresses.
uint64_t Forwarding::device_address(uint64_t address) {
  if (moved_.load(std::memory_order_relaxed) == 0) return address;
  std::lock_guard lock(registered_mutex_);
  for (const auto& [named, r] : registered_) {
    if (address >= r.begin && address <= r.begin + r.bytes) return r.on_device + (address - r.begin);
  }
  return address;
}

// --- __managed__ variables ---

cudaError_t Forwarding::add_managed(ModuleId module, const std::string& name, MemoryRange& variable) {
  Reply reply;
  const std::span<const uint8_t> text{reinterpret_cast<const uint8_t*>(name.data()), name.size()};
  cudaError_t error = call(Op::add_managed, {module}, reply, text);
  if (error != cudaSuccess) return error;
  const uint64_t device = reply.values[0], bytes = reply.values[1];
  if (bytes == 0 || bytes > ManagedVariables::kMostBytes)
    return refuse("__managed__ variable " + name + " of " + std::to_string(bytes >> 20) + " MiB",
                  "Use cudaMallocManaged, or a __device__ variable with cudaMemcpyToSymbol.");
  uint64_t host = 0;
  if (error = allocate(MemoryKind::pinned, bytes, host); error != cudaSuccess) return error;
  forget(host);
  variable = {host, host + bytes, MemoryKind::managed, false};
  note(variable);
  note({device, device + bytes, MemoryKind::other, false});
  return managed_.add(device, reinterpret_cast<uint8_t*>(host), bytes,
                      [this](uint64_t from, uint8_t* to, uint64_t count) {
                        return copy_out(to, from, count, cudart::kLegacyStream);
                      });
}

// What a call that has waited for the device returns; kernels' changes are the host's from now on.
cudaError_t Forwarding::after_waiting(cudaError_t error) {
  if (error == cudaSuccess) leave_pages_alone();
  if (error != cudaSuccess || managed_.is_empty()) return error;
  return managed_.to_host([this](uint64_t from, uint8_t* to, uint64_t count) {
    return copy_out(to, from, count, cudart::kPerThreadStream);
  });
}

cudaError_t Forwarding::before_launch(StreamId stream) {
  if (managed_.is_empty()) return cudaSuccess;
  return managed_.to_device([this, stream](uint64_t to, const uint8_t* from, uint64_t count) {
    return copy_in(to, from, count, stream);
  });
}

// --- hints ---

cudaError_t Forwarding::keep_pool(uint64_t bytes) {
  return channel_ == nullptr ? cudaErrorNoDevice : channel_->post(Op::keep_pool, {bytes});
}

cudaError_t Forwarding::reset_persisting_l2() {
  return channel_ == nullptr ? cudaErrorNoDevice : channel_->post(Op::reset_persisting_l2, {});
}

cudaError_t Forwarding::set_stream_attribute(StreamId stream, cudaStreamAttrID attribute,
                                             const cudaStreamAttrValue& value) {
  Reply reply;
  const std::span<const uint8_t> bytes{reinterpret_cast<const uint8_t*>(&value), sizeof value};
  return call(Op::set_stream_attribute, {stream, static_cast<uint64_t>(attribute)}, reply, bytes);
}

}  // namespace warpgrade::executor

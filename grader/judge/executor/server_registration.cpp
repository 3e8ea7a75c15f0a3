// Memory of the host process that becomes the device's as well (cudaHostRegister), __managed__ variables,
// and hints.
#include <sys/mman.h>

#include <cstring>

#include "judge/executor/server_call.h"
#include "judge/protocol/protocol.h"

namespace warpgrade::executor {

using cudart::MemoryKind;
using cudart::MemoryRange;
using cudart::StreamId;
using wire::Op;

namespace {

// The server's stack may still grow: nothing is mapped beside it.
constexpr uint64_t kStackRoom = uint64_t{64} << 20, kLastAddress = uint64_t{1} << 47;

bool is_free_for_host_memory(uint64_t begin, uint64_t bytes) {
  if (begin % wire::kPage != 0 || bytes % wire::kPage != 0 || bytes == 0 || bytes > wire::kWindowBytes)
    return false;
  if (begin < wire::kPage || begin > kLastAddress - bytes) return false;
  const auto stack = reinterpret_cast<uint64_t>(__builtin_frame_address(0));
  return begin + bytes < stack - kStackRoom || begin > stack + kStackRoom;
}

}  // namespace

cudaError_t CallServer::carry_out_registration(const Call& call) {
  switch (call.op()) {
    case Op::register_host:
      return register_host(call);
    case Op::unregister_host: {
      const uint64_t begin = call.argument(0);
      if (registered_.count(begin) == 0) return cudaErrorHostMemoryNotRegistered;
      before_waiting("unregister_host");
      // Kernels may still use the pages.
      wait_for(call, [this, begin] {
        const cudaError_t error = ask_device();
        return error != cudaSuccess ? error : unregister_host(begin);
      });
      return cudaSuccess;
    }
    case Op::give_window: {
      const uint64_t at = call.argument(0);
      if (detached_.erase(at) == 0) return cudaErrorInvalidValue;
      owned_.give_window(at);
      return cudaSuccess;
    }
    case Op::add_managed:
      return add_managed(call);
    case Op::keep_pool:
      return backend_.keep_pool(call.argument(0));
    case Op::reset_persisting_l2:
      before_waiting("reset_persisting_l2");
      return backend_.reset_persisting_l2();
    default:
      return set_stream_attribute(call);
  }
}

// Pages of the window come to lie at the host process' address here, too: then a pointer means the same to
// its code, to kernels and to copies. Where something of the executor's lies there already, the device has
// them at the window's address. The host process puts them to their place on its side when it has the answer.
cudaError_t CallServer::register_host(const Call& call) {
  const uint64_t begin = call.argument(0), bytes = call.argument(1);
  if (!is_free_for_host_memory(begin, bytes)) return cudaErrorInvalidValue;
  if (!owned_.has_room_for(MemoryKind::registered, bytes, 0)) return cudaErrorMemoryAllocation;
  const auto taken = owned_.take_window(bytes);
  if (!taken) return cudaErrorMemoryAllocation;
  before_waiting("register_host");
  const uint64_t at = map_at(begin, bytes, *taken) ? begin : *taken;
  const cudaError_t error = backend_.register_host(reinterpret_cast<void*>(at), bytes);
  if (error != cudaSuccess) {
    if (at == begin) munmap(reinterpret_cast<void*>(begin), bytes);
    owned_.give_window(*taken);
    return error;
  }
  registered_[at] = *taken;
  owned_.add({at, at + bytes, MemoryKind::registered, false});
  values_[0] = *taken;
  values_[1] = at;
  return cudaSuccess;
}

bool CallServer::map_at(uint64_t begin, uint64_t bytes, uint64_t window) {
  if (!owned_.is_free(begin, bytes)) return false;
  void* wanted = reinterpret_cast<void*>(begin);
  void* got = mmap(wanted, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED_NOREPLACE,
                   memory_.window_descriptor(), static_cast<off_t>(window - wire::kWindowAddress));
  if (got != wanted && got != MAP_FAILED) munmap(got, bytes);
  return got == wanted;
}

// The pages stay the host process' until it says give_window.
cudaError_t CallServer::unregister_host(uint64_t begin) {
  const auto found = registered_.find(begin);
  const auto range = owned_.at(begin);
  if (found == registered_.end() || !range) return cudaErrorHostMemoryNotRegistered;
  const cudaError_t error = backend_.unregister_host(reinterpret_cast<void*>(begin));
  if (begin != found->second) munmap(reinterpret_cast<void*>(begin), range->end - range->begin);
  detached_.insert(found->second);
  registered_.erase(found);
  if (const auto range = owned_.at(begin)) writers_.forget({range->begin, range->end});
  owned_.remove(begin);
  return error;
}

cudaError_t CallServer::add_managed(const Call& call) {
  if (call.argument(0) >= images_.size()) return cudaErrorInvalidResourceHandle;
  before_waiting("add_managed");
  MemoryRange variable;
  const cudaError_t error = backend_.add_managed(images_[call.argument(0)].id, call.text(), variable);
  if (error != cudaSuccess) return error;
  notes_ |= protocol::kNoteManagedVariables;
  variable.kind = MemoryKind::other;
  owned_.add(variable);
  values_[0] = variable.begin;
  values_[1] = variable.end - variable.begin;
  return cudaSuccess;
}

cudaError_t CallServer::set_stream_attribute(const Call& call) {
  StreamId stream = 0;
  if (!stream_of(call.argument(0), stream)) return cudaErrorInvalidResourceHandle;
  switch (call.argument(1)) {
    case cudaLaunchAttributeAccessPolicyWindow:
    case cudaLaunchAttributePriority:
    case cudaLaunchAttributeMemSyncDomainMap:
    case cudaLaunchAttributeMemSyncDomain:
      break;
    case cudaLaunchAttributeSynchronizationPolicy:  // how a host thread waits: not the executor's way
      return cudaSuccess;
    default:
      return cudaErrorInvalidValue;
  }
  cudaStreamAttrValue value;
  if (call.data.size() != sizeof value) return cudaErrorInvalidValue;
  std::memcpy(&value, call.data.data(), sizeof value);
  return backend_.set_stream_attribute(stream, static_cast<cudaStreamAttrID>(call.argument(1)), value);
}

// The image's memory must be the submission's, all of it.
cudaError_t CallServer::create_image(const Call& call) {
  constexpr size_t kMost = 65536;
  cudart::Image image;
  if (call.data.size() != sizeof image) return cudaErrorInvalidValue;
  std::memcpy(&image, call.data.data(), sizeof image);
  if (!owned_.holds(image.address, image.bytes())) return cudaErrorInvalidValue;
  if (images_in_use_.size() >= kMost) return cudaErrorMemoryAllocation;
  // On a GPU the first object of an array takes memory in the form that the GPU's units read.
  before_waiting("create_image");
  const bool may_take_memory = image.is_array != 0 && limits_.device_bytes != Limits::kNoLimit;
  const uint64_t before = may_take_memory ? free_bytes() : 0;
  uint64_t object = 0;
  const cudaError_t error = backend_.create_image(image, object);
  if (error != cudaSuccess) return error;
  if (may_take_memory) count_array(image.address, before);
  images_in_use_.insert({object, image.is_surface != 0});
  if (is_over_limit()) return cudaErrorMemoryAllocation;
  values_[0] = object;
  return cudaSuccess;
}

cudaError_t CallServer::destroy_image(const Call& call) {
  const std::pair object{call.argument(0), call.argument(1) != 0};
  if (images_in_use_.erase(object) != 1) return cudaErrorInvalidValue;
  before_waiting("destroy_image");
  return backend_.destroy_image(object.first, object.second);
}

}  // namespace warpgrade::executor

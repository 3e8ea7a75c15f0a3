// Questions about addresses.
#include <cstring>

#include "driver/call.h"

namespace warpgrade::driver {
namespace {

using cudart::MemoryKind;
using cudart::MemoryRange;

std::optional<MemoryRange> live_range(CUdeviceptr address) {
  const auto range = bridge().find_memory(address);
  return range && !range->freed && address < range->end ? range : std::nullopt;
}

bool is_host_memory(const MemoryRange& range) {
  return range.kind == MemoryKind::pinned || range.kind == MemoryKind::registered;
}

template <class Value>
CUresult answer(void* data, Value value) {
  std::memcpy(data, &value, sizeof value);  // NOLINT(bugprone-sizeof-expression): a pointer may be the answer
  return CUDA_SUCCESS;
}

CUcontext context_of(const MemoryRange& range) {
  Context* current = current_context();
  return handle_of(current != nullptr && current->device == range.device ? current
                                                                         : &primary_context(range.device));
}

CUresult value_of(void* data, CUpointer_attribute attribute, CUdeviceptr address, const MemoryRange& range) {
  switch (attribute) {
    case CU_POINTER_ATTRIBUTE_CONTEXT:
      return answer(data, context_of(range));
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
      return answer(data,
                    is_host_memory(range) ? unsigned{CU_MEMORYTYPE_HOST} : unsigned{CU_MEMORYTYPE_DEVICE});
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
      return answer(data, address);
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
      return range.is_on_both_sides() ? answer(data, address) : CUDA_ERROR_INVALID_VALUE;
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
      return answer(data, static_cast<unsigned long long>(range.begin));
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
      return answer(data, static_cast<unsigned>(range.kind == MemoryKind::managed));
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
      return answer(data, range.device);
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
      return answer(data, CUdeviceptr{range.begin});
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
      return answer(data, static_cast<size_t>(range.end - range.begin));
    case CU_POINTER_ATTRIBUTE_MAPPED:
      return answer(data, 1u);
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
    case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
      return answer(data, 0u);
    default:
      return refuse("cuPointerGetAttribute of another attribute",
                    "The emulator knows context, type, pointers, range, device and whether it is managed.");
  }
}

// What memory that is nobody's answers when several things are asked at once.
void clear(void* data, CUpointer_attribute attribute) {
  switch (attribute) {
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
      answer(data, -2);
      break;
    case CU_POINTER_ATTRIBUTE_CONTEXT:
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
      answer(data, uint64_t{0});
      break;
    default:
      answer(data, 0u);
  }
}

}  // namespace
}  // namespace warpgrade::driver

using namespace warpgrade::driver;

extern "C" {

CUresult cuMemGetAddressRange_v2(CUdeviceptr* begin, size_t* bytes, CUdeviceptr address) {
  return in_context([&](Context&) {
    const auto range = live_range(address);
    if (!range) return CUDA_ERROR_NOT_FOUND;
    if (begin != nullptr) *begin = range->begin;
    if (bytes != nullptr) *bytes = range->end - range->begin;
    return CUDA_SUCCESS;
  });
}
CUresult cuPointerGetAttribute(void* data, CUpointer_attribute attribute, CUdeviceptr address) {
  return in_context([&](Context&) -> CUresult {
    const auto range = live_range(address);
    if (data == nullptr || !range) return CUDA_ERROR_INVALID_VALUE;
    return value_of(data, attribute, address, *range);
  });
}
CUresult cuPointerGetAttributes(unsigned count, CUpointer_attribute* attributes, void** data,
                                CUdeviceptr address) {
  return in_context([&](Context&) -> CUresult {
    if (count == 0 || attributes == nullptr || data == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const auto range = live_range(address);
    for (unsigned k = 0; k < count; ++k) {
      const CUresult result =
          range ? value_of(data[k], attributes[k], address, *range) : CUDA_ERROR_INVALID_VALUE;
      if (result != CUDA_SUCCESS) clear(data[k], attributes[k]);
    }
    return CUDA_SUCCESS;
  });
}

}  // extern "C"

// Memory and events of several processes on one device.
#include <cuda_runtime_api.h>

#include <cstring>

#include "cudart/backend.h"
#include "cudart/errors.h"
#include "cudart/stream.h"

namespace warpgrade::cudart {
namespace {

template <class Handle>
IpcHandle bytes_of(const Handle& handle) {
  IpcHandle bytes;
  static_assert(sizeof handle.reserved == sizeof bytes);
  std::memcpy(bytes.data(), handle.reserved, sizeof bytes);
  return bytes;
}

}  // namespace
}  // namespace warpgrade::cudart

using namespace warpgrade::cudart;

#define RETURN_WITHOUT_IPC() \
  CUDART_RETURN_IF_STICKY(); \
  if (!backend().has_ipc()) return cudart_not_implemented(__func__)

extern "C" {

cudaError_t cudaIpcGetMemHandle(cudaIpcMemHandle_t* handle, void* pointer) {
  RETURN_WITHOUT_IPC();
  if (handle == nullptr) return record(cudaErrorInvalidValue);
  IpcHandle bytes{};
  const cudaError_t error = backend().share_memory(reinterpret_cast<uint64_t>(pointer), bytes);
  if (error == cudaSuccess) std::memcpy(handle->reserved, bytes.data(), bytes.size());
  return record(error);
}
cudaError_t cudaIpcOpenMemHandle(void** pointer, cudaIpcMemHandle_t handle, unsigned flags) {
  RETURN_WITHOUT_IPC();
  if (pointer == nullptr || flags != cudaIpcMemLazyEnablePeerAccess) return record(cudaErrorInvalidValue);
  uint64_t address = 0;
  const cudaError_t error = backend().open_memory(bytes_of(handle), address);
  if (error == cudaSuccess) *pointer = reinterpret_cast<void*>(address);
  return record(error);
}
cudaError_t cudaIpcCloseMemHandle(void* pointer) {
  RETURN_WITHOUT_IPC();
  return record(backend().close_memory(reinterpret_cast<uint64_t>(pointer)));
}

cudaError_t cudaIpcGetEventHandle(cudaIpcEventHandle_t* handle, cudaEvent_t handle_of_event) {
  RETURN_WITHOUT_IPC();
  const Event* event = find_event(handle_of_event);
  if (handle == nullptr) return record(cudaErrorInvalidValue);
  if (event == nullptr || !event->shared) return record(cudaErrorInvalidResourceHandle);
  IpcHandle bytes{};
  const cudaError_t error = backend().share_event(*event->shared, bytes);
  if (error == cudaSuccess) std::memcpy(handle->reserved, bytes.data(), bytes.size());
  return record(error);
}
cudaError_t cudaIpcOpenEventHandle(cudaEvent_t* event, cudaIpcEventHandle_t handle) {
  RETURN_WITHOUT_IPC();
  if (event == nullptr) return record(cudaErrorInvalidValue);
  std::shared_ptr<SharedEvent> shared;
  if (const cudaError_t error = backend().open_event(bytes_of(handle), shared); error != cudaSuccess)
    return record(error);
  EventId in_backend = 0;
  const unsigned flags = cudaEventInterprocess | cudaEventDisableTiming;
  if (const cudaError_t error = backend().create_event(flags, in_backend); error != cudaSuccess)
    return record(error);
  *event = add_event(flags, in_backend);
  find_event(*event)->shared = shared;
  return cudaSuccess;
}

}  // extern "C"

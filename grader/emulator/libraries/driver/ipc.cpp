// Memory and events of several processes.
#include <cstring>

#include "driver/call.h"

using namespace warpgrade::driver;

namespace {

// The runtime's handle of the same bytes.
template <class To, class From>
To same_bytes(const From& handle) {
  To other;
  static_assert(sizeof other == sizeof handle);
  std::memcpy(&other, &handle, sizeof other);
  return other;
}

}  // namespace

extern "C" {

CUresult cuIpcGetMemHandle(CUipcMemHandle* handle, CUdeviceptr address) {
  return by_runtime(cudaIpcGetMemHandle, reinterpret_cast<cudaIpcMemHandle_t*>(handle),
                    reinterpret_cast<void*>(address));
}
CUresult cuIpcOpenMemHandle_v2(CUdeviceptr* address, CUipcMemHandle handle, unsigned flags) {
  return by_runtime(cudaIpcOpenMemHandle, reinterpret_cast<void**>(address),
                    same_bytes<cudaIpcMemHandle_t>(handle), flags);
}
CUresult cuIpcOpenMemHandle(CUdeviceptr* address, CUipcMemHandle handle, unsigned flags) {
  return cuIpcOpenMemHandle_v2(address, handle, flags);
}
CUresult cuIpcCloseMemHandle(CUdeviceptr address) {
  return by_runtime(cudaIpcCloseMemHandle, reinterpret_cast<void*>(address));
}
CUresult cuIpcGetEventHandle(CUipcEventHandle* handle, CUevent event) {
  return by_runtime(cudaIpcGetEventHandle, reinterpret_cast<cudaIpcEventHandle_t*>(handle), event);
}
CUresult cuIpcOpenEventHandle(CUevent* event, CUipcEventHandle handle) {
  return by_runtime(cudaIpcOpenEventHandle, event, same_bytes<cudaIpcEventHandle_t>(handle));
}

}  // extern "C"

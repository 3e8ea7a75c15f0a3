#include "captured_work.h"

#include <dlfcn.h>

#include "cudart/library_nodes.h"

namespace warpgrade::libraries {

void* function_of_runtime(const char* name) {
  Dl_info runtime;
  void* library = dladdr(reinterpret_cast<void*>(&cudaGetDeviceCount), &runtime) != 0
                      ? dlopen(runtime.dli_fname, RTLD_LAZY | RTLD_NOLOAD)
                      : nullptr;
  return library != nullptr ? dlsym(library, name) : nullptr;
}

bool is_captured(cudaStream_t stream) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  return cudaStreamIsCapturing(stream, &status) == cudaSuccess && status != cudaStreamCaptureStatusNone;
}

cudaError_t capture(cudaStream_t stream, const std::function<cudaError_t(cudaStream_t)>& work, bool waits) {
  static const auto add =
      reinterpret_cast<decltype(&warpgrade_capture_work)>(function_of_runtime("warpgrade_capture_work"));
  return add != nullptr ? add(stream, work, waits) : cudaErrorNotSupported;
}

}  // namespace warpgrade::libraries

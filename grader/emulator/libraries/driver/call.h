// How the driver's functions are carried out: by the runtime, in the context that is current. Errors are
// those of the driver, and the runtime's last error stays what it was.
#pragma once
#include <cuda.h>
#include <cuda_runtime_api.h>

#include <type_traits>

#include "backend/driver_bridge.h"
#include "cudart/older_toolkits.h"
#include "driver/contexts.h"

namespace warpgrade::driver {

inline emu::DriverBridge& bridge() {
  return warpemu_driver_bridge();
}

// The driver's code for a result of the runtime: most have the same number.
CUresult result_of(cudaError_t error);
inline CUresult result_of(CUresult result) {
  return result;
}

// Names what is unsupported, once, and returns CUDA_ERROR_NOT_SUPPORTED.
CUresult refuse(const char* what, const char* advice);

// While it lives, what the runtime remembers of this thread is put aside.
class KeepsThreadState {
 public:
  KeepsThreadState() : before_(bridge().exchange_thread_state({})) {}
  ~KeepsThreadState() { bridge().exchange_thread_state(before_); }
  KeepsThreadState(const KeepsThreadState&) = delete;
  KeepsThreadState& operator=(const KeepsThreadState&) = delete;

 private:
  cudart::ThreadState before_;
};

// The runtime's current device, for what belongs to another context.
class OnDevice {
 public:
  explicit OnDevice(int device) {
    cudaGetDevice(&before_);
    cudaSetDevice(device);
  }
  ~OnDevice() { cudaSetDevice(before_); }
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;

 private:
  int before_ = 0;
};

// CUDA_ERROR_NOT_INITIALIZED before cuInit.
CUresult require_start();

// For calls that need no context.
template <class Call>
CUresult once_started(Call&& call) {
  if (const CUresult result = require_start(); result != CUDA_SUCCESS) return result;
  const KeepsThreadState keeper;
  return result_of(call());
}

// For calls that act in the current context.
template <class Call>
CUresult in_context(Call&& call) {
  if (const CUresult result = require_start(); result != CUDA_SUCCESS) return result;
  Context* context = nullptr;
  if (const CUresult result = require_context(context); result != CUDA_SUCCESS) return result;
  const KeepsThreadState keeper;
  return result_of(call(*context));
}

// A function of the runtime that does the same.
template <class... Arguments>
CUresult by_runtime(cudaError_t (*function)(Arguments...), std::type_identity_t<Arguments>... arguments) {
  return in_context([&](Context&) { return function(arguments...); });
}

}  // namespace warpgrade::driver

// cudaGetLastError and the names and descriptions of errors.
#include <cuda_runtime_api.h>

#include "runtime/errors.h"

namespace {

struct ErrorText {
  cudaError_t code;
  const char* name;
  const char* text;
};

#define WARPEMU_ERROR(code, text) \
  { code, #code, text }
const ErrorText kErrors[] = {
    WARPEMU_ERROR(cudaSuccess, "no error"),
    WARPEMU_ERROR(cudaErrorInvalidValue, "invalid argument"),
    WARPEMU_ERROR(cudaErrorMemoryAllocation, "out of memory"),
    WARPEMU_ERROR(cudaErrorInitializationError, "initialization error"),
    WARPEMU_ERROR(cudaErrorCudartUnloading, "driver shutting down"),
    WARPEMU_ERROR(cudaErrorInvalidConfiguration, "invalid configuration argument"),
    WARPEMU_ERROR(cudaErrorInvalidPitchValue, "invalid pitch argument"),
    WARPEMU_ERROR(cudaErrorInvalidSymbol, "invalid device symbol"),
    WARPEMU_ERROR(cudaErrorInvalidMemcpyDirection, "invalid copy direction for memcpy"),
    WARPEMU_ERROR(cudaErrorInsufficientDriver,
                  "CUDA driver version is insufficient for CUDA runtime version"),
    WARPEMU_ERROR(cudaErrorMissingConfiguration, "__global__ function call is not configured"),
    WARPEMU_ERROR(cudaErrorInvalidDeviceFunction, "invalid device function"),
    WARPEMU_ERROR(cudaErrorNoDevice, "no CUDA-capable device is detected"),
    WARPEMU_ERROR(cudaErrorInvalidDevice, "invalid device ordinal"),
    WARPEMU_ERROR(cudaErrorInvalidKernelImage, "device kernel image is invalid"),
    WARPEMU_ERROR(cudaErrorDeviceUninitialized, "invalid device context"),
    WARPEMU_ERROR(cudaErrorNoKernelImageForDevice,
                  "no kernel image is available for execution on the device"),
    WARPEMU_ERROR(cudaErrorInvalidPtx, "a PTX JIT compilation failed"),
    WARPEMU_ERROR(cudaErrorInvalidSource, "device kernel image is invalid"),
    WARPEMU_ERROR(cudaErrorInvalidResourceHandle, "invalid resource handle"),
    WARPEMU_ERROR(cudaErrorSymbolNotFound, "named symbol not found"),
    WARPEMU_ERROR(cudaErrorNotReady, "device not ready"),
    WARPEMU_ERROR(cudaErrorIllegalAddress, "an illegal memory access was encountered"),
    WARPEMU_ERROR(cudaErrorLaunchOutOfResources, "too many resources requested for launch"),
    WARPEMU_ERROR(cudaErrorLaunchTimeout, "the launch timed out and was terminated"),
    WARPEMU_ERROR(cudaErrorHostMemoryAlreadyRegistered,
                  "part or all of the requested memory range is already mapped"),
    WARPEMU_ERROR(cudaErrorHostMemoryNotRegistered,
                  "pointer does not correspond to a registered memory region"),
    WARPEMU_ERROR(cudaErrorAssert, "device-side assert triggered"),
    WARPEMU_ERROR(cudaErrorIllegalInstruction, "an illegal instruction was encountered"),
    WARPEMU_ERROR(cudaErrorMisalignedAddress, "misaligned address"),
    WARPEMU_ERROR(cudaErrorLaunchFailure, "unspecified launch failure"),
    WARPEMU_ERROR(cudaErrorCooperativeLaunchTooLarge, "too many blocks in cooperative launch"),
    WARPEMU_ERROR(cudaErrorNotPermitted, "operation not permitted"),
    WARPEMU_ERROR(cudaErrorNotSupported, "operation not supported"),
    WARPEMU_ERROR(cudaErrorStreamCaptureUnsupported, "operation not permitted when stream is capturing"),
    WARPEMU_ERROR(cudaErrorUnknown, "unknown error"),
};
#undef WARPEMU_ERROR

const ErrorText* find(cudaError_t code) {
  for (const ErrorText& e : kErrors) {
    if (e.code == code) return &e;
  }
  return nullptr;
}

}  // namespace

extern "C" {

cudaError_t cudaGetLastError() {
  return warpgrade::emu::take_last_error();
}
cudaError_t cudaPeekAtLastError() {
  return warpgrade::emu::peek_last_error();
}

const char* cudaGetErrorName(cudaError_t error) {
  const ErrorText* e = find(error);
  return e == nullptr ? "unrecognized error code" : e->name;
}

const char* cudaGetErrorString(cudaError_t error) {
  const ErrorText* e = find(error);
  return e == nullptr ? "unrecognized error code" : e->text;
}

}  // extern "C"

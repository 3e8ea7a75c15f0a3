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
    WARPEMU_ERROR(cudaErrorProfilerDisabled, "profiler disabled while using external profiling tool"),
    WARPEMU_ERROR(cudaErrorProfilerNotInitialized, "profiler not initialized: call cudaProfilerInitialize()"),
    WARPEMU_ERROR(cudaErrorProfilerAlreadyStarted, "profiler already started"),
    WARPEMU_ERROR(cudaErrorProfilerAlreadyStopped, "profiler already stopped"),
    WARPEMU_ERROR(cudaErrorInvalidConfiguration, "invalid configuration argument"),
    WARPEMU_ERROR(cudaErrorInvalidPitchValue, "invalid pitch argument"),
    WARPEMU_ERROR(cudaErrorInvalidSymbol, "invalid device symbol"),
    WARPEMU_ERROR(cudaErrorInvalidHostPointer, "invalid host pointer"),
    WARPEMU_ERROR(cudaErrorInvalidDevicePointer, "invalid device pointer"),
    WARPEMU_ERROR(cudaErrorInvalidTexture, "invalid texture reference"),
    WARPEMU_ERROR(cudaErrorInvalidTextureBinding, "texture is not bound to a pointer"),
    WARPEMU_ERROR(cudaErrorInvalidChannelDescriptor, "invalid channel descriptor"),
    WARPEMU_ERROR(cudaErrorInvalidMemcpyDirection, "invalid copy direction for memcpy"),
    WARPEMU_ERROR(cudaErrorAddressOfConstant, "invalid address of constant"),
    WARPEMU_ERROR(cudaErrorTextureFetchFailed, "fetch from texture failed"),
    WARPEMU_ERROR(cudaErrorTextureNotBound, "cannot fetch from a texture that is not bound"),
    WARPEMU_ERROR(cudaErrorSynchronizationError, "incorrect use of __syncthreads()"),
    WARPEMU_ERROR(cudaErrorInvalidFilterSetting, "linear filtering not supported for non-float type"),
    WARPEMU_ERROR(cudaErrorInvalidNormSetting, "read as normalized float not supported for data type"),
    WARPEMU_ERROR(cudaErrorMixedDeviceExecution,
                  "device emulation mode and device execution mode cannot be mixed"),
    WARPEMU_ERROR(cudaErrorNotYetImplemented, "feature not yet implemented"),
    WARPEMU_ERROR(cudaErrorMemoryValueTooLarge, "memory size or pointer value too large to fit in 32 bit"),
    WARPEMU_ERROR(cudaErrorStubLibrary, "CUDA driver is a stub library"),
    WARPEMU_ERROR(cudaErrorInsufficientDriver,
                  "CUDA driver version is insufficient for CUDA runtime version"),
    WARPEMU_ERROR(cudaErrorCallRequiresNewerDriver, "API call is not supported in the installed CUDA driver"),
    WARPEMU_ERROR(cudaErrorInvalidSurface, "invalid surface reference"),
    WARPEMU_ERROR(cudaErrorDuplicateVariableName, "duplicate global variable looked up by string name"),
    WARPEMU_ERROR(cudaErrorDuplicateTextureName, "duplicate texture looked up by string name"),
    WARPEMU_ERROR(cudaErrorDuplicateSurfaceName, "duplicate surface looked up by string name"),
    WARPEMU_ERROR(cudaErrorDevicesUnavailable, "CUDA-capable device(s) is/are busy or unavailable"),
    WARPEMU_ERROR(cudaErrorIncompatibleDriverContext, "incompatible driver context"),
    WARPEMU_ERROR(cudaErrorMissingConfiguration, "__global__ function call is not configured"),
    WARPEMU_ERROR(cudaErrorPriorLaunchFailure, "unspecified launch failure in prior launch"),
    WARPEMU_ERROR(cudaErrorLaunchMaxDepthExceeded, "launch would exceed maximum depth of nested launches"),
    WARPEMU_ERROR(cudaErrorLaunchFileScopedTex,
                  "launch failed because kernel uses unsupported, file-scoped textures (texture objects are "
                  "supported)"),
    WARPEMU_ERROR(cudaErrorLaunchFileScopedSurf,
                  "launch failed because kernel uses unsupported, file-scoped surfaces (surface objects are "
                  "supported)"),
    WARPEMU_ERROR(
        cudaErrorSyncDepthExceeded,
        "cudaDeviceSynchronize failed because caller's grid depth exceeds cudaLimitDevRuntimeSyncDepth"),
    WARPEMU_ERROR(cudaErrorLaunchPendingCountExceeded,
                  "launch failed because launch would exceed cudaLimitDevRuntimePendingLaunchCount"),
    WARPEMU_ERROR(cudaErrorInvalidDeviceFunction, "invalid device function"),
    WARPEMU_ERROR(cudaErrorNoDevice, "no CUDA-capable device is detected"),
    WARPEMU_ERROR(cudaErrorInvalidDevice, "invalid device ordinal"),
    WARPEMU_ERROR(cudaErrorDeviceNotLicensed, "device doesn't have valid Grid license"),
    WARPEMU_ERROR(cudaErrorSoftwareValidityNotEstablished, "integrity checks failed"),
    WARPEMU_ERROR(cudaErrorStartupFailure, "startup failure in cuda runtime"),
    WARPEMU_ERROR(cudaErrorInvalidKernelImage, "device kernel image is invalid"),
    WARPEMU_ERROR(cudaErrorDeviceUninitialized, "invalid device context"),
    WARPEMU_ERROR(cudaErrorMapBufferObjectFailed, "mapping of buffer object failed"),
    WARPEMU_ERROR(cudaErrorUnmapBufferObjectFailed, "unmapping of buffer object failed"),
    WARPEMU_ERROR(cudaErrorArrayIsMapped, "array is mapped"),
    WARPEMU_ERROR(cudaErrorAlreadyMapped, "resource already mapped"),
    WARPEMU_ERROR(cudaErrorNoKernelImageForDevice,
                  "no kernel image is available for execution on the device"),
    WARPEMU_ERROR(cudaErrorAlreadyAcquired, "resource already acquired"),
    WARPEMU_ERROR(cudaErrorNotMapped, "resource not mapped"),
    WARPEMU_ERROR(cudaErrorNotMappedAsArray, "resource not mapped as array"),
    WARPEMU_ERROR(cudaErrorNotMappedAsPointer, "resource not mapped as pointer"),
    WARPEMU_ERROR(cudaErrorECCUncorrectable, "uncorrectable ECC error encountered"),
    WARPEMU_ERROR(cudaErrorUnsupportedLimit, "limit is not supported on this architecture"),
    WARPEMU_ERROR(cudaErrorDeviceAlreadyInUse,
                  "exclusive-thread device already in use by a different thread"),
    WARPEMU_ERROR(cudaErrorPeerAccessUnsupported, "peer access is not supported between these two devices"),
    WARPEMU_ERROR(cudaErrorInvalidPtx, "a PTX JIT compilation failed"),
    WARPEMU_ERROR(cudaErrorInvalidGraphicsContext, "invalid OpenGL or DirectX context"),
    WARPEMU_ERROR(cudaErrorNvlinkUncorrectable, "uncorrectable NVLink error detected during the execution"),
    WARPEMU_ERROR(cudaErrorJitCompilerNotFound, "PTX JIT compiler library not found"),
    WARPEMU_ERROR(cudaErrorUnsupportedPtxVersion,
                  "the provided PTX was compiled with an unsupported toolchain."),
    WARPEMU_ERROR(cudaErrorJitCompilationDisabled, "PTX JIT compilation was disabled"),
    WARPEMU_ERROR(cudaErrorUnsupportedExecAffinity, "the provided execution affinity is not supported"),
    WARPEMU_ERROR(cudaErrorUnsupportedDevSideSync,
                  "the provided PTX contains unsupported call to cudaDeviceSynchronize"),
    WARPEMU_ERROR(cudaErrorContained, "Invalid access of peer GPU memory over nvlink or a hardware error"),
    WARPEMU_ERROR(cudaErrorInvalidSource, "device kernel image is invalid"),
    WARPEMU_ERROR(cudaErrorFileNotFound, "file not found"),
    WARPEMU_ERROR(cudaErrorSharedObjectSymbolNotFound, "shared object symbol not found"),
    WARPEMU_ERROR(cudaErrorSharedObjectInitFailed, "shared object initialization failed"),
    WARPEMU_ERROR(cudaErrorOperatingSystem, "OS call failed or operation not supported on this OS"),
    WARPEMU_ERROR(cudaErrorInvalidResourceHandle, "invalid resource handle"),
    WARPEMU_ERROR(cudaErrorIllegalState, "the operation cannot be performed in the present state"),
    WARPEMU_ERROR(cudaErrorLossyQuery, "attempted introspection would be semantically lossy"),
    WARPEMU_ERROR(cudaErrorSymbolNotFound, "named symbol not found"),
    WARPEMU_ERROR(cudaErrorNotReady, "device not ready"),
    WARPEMU_ERROR(cudaErrorIllegalAddress, "an illegal memory access was encountered"),
    WARPEMU_ERROR(cudaErrorLaunchOutOfResources, "too many resources requested for launch"),
    WARPEMU_ERROR(cudaErrorLaunchTimeout, "the launch timed out and was terminated"),
    WARPEMU_ERROR(cudaErrorLaunchIncompatibleTexturing, "launch uses incompatible texturing mode"),
    WARPEMU_ERROR(cudaErrorPeerAccessAlreadyEnabled, "peer access is already enabled"),
    WARPEMU_ERROR(cudaErrorPeerAccessNotEnabled, "peer access has not been enabled"),
    WARPEMU_ERROR(cudaErrorSetOnActiveProcess, "cannot set while device is active in this process"),
    WARPEMU_ERROR(cudaErrorContextIsDestroyed, "context is destroyed"),
    WARPEMU_ERROR(cudaErrorAssert, "device-side assert triggered"),
    WARPEMU_ERROR(cudaErrorTooManyPeers, "peer mapping resources exhausted"),
    WARPEMU_ERROR(cudaErrorHostMemoryAlreadyRegistered,
                  "part or all of the requested memory range is already mapped"),
    WARPEMU_ERROR(cudaErrorHostMemoryNotRegistered,
                  "pointer does not correspond to a registered memory region"),
    WARPEMU_ERROR(cudaErrorHardwareStackError, "hardware stack error"),
    WARPEMU_ERROR(cudaErrorIllegalInstruction, "an illegal instruction was encountered"),
    WARPEMU_ERROR(cudaErrorMisalignedAddress, "misaligned address"),
    WARPEMU_ERROR(cudaErrorInvalidAddressSpace, "operation not supported on global/shared address space"),
    WARPEMU_ERROR(cudaErrorInvalidPc, "invalid program counter"),
    WARPEMU_ERROR(cudaErrorLaunchFailure, "unspecified launch failure"),
    WARPEMU_ERROR(cudaErrorCooperativeLaunchTooLarge, "too many blocks in cooperative launch"),
#if CUDART_VERSION >= 13000
    WARPEMU_ERROR(cudaErrorTensorMemoryLeak, "tensor memory not completely freed"),
#endif
    WARPEMU_ERROR(cudaErrorNotPermitted, "operation not permitted"),
    WARPEMU_ERROR(cudaErrorNotSupported, "operation not supported"),
    WARPEMU_ERROR(cudaErrorSystemNotReady, "system not yet initialized"),
    WARPEMU_ERROR(cudaErrorSystemDriverMismatch,
                  "system has unsupported display driver / cuda driver combination"),
    WARPEMU_ERROR(cudaErrorCompatNotSupportedOnDevice,
                  "forward compatibility was attempted on non supported HW"),
    WARPEMU_ERROR(cudaErrorMpsConnectionFailed,
                  "MPS client failed to connect to the MPS control daemon or the MPS server"),
    WARPEMU_ERROR(cudaErrorMpsRpcFailure,
                  "the remote procedural call between the MPS server and the MPS client failed"),
    WARPEMU_ERROR(cudaErrorMpsServerNotReady, "MPS server is not ready to accept new MPS client requests"),
    WARPEMU_ERROR(cudaErrorMpsMaxClientsReached,
                  "the hardware resources required to create MPS client have been exhausted"),
    WARPEMU_ERROR(cudaErrorMpsMaxConnectionsReached,
                  "the hardware resources required to support device connections have been exhausted"),
    WARPEMU_ERROR(cudaErrorMpsClientTerminated, "the MPS client has been terminated by the server"),
    WARPEMU_ERROR(
        cudaErrorCdpNotSupported,
        "is using CUDA Dynamic Parallelism, but the current configuration, like MPS, does not support it"),
    WARPEMU_ERROR(cudaErrorCdpVersionMismatch,
                  "unsupported interaction between different versions of CUDA Dynamic Parallelism"),
    WARPEMU_ERROR(cudaErrorStreamCaptureUnsupported, "operation not permitted when stream is capturing"),
    WARPEMU_ERROR(cudaErrorStreamCaptureInvalidated,
                  "operation failed due to a previous error during capture"),
    WARPEMU_ERROR(cudaErrorStreamCaptureMerge,
                  "operation would result in a merge of separate capture sequences"),
    WARPEMU_ERROR(cudaErrorStreamCaptureUnmatched, "capture was not ended in the same stream as it began"),
    WARPEMU_ERROR(cudaErrorStreamCaptureUnjoined, "capturing stream has unjoined work"),
    WARPEMU_ERROR(cudaErrorStreamCaptureIsolation, "dependency created on uncaptured work in another stream"),
    WARPEMU_ERROR(cudaErrorStreamCaptureImplicit,
                  "operation would make the legacy stream depend on a capturing blocking stream"),
    WARPEMU_ERROR(cudaErrorCapturedEvent,
                  "operation not permitted on an event last recorded in a capturing stream"),
    WARPEMU_ERROR(cudaErrorStreamCaptureWrongThread,
                  "attempt to terminate a thread-local capture sequence from another thread"),
    WARPEMU_ERROR(cudaErrorTimeout, "wait operation timed out"),
    WARPEMU_ERROR(cudaErrorGraphExecUpdateFailure,
                  "the graph update was not performed because it included changes which violated constraints "
                  "specific to instantiated graph update"),
    WARPEMU_ERROR(cudaErrorExternalDevice, "an async error has occured in external entity outside of CUDA"),
    WARPEMU_ERROR(cudaErrorInvalidClusterSize,
                  "a kernel launch error has occurred due to cluster misconfiguration"),
    WARPEMU_ERROR(cudaErrorFunctionNotLoaded,
                  "the function handle is not loaded when calling an API that requires a loaded function"),
    WARPEMU_ERROR(cudaErrorInvalidResourceType,
                  "one or more resources passed in are not valid resource types for the operation"),
    WARPEMU_ERROR(cudaErrorInvalidResourceConfiguration,
                  "one or more resources are insufficient or non-applicable for the operation"),
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

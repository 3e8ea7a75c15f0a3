// The names and descriptions of the runtime's errors.
#include <cuda_runtime_api.h>

#include "cudart/errors.h"
#include "cudart/older_toolkits.h"

namespace warpgrade::cudart {
namespace {

struct ErrorText {
  cudaError_t code;
  const char* name;
  const char* text;
};

#define CUDART_ERROR(code, text) \
  { code, #code, text }
// Of toolkits newer than 12.4: by number, so that older ones compile it.
#define CUDART_NEWER_ERROR(number, name, text) \
  { static_cast<cudaError_t>(number), name, text }
const ErrorText kErrors[] = {
    CUDART_ERROR(cudaSuccess, "no error"),
    CUDART_ERROR(cudaErrorInvalidValue, "invalid argument"),
    CUDART_ERROR(cudaErrorMemoryAllocation, "out of memory"),
    CUDART_ERROR(cudaErrorInitializationError, "initialization error"),
    CUDART_ERROR(cudaErrorCudartUnloading, "driver shutting down"),
    CUDART_ERROR(cudaErrorProfilerDisabled, "profiler disabled while using external profiling tool"),
    CUDART_ERROR(cudaErrorProfilerNotInitialized, "profiler not initialized: call cudaProfilerInitialize()"),
    CUDART_ERROR(cudaErrorProfilerAlreadyStarted, "profiler already started"),
    CUDART_ERROR(cudaErrorProfilerAlreadyStopped, "profiler already stopped"),
    CUDART_ERROR(cudaErrorInvalidConfiguration, "invalid configuration argument"),
    CUDART_ERROR(cudaErrorInvalidPitchValue, "invalid pitch argument"),
    CUDART_ERROR(cudaErrorInvalidSymbol, "invalid device symbol"),
    CUDART_ERROR(cudaErrorInvalidHostPointer, "invalid host pointer"),
    CUDART_ERROR(cudaErrorInvalidDevicePointer, "invalid device pointer"),
    CUDART_ERROR(cudaErrorInvalidTexture, "invalid texture reference"),
    CUDART_ERROR(cudaErrorInvalidTextureBinding, "texture is not bound to a pointer"),
    CUDART_ERROR(cudaErrorInvalidChannelDescriptor, "invalid channel descriptor"),
    CUDART_ERROR(cudaErrorInvalidMemcpyDirection, "invalid copy direction for memcpy"),
    CUDART_ERROR(cudaErrorAddressOfConstant, "invalid address of constant"),
    CUDART_ERROR(cudaErrorTextureFetchFailed, "fetch from texture failed"),
    CUDART_ERROR(cudaErrorTextureNotBound, "cannot fetch from a texture that is not bound"),
    CUDART_ERROR(cudaErrorSynchronizationError, "incorrect use of __syncthreads()"),
    CUDART_ERROR(cudaErrorInvalidFilterSetting, "linear filtering not supported for non-float type"),
    CUDART_ERROR(cudaErrorInvalidNormSetting, "read as normalized float not supported for data type"),
    CUDART_ERROR(cudaErrorMixedDeviceExecution,
                 "device emulation mode and device execution mode cannot be mixed"),
    CUDART_ERROR(cudaErrorNotYetImplemented, "feature not yet implemented"),
    CUDART_ERROR(cudaErrorMemoryValueTooLarge, "memory size or pointer value too large to fit in 32 bit"),
    CUDART_ERROR(cudaErrorStubLibrary, "CUDA driver is a stub library"),
    CUDART_ERROR(cudaErrorInsufficientDriver, "CUDA driver version is insufficient for CUDA runtime version"),
    CUDART_ERROR(cudaErrorCallRequiresNewerDriver, "API call is not supported in the installed CUDA driver"),
    CUDART_ERROR(cudaErrorInvalidSurface, "invalid surface reference"),
    CUDART_ERROR(cudaErrorDuplicateVariableName, "duplicate global variable looked up by string name"),
    CUDART_ERROR(cudaErrorDuplicateTextureName, "duplicate texture looked up by string name"),
    CUDART_ERROR(cudaErrorDuplicateSurfaceName, "duplicate surface looked up by string name"),
    CUDART_ERROR(cudaErrorDevicesUnavailable, "CUDA-capable device(s) is/are busy or unavailable"),
    CUDART_ERROR(cudaErrorIncompatibleDriverContext, "incompatible driver context"),
    CUDART_ERROR(cudaErrorMissingConfiguration, "__global__ function call is not configured"),
    CUDART_ERROR(cudaErrorPriorLaunchFailure, "unspecified launch failure in prior launch"),
    CUDART_ERROR(cudaErrorLaunchMaxDepthExceeded, "launch would exceed maximum depth of nested launches"),
    CUDART_ERROR(cudaErrorLaunchFileScopedTex,
                 "launch failed because kernel uses unsupported, file-scoped textures (texture objects are "
                 "supported)"),
    CUDART_ERROR(cudaErrorLaunchFileScopedSurf,
                 "launch failed because kernel uses unsupported, file-scoped surfaces (surface objects are "
                 "supported)"),
    CUDART_ERROR(
        cudaErrorSyncDepthExceeded,
        "cudaDeviceSynchronize failed because caller's grid depth exceeds cudaLimitDevRuntimeSyncDepth"),
    CUDART_ERROR(cudaErrorLaunchPendingCountExceeded,
                 "launch failed because launch would exceed cudaLimitDevRuntimePendingLaunchCount"),
    CUDART_ERROR(cudaErrorInvalidDeviceFunction, "invalid device function"),
    CUDART_ERROR(cudaErrorNoDevice, "no CUDA-capable device is detected"),
    CUDART_ERROR(cudaErrorInvalidDevice, "invalid device ordinal"),
    CUDART_ERROR(cudaErrorDeviceNotLicensed, "device doesn't have valid Grid license"),
    CUDART_ERROR(cudaErrorSoftwareValidityNotEstablished, "integrity checks failed"),
    CUDART_ERROR(cudaErrorStartupFailure, "startup failure in cuda runtime"),
    CUDART_ERROR(cudaErrorInvalidKernelImage, "device kernel image is invalid"),
    CUDART_ERROR(cudaErrorDeviceUninitialized, "invalid device context"),
    CUDART_ERROR(cudaErrorMapBufferObjectFailed, "mapping of buffer object failed"),
    CUDART_ERROR(cudaErrorUnmapBufferObjectFailed, "unmapping of buffer object failed"),
    CUDART_ERROR(cudaErrorArrayIsMapped, "array is mapped"),
    CUDART_ERROR(cudaErrorAlreadyMapped, "resource already mapped"),
    CUDART_ERROR(cudaErrorNoKernelImageForDevice, "no kernel image is available for execution on the device"),
    CUDART_ERROR(cudaErrorAlreadyAcquired, "resource already acquired"),
    CUDART_ERROR(cudaErrorNotMapped, "resource not mapped"),
    CUDART_ERROR(cudaErrorNotMappedAsArray, "resource not mapped as array"),
    CUDART_ERROR(cudaErrorNotMappedAsPointer, "resource not mapped as pointer"),
    CUDART_ERROR(cudaErrorECCUncorrectable, "uncorrectable ECC error encountered"),
    CUDART_ERROR(cudaErrorUnsupportedLimit, "limit is not supported on this architecture"),
    CUDART_ERROR(cudaErrorDeviceAlreadyInUse, "exclusive-thread device already in use by a different thread"),
    CUDART_ERROR(cudaErrorPeerAccessUnsupported, "peer access is not supported between these two devices"),
    CUDART_ERROR(cudaErrorInvalidPtx, "a PTX JIT compilation failed"),
    CUDART_ERROR(cudaErrorInvalidGraphicsContext, "invalid OpenGL or DirectX context"),
    CUDART_ERROR(cudaErrorNvlinkUncorrectable, "uncorrectable NVLink error detected during the execution"),
    CUDART_ERROR(cudaErrorJitCompilerNotFound, "PTX JIT compiler library not found"),
    CUDART_ERROR(cudaErrorUnsupportedPtxVersion,
                 "the provided PTX was compiled with an unsupported toolchain."),
    CUDART_ERROR(cudaErrorJitCompilationDisabled, "PTX JIT compilation was disabled"),
    CUDART_ERROR(cudaErrorUnsupportedExecAffinity, "the provided execution affinity is not supported"),
    CUDART_ERROR(cudaErrorUnsupportedDevSideSync,
                 "the provided PTX contains unsupported call to cudaDeviceSynchronize"),
    CUDART_NEWER_ERROR(226, "cudaErrorContained",
                       "Invalid access of peer GPU memory over nvlink or a hardware error"),
    CUDART_ERROR(cudaErrorInvalidSource, "device kernel image is invalid"),
    CUDART_ERROR(cudaErrorFileNotFound, "file not found"),
    CUDART_ERROR(cudaErrorSharedObjectSymbolNotFound, "shared object symbol not found"),
    CUDART_ERROR(cudaErrorSharedObjectInitFailed, "shared object initialization failed"),
    CUDART_ERROR(cudaErrorOperatingSystem, "OS call failed or operation not supported on this OS"),
    CUDART_ERROR(cudaErrorInvalidResourceHandle, "invalid resource handle"),
    CUDART_ERROR(cudaErrorIllegalState, "the operation cannot be performed in the present state"),
    CUDART_ERROR(cudaErrorLossyQuery, "attempted introspection would be semantically lossy"),
    CUDART_ERROR(cudaErrorSymbolNotFound, "named symbol not found"),
    CUDART_ERROR(cudaErrorNotReady, "device not ready"),
    CUDART_ERROR(cudaErrorIllegalAddress, "an illegal memory access was encountered"),
    CUDART_ERROR(cudaErrorLaunchOutOfResources, "too many resources requested for launch"),
    CUDART_ERROR(cudaErrorLaunchTimeout, "the launch timed out and was terminated"),
    CUDART_ERROR(cudaErrorLaunchIncompatibleTexturing, "launch uses incompatible texturing mode"),
    CUDART_ERROR(cudaErrorPeerAccessAlreadyEnabled, "peer access is already enabled"),
    CUDART_ERROR(cudaErrorPeerAccessNotEnabled, "peer access has not been enabled"),
    CUDART_ERROR(cudaErrorSetOnActiveProcess, "cannot set while device is active in this process"),
    CUDART_ERROR(cudaErrorContextIsDestroyed, "context is destroyed"),
    CUDART_ERROR(cudaErrorAssert, "device-side assert triggered"),
    CUDART_ERROR(cudaErrorTooManyPeers, "peer mapping resources exhausted"),
    CUDART_ERROR(cudaErrorHostMemoryAlreadyRegistered,
                 "part or all of the requested memory range is already mapped"),
    CUDART_ERROR(cudaErrorHostMemoryNotRegistered,
                 "pointer does not correspond to a registered memory region"),
    CUDART_ERROR(cudaErrorHardwareStackError, "hardware stack error"),
    CUDART_ERROR(cudaErrorIllegalInstruction, "an illegal instruction was encountered"),
    CUDART_ERROR(cudaErrorMisalignedAddress, "misaligned address"),
    CUDART_ERROR(cudaErrorInvalidAddressSpace, "operation not supported on global/shared address space"),
    CUDART_ERROR(cudaErrorInvalidPc, "invalid program counter"),
    CUDART_ERROR(cudaErrorLaunchFailure, "unspecified launch failure"),
    CUDART_ERROR(cudaErrorCooperativeLaunchTooLarge, "too many blocks in cooperative launch"),
#if CUDART_VERSION >= 13000
    CUDART_ERROR(cudaErrorTensorMemoryLeak, "tensor memory not completely freed"),
#endif
    CUDART_ERROR(cudaErrorNotPermitted, "operation not permitted"),
    CUDART_ERROR(cudaErrorNotSupported, "operation not supported"),
    CUDART_ERROR(cudaErrorSystemNotReady, "system not yet initialized"),
    CUDART_ERROR(cudaErrorSystemDriverMismatch,
                 "system has unsupported display driver / cuda driver combination"),
    CUDART_ERROR(cudaErrorCompatNotSupportedOnDevice,
                 "forward compatibility was attempted on non supported HW"),
    CUDART_ERROR(cudaErrorMpsConnectionFailed,
                 "MPS client failed to connect to the MPS control daemon or the MPS server"),
    CUDART_ERROR(cudaErrorMpsRpcFailure,
                 "the remote procedural call between the MPS server and the MPS client failed"),
    CUDART_ERROR(cudaErrorMpsServerNotReady, "MPS server is not ready to accept new MPS client requests"),
    CUDART_ERROR(cudaErrorMpsMaxClientsReached,
                 "the hardware resources required to create MPS client have been exhausted"),
    CUDART_ERROR(cudaErrorMpsMaxConnectionsReached,
                 "the hardware resources required to support device connections have been exhausted"),
    CUDART_ERROR(cudaErrorMpsClientTerminated, "the MPS client has been terminated by the server"),
    CUDART_ERROR(
        cudaErrorCdpNotSupported,
        "is using CUDA Dynamic Parallelism, but the current configuration, like MPS, does not support it"),
    CUDART_ERROR(cudaErrorCdpVersionMismatch,
                 "unsupported interaction between different versions of CUDA Dynamic Parallelism"),
    CUDART_ERROR(cudaErrorStreamCaptureUnsupported, "operation not permitted when stream is capturing"),
    CUDART_ERROR(cudaErrorStreamCaptureInvalidated,
                 "operation failed due to a previous error during capture"),
    CUDART_ERROR(cudaErrorStreamCaptureMerge,
                 "operation would result in a merge of separate capture sequences"),
    CUDART_ERROR(cudaErrorStreamCaptureUnmatched, "capture was not ended in the same stream as it began"),
    CUDART_ERROR(cudaErrorStreamCaptureUnjoined, "capturing stream has unjoined work"),
    CUDART_ERROR(cudaErrorStreamCaptureIsolation, "dependency created on uncaptured work in another stream"),
    CUDART_ERROR(cudaErrorStreamCaptureImplicit,
                 "operation would make the legacy stream depend on a capturing blocking stream"),
    CUDART_ERROR(cudaErrorCapturedEvent,
                 "operation not permitted on an event last recorded in a capturing stream"),
    CUDART_ERROR(cudaErrorStreamCaptureWrongThread,
                 "attempt to terminate a thread-local capture sequence from another thread"),
    CUDART_ERROR(cudaErrorTimeout, "wait operation timed out"),
    CUDART_ERROR(cudaErrorGraphExecUpdateFailure,
                 "the graph update was not performed because it included changes which violated constraints "
                 "specific to instantiated graph update"),
    CUDART_ERROR(cudaErrorExternalDevice, "an async error has occured in external entity outside of CUDA"),
    CUDART_ERROR(cudaErrorInvalidClusterSize,
                 "a kernel launch error has occurred due to cluster misconfiguration"),
    CUDART_NEWER_ERROR(
        913, "cudaErrorFunctionNotLoaded",
        "the function handle is not loaded when calling an API that requires a loaded function"),
    CUDART_NEWER_ERROR(914, "cudaErrorInvalidResourceType",
                       "one or more resources passed in are not valid resource types for the operation"),
    CUDART_NEWER_ERROR(915, "cudaErrorInvalidResourceConfiguration",
                       "one or more resources are insufficient or non-applicable for the operation"),
    CUDART_ERROR(cudaErrorUnknown, "unknown error"),
};
#undef CUDART_NEWER_ERROR
#undef CUDART_ERROR

const ErrorText* find(cudaError_t code) {
  for (const ErrorText& e : kErrors) {
    if (e.code == code) return &e;
  }
  return nullptr;
}

}  // namespace

const char* error_name(cudaError_t error) {
  const ErrorText* e = find(error);
  return e == nullptr ? "unrecognized error code" : e->name;
}

const char* error_text(cudaError_t error) {
  const ErrorText* e = find(error);
  return e == nullptr ? "unrecognized error code" : e->text;
}

}  // namespace warpgrade::cudart

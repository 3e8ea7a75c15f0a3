// NVIDIA's driver, loaded when it is asked for: programs that link this start on machines without one.
#pragma once
#include <cuda.h>

#include <string>

#include "cudart/older_toolkits.h"

namespace warpgrade::executor {

// clang-format off
#define WARPGRADE_DRIVER_CALLS(X) \
  X(cuInit) X(cuDriverGetVersion) X(cuDeviceGet) X(cuDeviceGetName) X(cuDeviceGetUuid) \
  X(cuDeviceTotalMem) X(cuDeviceGetAttribute) X(cuDevicePrimaryCtxRetain) X(cuCtxSetCurrent) \
  X(cuCtxSynchronize) X(cuCtxGetDevice) X(cuCtxGetStreamPriorityRange) X(cuCtxGetLimit) X(cuCtxSetLimit) \
  X(cuCtxGetCurrent) X(cuCtxResetPersistingL2Cache) X(cuGetErrorName) X(cuLibraryLoadData) X(cuLibraryGetKernel) \
  X(cuLibraryGetGlobal) X(cuKernelGetFunction) X(cuFuncLoad) X(cuModuleLoadData) X(cuModuleGetFunction) \
  X(cuFuncGetAttribute) X(cuFuncSetAttribute) X(cuFuncGetParamInfo) X(cuLaunchKernelEx) \
  X(cuLaunchKernel) X(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags) \
  X(cuOccupancyAvailableDynamicSMemPerBlock) X(cuOccupancyMaxActiveClusters) \
  X(cuOccupancyMaxPotentialClusterSize) X(cuMemAlloc) X(cuMemFree) X(cuMemAllocAsync) \
  X(cuMemFreeAsync) X(cuMemHostRegister) X(cuMemHostUnregister) X(cuMemHostAlloc) \
  X(cuMemHostGetDevicePointer) X(cuMemGetInfo) X(cuMemcpyAsync) X(cuMemsetD8Async) X(cuMemsetD16Async) \
  X(cuMemsetD32Async) X(cuMemsetD2D8Async) X(cuMemsetD2D16Async) X(cuMemsetD2D32Async) \
  X(cuPointerGetAttribute) X(cuStreamCreateWithPriority) X(cuStreamDestroy) X(cuStreamQuery) \
  X(cuStreamSynchronize) X(cuStreamWaitEvent) X(cuEventCreate) X(cuEventDestroy) X(cuEventRecord) \
  X(cuEventQuery) X(cuEventElapsedTime) X(cuLibraryUnload) X(cuLibraryGetManaged) X(cuDeviceGetDefaultMemPool) \
  X(cuMemPoolGetAttribute) X(cuMemPoolSetAttribute) X(cuMemPoolTrimTo) X(cuMemcpy3DAsync) X(cuStreamSetAttribute) \
  X(cuGraphCreate) X(cuGraphDestroy) X(cuGraphAddKernelNode) X(cuGraphAddMemcpyNode) X(cuGraphAddMemsetNode) \
  X(cuGraphAddEmptyNode) X(cuGraphAddDependencies_v2) X(cuGraphKernelNodeSetAttribute) X(cuGraphInstantiate) \
  X(cuGraphExecUpdate) X(cuGraphExecDestroy) X(cuGraphUpload) X(cuGraphLaunch) \
  X(cuMemImportFromShareableHandle) X(cuMemAddressReserve) X(cuMemAddressFree) X(cuMemMap) X(cuMemUnmap) \
  X(cuMemSetAccess) X(cuMemRelease) X(cuArray3DCreate) X(cuArrayDestroy) X(cuMemcpy3D) X(cuTexObjectCreate) \
  X(cuTexObjectDestroy) X(cuSurfObjectCreate) X(cuSurfObjectDestroy)
// clang-format on

struct DriverApi {
#define X(name) decltype(&::name) name##_ = nullptr;
  WARPGRADE_DRIVER_CALLS(X)
#undef X
  // An event that all work of a context is before. Since CUDA 12.5; nullptr where the driver is older.
  CUresult (*cuCtxRecordEvent_)(CUcontext, CUevent) = nullptr;
};

// All of them. Throws std::runtime_error, which says what is missing.
const DriverApi& driver_api();

// "CUDA_ERROR_OUT_OF_MEMORY".
std::string name_of(CUresult result);

// Throws std::runtime_error with `what` and the result's name, unless the call succeeded.
void require(CUresult result, const char* what);

}  // namespace warpgrade::executor

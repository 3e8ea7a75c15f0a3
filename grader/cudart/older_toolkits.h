// Names that came with CUDA 12.1 to 12.4, with the values that they have there, for the headers of
// older toolkits. A program that was built with such a toolkit never uses them; the sources need no
// version of their own.
#pragma once
#include <cuda.h>
#include <cuda_runtime_api.h>

#if CUDART_VERSION < 12010
inline constexpr auto cudaErrorUnsupportedDevSideSync = static_cast<cudaError_t>(225);
using cudaKernel_t = CUkernel;
#endif

#if CUDART_VERSION < 12030
inline constexpr auto cudaErrorLossyQuery = static_cast<cudaError_t>(402);
inline constexpr auto cudaGraphNodeTypeConditional = static_cast<cudaGraphNodeType>(13);
inline constexpr auto cudaLaunchAttributeLaunchCompletionEvent = static_cast<cudaLaunchAttributeID>(12);
extern "C" cudaError_t cudaFuncGetName(const char** name, const void* function);

struct CUgraphEdgeData {
  unsigned char from_port, to_port, type, reserved[5];
};
using cudaGraphEdgeData = CUgraphEdgeData;
inline constexpr unsigned char CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC = 1,
                               CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC = 1;
extern "C" CUresult cuGraphAddDependencies_v2(CUgraph graph, const CUgraphNode* from, const CUgraphNode* to,
                                              const CUgraphEdgeData* edges, size_t count);
#endif

#if CUDART_VERSION < 12040
inline constexpr auto cudaLaunchAttributeDeviceUpdatableKernelNode = static_cast<cudaLaunchAttributeID>(13);
enum CUfunctionLoadingState { CU_FUNCTION_LOADING_STATE_UNLOADED, CU_FUNCTION_LOADING_STATE_LOADED };
extern "C" CUresult cuFuncLoad(CUfunction function);
extern "C" CUresult cuFuncGetParamInfo(CUfunction function, size_t index, size_t* offset, size_t* bytes);
#endif

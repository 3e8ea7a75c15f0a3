// Checks of CUDA calls under the names that courses gave them. A failed call prints its place and CUDA's
// words and ends the process: in a graded run that is the verdict `runtime_error`, with this line as the
// evidence. A submission's own macro of one of these names stands: each is defined only where the name
// is free.
#pragma once

#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>

inline void legacy_check_cuda(cudaError_t status, const char* call, const char* file, int line) {
  if (status == cudaSuccess) return;
  std::fprintf(stderr, "%s:%d: %s returned %s: %s\n", file, line, call, cudaGetErrorName(status),
               cudaGetErrorString(status));
  std::exit(EXIT_FAILURE);
}

#ifndef CHK_CUDA_ERR
#define CHK_CUDA_ERR(call) legacy_check_cuda((call), #call, __FILE__, __LINE__)
#endif
#ifndef checkCudaErrors
#define checkCudaErrors(call) legacy_check_cuda((call), #call, __FILE__, __LINE__)
#endif
#ifndef CHECK
#define CHECK(call) legacy_check_cuda((call), #call, __FILE__, __LINE__)
#endif
#ifndef CHECK_CUDA
#define CHECK_CUDA(call) legacy_check_cuda((call), #call, __FILE__, __LINE__)
#endif
#ifndef CUDA_CHECK
#define CUDA_CHECK(call) legacy_check_cuda((call), #call, __FILE__, __LINE__)
#endif
#ifndef CUDA_CALL
#define CUDA_CALL(call) legacy_check_cuda((call), #call, __FILE__, __LINE__)
#endif
#ifndef GPU_CHECK
#define GPU_CHECK(call) legacy_check_cuda((call), #call, __FILE__, __LINE__)
#endif
#ifndef gpuErrchk
#define gpuErrchk(call) legacy_check_cuda((call), #call, __FILE__, __LINE__)
#endif
#ifndef HANDLE_ERROR
#define HANDLE_ERROR(call) legacy_check_cuda((call), #call, __FILE__, __LINE__)
#endif
// The error that the last launch left.
#ifndef getLastCudaError
#define getLastCudaError(message) legacy_check_cuda(cudaGetLastError(), message, __FILE__, __LINE__)
#endif

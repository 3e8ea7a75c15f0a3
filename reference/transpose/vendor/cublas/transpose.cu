// Transpose by cuBLAS: out = 1·in^T + 0 (cublasSgeam, column-major: a row-major matrix is its own transpose).
#include <cublas_v2.h>

#include "warpgrade/transpose.h"

cudaError_t transpose_run(const float* in, int rows, int cols, float* out, cudaStream_t stream) {
  static cublasHandle_t handle = nullptr;
  if (handle == nullptr && cublasCreate(&handle) != CUBLAS_STATUS_SUCCESS) return cudaErrorUnknown;
  cublasSetStream(handle, stream);
  const float one = 1, zero = 0;
  const cublasStatus_t status =
      cublasSgeam(handle, CUBLAS_OP_T, CUBLAS_OP_N, rows, cols, &one, in, cols, &zero, out, rows, out, rows);
  return status == CUBLAS_STATUS_SUCCESS ? cudaGetLastError() : cudaErrorUnknown;
}

// Matmul by cuBLAS's cublasSgemm, in fp32 without TF32: the baseline. Row-major: C^T = B^T * A^T.
#include <cublas_v2.h>

#include "warpgrade/matmul.h"

cudaError_t matmul_run(const float* a, const float* b, int m, int n, int k, float* c, cudaStream_t stream) {
  static cublasHandle_t handle = nullptr;
  if (handle == nullptr) {
    if (cublasCreate(&handle) != CUBLAS_STATUS_SUCCESS) return cudaErrorUnknown;
    cublasSetMathMode(handle, CUBLAS_PEDANTIC_MATH);
  }
  cublasSetStream(handle, stream);
  const float one = 1, zero = 0;
  const cublasStatus_t status =
      cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, n, m, k, &one, b, n, a, k, &zero, c, n);
  return status == CUBLAS_STATUS_SUCCESS ? cudaGetLastError() : cudaErrorUnknown;
}

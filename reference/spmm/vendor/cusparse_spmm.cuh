// What both cuSPARSE baselines share: descriptors, work space, one multiplication, its preprocessing.
//
// Shapes  A [m, n] CSR (or COO for COO_ALG4), B [n, k], C [m, k] row-major, fp32, 32-bit indices.
// Everything but cusparseSpMM itself happens in spmm_plan; spmm_run only sets two pointers. Descriptors
// are made with A's own pointers as placeholders for B and C: cuSPARSE refuses null, and no call reads
// them before cusparseDnMatSetValues.
#pragma once

#include <cuda_runtime.h>
#include <cusparse.h>

#include <cstdint>
#include <cstdio>

#include "warpgrade/spmm.h"

namespace warpgrade_vendor {

inline cudaError_t from_cusparse(cusparseStatus_t status, const char* what) {
  if (status == CUSPARSE_STATUS_SUCCESS) return cudaSuccess;
  if (status == CUSPARSE_STATUS_NOT_SUPPORTED) return cudaErrorNotSupported;
  if (status == CUSPARSE_STATUS_ALLOC_FAILED || status == CUSPARSE_STATUS_INSUFFICIENT_RESOURCES) {
    return cudaErrorMemoryAllocation;
  }
  std::fprintf(stderr, "cuSPARSE baseline: %s failed: %s\n", what, cusparseGetErrorString(status));
  return cudaErrorUnknown;
}

#define WARPGRADE_TRY(call)                     \
  do {                                          \
    const cudaError_t status_ = (call);         \
    if (status_ != cudaSuccess) return status_; \
  } while (0)
#define WARPGRADE_TRY_CUSPARSE(call) WARPGRADE_TRY(::warpgrade_vendor::from_cusparse((call), #call))

// One algorithm, ready to run on one matrix. Owns its work space; borrows the handle.
class Multiplication {
 public:
  Multiplication() = default;
  Multiplication(const Multiplication&) = delete;
  Multiplication& operator=(const Multiplication&) = delete;
  ~Multiplication() { release(); }

  cudaError_t prepare(cusparseHandle_t handle, const CsrMatrix& a, int k, cusparseSpMMAlg_t algorithm,
                      cudaStream_t stream) {
    release();
    algorithm_ = algorithm;
    WARPGRADE_TRY(describe(handle, a, k, algorithm));
    std::size_t bytes = 0;
    WARPGRADE_TRY_CUSPARSE(cusparseSpMM_bufferSize(handle, kPlain, kPlain, &kOne, a_, b_, &kZero, c_,
                                                   CUDA_R_32F, algorithm_, &bytes));
    WARPGRADE_TRY(cudaMalloc(&work_space_, bytes > 0 ? bytes : 16));
    WARPGRADE_TRY_CUSPARSE(cusparseSpMM_preprocess(handle, kPlain, kPlain, &kOne, a_, b_, &kZero, c_,
                                                   CUDA_R_32F, algorithm_, work_space_));
    return cudaStreamSynchronize(stream);
  }

  cudaError_t run(cusparseHandle_t handle, const float* b, float* c) const {
    WARPGRADE_TRY_CUSPARSE(cusparseDnMatSetValues(b_, const_cast<float*>(b)));
    WARPGRADE_TRY_CUSPARSE(cusparseDnMatSetValues(c_, c));
    WARPGRADE_TRY_CUSPARSE(
        cusparseSpMM(handle, kPlain, kPlain, &kOne, a_, b_, &kZero, c_, CUDA_R_32F, algorithm_, work_space_));
    return cudaSuccess;
  }

 private:
  static constexpr cusparseOperation_t kPlain = CUSPARSE_OPERATION_NON_TRANSPOSE;
  static constexpr float kOne = 1.0f, kZero = 0.0f;

  cudaError_t describe(cusparseHandle_t handle, const CsrMatrix& a, int k, cusparseSpMMAlg_t algorithm) {
    auto* offsets = const_cast<int*>(a.row_offsets);
    auto* columns = const_cast<int*>(a.columns);
    auto* values = const_cast<float*>(a.values);
    if (algorithm == CUSPARSE_SPMM_COO_ALG4) {
      WARPGRADE_TRY(cudaMalloc(&row_indices_, static_cast<std::size_t>(a.nnz) * sizeof(int)));
      WARPGRADE_TRY_CUSPARSE(
          cusparseXcsr2coo(handle, offsets, a.nnz, a.rows, row_indices_, CUSPARSE_INDEX_BASE_ZERO));
      WARPGRADE_TRY_CUSPARSE(cusparseCreateCoo(&a_, a.rows, a.cols, a.nnz, row_indices_, columns, values,
                                               CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, CUDA_R_32F));
    } else {
      WARPGRADE_TRY_CUSPARSE(cusparseCreateCsr(&a_, a.rows, a.cols, a.nnz, offsets, columns, values,
                                               CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I,
                                               CUSPARSE_INDEX_BASE_ZERO, CUDA_R_32F));
    }
    WARPGRADE_TRY_CUSPARSE(cusparseCreateDnMat(&b_, a.cols, k, k, values, CUDA_R_32F, CUSPARSE_ORDER_ROW));
    WARPGRADE_TRY_CUSPARSE(cusparseCreateDnMat(&c_, a.rows, k, k, values, CUDA_R_32F, CUSPARSE_ORDER_ROW));
    return cudaSuccess;
  }

  void release() {
    if (a_ != nullptr) cusparseDestroySpMat(a_);
    if (b_ != nullptr) cusparseDestroyDnMat(b_);
    if (c_ != nullptr) cusparseDestroyDnMat(c_);
    cudaFree(work_space_);
    cudaFree(row_indices_);
    a_ = nullptr;
    b_ = c_ = nullptr;
    work_space_ = nullptr;
    row_indices_ = nullptr;
  }

  cusparseSpMMAlg_t algorithm_ = CUSPARSE_SPMM_ALG_DEFAULT;
  cusparseSpMatDescr_t a_ = nullptr;
  cusparseDnMatDescr_t b_ = nullptr, c_ = nullptr;
  void* work_space_ = nullptr;
  int* row_indices_ = nullptr;  // COO only
};

// The process's handle, made by the first plan and kept for the next ones; work goes to `stream` from now on.
inline cudaError_t shared_handle(cudaStream_t stream, cusparseHandle_t* handle) {
  static cusparseHandle_t kept = nullptr;
  if (kept == nullptr) WARPGRADE_TRY_CUSPARSE(cusparseCreate(&kept));
  *handle = kept;
  return from_cusparse(cusparseSetStream(kept, stream), "cusparseSetStream");
}

inline bool is_empty(const CsrMatrix& a) {
  return a.rows == 0 || a.nnz == 0;
}

// cuSPARSE is not asked about matrices without entries: their product is zero.
inline cudaError_t run_empty(const CsrMatrix& a, int k, float* c, cudaStream_t stream) {
  return cudaMemsetAsync(c, 0, static_cast<std::size_t>(a.rows) * k * sizeof(float), stream);
}

}  // namespace warpgrade_vendor
